package principal

import (
	"os"
	"path/filepath"
	"strings"

	"rmd/internal/hadoopconf"
)

// Configuration returns the path of Kerberos's configuration: that in KRB5_CONFIG, or else
// /etc/krb5.conf.
func Configuration() string {
	if path, _, _ := strings.Cut(os.Getenv("KRB5_CONFIG"), ":"); path != "" {
		return path
	}
	return "/etc/krb5.conf"
}

const (
	confMax     = 1 << 20 // bytes of one file
	includesMax = 4       // nested files
)

// DefaultRealm returns default_realm of a krb5.conf and the files that it includes, or "" if there is
// none.
func DefaultRealm(path string) (string, error) { return defaultRealm(path, includesMax) }

func defaultRealm(path string, depth int) (string, error) {
	b, err := hadoopconf.ReadFile(path, confMax)
	if err != nil {
		return "", err
	}
	section := ""
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		word, value, _ := strings.Cut(line, " ")
		switch {
		case strings.HasPrefix(line, "["):
			section = line
		case depth > 0 && (word == "include" || word == "includedir"):
			if realm := included(word, strings.TrimSpace(value), depth-1); realm != "" {
				return realm, nil
			}
		case section == "[libdefaults]":
			if key, value, ok := strings.Cut(line, "="); ok && strings.TrimSpace(key) == "default_realm" {
				return strings.Trim(strings.TrimSpace(value), `"`), nil
			}
		}
	}
	return "", nil
}

// included returns the default realm in an included file, or in the files of an included directory.
func included(word, path string, depth int) string {
	paths := []string{path}
	if word == "includedir" {
		paths, _ = filepath.Glob(filepath.Join(path, "*")) // sorted; the pattern is valid
	}
	for _, p := range paths {
		if realm, err := defaultRealm(p, depth); err == nil && realm != "" {
			return realm
		}
	}
	return ""
}
