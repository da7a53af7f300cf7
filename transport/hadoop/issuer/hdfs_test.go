package issuer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/internal/gss/gsstest"
	"rmd/internal/gss/kdc"
	"rmd/internal/hadoopconf"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/token"
)

// secured is HDFS with two NameNodes behind a KDC, without DataNodes.
type secured struct {
	t    *testing.T
	lib  string
	k    *gsstest.KDC
	conf string    // its folder
	rpc  [2]string // addresses
	web  [2]string
	// ended are closed when the processes end.
	ended []chan struct{}
}

// patience is for machines on which a JVM starts slowly.
const patience = 15 * time.Minute

// startHDFS starts both NameNodes, as standby. protection is hadoop.rpc.protection.
func startHDFS(t *testing.T, protection string) *secured {
	t.Helper()
	lib := os.Getenv("RMD_HADOOP_LIB")
	if lib == "" {
		t.Skip("RMD_HADOOP_LIB does not name a folder with Hadoop's jars")
	}
	h := &secured{t: t, lib: lib, k: gsstest.StartKDC(t), conf: t.TempDir()}
	h.rpc = [2]string{named(closed(t)), named(closed(t))}
	h.web = [2]string{named(closed(t)), named(closed(t))}
	keys, web := h.k.Keytab("nn/localhost"), h.k.Keytab("HTTP/localhost")
	h.file("core-site.xml", map[string]string{
		"fs.defaultFS":                                  "hdfs://ns",
		"hadoop.security.authentication":                "kerberos",
		"hadoop.rpc.protection":                         protection,
		"hadoop.proxyuser.rm.hosts":                     "*",
		"hadoop.proxyuser.rm.groups":                    "*",
		"hadoop.security.token.service.use_ip":          "true",
		"hadoop.http.authentication.type":               "kerberos",
		"hadoop.http.authentication.kerberos.principal": "HTTP/_HOST@TEST",
		"hadoop.http.authentication.kerberos.keytab":    web,
	})
	h.file("hdfs-site.xml", map[string]string{
		"dfs.nameservices":                             "ns",
		"dfs.ha.namenodes.ns":                          "a,b",
		"dfs.namenode.rpc-address.ns.a":                h.rpc[0],
		"dfs.namenode.rpc-address.ns.b":                h.rpc[1],
		"dfs.namenode.http-address.ns.a":               h.web[0],
		"dfs.namenode.http-address.ns.b":               h.web[1],
		"dfs.client.failover.proxy.provider.ns":        "org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider",
		"dfs.namenode.shared.edits.dir":                "file://" + h.path("shared"),
		"dfs.ha.fencing.methods":                       "shell(/bin/true)",
		"dfs.namenode.kerberos.principal":              "nn/_HOST@TEST",
		"dfs.namenode.keytab.file":                     keys,
		"dfs.web.authentication.kerberos.principal":    "HTTP/_HOST@TEST",
		"dfs.web.authentication.kerberos.keytab":       web,
		"dfs.block.access.token.enable":                "true",
		"dfs.namenode.delegation.token.renew-interval": "60000",
		"dfs.namenode.delegation.token.max-lifetime":   "300000",
		"dfs.namenode.delegation.token.always-use":     "false",
		"dfs.ha.automatic-failover.enabled":            "false",
		"dfs.ha.tail-edits.period":                     "1s",
	})
	const log4j = "log4j.rootLogger=INFO, A\nlog4j.appender.A=org.apache.log4j.ConsoleAppender\nlog4j.appender.A.layout=org.apache.log4j.PatternLayout\nlog4j.appender.A.layout.ConversionPattern=%d %p %c: %m%n\n"
	if err := os.WriteFile(h.path("log4j.properties"), []byte(log4j), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"hdfs", "static"} { // Maven's jars have no pages
		if err := os.MkdirAll(h.path("webapps/"+folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	const nameNode = "org.apache.hadoop.hdfs.server.namenode.NameNode"
	h.run(nameNode, append(h.identity("a"), "-format", "-force", "-nonInteractive")...)
	if err := os.CopyFS(h.path("name-b"), os.DirFS(h.path("name-a"))); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"a", "b"} {
		log, err := os.Create(h.path(id + ".log"))
		if err != nil {
			t.Fatal(err)
		}
		cmd := h.java(nameNode, h.identity(id)...)
		cmd.Stdout, cmd.Stderr = log, log
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		h.ended = append(h.ended, ended)
		go func() {
			_ = cmd.Wait() // the log says why
			close(ended)
		}()
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			<-ended
			_ = log.Close()
			if text, err := os.ReadFile(log.Name()); err == nil && t.Failed() {
				t.Logf("NameNode %s:\n%s", id, text[max(0, len(text)-6000):])
			}
		})
	}
	for i, at := range h.rpc {
		for end := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
			if c, err := net.Dial("tcp", at); err == nil {
				c.Close()
				break
			}
			select {
			case <-h.ended[i]:
				t.Fatalf("the NameNode of %s has ended", at)
			default:
			}
			if time.Now().After(end) {
				t.Fatalf("no NameNode listens at %s", at)
			}
		}
	}
	return h
}

