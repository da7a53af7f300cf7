package certificate

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestIssue(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	ca, made, err := Open(dir, "prod", now)
	if err != nil || !made {
		t.Fatalf("made %v, %v", made, err)
	}
	f, err := ca.Issue(dir, "prod", "rm1", []string{"localhost", "10.0.0.11"}, now)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(ca.Cert)
	for _, usage := range []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth} {
		if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: "10.0.0.11",
			KeyUsages: []x509.ExtKeyUsage{usage}}); err != nil {
			t.Errorf("usage %v: %v", usage, err)
		}
	}
	if len(leaf.URIs) != 1 || leaf.URIs[0].String() != "rmd://prod/replica/rm1" {
		t.Errorf("URIs %v", leaf.URIs)
	}
	if _, err := ca.Issue(dir, "prod", "rm1", nil, now); !errors.Is(err, fs.ErrExist) {
		t.Errorf("issued over a certificate: %v", err)
	}
	again, made, err := Open(dir, "prod", now)
	if err != nil || made || !again.Cert.Equal(ca.Cert) {
		t.Fatalf("opened again: made %v, %v", made, err)
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	if _, _, err := Open(dir, "prod", time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "ca-key.pem")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Open(dir, "prod", time.Now()); err == nil ||
		!strings.Contains(err.Error(), "its key ca-key.pem is not") {
		t.Fatalf("a CA without its key: %v", err)
	}
}
