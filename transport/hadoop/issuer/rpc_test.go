package issuer

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/token"
)

var (
	errStandby = ipc.Standby("Operation category WRITE is not supported in state standby")
	errInvalid = ipc.InvalidToken(
		"Renewal request for unknown token (token for ann: HDFS_DELEGATION_TOKEN)\n\tat org.apache.hadoop")
	errDenied = ipc.Denied("rm tries to renew a token (token for ann) with non-matching renewer oozie")
)

func ha(first, second string) map[string]string {
	return map[string]string{
		"fs.defaultFS":                          "hdfs://ns",
		"dfs.nameservices":                      "other, ns",
		"dfs.ha.namenodes.ns":                   "a,b",
		"dfs.namenode.rpc-address.ns.a":         first,
		"dfs.namenode.rpc-address.ns.b":         second,
		"dfs.namenode.rpc-address.other":        first,
		"dfs.namenode.kerberos.principal":       "nn/_HOST@TEST",
		"hadoop.security.authentication":        "kerberos",
		"yarn.resourcemanager.principal":        testPrincipal,
		"dfs.client.failover.proxy.provider.ns": "org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider",
	}
}

// TestStandbyFirst asks the next NameNode if one is standby or cannot be reached, and begins with
// the one that answered last.
func TestStandbyFirst(t *testing.T) {
	w := newWorld(t)
	a, b := w.nameNode(), w.nameNode()
	a.set(errStandby)
	s := w.services(ha(a.addr(), b.addr()))
	ctx := context.Background()
	for i, want := range []string{"renew rm  id", ""} {
		end, err := s.Renew(ctx, hdfs("ha-hdfs:ns"), nil)
		if err != nil || !end.Equal(testEnd) {
			t.Fatalf("renewed until %v, %v", end, err)
		}
		if got := a.take(); got != want {
			t.Errorf("call %d: the standby got %q, want %q", i, got, want)
		}
		if got := b.take(); got != "renew rm  id" {
			t.Errorf("call %d: the active got %q", i, got)
		}
	}
	a.set(nil)
	b.set(errStandby)
	if err := s.Cancel(ctx, hdfs("ha-hdfs:ns"), nil); err != nil || a.take() != "cancel rm  id" {
		t.Errorf("after a failover: %v", err)
	}
	a.set(errStandby)
	_, err := s.Renew(ctx, hdfs("ha-hdfs:ns"), nil)
	clean(t, err, "StandbyException")
	if errors.Is(err, ErrInvalidToken) || errors.Is(err, ErrNotRenewer) {
		t.Errorf("two standby NameNodes are taken as final: %v", err)
	}

	gone := w.services(ha(closed(t), b.addr()))
	b.set(nil)
	if _, err := gone.Renew(ctx, hdfs("ha-hdfs:ns"), nil); err != nil {
		t.Errorf("with one NameNode gone: %v", err)
	}
}

// TestPrepare gets the tickets for all servers of a token, and calls none.
func TestPrepare(t *testing.T) {
	w := newWorld(t)
	a, b := w.nameNode(), w.nameNode()
	a.set(errStandby)
	s := w.services(ha(a.addr(), b.addr()))
	ctx := context.Background()
	if err := s.Prepare(ctx, hdfs("ha-hdfs:ns"), nil); err != nil {
		t.Fatal(err)
	}
	web := hdfs(a.addr())
	web.Kind = kindWebHDFS
	w.key("HTTP/localhost")
	if err := s.Prepare(ctx, web, nil); err != nil {
		t.Fatal(err)
	}
	if want := []string{"nn/localhost", "nn/localhost", "HTTP/localhost"}; !slices.Equal(w.asked, want) ||
		a.take()+b.take() != "" {
		t.Errorf("tickets for %v, want %v", w.asked, want)
	}
	clean(t, w.services(ha(closed(t), b.addr())).Prepare(ctx, hdfs("ha-hdfs:ns"), nil), "connection refused")
	if len(w.asked) != 4 {
		t.Errorf("one NameNode is gone, and no ticket for the other is got: %v", w.asked)
	}
	clean(t, s.Prepare(ctx, hdfs("nowhere"), nil), "no address")
}

