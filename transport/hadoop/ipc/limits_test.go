package ipc

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	protobuf "google.golang.org/protobuf/proto"

	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/token/digest"
	"rmd/yarn"
)

func TestBadConnectionHeaders(t *testing.T) {
	s := openServer(t, &testMethods{})
	fatal := proto.RpcResponseHeaderProto_FATAL
	for name, c := range map[string]struct {
		send   []byte
		call   int32
		class  string
		detail int32
	}{
		"other version":         {of(`"hrpc" 0a 00 00`), -1, ClassVersion, 14},
		"other magic":           {of(`"hrpd" 09 00 00`), -1, ClassVersion, 14},
		"other authentication":  {of(`"hrpc" 09 00 51`), -1, ClassIPC, 15},
		"a call first":          {append(of(`"hrpc" 09 00 00`), call(3, "echo", "x")...), 3, ClassServer, 12},
		"a call within SASL":    {append(of(`"hrpc" 09 00 df`), call(3, "echo", "x")...), 3, ClassServer, 12},
		"a context within SASL": {append(of(`"hrpc" 09 00 df`), hello("alice")[7:]...), -3, ClassServer, 12},
		"two contexts":          {append(hello("alice"), hello("alice")[7:]...), -3, ClassServer, 12},
		"nobody": {append(of(`"hrpc" 09 00 00`), appendControl(nil, idContext, "", of(`1200`))...), -3,
			ClassAccessControl, 15},
		"context is garbage": {append(of(`"hrpc" 09 00 00`), appendControl(nil, idContext, "", of(`12ff`))...), -3,
			ClassServer, 13},
		"SASL unasked": {append(of(`"hrpc" 09 00 00`), capturedNegotiate...), -33, ClassServer, 12},
		"SASL is garbage": {append(of(`"hrpc" 09 00 df`), appendControl(nil, idSasl, "", of(`ff`))...), -33,
			ClassServer, 13},
		// the second NEGOTIATE is sent below
		"negotiated twice": {append(of(`"hrpc" 09 00 df`), capturedNegotiate...), 0, "", 0},
		"INITIATE without choice": {append(of(`"hrpc" 09 00 df`), appendControl(nil, idSasl, "", of(`1002`))...), -33,
			ClassSasl, 15},
		"RESPONSE to nothing": {append(of(`"hrpc" 09 00 df`), appendControl(nil, idSasl, "", of(`1004 1a00`))...), -33,
			ClassSasl, 15},
		"SUCCESS of the client": {append(of(`"hrpc" 09 00 df`), appendControl(nil, idSasl, "", of(`1000`))...), -33,
			ClassSasl, 15},
		"WRAP": {append(of(`"hrpc" 09 00 df`), appendControl(nil, idSasl, "", of(`1005 1a00`))...), -33,
			ClassSasl, 12},
		"unknown control message":  {append(of(`"hrpc" 09 00 00`), appendControl(nil, -7, "", nil)...), -7, ClassServer, 12},
		"empty frame":              {of(`"hrpc" 09 00 00 00000000`), -1, ClassServer, 13},
		"header is garbage":        {of(`"hrpc" 09 00 00 00000003 02ffff`), -1, ClassServer, 13},
		"header is cut":            {of(`"hrpc" 09 00 00 00000003 090802`), -1, ClassServer, 13},
		"no operation":             {append(hello("a"), of(`00000007 06|0802 1800 2200`)...), 0, ClassServer, 12},
		"other operation":          {append(hello("a"), of(`00000009 08|0802 1002 1800 2200`)...), 0, ClassServer, 12},
		"no kind":                  {append(hello("a"), of(`00000007 06|1000 1800 2200`)...), 0, ClassServer, 12},
		"other kind":               {append(hello("a"), of(`00000009 08|0801 1000 1806 2200`)...), 3, ClassServer, 12},
		"a body of another length": {append(hello("a"), of(`0000000b 08|0802 1000 1805 2200 90`)...), 0, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			b := dialBare(t, s)
			b.send(c.send)
			switch name {
			case "negotiated twice":
				b.offer(AuthTokenSimple)
				b.send(capturedNegotiate)
				b.wantError(-33, fatal, ClassAccessControl, 15)
			case "a body of another length":
				_ = b.Conn.(*net.TCPConn).CloseWrite()
			default:
				b.wantError(c.call, fatal, c.class, c.detail)
			}
			b.wantEnd()
		})
	}
}

