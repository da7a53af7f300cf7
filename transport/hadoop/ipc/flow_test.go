package ipc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"rmd/transport/hadoop/proto"
)

func TestEveryWayToAuthenticate(t *testing.T) {
	token := &Token{[]byte(testToken), testPassword}
	for _, c := range []struct {
		name string
		auth Auth
		to   Target
		want Caller // if err is empty
		err  string
	}{
		{"none", AuthSimple, Target{User: "alice"}, Caller{User: "alice", Kind: KindSimple}, ""},
		{"none at a port with tokens", AuthTokenSimple, Target{User: "alice"}, Caller{User: "alice", Kind: KindSimple}, ""},
		{"none at a port with tokens alone", AuthToken, Target{User: "alice"}, Caller{},
			ClassAccessControl + ": SIMPLE authentication is not enabled.  Available:[TOKEN]"},
		{"sasl", AuthSimple, Target{User: "alice", Sasl: true}, Caller{User: "alice", Kind: KindSimple}, ""},
		{"sasl to simple", AuthTokenSimple, Target{User: "alice", Sasl: true}, Caller{User: "alice", Kind: KindSimple}, ""},
		{"sasl without token", AuthToken, Target{User: "alice", Sasl: true}, Caller{}, "does not offer SIMPLE"},
		{"token", AuthToken, Target{Token: token}, Caller{User: testUser, Kind: KindToken, Identifier: token.Identifier}, ""},
		{"token before simple", AuthTokenSimple, Target{Token: token, User: "alice"},
			Caller{User: testUser, Kind: KindToken, Identifier: token.Identifier}, ""},
		{"token at a simple port", AuthSimple, Target{Token: token}, Caller{}, "takes no tokens"},
		{"wrong password", AuthToken, Target{Token: &Token{[]byte(testToken), []byte("guess")}}, Caller{},
			ClassSasl + ": DIGEST-MD5: digest does not match"},
		{"unknown token", AuthToken, Target{Token: &Token{[]byte("else"), testPassword}}, Caller{},
			ClassInvalidToken + ": the token is not known"},
		{"no leader", AuthToken, Target{Token: &Token{[]byte("standby"), testPassword}}, Caller{},
			ClassStandby + ": no leader"},
		{"translated", AuthToken, Target{Token: &Token{[]byte("coded"), testPassword}}, Caller{},
			ClassStandby + ": busy: too many calls wait"},
		{"any other error is no reason to give up", AuthToken, Target{Token: &Token{[]byte("broken"), testPassword}},
			Caller{}, ClassStandby + ": disk on fire"},
		{"for another", AuthSimple, Target{User: "alice", RealUser: "oozie"},
			Caller{User: "alice", RealUser: "oozie", Kind: KindSimple}, ""},
		{"for oneself", AuthSimple, Target{User: "alice", RealUser: "alice"}, Caller{User: "alice", Kind: KindSimple}, ""},
		{"for another without leave", AuthSimple, Target{User: "alice", RealUser: "mallory"}, Caller{},
			ClassAuthorization + ": mallory may not act for alice"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := &testMethods{}
			s := openServer(t, d, func(cfg *Config) { cfg.Auth = c.auth })
			c.to.Address, c.to.Protocol = s.Addr().String(), testProtocol
			got, err := echo(t.Context(), openClient(t), c.to, "root.a")
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("got %v, want %s", err, c.err)
				}
				return
			}
			if err != nil || got != "root.a" {
				t.Fatalf("got %q, %v", got, err)
			}
			who := d.last().Caller
			if who.User != c.want.User || who.RealUser != c.want.RealUser || who.Kind != c.want.Kind ||
				string(who.Identifier) != string(c.want.Identifier) {
				t.Errorf("caller %+v, want %+v", who, c.want)
			}
			if !who.Address.Addr().IsLoopback() || who.Address.Port() == 0 {
				t.Errorf("address %v", who.Address)
			}
		})
	}
}

