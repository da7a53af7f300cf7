package gss_test

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

	"github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/keytab"

	"rmd/internal/gss"
)

// typeNames are the names of the encryption types in MIT's files.
var typeNames = map[int32]string{17: "aes128-cts-hmac-sha1-96", 18: "aes256-cts-hmac-sha1-96", 19: "aes128-cts-hmac-sha256-128", 20: "aes256-cts-hmac-sha384-192"}

const allTypes = "aes256-sha2:normal,aes128-sha2:normal,aes256-cts:normal,aes128-cts:normal"

// kdc is a KDC of MIT in a folder of its own, for the realm TEST.
type kdc struct {
	t   *testing.T
	dir string
}

// startKDC starts a KDC, or skips the test where there is none.
func startKDC(t *testing.T) *kdc {
	t.Helper()
	t.Setenv("PATH", os.Getenv("PATH")+":/usr/sbin:/sbin")
	for _, program := range []string{"krb5kdc", "kdb5_util", "kadmin.local"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("there is no %s: install MIT's KDC (Debian: krb5-kdc and krb5-admin-server)", program)
		}
	}
	k := &kdc{t, t.TempDir()}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := l.Addr().String()
	l.Close()
	k.write("krb5.conf", k.conf(at, 0))
	for etype := range typeNames {
		k.write(fmt.Sprintf("krb5-%d.conf", etype), k.conf(at, etype))
	}
	k.write("kdc.conf", "[realms]\nTEST = {\n kdc_listen = "+at+"\n kdc_tcp_listen = "+at+"\n database_name = "+k.path("principal")+
		"\n key_stash_file = "+k.path("stash")+"\n acl_file = "+k.path("acl")+"\n max_life = 24h\n supported_enctypes = "+strings.ReplaceAll(allTypes, ",", " ")+"\n}\n[logging]\nkdc = FILE:"+k.path("kdc.log")+"\n")
	k.run("kdb5_util", "create", "-s", "-r", "TEST", "-P", "master")
	cmd := k.command("krb5kdc", "-n")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if log, err := os.ReadFile(k.path("kdc.log")); err == nil && t.Failed() {
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

// conf returns a krb5.conf that asks for keys of one type, or of any.
func (k *kdc) conf(at string, etype int32) string {
	types := ""
	if name := typeNames[etype]; name != "" {
		types = " default_tgs_enctypes = " + name + "\n default_tkt_enctypes = " + name + "\n permitted_enctypes = " + name + "\n"
	} else {
		types = " permitted_enctypes = aes256-cts-hmac-sha384-192 aes128-cts-hmac-sha256-128 aes256-cts-hmac-sha1-96 aes128-cts-hmac-sha1-96\n"
	}
	return "[libdefaults]\n default_realm = TEST\n dns_lookup_kdc = false\n udp_preference_limit = 1\n" + types +
		"[realms]\n TEST = {\n  kdc = " + at + "\n }\n"
}

func (k *kdc) path(name string) string { return filepath.Join(k.dir, name) }

func (k *kdc) write(name, text string) {
	k.t.Helper()
	if err := os.WriteFile(k.path(name), []byte(text), 0o600); err != nil {
		k.t.Fatal(err)
	}
}

func (k *kdc) command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), "KRB5_CONFIG="+k.path("krb5.conf"), "KRB5_KDC_PROFILE="+k.path("kdc.conf"))
	return cmd
}

func (k *kdc) run(program string, args ...string) {
	k.t.Helper()
	if out, err := k.command(program, args...).CombinedOutput(); err != nil {
		k.t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
	}
}

// admin runs commands of kadmin.
func (k *kdc) admin(queries ...string) {
	k.t.Helper()
	for _, q := range queries {
		k.run("kadmin.local", "-q", q)
	}
}

// ticket gets a ticket for a service from the KDC, with a session key of one type.
func (k *kdc) ticket(user, service string, etype int32) gss.Ticket {
	k.t.Helper()
	cfg, err := config.Load(k.path(fmt.Sprintf("krb5-%d.conf", etype)))
	if err != nil {
		k.t.Fatal(err)
	}
	keys, err := keytab.Load(k.path(user + ".keytab"))
	if err != nil {
		k.t.Fatal(err)
	}
	cl := client.NewWithKeytab(user, "TEST", keys, cfg, client.DisablePAFXFAST(true))
	defer cl.Destroy()
	if err := cl.Login(); err != nil {
		k.t.Fatal(err)
	}
	ticket, key, err := cl.GetServiceTicket(service)
	if err != nil {
		k.t.Fatal(err)
	}
	return gss.Ticket{Client: gss.Principal{Components: []string{user}, Realm: "TEST"}, Ticket: ticket, Key: key}
}

// TestKDC accepts tickets of a real KDC of each encryption type, and of a key that changes.
func TestKDC(t *testing.T) {
	k := startKDC(t)
	k.admin("addprinc -randkey ann", "ktadd -k "+k.path("ann.keytab")+" -norandkey ann")
	for etype, name := range typeNames {
		service := fmt.Sprintf("rm/e%d", etype)
		file := k.path(fmt.Sprintf("e%d.keytab", etype))
		k.admin("addprinc -randkey -e "+name+":normal "+service, "ktadd -k "+file+" -norandkey "+service)
		now := time.Now()
		a, err := gss.OpenAcceptor(gss.Config{Principal: service + "@TEST", Keytab: file, Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		meet := func() error {
			ticket := k.ticket("ann", service, etype)
			if ticket.Key.KeyType != etype || ticket.Ticket.EncPart.EType != etype {
				t.Errorf("the KDC gives types %d and %d, not %d", ticket.Key.KeyType, ticket.Ticket.EncPart.EType, etype)
			}
			i, token, err := gss.Initiate(ticket, now)
			if err != nil {
				return err
			}
			server, reply, err := a.Accept(token, gss.Peer{})
			if err != nil {
				return err
			}
			c, err := i.Finish(reply)
			if err != nil {
				return err
			}
			if got, _, err := server.Unwrap(c.Wrap(nil, []byte("text"), true)); err != nil || !bytes.Equal(got, []byte("text")) || server.Client != "ann@TEST" {
				return fmt.Errorf("%q of %s, %w", got, server.Client, err)
			}
			return nil
		}
		if err := meet(); err != nil {
			t.Errorf("type %d: %v", etype, err)
		}
		k.admin("change_password -randkey -e " + name + ":normal " + service)
		if err := meet(); err == nil {
			t.Errorf("type %d: a ticket of the new key is accepted before the keytab has it", etype)
		}
		k.admin("ktadd -k " + file + " -norandkey " + service)
		now = now.Add(2 * time.Second)
		if err := meet(); err != nil {
			t.Errorf("type %d, with the new key: %v", etype, err)
		}
	}
}