// TestCheckedUsers checks that both users of a connection context are checked.
func TestCheckedUsers(t *testing.T) {
	s := openServer(t, &testMethods{}, func(c *Config) {
		c.CheckUser = yarn.CheckUser
		c.MayImpersonate = func(string, string, netip.Addr) error { return nil }
	})
	for _, name := range []string{"an\x00n", "../ann", "an\xffn"} {
		for what, u := range map[string]*proto.UserInformationProto{"effective": {EffectiveUser: &name},
			"real": {EffectiveUser: new("bob"), RealUser: &name}} {
			b := dialBare(t, s)
			body, err := protobuf.Marshal(&proto.IpcConnectionContextProto{UserInfo: u})
			if err != nil {
				t.Fatal(err)
			}
			b.send(of(`"hrpc" 09 00 00`), appendControl(nil, idContext, testClientID, body))
			if text := b.wantError(idContext, proto.RpcResponseHeaderProto_FATAL, ClassServer, 13); !strings.Contains(text,
				"the "+what+" user") {
				t.Errorf("%s user %q is refused with %q", what, name, text)
			}
			b.wantEnd()
		}
	}
}

func TestMalformedCalls(t *testing.T) {
	s := openServer(t, &testMethods{})
	b := dialBare(t, s)
	b.send(hello("alice"))
	frame := func(body []byte) []byte {
		f := append(appendRequestHeader([]byte{0, 0, 0, 0}, 5, testClientID, 0), body...)
		binary.BigEndian.PutUint32(f, uint32(len(f)-4))
		return f
	}
	method := appendMethodHeader(nil, "echo", testProtocol, 1)
	for name, body := range map[string][]byte{
		"no method header":         nil,
		"method header is garbage": of(`03ffffff`),
		"method header lacks all":  of(`00`),
		"no request":               method,
		"request is cut":           append(method[:len(method):len(method)], of(`09 0a`)...),
		"request is garbage":       append(method[:len(method):len(method)], of(`03 0affff`)...),
	} {
		b.send(frame(body))
		h, rest := b.frame()
		if h.GetStatus() != proto.RpcResponseHeaderProto_ERROR || h.GetExceptionClassName() != ClassServer ||
			h.GetErrorDetail() != 4 ||
			h.GetCallId() != 5 || string(h.GetClientId()) != testClientID || len(rest) > 0 {
			t.Errorf("answer to a call, %s: header %v, %d more bytes, want ERROR %s with detail 4 to call 5 of this client",
				name, h, len(rest), ClassServer)
		}
	}
	b.send(call(6, "echo", "x"))
	if h, _ := b.frame(); h.GetStatus() != proto.RpcResponseHeaderProto_SUCCESS {
		t.Errorf("the connection serves no more: %v", h)
	}
}

// TestUnknownHeaderFields sends headers with fields that no release of Hadoop has yet: short and long ones, of each
// wire type and with large numbers. They are passed over.
func TestUnknownHeaderFields(t *testing.T) {
	var newer []byte
	for _, n := range []protowire.Number{10, 77, protowire.MaxValidNumber} { // 10 is authorizationHeader since 3.5
		newer = protowire.AppendBytes(protowire.AppendTag(newer, n, protowire.BytesType), bytes.Repeat([]byte("long "), 2000))
		newer = protowire.AppendVarint(protowire.AppendTag(newer, n, protowire.VarintType), 1<<63)
		newer = protowire.AppendFixed32(protowire.AppendTag(newer, n, protowire.Fixed32Type), 7)
		newer = protowire.AppendFixed64(protowire.AppendTag(newer, n, protowire.Fixed64Type), 7)
		newer = protowire.AppendTag(protowire.AppendTag(newer, n, protowire.StartGroupType), n, protowire.EndGroupType)
	}
	// longer returns a frame whose first headers, as many as given, have the newer fields in front.
	longer := func(frame []byte, headers int) []byte {
		out, rest := []byte{0, 0, 0, 0}, frame[4:]
		for range headers {
			head, after, err := cut(rest)
			if err != nil {
				t.Fatal(err)
			}
			out = protowire.AppendBytes(out, append(newer[:len(newer):len(newer)], head...))
			rest = after
		}
		out = append(out, rest...)
		binary.BigEndian.PutUint32(out, uint32(len(out)-4))
		return out
	}
	b := dialBare(t, openServer(t, &testMethods{}))
	start := hello("alice")
	preamble := len(of(`"hrpc" 09 00 00`))
	b.send(start[:preamble], longer(start[preamble:], 1))
	for id := range int32(3) {
		b.send(longer(call(id, "echo", "x"), 3)) // of the request, of the method, and the request itself
		if h, _ := b.frame(); h.GetStatus() != proto.RpcResponseHeaderProto_SUCCESS || h.GetCallId() != uint32(id) {
			t.Fatalf("answer to call %d: %v", id, h)
		}
	}
}