// TestFinal tells the two final answers from all others.
func TestFinal(t *testing.T) {
	w := newWorld(t)
	nn := w.nameNode()
	s := w.services(ha(nn.addr(), closed(t)))
	for _, c := range []struct {
		name     string
		fail     error
		final    error
		contains string
	}{
		{"invalid", errInvalid, ErrInvalidToken, "unknown token"},
		{"denied", errDenied, ErrNotRenewer, "non-matching renewer oozie"},
		{"safe mode", &ipc.Error{Class: "org.apache.hadoop.hdfs.server.namenode.SafeModeException",
			Message: "Cannot renew delegation token"}, nil, "SafeMode"},
		{"starting", &ipc.Error{Class: "org.apache.hadoop.ipc.RetriableException", Message: "NameNode still not started"},
			nil, "still not started"},
		{"the connection", &ipc.Error{Class: ipc.ClassAccessControl, Message: "not this", Fatal: true}, nil, "not this"},
		{"the protocol", &ipc.Error{Class: ipc.ClassAuthorization, Message: "User rm is not authorized for protocol"}, nil,
			"not authorized"},
	} {
		t.Run(c.name, func(t *testing.T) {
			nn.set(c.fail)
			_, err := s.Renew(context.Background(), hdfs("ha-hdfs:ns"), nil)
			clean(t, err, c.contains)
			for _, final := range []error{ErrInvalidToken, ErrNotRenewer} {
				if errors.Is(err, final) != (c.final == final) {
					t.Errorf("the error is %q: %v", final, err)
				}
			}
			if strings.Contains(err.Error(), "at org.apache") {
				t.Errorf("the error has a stack trace: %v", err)
			}
			if err := s.Cancel(context.Background(), hdfs("ha-hdfs:ns"), nil); (err == nil) != (c.final == ErrInvalidToken) {
				t.Errorf("cancel: %v", err)
			}
		})
	}
}

// TestForeign finds name services that only the application knows.
func TestForeign(t *testing.T) {
	w := newWorld(t)
	own, far := w.nameNode(), w.nameNode()
	s := w.services(ha(own.addr(), own.addr()))
	ctx := context.Background()
	_, err := s.Renew(ctx, hdfs("ha-hdfs:far"), nil)
	clean(t, err,
		"Unable to map logical nameservice URI 'hdfs://far' to a NameNode. Local configuration does not have a failover proxy provider configured.")
	app := tokensConf(map[string]string{
		"dfs.nameservices": "far", "dfs.ha.namenodes.far": "x", "dfs.namenode.rpc-address.far.x": far.addr(),
		"hadoop.rpc.protection": "privacy",
	})
	if _, err := s.Renew(ctx, hdfs("ha-hdfs:far"), app); err != nil || far.take() == "" {
		t.Errorf("with tokens_conf: %v", err)
	}
	for _, service := range []string{"ha-hdfs:ns", "ha-hdfs:other", own.addr()} {
		if _, err := s.Renew(ctx, hdfs(service), app); err != nil || own.take() == "" {
			t.Errorf("%s of this cluster with tokens_conf: %v", service, err)
		}
	}
	c,
		err := overlay(s.cfg.Conf, tokensConf(map[string]string{"yarn.http.policy": "HTTPS_ONLY", "dfs.nameservices": "far"}))
	if err != nil || c.value("yarn.http.policy", "own") != "own" || c.value("dfs.nameservices", "") != "far" {
		t.Errorf("an application decides about more than HDFS, %v", err)
	}
	_, err = s.Renew(ctx, hdfs("ha-hdfs:ns"), app[:len(app)-1])
	clean(t, err, "tokens_conf ends inside a value")
	for _, service := range []string{"", "ns", "host:"} {
		_, err = s.Renew(ctx, hdfs(service), nil)
		clean(t, err, "is no address host:port")
	}
}

// tokensConf encodes properties as Hadoop's Configuration does, with the files that they are from.
func tokensConf(properties map[string]string) []byte {
	text := func(b []byte, s string) []byte { return append(append(b, byte(len(s))), s...) }
	b := []byte{byte(len(properties))}
	for k, v := range properties {
		b = text(text(b, k), v)
		b = append(b, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 255, 255, 255, 255)
	}
	return b
}

