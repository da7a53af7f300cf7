package gsstest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TypeNames are the names of the encryption types in MIT's files.
var TypeNames = map[int32]string{17: "aes128-cts-hmac-sha1-96", 18: "aes256-cts-hmac-sha1-96",
	19: "aes128-cts-hmac-sha256-128", 20: "aes256-cts-hmac-sha384-192"}

// KDC is a KDC of MIT in a folder of its own.
type KDC struct {
	t         testing.TB
	dir       string
	Realm, At string // At is its address
	cmd       *exec.Cmd
}

// StartKDC starts a KDC for the realm TEST with keys of some encryption types, or of all if none is
// named. It skips the test where there is no KDC.
func StartKDC(t testing.TB, etypes ...int32) *KDC {
	t.Helper()
	if len(etypes) == 0 {
		etypes = []int32{20, 19, 18, 17}
	}
	return StartRealm(t, "TEST", etypes...)
}

// StartRealm starts a KDC for a realm whose keys have some encryption types only.
func StartRealm(t testing.TB, realm string, etypes ...int32) *KDC {
	t.Helper()
	for _, program := range []string{"krb5kdc", "kdb5_util", "kadmin.local"} {
		if _, err := exec.LookPath(find(program)); err != nil {
			t.Skipf("there is no %s: install MIT's KDC (Debian: krb5-kdc and krb5-admin-server)", program)
		}
	}
	k := &KDC{t: t, dir: t.TempDir(), Realm: realm}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	k.At = l.Addr().String()
	l.Close()
	var types, keys []string
	for _, e := range etypes {
		types, keys = append(types, TypeNames[e]), append(keys, TypeNames[e]+":normal")
		k.write(fmt.Sprintf("krb5-%d.conf", e), k.conf(TypeNames[e],
			" default_tgs_enctypes = "+TypeNames[e]+"\n default_tkt_enctypes = "+TypeNames[e]+"\n"))
	}
	k.write("krb5.conf", k.conf(strings.Join(types, " "), ""))
	k.write("kdc.conf", "[realms]\n"+realm+" = {\n kdc_listen = "+k.At+"\n kdc_tcp_listen = "+k.At+"\n database_name = "+
		k.Path("principal")+
		"\n key_stash_file = "+k.Path("stash")+"\n acl_file = "+k.Path("acl")+"\n max_life = 24h\n master_key_type = "+
		types[0]+"\n supported_enctypes = "+strings.Join(keys, " ")+
		"\n}\n[logging]\nkdc = FILE:"+k.Path("kdc.log")+"\n")
	k.Run("kdb5_util", "create", "-s", "-r", realm, "-P", "master")
	k.Start()
	t.Cleanup(func() {
		if log, err := os.ReadFile(k.Path("kdc.log")); err == nil && t.Failed() {
			t.Logf("the KDC's log:\n%s", log)
		}
		k.Stop()
	})
	return k
}

// Start starts the KDC after Stop.
func (k *KDC) Start() {
	k.t.Helper()
	k.cmd = k.command("krb5kdc", "-n")
	if err := k.cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if c, err := net.Dial("tcp", k.At); err == nil {
			c.Close()
			return
		} else if time.Now().After(end) {
			k.t.Fatal("the KDC does not listen")
		}
	}
}

// Stop kills the KDC. It may be stopped already.
func (k *KDC) Stop() {
	if k.cmd == nil {
		return
	}
	_ = k.cmd.Process.Kill()
	_ = k.cmd.Wait()
	k.cmd = nil
}

// Trust lets principals of another realm use the services of this one. Both find each other's KDC.
func (k *KDC) Trust(other *KDC) {
	k.t.Helper()
	for _, in := range []*KDC{k, other} {
		in.Admin("addprinc -pw trusted krbtgt/" + k.Realm + "@" + other.Realm)
	}
	mine, theirs := k.realm(), other.realm()
	for at, more := range map[*KDC]string{k: theirs, other: mine} {
		path := at.Path("krb5.conf")
		b, err := os.ReadFile(path)
		if err != nil {
			k.t.Fatal(err)
		}
		at.write("krb5.conf", string(b)+more)
	}
}

// realm returns the entry of a krb5.conf.
func (k *KDC) realm() string { return " " + k.Realm + " = {\n  kdc = " + k.At + "\n }\n" }

// conf returns a krb5.conf.
func (k *KDC) conf(types, more string) string {
	return "[libdefaults]\n default_realm = " + k.Realm +
		"\n dns_lookup_kdc = false\n dns_canonicalize_hostname = false\n rdns = false\n udp_preference_limit = 1\n permitted_enctypes = " + types + "\n" + more +
		"[realms]\n" + k.realm()
}

// find returns the path of a program. Those of a KDC are for administrators.
func find(program string) string {
	if path := filepath.Join("/usr/sbin", program); fileExists(path) {
		return path
	}
	return program
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Path returns the path of a file of the KDC: krb5.conf, or krb5-N.conf for a client that asks for
// keys of type N.
func (k *KDC) Path(name string) string { return filepath.Join(k.dir, name) }

// Config returns the path of the krb5.conf of a client that asks for keys of one type.
func (k *KDC) Config(etype int32) string { return k.Path(fmt.Sprintf("krb5-%d.conf", etype)) }

func (k *KDC) write(name, text string) {
	k.t.Helper()
	if err := os.WriteFile(k.Path(name), []byte(text), 0o600); err != nil {
		k.t.Fatal(err)
	}
}

func (k *KDC) command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(find(program), args...)
	cmd.Env = append(os.Environ(), "KRB5_CONFIG="+k.Path("krb5.conf"), "KRB5_KDC_PROFILE="+k.Path("kdc.conf"))
	return cmd
}

// Run runs a program of MIT's against the KDC.
func (k *KDC) Run(program string, args ...string) {
	k.t.Helper()
	if out, err := k.command(program, args...).CombinedOutput(); err != nil {
		k.t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
	}
}

// Admin runs commands of kadmin.
func (k *KDC) Admin(queries ...string) {
	k.t.Helper()
	for _, q := range queries {
		k.Run("kadmin.local", "-q", q)
	}
}

// Keytab makes a principal with random keys, and returns the path of its keytab.
func (k *KDC) Keytab(principal string) string {
	k.t.Helper()
	path := k.Path(strings.ReplaceAll(principal, "/", "-") + ".keytab")
	k.Admin("addprinc -randkey "+principal, "ktadd -k "+path+" -norandkey "+principal)
	return path
}