func TestHTTPRequestOnRPCPort(t *testing.T) {
	s := openServer(t, &testMethods{})
	for _, method := range []string{"GET", "POST", "PUT", "DELETE", "HEAD"} {
		b := dialBare(t, s)
		b.send([]byte(method + " / HTTP/1.1\r\nHost: x\r\n\r\n"))
		got, err := io.ReadAll(b)
		if err != nil || !strings.HasPrefix(string(got), "HTTP/1.1 404 ") ||
			!strings.Contains(string(got), "Content-Type: text/plain\r\n") || !strings.Contains(string(got), "Hadoop IPC") {
			t.Errorf("%s: got %q, %v", method, got, err)
		}
	}
}

func TestFrameBounds(t *testing.T) {
	s := openServer(t, &testMethods{}, func(c *Config) { c.FrameMax = 1 << 20 })
	for name, send := range map[string][]byte{
		"too long":             append(hello("alice"), of(`00100001`)...),
		"negative":             append(hello("alice"), of(`ffffffff`)...),
		"too long for now":     of(`"hrpc" 09 00 00 00010001`),
		"too long within SASL": of(`"hrpc" 09 00 df 7fffffff`),
	} {
		t.Run(name, func(t *testing.T) {
			b := dialBare(t, s)
			b.send(send)
			b.wantEnd()
		})
	}
}

// TestLargeFramesAreBounded checks that memory is used for received bytes and not for announced
// ones, and that their total is limited.
func TestLargeFramesAreBounded(t *testing.T) {
	closed := make(chan string, 20)
	s := openServer(t, &testMethods{}, func(c *Config) {
		c.LargeFramesMax = 8 << 20
		c.Observe.Closed = func(reason string) { closed <- reason }
	})
	for range 10 {
		b := dialBare(t, s)
		b.send(hello("alice"), of(`00400000`), make([]byte, 100))
	}
	ok := dialBare(t, s)
	ok.send(hello("alice"), call(1, "echo", strings.Repeat("x", 1<<20)))
	if h, _ := ok.frame(); h.GetStatus() != proto.RpcResponseHeaderProto_SUCCESS {
		t.Fatalf("got %v", h)
	}
	if n := len(closed); n != 0 {
		t.Fatalf("%d connections ended", n)
	}
	for range 3 { // the limit allows only two buffers of 4 MiB
		b := dialBare(t, s)
		_, _ = b.Write(append(append(hello("alice"), of(`00400000`)...), make([]byte, 4<<20-10)...))
	}
	if reason := <-closed; reason != endProtocol {
		t.Errorf("ended by %s", reason)
	}
	if used := held(&s.large); used > 8<<20 {
		t.Errorf("%d bytes are held", used)
	}
}

