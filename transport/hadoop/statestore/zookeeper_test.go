package statestore

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rmd/internal/gss"
	"rmd/internal/gss/gsstest"
	"rmd/internal/gss/kdc"
)

// startZooKeeper starts a ZooKeeper that demands a login. RMD_ZOOKEEPER_CLASSPATH has its jars.
// module is the line of JAAS for the server.
func startZooKeeper(t *testing.T, module string, options ...string) string {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := l.Addr().String()
	_ = l.Close()
	_, port, _ := net.SplitHostPort(at) // of a listener
	jaas := write("jaas.conf", "Server {\n "+module+";\n};\n")
	cfg := write("zoo.cfg",
		fmt.Sprintf("dataDir=%s\nclientPortAddress=127.0.0.1\nclientPort=%s\ntickTime=2000\nadmin.enableServer=false\n"+
			"authProvider.1=org.apache.zookeeper.server.auth.SASLAuthenticationProvider\nsessionRequireClientSASLAuth=true\nenforce.auth.enabled=true\nenforce.auth.schemes=sasl\n", dir, port))
	cmd := exec.Command("java", append(append([]string{"-Xmx128m", "-Djava.security.auth.login.config=" + jaas},
		options...),
		"-cp", os.Getenv("RMD_ZOOKEEPER_CLASSPATH"), "org.apache.zookeeper.server.ZooKeeperServerMain", cfg)...)
	var log strings.Builder
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(log.String())
		}
	})
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if c, err := net.Dial("tcp", at); err == nil {
			_ = c.Close()
			return at
		} else if time.Now().After(end) {
			t.Fatal("ZooKeeper does not listen")
		}
	}
}

// TestZooKeeperLogin logs in to a real ZooKeeper. It has no state store, and says so only to who may
// read.
func TestZooKeeperLogin(t *testing.T) {
	if os.Getenv("RMD_ZOOKEEPER_CLASSPATH") == "" {
		t.Skip("RMD_ZOOKEEPER_CLASSPATH does not name the jars of a ZooKeeper")
	}
	try := func(what, at string, login Login, in bool) {
		t.Helper()
		within := time.Minute
		if !in { // the library tries again until the end
			within = 10 * time.Second
		}
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		_, err := Take(ctx, Config{Servers: []string{at}, Parent: "/rmstore", Login: login})
		if got := err != nil && strings.Contains(err.Error(), "there is no /rmstore/"+rootNode); got != in {
			t.Errorf("%s: %v", what, err)
		}
	}
	at := startZooKeeper(t, `org.apache.zookeeper.server.auth.DigestLoginModule required user_rm="secret"`)
	try("DIGEST-MD5", at, DigestMD5("rm", "secret"), true)
	try("a wrong password", at, DigestMD5("rm", "guess"), false)
	try("no login", at, nil, false)

	k := gsstest.StartKDC(t)
	at = startZooKeeper(t,
		`com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true storeKey=true useTicketCache=false keyTab="`+
			k.Keytab("zookeeper/localhost")+`" principal="zookeeper/localhost@TEST"`,
		"-Djava.security.krb5.conf="+k.Path("krb5.conf"))
	keytab := k.Keytab("rm/localhost")
	try("GSSAPI", at, GSSAPI(func(net.Addr) (gss.Ticket, error) {
		l, err := kdc.NewLogin("rm/localhost@TEST", keytab, k.Path("krb5.conf"))
		if err != nil {
			return gss.Ticket{}, err
		}
		return l.Ticket(t.Context(), "zookeeper/localhost")
	}), true)
	try("no ticket", at, nil, false)
}
