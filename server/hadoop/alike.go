package hadoop

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"

	"rmd/internal/hadoopconf"
)

// Ports returns the names of the open ports.
func (f *Services) Ports() []string {
	open := f.ports.Load()
	if open == nil {
		return nil
	}
	return open.Names()
}

// Digests returns a digest of each of Hadoop's files as read last, by the file's name. Replicas with
// files that say the same have the same digests. Keys that concern one machine do not count. A digest
// has only 32 bits, so that nobody can check guesses of a password with it.
func (f *Services) Digests() map[string]string {
	out := map[string]string{}
	for file, text := range contents(f.files.All()) { // the order does not matter: each file has its own place
		sum := sha256.Sum256([]byte(text))
		out[file] = hex.EncodeToString(sum[:4])
	}
	return out
}

// contents returns what the files of a configuration say, by the files' names.
func contents(conf *hadoopconf.Config) map[string]string {
	out := map[string]string{}
	for _, path := range conf.Files() {
		out[filepath.Base(path)] = ""
	}
	for _, p := range conf.Properties() {
		if p.File != "" && !ofMachine(p.Name) {
			out[filepath.Base(p.File)] += fmt.Sprintf("%q=%q\n", p.Name, p.Raw)
		}
	}
	return out
}

// ofMachine reports whether the value of a key may differ on the machine of each replica: its own id
// and addresses.
func ofMachine(key string) bool {
	_, rm, ok := strings.Cut(key, ".resourcemanager.")
	return ok && (rm == "ha.id" || rm == "hostname" || strings.Contains(rm, "bind-host") ||
		strings.HasSuffix(rm, "address") || strings.HasSuffix(rm, "keytab"))
}
