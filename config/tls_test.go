package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rmd/internal/certificate"
)

// TestFaultsOfTLSFilesNameTheirKeys checks that the error of a file names the key and the line to correct.
func TestFaultsOfTLSFilesNameTheirKeys(t *testing.T) {
	dir := t.TempDir()
	ca, _, err := certificate.Open(dir, "prod", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"rm1", "rm2"} {
		if _, err := ca.Issue(dir, "prod", id, []string{"127.0.0.1"}, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "text.pem"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ ca, cert, key, want string }{
		{"nope.pem", "rm1.pem", "rm1-key.pem", "4:3: tls.ca: open "},
		{"text.pem", "rm1.pem", "rm1-key.pem", "4:3: tls.ca: "},
		{"ca.pem", "nope.pem", "rm1-key.pem", "5:3: tls.cert: open "},
		{"ca.pem", "text.pem", "rm1-key.pem", "5:3: tls.cert: "},
		{"ca.pem", "rm1.pem", "nope.pem", "6:3: tls.key: open "},
		{"ca.pem", "rm1.pem", "text.pem", "6:3: tls.key: "},
		{"ca.pem", "rm1.pem", "rm2-key.pem", "6:3: tls.key: "},
		{"ca.pem", "rm2.pem", "rm2-key.pem", "5:3: tls.cert: "},
	} {
		at := func(name string) string { return filepath.Join(dir, name) }
		got := faults(t, fmt.Sprintf("id: rm1\ncluster: prod\ntls:\n  ca: %s\n  cert: %s\n  key: %s\n", at(c.ca), at(c.cert),
			at(c.key)))
		if len(got) != 1 || !strings.HasPrefix(got[0], c.want) {
			t.Errorf("ca %s, cert %s, key %s: %q, want %q", c.ca, c.cert, c.key, got, c.want)
		}
	}
}
