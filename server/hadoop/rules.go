package hadoop

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"rmd/internal/hadoopconf"
	"rmd/scheduler/capacity"
)

// maxRulesFile limits such a file, in bytes, like the value of a key.
const maxRulesFile = 1 << 20

// withFiles adds the contents of the files that a configuration names: placement rules, and the
// lines of the submission preprocessor. The configuration is replicated, and other replicas cannot
// read this machine's files. As in YARN, inline rules have precedence over the file.
func withFiles(conf *hadoopconf.Config, props []capacity.Property) []capacity.Property {
	if conf.Value(capacity.RulesFormatKey, "") == "json" {
		props = withFile(conf, props, capacity.RulesFileKey, capacity.RulesKey)
	}
	if strings.EqualFold(strings.TrimSpace(conf.Value(capacity.PreprocessorEnabledKey, "")), "true") {
		props = withFile(conf, props, capacity.PreprocessorFileKey, capacity.PreprocessorKey)
	}
	return props
}

// withFile adds the contents of the file that fileKey names as the value of key. If the file cannot
// be read, the origin of fileKey contains the error. The configuration is then refused, because key
// has no value.
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
	b, err := hadoopconf.ReadFile(path, maxRulesFile)
	switch {
	case err != nil:
		return "", err
	case strings.TrimSpace(string(b)) == "":
		return "", fmt.Errorf("%s is empty", path)
	}
	return string(b), nil
}
