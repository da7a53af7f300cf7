package groups

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// slapdFiles returns the files of Debian's package slapd. RMD_SLAPD_ROOT is the folder where the
// package is unpacked. The default is /.
func slapdFiles(t *testing.T) (binary, schema, modules string) {
	t.Helper()
	root := os.Getenv("RMD_SLAPD_ROOT")
	binary = filepath.Join("/", root, "usr/sbin/slapd")
	if _, err := os.Stat(binary); err != nil {
		t.Skip("there is no slapd here: apt-get install slapd, or set RMD_SLAPD_ROOT")
	}
	return binary, filepath.Join("/", root, "etc/ldap/schema"), filepath.Join("/", root, "usr/lib/ldap")
}

const people = `dn: dc=x
objectClass: dcObject
objectClass: organization
dc: x
o: x

dn: uid=ann,dc=x
objectClass: inetOrgPerson
objectClass: posixAccount
uid: ann
cn: Ann
sn: Ann
uidNumber: 7
gidNumber: 8
homeDirectory: /home/ann

dn: cn=etl,dc=x
objectClass: groupOfNames
cn: etl
member: uid=ann,dc=x

dn: cn=a \28b\29 *,dc=x
objectClass: groupOfNames
cn: a (b) *
member: cn=etl,dc=x

dn: cn=all,dc=x
objectClass: groupOfNames
cn: all
member: cn=a \28b\29 *,dc=x
member: cn=etl,dc=x

dn: cn=staff,dc=x
objectClass: posixGroup
cn: staff
gidNumber: 8
`

// slapd starts OpenLDAP's server and returns its URL.
func slapd(t *testing.T) string {
	t.Helper()
	binary, schema, modules := slapdFiles(t)
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	conf := write("slapd.conf", fmt.Sprintf(`include %[1]s/core.schema
include %[1]s/cosine.schema
include %[1]s/inetorgperson.schema
include %[1]s/nis.schema
modulepath %[2]s
moduleload back_mdb
database mdb
suffix dc=x
rootdn cn=rmd,dc=x
rootpw secret
directory %[3]s
access to * by users read by anonymous auth
`, schema, modules, dir))
	run := func(args ...string) *exec.Cmd {
		cmd := exec.Command(binary, args...)
		cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+
			filepath.Join("/", os.Getenv("RMD_SLAPD_ROOT"), "usr/lib/x86_64-linux-gnu"))
		return cmd
	}
	if out, err := run("-T", "add", "-f", conf, "-l", write("people.ldif", people)).CombinedOutput(); err != nil {
		t.Fatalf("slapadd: %v\n%s", err, out)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	_ = l.Close()
	var out bytes.Buffer
	cmd := run("-d", "0", "-f", conf, "-h", "ldap://"+addr)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if c, err := net.Dial("tcp", addr); err == nil {
			_ = c.Close()
			return "ldap://" + addr
		}
		if time.Now().After(end) {
			t.Fatalf("slapd does not answer:\n%s", out.String())
		}
	}
}

// TestSlapd looks up groups in OpenLDAP's server.
func TestSlapd(t *testing.T) {
	url := slapd(t)
	const byName = "(&(objectClass=inetOrgPerson)(uid={0}))"
	for _, tc := range []struct {
		user, want, fault string
		pairs             []string
	}{
		{"ann", "etl", "", nil},
		{"eve", "", "", nil},
		{"*", "", "", nil},
		{"ann", "etl,a (b) *,all", "", []string{".search.group.hierarchy.levels", "1"}},
		{"ann", "staff", "", []string{".search.filter.user", "(&(objectClass=posixAccount)(uid={0}))", ".search.filter.group",
			"(objectClass=posixGroup)", ".search.attr.member", "memberUid"}},
		{"ann", "", "Invalid Credentials", []string{".bind.password", "wrong"}},
		{"ann", "", "No Such Object", []string{".userbase", "dc=y"}},
	} {
		got,
			err := find(t, tc.user, append([]string{Key, ldapClass, ".url", url, ".base", "dc=x", ".bind.user", "cn=rmd,dc=x",
			".bind.password", "secret",
			".search.filter.user", byName, ".search.filter.group", "(objectClass=groupOfNames)"}, tc.pairs...)...)
		if got != tc.want || (err == nil) != (tc.fault == "") || err != nil && !strings.Contains(err.Error(), tc.fault) {
			t.Errorf("%s with %v: %q, %v", tc.user, tc.pairs, got, err)
		}
	}
}
