package hadoop

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"rmd/internal/hadoopconf"
	"rmd/scheduler/capacity"
)

// maxRulesFile bounds the bytes of a file of placement rules, as the value of a key is bounded.
const maxRulesFile = 1 << 20

// withRules adds the contents of the file of placement rules as the key of inline rules: the
// configuration is replicated, and other replicas cannot read this machine's file. As in YARN, inline
// rules win over the file. If the file cannot be read, the origin of its key says why, and the
// configuration is refused, since it has no rules.
func withRules(conf *hadoopconf.Config, props []capacity.Property) []capacity.Property {
	file, named := conf.Get(capacity.RulesFileKey)
	path := strings.TrimSpace(file.Value)
	if !named || path == "" || conf.Value(capacity.RulesFormatKey, "") != "json" || strings.TrimSpace(conf.Value(capacity.RulesKey, "")) != "" {
		return props
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(file.File), path)
	}
	text, err := readRules(path)
	if err == nil {
		return append(props, capacity.Property{Name: capacity.RulesKey, Value: text, Origin: path})
	}
	for i := range props {
		if props[i].Name == capacity.RulesFileKey {
			props[i].Origin = fmt.Sprintf("%s: %v", file.Origin(), err)
		}
	}
	return props
}

func readRules(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is not a file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxRulesFile+1))
	switch {
	case err != nil:
		return "", err
	case len(b) > maxRulesFile:
		return "", fmt.Errorf("%s is larger than %d bytes", path, maxRulesFile)
	case strings.TrimSpace(string(b)) == "":
		return "", fmt.Errorf("%s is empty", path)
	}
	return string(b), nil
}