func TestErrorsOfHandlers(t *testing.T) {
	d := &testMethods{}
	s := openServer(t, d)
	cl := openClient(t)
	for name, want := range map[string]RemoteError{
		"plain": {Class: ClassYarn, Message: "a plain error", Detail: 1},
		"coded": {Class: ClassStandby, Message: "busy: wrapped: too many calls wait", Detail: 1},
		"class": {Class: "org.example.Refusal", Message: "not today", Detail: 1},
		"panic": {Class: ClassYarn, Message: "internal error in echo", Detail: 1},
	} {
		for _, method := range []string{"echo", "echoInline"} {
			err := cl.Call(t.Context(), target(s), method, ask(name), &proto.GetQueueInfoResponseProto{})
			want := want
			want.Message = strings.Replace(want.Message, "in echo", "in "+method, 1)
			var got *RemoteError
			if !errors.As(err, &got) || *got != want {
				t.Errorf("%s of %s: got %+v, %v, want %+v", method, name, got, err, want)
			}
		}
	}
	if n := s.Stats().Accepted; n != 1 {
		t.Errorf("%d connections: an error of a call ends it alone", n)
	}
	for _, c := range []struct {
		protocol, method string
		version          uint64
		want             RemoteError
	}{
		{"org.example.None", "echo", 1, RemoteError{Class: ClassNoSuchProtocol,
			Message: "Unknown protocol: org.example.None", Detail: 3}},
		{testProtocol, "none", 1, RemoteError{Class: ClassNoSuchMethod,
			Message: "Unknown method none called on " + testProtocol + " protocol.", Detail: 2}},
		{testProtocol, "echo", 2, RemoteError{Class: ClassVersion,
			Message: testProtocol + " is served in version 1, not in 2", Detail: 6}},
		{testProtocol, "incomplete", 1, RemoteError{Class: ClassServer, Detail: 5}},
	} {
		to := target(s)
		to.Protocol, to.Version = c.protocol, c.version
		var got *RemoteError
		err := cl.Call(t.Context(), to, c.method, ask("x"), &proto.GetQueueInfoResponseProto{})
		if errors.As(err, &got) && c.want.Message == "" {
			got.Message = ""
		}
		if got == nil || *got != c.want {
			t.Errorf("got %v, want %v", err, &c.want)
		}
	}
}

func TestFatalErrorOfAHandlerArrives(t *testing.T) {
	for _, method := range []string{"echo", "echoInline"} {
		s := openServer(t, &testMethods{})
		b := dialBare(t, s)
		b.send(hello("alice"), call(1, method, "fatal"))
		b.wantError(1, proto.RpcResponseHeaderProto_FATAL, "org.example.Refusal", 10)
		b.wantEnd()
	}
}

func TestSeveralProtocolsOverOneConnection(t *testing.T) {
	d := &testMethods{}
	s := openServer(t, d)
	cl := openClient(t)
	if _, err := echo(t.Context(), cl, target(s), "a"); err != nil {
		t.Fatal(err)
	}
	first := d.last()
	to := target(s)
	to.Protocol, to.Version = "org.example.Other", 3
	if _, err := echo(t.Context(), cl, to, "b"); err != nil {
		t.Fatal(err)
	}
	second := d.last()
	if first.Conn != second.Conn || first.Conn.ID() != second.Conn.ID() || second.Protocol != "org.example.Other" {
		t.Errorf("%+v and %+v", first, second)
	}
	if first.ClientID != cl.id || second.ID <= first.ID {
		t.Errorf("call ids %d and %d of %q", first.ID, second.ID, first.ClientID)
	}
	to.User = "bob"
	if _, err := echo(t.Context(), cl, to, "c"); err != nil {
		t.Fatal(err)
	}
	if third := d.last(); third.Conn.ID() == first.Conn.ID() || third.Caller.User != "bob" {
		t.Errorf("another user shares the connection: %+v", third.Caller)
	}
}

