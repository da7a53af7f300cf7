package principal

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
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

// setting is one line "key = value" of a krb5.conf. group is the name before "{" around it, or "".
type setting struct{ section, group, key, value string }

// settings returns the lines of a krb5.conf and of the files that it includes, in their order. An
// included file that cannot be read is skipped.
func settings(path string, depth int) ([]setting, error) {
	b, err := hadoopconf.ReadFile(path, confMax)
	if err != nil {
		return nil, err
	}
	var out []setting
	var section string
	var groups []string
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		word, rest, _ := strings.Cut(line, " ")
		key, value, isSetting := strings.Cut(line, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		switch {
		case line == "" || line[0] == '#' || line[0] == ';':
		case line[0] == '[':
			section, groups = strings.TrimRight(line, "*"), nil
		case word == "include" || word == "includedir":
			if depth > 0 {
				out = append(out, included(word, strings.TrimSpace(rest), depth-1)...)
			}
		case line[0] == '}':
			groups = groups[:max(len(groups)-1, 0)]
		case isSetting && value == "{":
			groups = append(groups, key)
		case isSetting:
			out = append(out, setting{section, strings.Join(groups, " "), key, strings.Trim(value, `"`)})
		}
	}
	return out, nil
}

// included returns the lines of an included file, or of the files of an included directory.
func included(word, path string, depth int) (out []setting) {
	paths := []string{path}
	if word == "includedir" {
		paths, _ = filepath.Glob(filepath.Join(path, "*")) // sorted; the pattern is valid
	}
	for _, p := range paths {
		lines, _ := settings(p, depth) // a file that cannot be read is skipped
		out = append(out, lines...)
	}
	return out
}

// DefaultRealm returns default_realm of a krb5.conf and the files that it includes, or "" if there is
// none.
func DefaultRealm(path string) (string, error) {
	all, err := settings(path, includesMax)
	for _, s := range all {
		if s.section == "[libdefaults]" && s.key == "default_realm" {
			return s.value, nil
		}
	}
	return "", err
}

// Paths are the paths between realms by [capaths] of a krb5.conf.
type Paths map[[2]string][]string

// LoadPaths reads [capaths]. Without a file there are no paths.
func LoadPaths(path string) (Paths, error) {
	all, err := settings(path, includesMax)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	p := Paths{}
	for _, s := range all {
		if s.section != "[capaths]" || s.group == "" || strings.Contains(s.group, " ") {
			continue
		}
		from := [2]string{s.group, s.key}
		p[from] = append(p[from], strings.FieldsFunc(s.value,
			func(r rune) bool { return r == ' ' || r == '\t' || r == ',' })...)
	}
	return p, nil
}

// Between returns the realms through which the tickets of a realm's clients may come to a service of
// another realm. found is false if the file says nothing about the two.
func (p Paths) Between(client, service string) (through []string, found bool) {
	through, found = p[[2]string{client, service}]
	return slices.DeleteFunc(slices.Clone(through), func(r string) bool { return r == "." }), found // ".": directly
}