// TestWrongServer refuses a server that calls itself as the configuration does not expect it.
func TestWrongServer(t *testing.T) {
	w := newWorld(t)
	nn, evil := w.nameNode(), w.serve("evil/localhost", protocolNameNode, ipc.Authentication)
	remote := w.serve("nn/elsewhere", protocolNameNode, ipc.Authentication)
	ctx := context.Background()
	for _, c := range []struct {
		server             *server
		principal, pattern string
		want               string
	}{
		{nn, "nn/_HOST@TEST", "", ""},
		{nn, "nn/localhost@TEST", "", ""},
		{nn, "", "nn/*@TEST", ""},
		{nn, "x", "{hdfs,nn}/loc?lhos[s-u]@*", ""},
		{remote, "nn/elsewhere@TEST", "", ""},
		{evil, "nn/_HOST@TEST", "",
			"Server has invalid Kerberos principal: evil/localhost@TEST, expecting: nn/localhost@TEST"},
		{remote, "nn/_HOST@TEST", "",
			"Server has invalid Kerberos principal: nn/elsewhere@TEST, expecting: nn/127.0.0.1@TEST"},
		{nn, "nn/_HOST@OTHER", "", "expecting: nn/localhost@OTHER"},
		{nn, "", "", "Failed to specify server's Kerberos principal name"},
		{evil, "", "nn/*", "doesn't match the pattern: nn/*"},
		{nn, "", "nn/[", "doesn't match the pattern"},
	} {
		s := w.services(map[string]string{"dfs.namenode.kerberos.principal": c.principal,
			"dfs.namenode.kerberos.principal.pattern": c.pattern})
		_, err := s.Renew(ctx, hdfs(c.server.addr()), nil)
		if c.want == "" {
			if err != nil || c.server.take() == "" {
				t.Errorf("%+v: %v", c, err)
			}
			continue
		}
		clean(t, err, c.want)
		if got := c.server.take(); got != "" {
			t.Errorf("the token is sent to a server that is not trusted: %s", got)
		}
	}
}

// TestFetchToken gets a token as the proxy of a user.
func TestFetchToken(t *testing.T) {
	w := newWorld(t)
	nn := w.nameNode()
	ctx := context.Background()
	properties := ha(closed(t), nn.addr())
	for fs, alias := range map[string]string{"hdfs://ns": "ha-hdfs:ns", "hdfs://" + nn.addr() + "/": nn.addr()} {
		properties["fs.defaultFS"] = fs
		got, err := w.services(properties).Fetch(ctx, "ann")
		if err != nil || len(got) != 1 {
			t.Fatal(got, err)
		}
		if g := got[0]; g.Alias != alias || g.Service != alias || g.Kind != kindHDFS || string(g.Identifier) != "new" ||
			string(g.Password) != "secret" {
			t.Errorf("%s: the token is %+v", fs, g)
		}
		if got := nn.take(); got != "get ann rm "+testPrincipal {
			t.Errorf("the NameNode got %q", got)
		}
	}
	s := w.services(properties)
	_, err := s.Fetch(ctx, "root")
	clean(t, err, "is not allowed to impersonate root")
	properties["fs.defaultFS"] = "viewfs://cluster"
	_, err = w.services(properties).Fetch(ctx, "ann")
	clean(t, err, `fs.defaultFS is "viewfs://cluster"`)
}

// TestProtectionOfServices takes the protection that the site demands.
func TestProtectionOfServices(t *testing.T) {
	w := newWorld(t)
	for _, p := range []ipc.Protection{ipc.Authentication, ipc.Integrity, ipc.Privacy} {
		nn := w.serve("nn/localhost", protocolNameNode, p)
		for _, own := range []ipc.Protection{ipc.Authentication, ipc.Integrity, ipc.Privacy} {
			s := w.services(ha(nn.addr(), nn.addr()), func(c *Config) { c.Protection = own })
			_, err := s.Renew(context.Background(), hdfs("ha-hdfs:ns"), nil)
			if (err == nil) != (p == own) {
				t.Errorf("%s here and %s there: %v", own, p, err)
			}
		}
	}
}

// TestHistory renews tokens of MapReduce's history server.
func TestHistory(t *testing.T) {
	w := newWorld(t)
	hs := w.serve("jhs/localhost", protocolHistory, ipc.Authentication)
	s := w.services(map[string]string{"mapreduce.jobhistory.principal": "jhs/_HOST@TEST"})
	tok := hdfs(hs.addr())
	tok.Kind = kindHistory
	if end, err := s.Renew(context.Background(), tok, nil); err != nil || !end.Equal(testEnd) {
		t.Errorf("renewed until %v, %v", end, err)
	}
	if err := s.Cancel(context.Background(), tok, nil); err != nil {
		t.Error(err)
	}
	if got := hs.take(); got != "renew rm  id; cancel rm  id" {
		t.Errorf("the server got %q", got)
	}
}

// TestSilent leaves the second NameNode its share of the time while the first one says nothing.
func TestSilent(t *testing.T) {
	w := newWorld(t)
	nn, now := w.nameNode(), time.Now().Round(0)
	synctest.Test(t, func(t *testing.T) { // time stands still while the second one is talked to
		time.Sleep(time.Until(now)) // Kerberos compares the clocks
		const silent = "127.0.0.1:1"
		s := w.services(ha(silent, nn.addr()), func(c *Config) {
			c.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
				if address != silent {
					return new(net.Dialer).DialContext(ctx, network, address)
				}
				here, there := net.Pipe()
				go func() { _, _ = io.Copy(io.Discard, there) }()
				return here, nil
			}
		})
		defer s.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		begun := time.Now()
		if _, err := s.Renew(ctx, hdfs("ha-hdfs:ns"), nil); err != nil {
			t.Error(err)
		}
		if took := time.Since(begun); took != 5*time.Second {
			t.Errorf("the first server had %s of 10 s", took)
		}
	})
}

