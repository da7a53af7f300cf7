package hadoop

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"rmd/internal/gss/gsstest"
	"rmd/internal/hadoopconf"
	ports "rmd/transport/hadoop"
)

// TestCheckKerberos checks that each wrong situation is found, with what to do about it. There is no
// KDC.
func TestCheckKerberos(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	krb5 := write("krb5.conf",
		"[libdefaults]\ndefault_realm = TEST\ndns_lookup_kdc = false\n[realms]\nTEST = {\n kdc = 127.0.0.1:1\n}\n")
	open := gsstest.Keytab(t, gsstest.NewKey(t, "HTTP/localhost@TEST", 18, 1))
	if err := os.Chmod(open, 0o644); err != nil {
		t.Fatal(err)
	}
	const principalKey, keytabKey = "yarn.resourcemanager.webapp.spnego-principal",
		"yarn.resourcemanager.webapp.spnego-keytab-file"
	web := func(principal, keytab string, more ...string) []string {
		return append([]string{webType, "kerberos", principalKey, principal, keytabKey, keytab,
			"yarn.resourcemanager.webapp.address", "localhost:8088"}, more...)
	}
	key := func(service string, etype int32) string {
		return gsstest.Keytab(t, gsstest.NewKey(t, service, etype, 1))
	}
	good := key("HTTP/localhost@TEST", 18)
	for _, c := range []struct {
		what string
		keys []string // alternating names and values
		says []string // findings, each "what: detail" and what to do
	}{
		{"no Kerberos", nil, []string{"kerberos: Hadoop's files do not ask for it", "set hadoop.security.authentication"}},
		{"no KDC", web("HTTP/_HOST@TEST", good),
			[]string{"KDC: no ticket for HTTP/localhost@TEST", "the KDC's port 88 is open"}},
		{"another host", web("HTTP/rm2.invalid@TEST", good),
			[]string{"it has no key of HTTP/rm2.invalid@TEST, but of HTTP/localhost@TEST",
				"each replica has a principal of its own", "name rm2.invalid: ", "/etc/hosts"}},
		{"an old encryption type", web("HTTP/_HOST@TEST", key("HTTP/localhost@TEST", 23)),
			[]string{"has only keys of the encryption types 23", "ktadd -e aes256"}},
		{"a keytab for all to read", web("HTTP/_HOST@TEST", open), []string{"its mode is 0644", "chmod 600"}},
		{"no keytab", web("HTTP/_HOST@TEST", filepath.Join(dir, "missing")), []string{"no such file", "ktadd -k"}},
		{"no keytab's bytes", web("HTTP/_HOST@TEST", write("bytes", "\x05\x02\x00\x00\x00\x7fshort")),
			[]string{"keytab " + dir, "ktadd -k"}},
		{"another service", web("rm/_HOST@TEST", good), []string{"rm/localhost@TEST is not a principal of the service HTTP"}},
		{"bad rules", web("HTTP/_HOST@TEST", good, "hadoop.security.auth_to_local", "RULE:[1:$1](a(?=b)"),
			[]string{"names: core-site.xml:1 hadoop.security.auth_to_local: rule 1", "correct hadoop.security.auth_to_local"}},
		{"no host part", []string{"hadoop.security.authentication", "kerberos", "yarn.resourcemanager.principal", "rm@TEST",
			"yarn.resourcemanager.keytab", good},
			[]string{"principal: yarn.resourcemanager.principal: Kerberos principal name does NOT have the expected hostname part: rm@TEST", "SERVICE/_HOST@REALM"}},
	} {
		t.Setenv("KRB5_CONFIG", krb5)
		text := findings(t, c.keys)
		for _, s := range c.says {
			if !strings.Contains(text, s) {
				t.Errorf("%s: the findings do not say %q:\n%s", c.what, s, text)
			}
		}
	}
	t.Setenv("KRB5_CONFIG", write("empty.conf", "[libdefaults]\n"))
	if text := findings(t, web("HTTP/_HOST@TEST", good)); !strings.Contains(text,
		"has no default_realm\nwrite default_realm = REALM") {
		t.Errorf("no realm:\n%s", text)
	}
}

// TestCheckWhatPortsDo checks that the check looks for the principals of the ports, however Hadoop's
// files name the replica's host.
func TestCheckWhatPortsDo(t *testing.T) {
	krb5 := filepath.Join(t.TempDir(), "krb5.conf")
	if err := os.WriteFile(krb5, []byte("[libdefaults]\ndefault_realm = TEST\ndns_lookup_kdc = false\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KRB5_CONFIG", krb5)
	names, err := net.LookupAddr("127.0.0.1")
	if err != nil || len(names) == 0 {
		t.Skip("127.0.0.1 has no name")
	}
	name := strings.TrimSuffix(names[0], ".")
	for _, c := range []struct{ address, ipc, web string }{
		{"yarn.resourcemanager.address", "rm/" + name, "HTTP/127.0.0.1"},
		{"yarn.resourcemanager.address.rm1", "rm/" + name, "HTTP/127.0.0.1"},
		{"yarn.resourcemanager.hostname", "rm/" + name, "HTTP/127.0.0.1"},
	} {
		keytab := gsstest.Keytab(t, gsstest.NewKey(t, c.ipc+"@TEST", 18, 1), gsstest.NewKey(t, c.web+"@TEST", 18, 1))
		keys := []string{"hadoop.security.authentication", "kerberos", "yarn.resourcemanager.principal", "rm/_HOST@TEST",
			"yarn.resourcemanager.keytab", keytab,
			webType, "kerberos", rmPrincipal, "HTTP/_HOST@TEST", rmKeytab, keytab, c.address, "127.0.0.1"}
		conf := parse(t, keys)
		s, err := ports.SecurityOf(conf, "rm1", nil, hclog.NewNullLogger())
		if err != nil {
			t.Errorf("%s: the ports: %v", c.address, err)
		} else if got := s.Kerberos.Service + "/" + s.Kerberos.Host; got != c.ipc {
			t.Errorf("%s: the ports are %s, not %s", c.address, got, c.ipc)
		}
		if got, _, err := webService(conf, "rm1"); err != nil || got != c.web+"@TEST" {
			t.Errorf("%s: the pages are %s, %v", c.address, got, err)
		}
		if text := findings(t, keys); strings.Contains(text, "it has no key of") {
			t.Errorf("%s: the check does not find what the ports do:\n%s", c.address, text)
		}
	}
}

// findings returns the faults that CheckKerberos finds.
func findings(t *testing.T, keys []string) string {
	t.Helper()
	var out strings.Builder
	for _, f := range CheckKerberos(t.Context(), parse(t, keys), "rm1") {
		if !f.OK {
			out.WriteString(f.What + ": " + f.Detail + "\n" + f.Do + "\n")
		}
	}
	return out.String()
}

// parse returns Hadoop's files with keys, alternating names and values.
func parse(t *testing.T, keys []string) *hadoopconf.Config {
	t.Helper()
	var b strings.Builder
	for i := 0; i < len(keys); i += 2 {
		b.WriteString("<property><name>" + keys[i] + "</name><value>" + keys[i+1] + "</value></property>")
	}
	conf, err := hadoopconf.Parse(strings.NewReader("<configuration>"+b.String()+"</configuration>"), "core-site.xml")
	if err != nil {
		t.Fatal(err)
	}
	return conf
}