func TestConnectionKeepsValues(t *testing.T) {
	d := &testMethods{}
	s := openServer(t, d)
	if _, err := echo(t.Context(), openClient(t), target(s), "a"); err != nil {
		t.Fatal(err)
	}
	c := d.last().Conn
	type key struct{}
	if c.Value(key{}) != nil {
		t.Error("a value before any was stored")
	}
	c.SetValue(key{}, 7)
	if c.Value(key{}) != 7 {
		t.Error("the value is gone")
	}
	c.SetValue(key{}, nil)
	if c.Value(key{}) != nil {
		t.Error("the value is still there")
	}
}

// TestBlockedCallsHoldUpNoOther checks that a waiting call does not delay other calls of its
// connection, inline or not.
func TestBlockedCallsHoldUpNoOther(t *testing.T) {
	for _, method := range []string{"echo", "echoInline"} {
		t.Run(method, func(t *testing.T) {
			d := &testMethods{}
			release := d.block("slow")
			defer release()
			s := openServer(t, d)
			b := dialBare(t, s)
			b.send(hello("alice"), call(1, method, "slow"), call(2, method, "slow"), call(3, method, "x"), call(4, method, "y"))
			got := map[uint32]bool{}
			for range 2 {
				h, _ := b.frame()
				got[h.GetCallId()] = true
			}
			if !got[3] || !got[4] {
				t.Fatalf("answered %v", got)
			}
			b.send(call(5, method, "z"))
			if h, _ := b.frame(); h.GetCallId() != 5 {
				t.Fatalf("answered %d", h.GetCallId())
			}
			release()
			for range 2 {
				h, _ := b.frame()
				got[h.GetCallId()] = true
			}
			if !got[1] || !got[2] {
				t.Errorf("answered %v", got)
			}
		})
	}
}