// named returns an address by the name of this machine in the realm's principals.
func named(address string) string { return strings.Replace(address, "127.0.0.1", "localhost", 1) }

func (h *secured) path(name string) string { return filepath.Join(h.conf, name) }

func (h *secured) file(name string, properties map[string]string) {
	h.t.Helper()
	var b strings.Builder
	b.WriteString("<configuration>")
	for k, v := range properties {
		fmt.Fprintf(&b, "<property><name>%s</name><value>%s</value></property>\n", k, v)
	}
	b.WriteString("</configuration>")
	if err := os.WriteFile(h.path(name), []byte(b.String()), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// identity says which NameNode a process is.
func (h *secured) identity(id string) []string {
	return []string{"-Ddfs.ha.namenode.id=" + id, "-Ddfs.namenode.name.dir=file://" + h.path("name-"+id)}
}

func (h *secured) java(main string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(h.t.Context(), "java",
		append([]string{"-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.net.preferIPv4Stack=true",
			"-Djava.security.krb5.conf=" + h.k.Path("krb5.conf"), "-Dhadoop.log.dir=" + h.conf,
			"--add-opens=java.base/java.lang=ALL-UNNAMED",
			"-cp", h.conf + ":" + filepath.Join(h.lib, "*"), main}, args...)...)
	return cmd
}

func (h *secured) run(main string, args ...string) {
	h.t.Helper()
	if out, err := h.java(main, args...).CombinedOutput(); err != nil {
		h.t.Fatalf("%s %v: %v\n%s", main, args, err, out)
	}
}

// transition makes a NameNode active or standby.
func (h *secured) transition(server, method string) {
	h.t.Helper()
	s := h.services("nn/localhost", ipc.Privacy)
	r := &rpc{s: s, conf: conf{own: s.cfg.Conf}, protocol: "org.apache.hadoop.ha.HAServiceProtocol", key: keyNameNode,
		servers: []string{server}}
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	defer cancel()
	info := &proto.HAStateChangeRequestInfoProto{ReqSource: proto.HARequestSource_REQUEST_BY_USER.Enum()}
	if err := r.call(ctx, "", method, &proto.TransitionToActiveRequestProto{ReqInfo: info},
		new(proto.TransitionToActiveResponseProto)); err != nil {
		h.t.Fatal(err)
	}
}

// services opens the product with a login of its own.
func (h *secured) services(principal string, protection ipc.Protection) *Services {
	h.t.Helper()
	conf, err := hadoopconf.ReadDir(h.conf, Files...)
	if err != nil {
		h.t.Fatal(err)
	}
	login, err := kdc.NewLogin(principal, h.k.Keytab(principal), h.k.Path("krb5.conf"))
	if err != nil {
		h.t.Fatal(err)
	}
	s, err := Open(Config{Logger: hclog.NewNullLogger(), Conf: conf, Login: login, Protection: protection})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = s.Close() })
	return s
}

