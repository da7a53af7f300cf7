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
var TypeNames = map[int32]string{17: "aes128-cts-hmac-sha1-96", 18: "aes256-cts-hmac-sha1-96", 19: "aes128-cts-hmac-sha256-128", 20: "aes256-cts-hmac-sha384-192"}

// KDC is a KDC of MIT in a folder of its own, for the realm TEST.
type KDC struct {
	t   testing.TB
	dir string
}

// StartKDC starts a KDC with keys of some encryption types, or of all if none is named. It skips the
// test where there is no KDC.
func StartKDC(t testing.TB, etypes ...int32) *KDC {
	t.Helper()
	if len(etypes) == 0 {
		etypes = []int32{20, 19, 18, 17}
	}
	var names, salted []string
	for _, e := range etypes {
		names, salted = append(names, TypeNames[e]), append(salted, TypeNames[e]+":normal")
	}
	for _, program := range []string{"krb5kdc", "kdb5_util", "kadmin.local"} {
		if _, err := exec.LookPath(find(program)); err != nil {
			t.Skipf("there is no %s: install MIT's KDC (Debian: krb5-kdc and krb5-admin-server)", program)
		}
	}
	k := &KDC{t, t.TempDir()}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := l.Addr().String()
	l.Close()
	k.write("krb5.conf", conf(at, strings.Join(names, " "), ""))
	for _, etype := range etypes {
		name := TypeNames[etype]
		k.write(fmt.Sprintf("krb5-%d.conf", etype), conf(at, name, " default_tgs_enctypes = "+name+"\n default_tkt_enctypes = "+name+"\n"))
	}
	k.write("kdc.conf", "[realms]\nTEST = {\n kdc_listen = "+at+"\n kdc_tcp_listen = "+at+"\n database_name = "+k.Path("principal")+
		"\n key_stash_file = "+k.Path("stash")+"\n acl_file = "+k.Path("acl")+"\n max_life = 24h\n master_key_type = "+names[0]+"\n supported_enctypes = "+strings.Join(salted, " ")+"\n}\n[logging]\nkdc = FILE:"+k.Path("kdc.log")+"\n")
	k.Run("kdb5_util", "create", "-s", "-r", "TEST", "-P", "master")
	cmd := k.command("krb5kdc", "-n")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if log, err := os.ReadFile(k.Path("kdc.log")); err == nil && t.Failed() {
			t.Logf("the KDC's log:\n%s", log)
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if c, err := net.Dial("tcp", at); err == nil {
			c.Close()
			return k
		} else if time.Now().After(end) {
			t.Fatal("the KDC does not listen")
		}
	}
}

// conf returns a krb5.conf for a KDC.
func conf(at, types, more string) string {
	return "[libdefaults]\n default_realm = TEST\n dns_lookup_kdc = false\n dns_canonicalize_hostname = false\n rdns = false\n udp_preference_limit = 1\n permitted_enctypes = " + types + "\n" + more +
		"[realms]\n TEST = {\n  kdc = " + at + "\n }\n"
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
