package config

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rmd/internal/certificate"
)

// issued issues a certificate for a replica. The CA is in dir, and is created if dir has none.
func issued(t *testing.T, dir, id string, now time.Time) TLS {
	t.Helper()
	ca, _, err := certificate.Open(dir, "prod", now)
	if err != nil {
		t.Fatal(err)
	}
	f, err := ca.Issue(dir, "prod", id, []string{"localhost"}, now)
	if err != nil {
		t.Fatal(err)
	}
	return TLS{CA: f.CA, Cert: f.Cert, Key: f.Key}
}

// put copies files over those in use, and sets their modification times.
func put(t *testing.T, from, to TLS, at time.Time) {
	t.Helper()
	for _, pair := range [][2]string{{from.CA, to.CA}, {from.Cert, to.Cert}, {from.Key, to.Key}} {
		b, err := os.ReadFile(pair[0])
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(pair[1], b, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(pair[1], at, at); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCertificatesAreTakenAgain checks that changed files are loaded, and that invalid ones are
// not.
func TestCertificatesAreTakenAgain(t *testing.T) {
	now := time.Now()
	live := issued(t, t.TempDir(), "rm1", now)
	c, err := OpenCertificates(live, "prod", "rm1")
	if err != nil {
		t.Fatal(err)
	}
	first := c.Peer()
	if changed, err := c.ReloadIfChanged(); changed || err != nil {
		t.Errorf("nothing has changed: %v %v", changed, err)
	}
	put(t, issued(t, t.TempDir(), "rm1", now.Add(time.Minute)), live, now.Add(time.Hour))
	if changed, err := c.ReloadIfChanged(); !changed || err != nil {
		t.Fatalf("changed files: %v %v", changed, err)
	}
	second := c.Peer()
	if second == first || second.RootCAs.Equal(first.RootCAs) {
		t.Error("the CA is the one before")
	}
	conf, err := c.HTTP().GetConfigForClient(nil)
	if err != nil || conf.ClientAuth != tls.VerifyClientCertIfGiven ||
		!conf.Certificates[0].Leaf.Equal(second.Certificates[0].Leaf) {
		t.Errorf("HTTP has another certificate: %v", err)
	}
	if v := c.Valid(); !v["replica"].Until.Equal(second.Certificates[0].Leaf.NotAfter) ||
		v["ca"].Until.Before(v["replica"].Until) {
		t.Errorf("Valid() = %v, want replica until %s and ca not before it", v, second.Certificates[0].Leaf.NotAfter)
	}
	at := now.Add(2 * time.Hour)
	for name, spoil := range map[string]func() string{
		"another's": func() string { put(t, issued(t, t.TempDir(), "rm2", now), live, at); return "does not name" },
		"expired": func() string {
			put(t, issued(t, t.TempDir(), "rm1", now.AddDate(-3, 0, 0)), live, at)
			return "expired on"
		},
		"not yet valid": func() string {
			put(t, issued(t, t.TempDir(), "rm1", now.AddDate(0, 0, 2)), live, at)
			return "is not valid before " + now.AddDate(0, 0, 2).Add(-time.Hour).UTC().Format("2006-01-02T15")
		},
		"half":  func() string { return write(t, live.Key, "", 0o600, "tls.key") },
		"no CA": func() string { return write(t, live.CA, "x", 0o600, "contains no certificate") },
		"readable": func() string {
			put(t, issued(t, t.TempDir(), "rm1", now), live, at)
			return write(t, live.Key, "x", 0o644, "chmod 600")
		},
	} {
		at = at.Add(time.Hour)
		want := spoil()
		changed, err := c.ReloadIfChanged()
		if err == nil || changed || !strings.Contains(err.Error(), want) || c.Peer() != second {
			t.Errorf("%s: %v %v, want %q", name, changed, err, want)
		}
		if changed, err := c.ReloadIfChanged(); changed || err != nil {
			t.Errorf("%s is told twice: %v", name, err)
		}
		if err := os.Chmod(live.Key, 0o600); err != nil {
			t.Fatal(err)
		}
		at = at.Add(time.Hour)
		put(t, issued(t, t.TempDir(), "rm1", now), live, at)
		if _, err := c.Reload(); err != nil {
			t.Fatal(err)
		}
		second = c.Peer()
	}
}

// TestCertificateMustBeValid checks that a certificate that peers would refuse is a fault.
func TestCertificateMustBeValid(t *testing.T) {
	now := time.Now()
	for name, c := range map[string]struct {
		at        time.Time
		want, not string
	}{
		"now": {at: now, not: "tls.cert"},
		"in two days": {at: now.AddDate(0, 0, 2),
			want: "tls.cert: is not valid before " + now.AddDate(0, 0, 2).Add(-time.Hour).UTC().Format("2006-01-02T15"),
			not:  "expired"},
		"long ago": {at: now.AddDate(-3, 0, 0), want: "tls.cert: expired on ", not: "valid before"},
	} {
		f := issued(t, t.TempDir(), "rm1", c.at)
		_,
			err := Load(Source{File: file(t, fmt.Sprintf("id: rm1\ncluster: prod\ntls: {ca: %s, cert: %s, key: %s}\n", f.CA,
			f.Cert, f.Key))})
		text := fmt.Sprint(err)
		if !strings.Contains(text, c.want) || strings.Contains(text, c.not) {
			t.Errorf("Load with a certificate issued %s: %v, want %q in the error and not %q", name, err, c.want, c.not)
		}
	}
}

// TestKeyOfAnotherCertificate checks that a key which does not belong to the certificate is a fault that
// names both files and says what to do.
func TestKeyOfAnotherCertificate(t *testing.T) {
	f, other := issued(t, t.TempDir(), "rm1", time.Now()), issued(t, t.TempDir(), "rm1", time.Now())
	_, err := Load(Source{File: file(t, fmt.Sprintf("id: rm1\ncluster: prod\ntls: {ca: %s, cert: %s, key: %s}\n", f.CA,
		f.Cert, other.Key))})
	var bad *Invalid
	if !errors.As(err, &bad) {
		t.Fatalf("Load with the key of another certificate: %v, want a fault", err)
	}
	text := strings.Join(bad.Lines(), "\n")
	for _, want := range []string{f.Cert, other.Key, "does not match", "the key that belongs to it"} {
		if !strings.Contains(text, want) {
			t.Errorf("the fault is %q, want %q in it", text, want)
		}
	}
}

func write(t *testing.T, file, text string, mode os.FileMode, want string) string {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, mode); err != nil {
		t.Fatal(err)
	}
	return want
}

// TestRoleCertificateNotReplica checks that the certificate of a person cannot be used as a
// replica's.
func TestRoleCertificateNotReplica(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	live := issued(t, dir, "rm1", now)
	ca, _, err := certificate.Open(dir, "prod", now)
	if err != nil {
		t.Fatal(err)
	}
	f, err := ca.IssueClient(dir, "prod", "operator", "alice", time.Hour, now)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := OpenCertificates(TLS{live.CA, f.Cert, f.Key}, "prod", "rm1"); err == nil ||
		!strings.Contains(err.Error(), "does not name") {
		t.Errorf("OpenCertificates with a role's certificate: %v, want an error with \"does not name\"", err)
	}
	pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(ca.Cert)
	if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: pool,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
		t.Errorf("as a client: %v", err)
	}
	if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: pool,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}); err == nil {
		t.Error("it is good for a server")
	}
	if got := pair.Leaf.URIs[0].String(); got != "rmd://prod/role/operator/alice" ||
		filepath.Base(f.Key) != "alice-key.pem" {
		t.Errorf("%s in %+v", got, f)
	}
	if info, err := os.Stat(f.Key); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("Stat(%s) = %+v, %v; want a file with mode 0600", f.Key, info, err)
	}
	if _, err := ca.IssueClient(dir, "prod", "operator", "alice", time.Hour, now); !os.IsExist(err) {
		t.Errorf("over the one that is there: %v", err)
	}
}
