package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"rmd/api"
	"rmd/internal/certificate"
	"rmd/internal/portblock"
)

// accessFile creates an access token, writes it to a file and returns the file's name.
func (c *processes) accessFile(name, role string, more ...string) string {
	c.t.Helper()
	file := filepath.Join(c.t.(*testing.T).TempDir(), name)
	secret := c.done(append([]string{"access", "token", "create", "-q", "--role", role, "--name", name}, more...)...)
	if err := os.WriteFile(file, []byte(secret), 0o600); err != nil {
		c.t.Fatal(err)
	}
	return file
}

// TestAccessTokens checks that a token works at every replica, and that a token created before a
// change of leader can be revoked after it. It checks the same for the settings of autopilot, and
// that they remain after all replicas restart.
func TestAccessTokens(t *testing.T) {
	t.Parallel()
	c := startProcesses(t, 3, calm, "")
	c.refused(8, "NO_ADMIN_LEFT", "access", "token", "create", "--role", "operator", "--name", "ci")
	boss := c.accessFile("boss", "admin")
	c.refused(7, "UNAUTHENTICATED", "queue", "stop", "root.online")
	c.refused(7, "UNAUTHENTICATED", "access", "token", "create", "--role", "admin", "--name", "mallory")
	c.done("queue", "list") // reading needs no token
	ci := c.accessFile("ci", "operator", "--token-file", boss)
	c.done("queue", "stop", "root.online", "--token-file", ci)
	c.refused(7, "ci has the role operator, this needs admin", "autopilot", "set", "min_quorum=3", "--token-file", ci)
	c.done("autopilot", "set", "max_trailing_logs=777", "--token-file", boss)

	dead := c.leader()
	c.kill(dead)
	c.leader()
	for _, p := range c.others(dead) {
		c.done("queue", "start", "root.online", "--token-file", ci, "--addr", p.http)
		if out := c.done("access", "whoami", "--token-file", ci, "--addr", p.http); !strings.Contains(out, "operator") {
			t.Errorf("%s takes ci for\n%s", p.id, out)
		}
	}
	c.refused(8, "NO_ADMIN_LEFT", "access", "token", "revoke", "boss", "--token-file", boss)
	c.done("access", "token", "revoke", "ci", "--token-file", boss)
	for _, p := range c.others(dead) {
		c.refused(7, "not known, or was revoked", "queue", "stop", "root.online", "--token-file", ci, "--addr", p.http)
	}
	if out := c.done("audit", "tail"); !strings.Contains(out, "token boss from") ||
		!strings.Contains(out, "access token revoke ci: done") ||
		!strings.Contains(out, "autopilot set: NOT_ALLOWED") || strings.Contains(out, "rmd_") {
		t.Errorf("the audit says\n%s", out)
	}

	for _, p := range c.others(dead) {
		c.terminate(p)
	}
	for _, p := range c.all {
		c.start(p)
	}
	c.awaitReady(c.all...)
	for _, p := range c.all {
		var d api.AutopilotState
		c.await(p.id+" knows autopilot's settings", patience, func() bool { return c.get(p, "/v1/autopilot", &d) })
		if d.Settings.MaxTrailingLogs != 777 {
			t.Errorf("%s: autopilot's settings are lost: %+v", p.id, d.Settings)
		}
	}
	c.refused(7, "UNAUTHENTICATED", "queue", "stop", "root.online")
	c.done("queue", "stop", "root.online", "--token-file", boss)
	c.done("access", "token", "revoke", "boss", "--token-file", boss)
	c.done("queue", "start", "root.online") // the last token is revoked, so none is needed again
}

// TestCertificatesInUse checks that a replica with TLS reads a role from a client certificate, and
// that it loads its own renewed certificate on SIGHUP.
func TestCertificatesInUse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ca, _, err := certificate.Open(dir, "test", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	hosts := []string{"127.0.0.1", "localhost"}
	files, err := ca.Issue(dir, "test", "rm1", hosts, time.Now().AddDate(-2, 0, 3))
	if err != nil {
		t.Fatal(err)
	}
	c := newProcesses(t, 1, calm, "  bootstrap_expect: 1\n",
		"tls: {ca: "+files.CA+", cert: "+files.Cert+", key: "+files.Key+"}\n")
	p, secure := c.all[0], portblock.Loopback(portblock.Open(t).Take())
	c.reconfigure(p, "http:\n", "http:\n  auth: required\n  listen_tls: "+secure+"\n")
	c.start(p)
	c.awaitReady(p)
	contains(t, p.id, p.logged(), "a certificate ends soon")
	at := []string{"--addr", "https://" + secure, "--cacert", files.CA}
	for _, role := range []string{"read", "operator"} {
		c.done("access", "certificate", "create", "--dir", dir, "--cluster", "test", "--role", role, "--name", role)
	}
	as := func(name string) []string {
		return append(at, "--cert", filepath.Join(dir, name+".pem"), "--key", filepath.Join(dir, name+"-key.pem"))
	}
	c.refused(7, "UNAUTHENTICATED", append([]string{"queue", "list"}, at...)...)
	c.done(append([]string{"queue", "list"}, as("read")...)...)
	c.refused(7, "certificate read has the role read, this needs operator",
		append([]string{"queue", "stop", "root.online"}, as("read")...)...)
	c.done(append([]string{"queue", "stop", "root.online"}, as("operator")...)...)
	c.done(append([]string{"autopilot", "get"}, as("rm1")...)...)

	if err := os.Rename(files.Cert, files.Cert+".old"); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(files.Key, files.Key+".old"); err != nil {
		t.Fatal(err)
	}
	if _, err := ca.Issue(dir, "test", "rm1", hosts, time.Now()); err != nil {
		t.Fatal(err)
	}
	p.signal(t, syscall.SIGHUP)
	c.await("the certificate is renewed", patience, func() bool {
		said := p.logged()
		return contain(said, "certificates are reloaded") || contain(said, "changed certificates are taken")
	})
	for _, use := range []string{"peer", "http"} {
		_, value, _ := strings.Cut(c.done(append([]string{"metrics"}, as("read")...)...),
			`rmd_certificate_expiry_timestamp_seconds{use="`+use+`"} `)
		value, _, _ = strings.Cut(value, "\n")
		if end, err := strconv.ParseFloat(value, 64); err != nil || end < float64(time.Now().AddDate(1, 11, 0).Unix()) {
			t.Errorf("the metric of %s shows %q, not an end in two years: %v", use, value, err)
		}
	}
}