// TestDetachKeepsTheFrame checks that the frame of a detached handler does not change when another
// goroutine continues to read.
func TestDetachKeepsTheFrame(t *testing.T) {
	s := openServer(t, &testMethods{})
	cc, err := openClient(t).Connect(t.Context(), target(s))
	if err != nil {
		t.Fatal(err)
	}
	defer cc.Close()
	var wg sync.WaitGroup
	for i := range 2000 {
		req := []byte(strings.Repeat(string(rune('d'+i%3)), 1+(i*7919)%40000))
		wg.Add(1)
		err := cc.Go(t.Context(), "bytesInline", req, func(reply []byte, err error) {
			defer wg.Done()
			if err != nil || string(reply) != string(req) {
				t.Errorf("call %d: %d bytes, %v, want %d", i, len(reply), err, len(req))
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	wg.Wait()
}

func TestManyCallersAtOnce(t *testing.T) {
	s := openServer(t, &testMethods{}, func(c *Config) { c.CallsMax, c.CallsPerConnMax, c.OutputMax = 40, 8, 4096 })
	cl := openClient(t)
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			to := target(s)
			to.User = fmt.Sprint("user", i%4)
			for j := range 200 {
				name := fmt.Sprint(strings.Repeat("q", (i*j)%3000), i, j)
				var reply proto.GetQueueInfoResponseProto
				method := [...]string{"echo", "echoInline"}[j%2]
				if err := cl.Call(t.Context(), to, method, ask(name), &reply); err != nil ||
					reply.GetQueueInfo().GetQueueName() != name {
					t.Errorf("call %d of %d: %v", j, i, err)
					return
				}
			}
		})
	}
	wg.Wait()
	if st := s.Stats(); st.Connections != 4 || st.Calls != 0 {
		t.Errorf("Stats = %+v, want 4 connections and no calls", st)
	}
}

func TestLargeMessages(t *testing.T) {
	s := openServer(t, &testMethods{})
	cl := openClient(t)
	for _, n := range []int{readSize - 100, readSize, largeSize, largeSize + 1, 1 << 20, 4<<20 - 200} {
		name := strings.Repeat("n", n)
		if got, err := echo(t.Context(), cl, target(s), name); err != nil || got != name {
			t.Errorf("%d bytes: %d, %v", n, len(got), err)
		}
	}
	// The connection gives a buffer back when it waits for the next frame, which may be after the answer is here.
	waitFor(t, func() bool { return held(&s.large) == 0 })
	_, err := echo(t.Context(), cl, target(s), strings.Repeat("n", 4<<20))
	if !errors.Is(err, ErrOutcomeUnknown) {
		t.Errorf("a frame beyond the bound: %v", err)
	}
}

func TestStandbyAtEveryStage(t *testing.T) {
	var standby atomic.Bool
	s := openServer(t, &testMethods{}, func(c *Config) {
		c.Standby = func() error {
			if standby.Load() {
				return errors.New("replica r2 does not lead")
			}
			return nil
		}
	})
	t.Run("calls of a connection without SASL", func(t *testing.T) {
		standby.Store(true)
		b := dialBare(t, s)
		b.send(hello("alice"), call(9, "echo", "x"))
		if m := b.wantError(9, proto.RpcResponseHeaderProto_ERROR, ClassStandby, 1); m != "replica r2 does not lead" {
			t.Errorf("message = %q, want \"replica r2 does not lead\"", m)
		}
		standby.Store(false)
		b.send(call(10, "echo", "x"))
		if h, _ := b.frame(); h.GetStatus() != proto.RpcResponseHeaderProto_SUCCESS {
			t.Errorf("the connection serves no more: %v", h)
		}
	})
	t.Run("the first message of SASL", func(t *testing.T) {
		standby.Store(true)
		b := dialBare(t, s)
		b.send(saslPreamble, capturedNegotiate)
		b.wantError(idSasl, proto.RpcResponseHeaderProto_FATAL, ClassStandby, 15)
		b.wantEnd()
	})
	t.Run("the second message of SASL", func(t *testing.T) {
		standby.Store(false)
		b := dialBare(t, s)
		b.send(saslPreamble, capturedNegotiate)
		b.offer(AuthTokenSimple)
		standby.Store(true)
		b.send(initiateToken([]byte(strings.Repeat("x", 200))))
		b.wantError(idSasl, proto.RpcResponseHeaderProto_FATAL, ClassStandby, 15)
		b.wantEnd()
	})
	t.Run("calls after SASL", func(t *testing.T) {
		standby.Store(false)
		to := target(s)
		to.Token = &Token{[]byte(testToken), testPassword}
		cl := openClient(t)
		if _, err := echo(t.Context(), cl, to, "x"); err != nil {
			t.Fatal(err)
		}
		standby.Store(true)
		var e *RemoteError
		if _, err := echo(t.Context(), cl, to, "x"); !errors.As(err, &e) || e.Class != ClassStandby || e.Fatal {
			t.Errorf("got %v", err)
		}
	})
}

func TestCloseLetsCallsFinish(t *testing.T) {
	for _, method := range []string{"echo", "echoInline"} {
		d := &testMethods{}
		release := d.block("slow")
		s := openServer(t, d)
		b := dialBare(t, s)
		b.send(hello("alice"), call(1, method, "slow"), call(2, method, "x"))
		if h, _ := b.frame(); h.GetCallId() != 2 {
			t.Fatalf("answered %d", h.GetCallId())
		}
		idle := dialBare(t, s)
		idle.send(hello("bob"), call(0, method, "x"))
		idle.frame()
		closed := make(chan error, 1)
		go func() { closed <- s.Close() }()
		idle.wantEnd() // before the calls in flight have ended
		if nc, err := net.Dial("tcp", s.Addr().String()); err == nil {
			_ = nc.Close()
			t.Error("a closing server still listens")
		}
		release()
		if h, _ := b.frame(); h.GetCallId() != 1 || h.GetStatus() != proto.RpcResponseHeaderProto_SUCCESS {
			t.Errorf("got %v", h)
		}
		b.wantEnd()
		if err := <-closed; err != nil {
			t.Error(err)
		}
	}
}

func TestCloseEndsCallsAfterTheGrace(t *testing.T) {
	d := &testMethods{}
	defer d.block("slow")()
	s := openServer(t, d, func(c *Config) { c.CloseGrace = 30 * time.Millisecond })
	b := dialBare(t, s)
	b.send(hello("alice"), call(1, "echo", "slow"), call(2, "echo", "x"))
	b.frame()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if st := s.Stats(); st.Connections != 0 || st.Calls != 0 {
		t.Errorf("Stats after Close = %+v, want no connections and no calls", st)
	}
}

func TestCallsEndWithTheirConnection(t *testing.T) {
	d := &testMethods{}
	defer d.block("slow")()
	ended := make(chan string, 1)
	s := openServer(t, d, func(c *Config) {
		c.Observe.Call = func(_, method, code string, _ time.Duration) { ended <- method + " " + code }
	})
	b := dialBare(t, s)
	b.send(hello("alice"), call(1, "echo", "slow"))
	_ = b.Close()
	if got := <-ended; got != "echo YarnException" {
		t.Errorf("the handler ended with %s", got)
	}
}

func TestObserve(t *testing.T) {
	var opened atomic.Int32
	calls, closed := make(chan string, 10), make(chan string, 10)
	s := openServer(t, &testMethods{}, func(c *Config) {
		c.Observe = Observe{
			Call:   func(p, m, code string, took time.Duration) { calls <- fmt.Sprint(p, " ", m, " ", code, " ", took >= 0) },
			Opened: func() { opened.Add(1) },
			Closed: func(reason string) { closed <- reason },
		}
	})
	cl := openClient(t)
	unknown := target(s)
	unknown.Protocol = "none"
	// A call is observed after its answer was sent. Each call is therefore observed before the next
	// is sent.
	for _, c := range []struct {
		to           Target
		method, text string
		observed     string
	}{
		{target(s), "echo", "x", testProtocol + " echo OK true"},
		{target(s), "echo", "class", testProtocol + " echo Refusal true"},
		{target(s), "none", "x", testProtocol + " unknown RpcNoSuchMethodException true"},
		{unknown, "echo", "x", "unknown unknown RpcNoSuchProtocolException true"},
	} {
		_ = cl.Call(t.Context(), c.to, c.method, ask(c.text), &proto.GetQueueInfoResponseProto{})
		if got := <-calls; got != c.observed {
			t.Errorf("got %s, want %s", got, c.observed)
		}
	}
	_ = cl.Close()
	if got := <-closed; got != endPeer || opened.Load() != 1 {
		t.Errorf("closed by %s, %d opened", got, opened.Load())
	}
}

func TestClientErrors(t *testing.T) {
	d := &testMethods{}
	release := d.block("slow")
	defer release()
	s := openServer(t, d)
	cl := openClient(t)
	to := target(s)
	to.Address = "127.0.0.1:1"
	if _, err := echo(t.Context(), cl, to, "x"); !errors.Is(err, ErrNotConnected) {
		t.Errorf("nobody listens: %v", err)
	}
	if err := cl.Call(t.Context(), Target{}, "echo", ask("x"), nil); !errors.Is(err, ErrNotConnected) {
		t.Errorf("no target: %v", err)
	}
	err := cl.Call(t.Context(), target(s), "echo", &proto.MoveApplicationAcrossQueuesRequestProto{},
		&proto.GetQueueInfoResponseProto{})
	if !errors.Is(err, ErrNotSent) {
		t.Errorf("a request that cannot be written: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for n := 0; n == 0; runtime.Gosched() {
			d.mu.Lock()
			n = len(d.seen)
			d.mu.Unlock()
		}
		cancel()
	}()
	if _, err := echo(ctx, cl, target(s), "slow"); !errors.Is(err, ErrOutcomeUnknown) ||
		!errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
	release()
	if got, err := echo(t.Context(), cl, target(s), "x"); err != nil || got != "x" {
		t.Errorf("after a call that was given up: %q, %v", got, err)
	}
	if n := s.Stats().Accepted; n != 1 {
		t.Errorf("%d connections", n)
	}
	_ = cl.Close()
	if _, err := echo(t.Context(), cl, target(s), "x"); !errors.Is(err, ErrNotConnected) || !errors.Is(err, ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

func TestClientComesBack(t *testing.T) {
	d := &testMethods{}
	s := openServer(t, d)
	cl := openClient(t)
	if _, err := echo(t.Context(), cl, target(s), "x"); err != nil {
		t.Fatal(err)
	}
	first := d.last().Conn
	first.fail(endPeer)
	<-first.done
	deadline := time.Now().Add(time.Minute)
	for { // until the client notices that the connection has ended, the outcome is unknown
		_, err := echo(t.Context(), cl, target(s), "y")
		if err == nil {
			break
		}
		if !errors.Is(err, ErrOutcomeUnknown) || time.Now().After(deadline) {
			t.Fatalf("call that was cut off: %v, want ErrOutcomeUnknown until the client sees the end", err)
		}
	}
	if d.last().Conn == first {
		t.Error("the connection is the old one")
	}
}

// TestAuthorize checks that Config.Authorize decides about the protocol of the connection context,
// and about another one that a call of the connection names.
func TestAuthorize(t *testing.T) {
	asked := make(chan string, 10)
	s := openServer(t, &testMethods{}, func(c *Config) {
		c.Authorize = func(caller *Caller, protocol string) error {
			asked <- caller.User + " " + protocol[strings.LastIndexByte(protocol, '.')+1:]
			if caller.User == "mallory" || caller.User == "ann" && protocol != testProtocol {
				return &Error{Class: ClassAuthorization, Message: "not " + caller.User}
			}
			return nil
		}
	})
	const fatal, failed = proto.RpcResponseHeaderProto_FATAL, proto.RpcResponseHeaderProto_ERROR
	b := dialBare(t, s)
	b.send(hello("mallory"))
	if says := b.wantError(idContext, fatal, ClassAuthorization, DetailFatalAuthorized); says != "not mallory" {
		t.Errorf("mallory is told %q", says)
	}
	b.wantEnd()

	other := func(id int32) []byte {
		frame, err := appendRequest(nil, id, testClientID, "org.example.Other", 3, "echo",
			func(b []byte) ([]byte, error) { return appendDelimited(b, ask("a")) })
		if err != nil {
			t.Fatal(err)
		}
		return frame
	}
	b = dialBare(t, s)
	b.send(hello("ann"), call(1, "echo", "a"), call(2, "echo", "a"))
	for range 2 {
		if h, _ := b.frame(); h.GetStatus() != proto.RpcResponseHeaderProto_SUCCESS {
			t.Errorf("ann gets %v", h)
		}
	}
	b.send(other(3))
	if says := b.wantError(3, failed, ClassAuthorization, DetailApplication); says != "not ann" {
		t.Errorf("ann is told %q", says)
	}
	b = dialBare(t, s)
	b.send(hello("bob"), other(1), other(2))
	for range 2 {
		if h, _ := b.frame(); h.GetStatus() != proto.RpcResponseHeaderProto_SUCCESS {
			t.Errorf("bob gets %v", h)
		}
	}
	close(asked)
	var got []string
	for a := range asked {
		got = append(got, a)
	}
	want := []string{"mallory ApplicationClientProtocolPB", "ann ApplicationClientProtocolPB", "ann Other",
		"bob ApplicationClientProtocolPB", "bob Other"}
	if !slices.Equal(got, want) {
		t.Errorf("asked about %q, want %q", got, want)
	}
}