func TestReplayIsRefused(t *testing.T) {
	s := openServer(t, &testMethods{})
	first := dialBare(t, s)
	first.send(saslPreamble, capturedNegotiate)
	answer, err := digest.NewClient(b64([]byte(testToken)), b64(testPassword),
		digest.Authentication).Answer(first.offer(AuthTokenSimple))
	if err != nil {
		t.Fatal(err)
	}
	first.send(initiateToken(answer))
	if h, _ := first.frame(); h.GetStatus() != proto.RpcResponseHeaderProto_SUCCESS {
		t.Fatalf("got %v", h)
	}
	second := dialBare(t, s)
	second.send(saslPreamble, capturedNegotiate)
	second.offer(AuthTokenSimple)
	second.send(initiateToken(answer))
	second.wantError(idSasl, proto.RpcResponseHeaderProto_FATAL, ClassSasl, 15)
	second.wantEnd()
	// The first connection continues, but only as the token's user.
	first.send(hello("root")[7:])
	first.wantError(idContext, proto.RpcResponseHeaderProto_FATAL, ClassAccessControl, 15)
	first.wantEnd()
}

func TestSaslAfterSasl(t *testing.T) {
	s := openServer(t, &testMethods{})
	b := dialBare(t, s)
	b.send(saslPreamble, capturedNegotiate)
	answer, _ := digest.NewClient(b64([]byte(testToken)), b64(testPassword),
		digest.Authentication).Answer(b.offer(AuthTokenSimple))
	b.send(initiateToken(answer))
	b.frame()
	b.send(capturedNegotiate)
	b.wantError(idSasl, proto.RpcResponseHeaderProto_FATAL, ClassSasl, 12)
	b.wantEnd()
}

func TestRandomFrames(t *testing.T) {
	s := openServer(t, &testMethods{})
	r := rand.New(rand.NewPCG(1, 2))
	base := [][]byte{append(hello("alice"), call(1, "echo", "x")...),
		append(append([]byte(nil), saslPreamble...), capturedNegotiate...)}
	for i := range 300 {
		b := append([]byte(nil), base[i%2]...)
		for range 1 + r.IntN(4) {
			b[r.IntN(len(b))] = byte(r.Uint32())
		}
		c := dialBare(t, s)
		_, _ = c.Write(b)
		_ = c.Conn.(*net.TCPConn).CloseWrite()
		_, _ = io.Copy(io.Discard, c) // must end, whatever the bytes are
		_ = c.Close()
	}
	if got, err := echo(t.Context(), openClient(t), target(s), "x"); err != nil || got != "x" {
		t.Errorf("the server is damaged: %q, %v", got, err)
	}
}

func TestBoundsOfConnections(t *testing.T) {
	s := openServer(t, &testMethods{}, func(c *Config) { c.ConnsMax, c.ConnsPerAddressMax = 3, 2 })
	for range 2 {
		b := dialBare(t, s)
		b.send(hello("alice"), call(1, "echo", "x"))
		b.frame()
	}
	third := dialBare(t, s)
	if _, err := third.Read(make([]byte, 1)); err == nil {
		t.Error("a third connection of the address is served")
	}
	if st := s.Stats(); st.Refused != 1 || st.Connections != 2 {
		t.Errorf("Stats = %+v, want 2 connections and 1 refused", st)
	}
}

// TestBoundsOfCalls checks that the reader waits at a limit of calls, and that no call is lost.
func TestBoundsOfCalls(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"of a connection": func(c *Config) { c.CallsPerConnMax = 4 },
		"of all":          func(c *Config) { c.CallsMax = 4 },
	} {
		for _, method := range []string{"echo", "echoInline"} {
			t.Run(name+" "+method, func(t *testing.T) {
				d := &testMethods{}
				release := d.block("slow")
				defer release()
				s := openServer(t, d, change)
				b := dialBare(t, s)
				out := hello("alice")
				for i := range int32(20) {
					out = append(out, call(i, method, "slow")...)
				}
				b.send(out)
				for s.Stats().Calls < 4 {
					runtime.Gosched()
				}
				if n := s.Stats().Calls; n != 4 {
					t.Errorf("%d calls in flight", n)
				}
				release()
				got := map[uint32]bool{}
				for range 20 {
					h, _ := b.frame()
					got[h.GetCallId()] = true
				}
				if len(got) != 20 {
					t.Errorf("answered %v", got)
				}
			})
		}
	}
}

