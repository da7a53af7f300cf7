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

// maxRulesFile bounds the bytes of such a file, as the value of a key is bounded.
const maxRulesFile = 1 << 20

// withFiles adds the contents of the files that a configuration names: of placement rules, and of what
// submissions get by their hosts. The configuration is replicated, and other replicas cannot read this
// machine's files. As in YARN, inline rules win over their file.
func withFiles(conf *hadoopconf.Config, props []capacity.Property) []capacity.Property {
	if conf.Value(capacity.RulesFormatKey, "") == "json" {
		props = withFile(conf, props, capacity.RulesFileKey, capacity.RulesKey)
	}
	if strings.EqualFold(strings.TrimSpace(conf.Value(capacity.PreprocessorEnabledKey, "")), "true") {
		props = withFile(conf, props, capacity.PreprocessorFileKey, capacity.PreprocessorKey)
	}
	return props
}

// withFile adds the contents of the file that one key names as another one. If the file cannot be read,
// the origin of its key says why, and the configuration is refused, since it lacks the contents.
func withFile(conf *hadoopconf.Config, props []capacity.Property, fileKey, key string) []capacity.Property {
	file, named := conf.Get(fileKey)
	path := strings.TrimSpace(file.Value)
	if !named || path == "" || strings.TrimSpace(conf.Value(key, "")) != "" {
		return props
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(file.File), path)
	}
	text, err := readRules(path)
	if err == nil {
		return append(props, capacity.Property{Name: key, Value: text, Origin: path})
	}
	for i := range props {
		if props[i].Name == fileKey {
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