// TestWithHDFS fetches, renews and cancels tokens of a secured HDFS with two NameNodes, over both of
// its protocols and across a failover. It needs a JDK, a KDC, and the folder of Hadoop's jars in
// RMD_HADOOP_LIB.
func TestWithHDFS(t *testing.T) {
	h := startHDFS(t, "privacy")
	s, stranger := h.services("rm/localhost", ipc.Privacy), h.services("other/localhost", ipc.Privacy)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()

	_, err := s.Fetch(ctx, "ann")
	clean(t, err, "StandbyException")
	h.transition(h.rpc[1], "transitionToActive")
	got, err := s.Fetch(ctx, "ann")
	if err != nil {
		t.Fatal(err)
	}
	tok := got[0]
	id, err := tok.Identify()
	if err != nil || id.Owner != "ann" || id.Renewer != "rm" || id.RealUser != "rm/localhost@TEST" ||
		id.MaxMillis-id.IssuedMillis != 300_000 || tok.Alias != "ha-hdfs:ns" {
		t.Errorf("the token is %s of %+v, %v", tok.Alias, id, err)
	}
	renew := func(s *Services, tok token.Token) error {
		t.Helper()
		end, err := s.Renew(ctx, tok, nil)
		if left := time.Until(end); err == nil && (left < 0 || left > 61*time.Second) {
			t.Errorf("the token is renewed for %v", left)
		}
		return err
	}
	web := tok
	web.Kind = kindWebHDFS
	for _, service := range []string{"ha-webhdfs:ns", strings.Replace(h.web[1], "localhost", "127.0.0.1", 1)} {
		web.Service = service
		if err := renew(s, web); err != nil {
			t.Errorf("WebHDFS by %s: %v", service, err)
		}
	}
	for _, one := range []token.Token{tok, web} {
		if err := renew(s, one); err != nil {
			t.Errorf("%s: %v", one.Kind, err)
		}
		if err := renew(stranger, one); !errors.Is(err, ErrNotRenewer) {
			t.Errorf("%s: another than the renewer: %v", one.Kind, err)
		}
		forged := one
		forged.Password = []byte("a password that is long")
		if err := renew(s, forged); !errors.Is(err, ErrNotRenewer) {
			t.Errorf("%s: a wrong password: %v", one.Kind, err)
		}
	}
	if _, err := stranger.Fetch(ctx, "ann"); err == nil ||
		!strings.Contains(err.Error(), "is not allowed to impersonate ann") {
		t.Errorf("without the rights of a proxy: %v", err)
	}

	h.transition(h.rpc[1], "transitionToStandby")
	if err := renew(s, tok); err == nil || errors.Is(err, ErrInvalidToken) || errors.Is(err, ErrNotRenewer) {
		t.Errorf("while both are standby: %v", err)
	}
	h.transition(h.rpc[0], "transitionToActive")
	if err := renew(s, tok); err != nil {
		t.Errorf("after a failover: %v", err)
	}
	if err := stranger.Cancel(ctx, tok, nil); !errors.Is(err, ErrNotRenewer) {
		t.Errorf("another cancels: %v", err)
	}
	for range 2 {
		if err := s.Cancel(ctx, tok, nil); err != nil {
			t.Errorf("cancel: %v", err)
		}
	}
	web.Service = "ha-webhdfs:ns"
	if err := s.Cancel(ctx, web, nil); err != nil {
		t.Errorf("cancel by WebHDFS: %v", err)
	}
	for _, one := range []token.Token{tok, web} {
		if err := renew(s, one); !errors.Is(err, ErrInvalidToken) {
			t.Errorf("%s: after its cancellation: %v", one.Kind, err)
		}
	}
}