// TestNewKey forgets the ticket for a server whose key has changed.
func TestNewKey(t *testing.T) {
	w := newWorld(t)
	nn := w.nameNode()
	w.mu.Lock()
	delete(w.keys, "nn/localhost")
	w.mu.Unlock()
	w.key("nn/localhost")
	s := w.services(ha(nn.addr(), nn.addr()))
	_, err := s.Renew(context.Background(), hdfs("ha-hdfs:ns"), nil)
	clean(t, err, "")
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.forgotten) == 0 || w.forgotten[0] != "nn/localhost" {
		t.Errorf("forgotten are %v", w.forgotten)
	}
}

// TestKinds has the kinds and their identifiers.
func TestKinds(t *testing.T) {
	for kind, want := range map[string]bool{kindHDFS: true, kindWebHDFS: true, kindSWebHDFS: true, kindKMS: true,
		token.KindTimeline: true, kindHistory: true,
		token.KindDelegation: true, "HBASE_AUTH_TOKEN": false, "OzoneToken": false, "YARN_AM_RM_TOKEN": false, "": false} {
		if Managed(kind) != want {
			t.Errorf("Managed(%q) is not %t", kind, want)
		}
	}
	want := token.Delegation{Owner: "ann", Renewer: "rm", RealUser: "oozie", IssuedMillis: 1, MaxMillis: 1_900_000_000_000,
		Sequence: 7, KeyID: 3}
	writable := []byte("\x00\x03ann\x02rm\x05oozie\x01\x8a\x01\xba\x60\xd3\x38\x00\x07\x03")
	for kind, id := range map[string][]byte{kindHDFS: writable, kindKMS: writable, token.KindTimeline: want.Bytes()} {
		if got, err := (token.Token{Kind: kind, Identifier: id}).Identify(); err != nil || got != want {
			t.Errorf("%s: %+v, %v", kind, got, err)
		}
		for i := range id {
			_, _ = token.Token{Kind: kind, Identifier: id[:i]}.Identify() // must not panic
		}
	}
	for _, bad := range [][]byte{nil, {1}, writable[:10]} {
		if _, err := (token.Token{Kind: kindHDFS, Identifier: bad}).Identify(); !errors.Is(err, token.ErrMalformed) {
			t.Errorf("%x: %v", bad, err)
		}
	}
	w := newWorld(t)
	_, err := w.services(nil).Renew(context.Background(), token.Token{Kind: "HBASE_AUTH_TOKEN"}, nil)
	clean(t, err, "no service is known for the kind")
}

// TestApplicationNamesServer refuses a server that calls itself another host because an application's
// tokens_conf allows it. Otherwise any user could have this ResourceManager log in at a server of the
// user's, which passes the login on to the service that it has named.
func TestApplicationNamesServer(t *testing.T) {
	w := newWorld(t)
	here, relay := w.serve("far/localhost", protocolNameNode, ipc.Authentication),
		w.serve("nn/elsewhere", protocolNameNode, ipc.Authentication)
	s := w.services(map[string]string{keyNameNode: "nn/_HOST@TEST"})
	for _, c := range []struct {
		server *server
		conf   map[string]string
		want   string
	}{
		{here, map[string]string{keyNameNode: "far/_HOST@TEST"}, ""},
		{here, map[string]string{keyNameNode: "far/localhost@TEST"}, ""},
		{here, map[string]string{keyNameNode + ".pattern": "*"}, ""},
		{relay, nil, "expecting: nn/127.0.0.1@TEST"},
		{relay, map[string]string{keyNameNode: "nn/elsewhere@TEST"}, "is not a name of 127.0.0.1"},
		{relay, map[string]string{keyNameNode + ".pattern": "*"}, "is not a name of 127.0.0.1"},
		{relay, map[string]string{keyNameNode: "nn/_HOST@TEST", keyNameNode + ".pattern": "nn/*"},
			"is not a name of 127.0.0.1"},
	} {
		_, err := s.Renew(context.Background(), hdfs(c.server.addr()), tokensConf(c.conf))
		got := c.server.take()
		if c.want == "" {
			if err != nil || got == "" {
				t.Errorf("%v: %v", c.conf, err)
			}
			continue
		}
		clean(t, err, c.want)
		if got != "" {
			t.Errorf("%v: the token is sent to %s", c.conf, got)
		}
	}
}
