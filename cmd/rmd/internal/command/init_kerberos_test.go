package command

import (
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"rmd/cmd/rmd/internal/command/replica"
	"rmd/internal/exitcode"
	"rmd/internal/gss/gsstest"
	"rmd/internal/hadoopconf"
)

// TestInitKerberos follows what "rmd init --kerberos" says, with a real KDC, until the check finds
// nothing wrong.
func TestInitKerberos(t *testing.T) {
	k := gsstest.StartKDC(t)
	t.Setenv("KRB5_CONFIG", k.Path("krb5.conf"))
	dir := filepath.Join(t.TempDir(), "prod")
	r := rmd(t, nil, "init", "--dir", dir, "--replicas", "rm1=localhost", "--kerberos", "TEST")
	if r.exit != exitcode.OK {
		t.Fatalf("init: %+v", r)
	}
	check := []string{"check", "--kerberos", "--conf-dir", filepath.Join(dir, "rm1", replica.HadoopDir), "--id", "rm1"}
	said := r.out + r.err
	if !strings.Contains(said, "rmd "+strings.Join(check, " ")) {
		t.Errorf("it does not say how to check:\n%s", said)
	}
	if r := rmd(t, nil, check...); r.exit != exitcode.CheckFailed || !strings.Contains(r.out, "rmd.keytab") {
		t.Errorf("before the keytab is made: %+v", r)
	}
	for _, m := range regexp.MustCompile(`kadmin -q ("[^"]*")`).FindAllStringSubmatch(said, -1) {
		query, err := strconv.Unquote(m[1])
		if err != nil {
			t.Fatal(err)
		}
		k.Admin(query)
	}
	if r := rmd(t, nil, check...); r.exit != exitcode.OK || strings.Count(r.out, "it gives a ticket to") != 2 {
		t.Errorf("when all is done: %+v", r)
	}
}

// TestInitKerberosFiles reads what is written for replicas on several machines, and for one more.
func TestInitKerberosFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "prod")
	r := rmd(t, nil, "init", "--dir", dir, "--replicas", "rm1=a.example.com,rm2=b.example.com,rm3=c.example.com", "--tls",
		"--kerberos", "EXAMPLE.COM")
	if want := `kadmin -q "ktadd -k /etc/rmd/rmd.keytab rm/b.example.com@EXAMPLE.COM HTTP/b.example.com@EXAMPLE.COM"`; r.exit != exitcode.OK || !strings.Contains(r.out+r.err, want) {
		t.Errorf("%+v does not say %s", r, want)
	}
	r = rmd(t, nil, "init", "--dir", dir, "--replica", "rm4=d.example.com")
	if want := `kadmin -q "addprinc -randkey rm/d.example.com@EXAMPLE.COM"`; r.exit != exitcode.OK ||
		!strings.Contains(r.out+r.err, want) {
		t.Errorf("%+v does not say %s", r, want)
	}
	for _, id := range []string{"rm2", "rm4"} {
		conf, err := hadoopconf.ReadDir(filepath.Join(dir, id, replica.HadoopDir))
		if err != nil {
			t.Fatal(err)
		}
		for key, want := range map[string]string{
			"hadoop.security.authentication": "kerberos", "hadoop.security.authorization": "true",
			"hadoop.http.authentication.type": "kerberos",
			"yarn.resourcemanager.principal":  "rm/_HOST@EXAMPLE.COM", "yarn.resourcemanager.keytab": "/etc/rmd/rmd.keytab",
			"yarn.resourcemanager.webapp.spnego-principal": "HTTP/_HOST@EXAMPLE.COM",
			"yarn.nodemanager.principal":                   "nm/_HOST@EXAMPLE.COM",
			"yarn.admin.acl":                               "yarn",
		} {
			if got := conf.Value(key, ""); got != want {
				t.Errorf("%s: %s is %q, not %q", id, key, got, want)
			}
		}
	}
	for _, c := range []struct{ args, want string }{
		{"--replicas rm1=10.0.0.11,rm2=10.0.0.12,rm3=10.0.0.13 --tls --kerberos EXAMPLE.COM",
			"rm1: Kerberos knows machines by name, and 10.0.0.11 is an address"},
		{"--replicas rm1=localhost --kerberos EXAMPLE/COM", `"EXAMPLE/COM" is not a realm`},
		{"--kerberos EXAMPLE.COM", "write --replicas"},
	} {
		r := rmd(t, nil, append([]string{"init", "--dir", filepath.Join(t.TempDir(), "new")}, strings.Fields(c.args)...)...)
		if r.exit != exitcode.Usage || !strings.Contains(r.err, c.want) {
			t.Errorf("%s: %+v, want %q", c.args, r, c.want)
		}
	}
}