func TestConfigs(t *testing.T) {
	good := testConfig(t, &testMethods{})
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*Config){
		"logger":    func(c *Config) { c.Logger = nil },
		"address":   func(c *Config) { c.Listen = "nowhere" },
		"password":  func(c *Config) { c.Password = nil },
		"auth":      func(c *Config) { c.Auth = 9 },
		"frame":     func(c *Config) { c.FrameMax = FrameMaxLimit + 1 },
		"handshake": func(c *Config) { c.HandshakeFrameMax = 0 },
		"large":     func(c *Config) { c.LargeFramesMax = c.FrameMax },
		"bounds":    func(c *Config) { c.CallsMax = 0 },
		"time-outs": func(c *Config) { c.IdleTimeout = 0 },
		"no name":   func(c *Config) { c.Protocols = []Protocol{{}} },
		"twice":     func(c *Config) { c.Protocols = append(c.Protocols, c.Protocols[0]) },
		"no method": func(c *Config) { c.Protocols = []Protocol{{Name: "p", Methods: map[string]Method{"m": {}}}} },
	} {
		c := good
		spoil(&c)
		if _, err := Open(c); err == nil {
			t.Errorf("%s is wrong, and the server opens", name)
		}
	}
	if err := DefaultClientConfig().Validate(); err == nil {
		t.Error("a client without a logger")
	}
	if _, err := OpenClient(ClientConfig{}); err == nil {
		t.Error("a client without anything")
	}
}

// TestFramesIndependentOfReads checks that frames do not depend on how the bytes arrive.
func TestFramesIndependentOfReads(t *testing.T) {
	var all []byte
	var want [][]byte
	r := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{0, 1, 100, readSize - 4, readSize, readSize + 1, largeSize, 3 * largeSize, 300000, 5, 0} {
		body := bytes.Repeat([]byte{byte(n)}, n)
		want = append(want, body)
		all = append(binary.BigEndian.AppendUint32(all, uint32(n)), body...)
	}
	for range 20 {
		here, there := net.Pipe()
		go func() {
			rest := all
			for len(rest) > 0 {
				n := min(len(rest), 1+r.IntN(1<<r.IntN(18)))
				_, _ = there.Write(rest[:n])
				rest = rest[n:]
			}
			_ = there.Close()
		}()
		large := budget{max: 8 << 20, each: 8 << 20}
		in := newIntake(here, &large, netip.Prefix{}, nil)
		for i, w := range want {
			got, err := in.next(1 << 20)
			if err != nil || !bytes.Equal(got, w) {
				t.Fatalf("frame %d: %d bytes, %v, want %d", i, len(got), err, len(w))
			}
			if i%3 == 0 {
				in.leave()
			}
		}
		if _, err := in.next(1 << 20); err != io.EOF {
			t.Errorf("at the end: %v", err)
		}
		in.release()
		if held(&large) != 0 {
			t.Errorf("%d bytes are still counted", held(&large))
		}
	}
}

// TestConfigFunctionPanics checks that a panic of a function of Config ends the connection and not
// the process.
func TestConfigFunctionPanics(t *testing.T) {
	for name, spoil := range map[string]func(*Config){
		"standby":     func(c *Config) { c.Standby = func() error { panic("on purpose") } },
		"translate":   func(c *Config) { c.Translate = func(error) *Error { panic("on purpose") } },
		"impersonate": func(c *Config) { c.MayImpersonate = func(string, string, netip.Addr) error { panic("on purpose") } },
		"observe": func(c *Config) {
			c.Observe.Call = func(string, string, string, time.Duration) { panic("on purpose") }
		},
		"password": func(c *Config) {
			c.Password = func(context.Context, []byte) (string, []byte, error) { panic("on purpose") }
		},
	} {
		for _, method := range []string{"echo", "echoInline"} {
			t.Run(name+" "+method, func(t *testing.T) {
				closed := make(chan string, 1)
				s := openServer(t, &testMethods{}, spoil,
					func(c *Config) { c.Observe.Closed = func(reason string) { closed <- reason } })
				to := target(s)
				if name == "password" {
					to.Token = &Token{[]byte(testToken), testPassword}
				}
				if name == "impersonate" {
					to.RealUser = "oozie"
				}
				_ = openClient(t).Call(t.Context(), to, method, ask("plain"), &proto.GetQueueInfoResponseProto{})
				if reason := <-closed; reason != endPanic {
					t.Errorf("ended by %s", reason)
				}
			})
		}
	}
}
