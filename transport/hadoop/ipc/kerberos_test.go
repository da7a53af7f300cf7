package ipc

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/jcmturner/gokrb5/v8/messages"
	"google.golang.org/protobuf/encoding/protowire"

	"rmd/internal/gss"
	"rmd/internal/gss/gsstest"
	"rmd/transport/hadoop/proto"
)

const (
	testService   = "rm/host.example@EXAMPLE"
	testPrincipal = "ann@EXAMPLE"
	anyProtection = Authentication | Integrity | Privacy
)

// secured is a server with Kerberos, and what happened to its clients.
type secured struct {
	*Server
	key gsstest.Key

	mu    sync.Mutex
	hands []string
}

// openSecured opens a server that offers the given authentication and protection.
func openSecured(t testing.TB, d *testMethods, auth Auth, offers Protection, change ...func(*Config)) *secured {
	t.Helper()
	s := &secured{key: gsstest.NewKey(t, testService, 18, 1)}
	acceptor, err := gss.OpenAcceptor(gss.Config{Principal: testService, Keytab: gsstest.Keytab(t, s.key)})
	if err != nil {
		t.Fatal(err)
	}
	s.Server = openServer(t, d, append([]func(*Config){func(c *Config) {
		c.Auth, c.HandshakeFrameMax = auth, gss.TokenMax+wrapMax
		c.Kerberos = &Kerberos{Acceptor: acceptor, Service: "rm", Host: "host.example", Short: shortTestName}
		c.Protection = func(netip.Addr) Protection { return offers }
		c.Observe.Handshake = func(method, outcome string) {
			s.mu.Lock()
			s.hands = append(s.hands, method+" "+outcome)
			s.mu.Unlock()
		}
	}}, change...)...)
	return s
}

// shortTestName maps principals of the realm EXAMPLE.
func shortTestName(p string) (string, error) {
	name, realm, found := strings.Cut(p, "@")
	if found && realm != "EXAMPLE" {
		return "", errors.New("No rules applied to " + p)
	}
	name, _, _ = strings.Cut(name, "/")
	return name, nil
}

func (s *secured) target(t testing.TB, client string, change func(*messages.EncTicketPart)) Target {
	ticket := s.key.Ticket(t, client, change)
	return Target{Address: s.Addr().String(), Protocol: testProtocol, User: client,
		Ticket: func(service, host string) (gss.Ticket, error) {
			if service != "rm" || host != "host.example" {
				return gss.Ticket{}, fmt.Errorf("the server calls itself %s/%s", service, host)
			}
			return ticket, nil
		}}
}

func (s *secured) lastHand() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.hands) == 0 {
		return ""
	}
	return s.hands[len(s.hands)-1]
}

func takes(p Protection) func(*ClientConfig) { return func(c *ClientConfig) { c.Protection = p } }

// TestProtection makes calls of all sizes with tickets and with tokens under each protection.
func TestProtection(t *testing.T) {
	for _, p := range []Protection{Authentication, Integrity, Privacy} {
		for _, kind := range []string{KindKerberos, KindToken} {
			t.Run(kind+" "+p.String(), func(t *testing.T) {
				d := &testMethods{}
				s := openSecured(t, d, AuthTokenKerberos, anyProtection)
				// triple DES of a large frame takes seconds under the race detector
				cl := openClient(t, takes(p), func(c *ClientConfig) { c.CallTimeout = 10 * time.Minute })
				to := s.target(t, testPrincipal, nil)
				if kind == KindToken {
					to = Target{Address: s.Addr().String(), Protocol: testProtocol, Token: &Token{[]byte(testToken), testPassword}}
				}
				testCalls(t, cl, to)
				if got := s.lastHand(); got != kind+" OK" {
					t.Errorf("the handshake is counted as %q", got)
				}
				who := *d.last().Caller
				who.Address, who.Identifier = netip.AddrPort{}, nil
				want := Caller{User: "ann", Principal: testPrincipal, Kind: KindKerberos}
				if kind == KindToken {
					want = Caller{User: testUser, Kind: KindToken}
				}
				if fmt.Sprint(who) != fmt.Sprint(want) {
					t.Errorf("the caller is %v, want %v", who, want)
				}
				cl.Close()
				waitFor(t, func() bool { return s.Stats().Connections == 0 })
				if n := held(&s.large); n != 0 {
					t.Errorf("%d bytes of large frames are not given back", n)
				}
			})
		}
	}
}

func waitFor(t testing.TB, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not happen")
		}
	}
}

// testCalls makes calls one after the other and at the same time.
func testCalls(t *testing.T, cl *Client, to Target) {
	t.Helper()
	ctx := context.Background()
	for _, n := range []int{0, 1, 100, 5000, 20000, 100000, 1 << 20} {
		name := strings.Repeat("x", n)
		if got, err := echo(ctx, cl, to, name); err != nil || got != name {
			t.Fatalf("%d bytes: %d bytes came back, %v", n, len(got), err)
		}
	}
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			name := strings.Repeat(fmt.Sprint(i), 1+i*50)
			var reply proto.GetQueueInfoResponseProto
			method := []string{"echo", "echoInline"}[i%2]
			if err := cl.Call(ctx, to, method, ask(name), &reply); err != nil || reply.GetQueueInfo().GetQueueName() != name {
				t.Errorf("call %d: %d bytes came back, %v", i, len(reply.GetQueueInfo().GetQueueName()), err)
			}
		})
	}
	wg.Wait()
	var remote *RemoteError
	if _, err := echo(ctx, cl, to, "class"); !errors.As(err, &remote) || remote.Class != "org.example.Refusal" {
		t.Errorf("a handler's error is %v", err)
	}
}

// TestOffers compares what a port offers with what Java's does.
func TestOffers(t *testing.T) {
	kerberos := of(`22 29 0a08 "KERBEROS" 1206 "GSSAPI" 1a02 "rm" 220c "host.example"`)
	kerberos[1] = byte(len(kerberos) - 2)
	for _, c := range []struct {
		auth  Auth
		token bool
	}{{AuthKerberos, false}, {AuthTokenKerberos, true}} {
		s := openSecured(t, &testMethods{}, c.auth, Authentication)
		b := dialBare(t, s.Server)
		b.send(of(`"hrpc" 09 00 df`), capturedNegotiate)
		_, body := b.frame()
		message, _, err := cut(body)
		if err != nil {
			t.Fatal(err)
		}
		got, found := bytes.CutSuffix(message, kerberos)
		if !found || !bytes.HasPrefix(got, []byte{0x10, 1}) || c.token != bytes.Contains(got, []byte("DIGEST-MD5")) ||
			!c.token && len(got) > 2 {
			t.Errorf("%s: the offer is %q", c.auth, message)
		}
		// SIMPLE is refused, with and without SASL.
		b.send(appendControl(nil, idSasl, "", of(`1002 22 0a 0a06 "SIMPLE" 1200`)))
		want := "SIMPLE authentication is not enabled.  Available:" + c.auth.String()
		if got := b.wantError(idSasl, proto.RpcResponseHeaderProto_FATAL, ClassAccessControl,
			DetailFatalAuthorized); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		b = dialBare(t, s.Server)
		b.send(of(`"hrpc" 09 00 00`))
		if got := b.wantError(idAuthFailed, proto.RpcResponseHeaderProto_FATAL, ClassAccessControl,
			DetailFatalAuthorized); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestTicketRefused has tickets and choices that Java refuses, with Java's texts.
func TestTicketRefused(t *testing.T) {
	s := openSecured(t, &testMethods{}, AuthKerberos, Privacy)
	for name, c := range map[string]struct {
		client  string
		change  func(*messages.EncTicketPart)
		takes   Protection
		class   string
		message string
		outcome string
	}{
		"expired": {testPrincipal, func(p *messages.EncTicketPart) { p.EndTime = time.Now().Add(-time.Hour).UTC() }, Privacy,
			ClassSasl, "GSS initiate failed", "expired"},
		"no rule": {"ann@OTHER", nil, Privacy,
			ClassAccessControl, "Illegal principal name ann@OTHER: No rules applied to ann@OTHER", "name"},
	} {
		cl := openClient(t, takes(c.takes))
		_, err := echo(context.Background(), cl, s.target(t, c.client, c.change), "x")
		var remote *RemoteError
		if !errors.As(err, &remote) || remote.Class != c.class || remote.Message != c.message || !remote.Fatal {
			t.Errorf("%s: %v", name, err)
		}
		if got := s.lastHand(); got != "KERBEROS "+c.outcome {
			t.Errorf("%s: it is counted as %q", name, got)
		}
	}
	if _, err := echo(context.Background(), openClient(t), s.target(t, testPrincipal, nil),
		"x"); !errors.Is(err, ErrAuth) {
		t.Errorf("a client that takes no privacy: %v", err)
	}
}

// TestRefusalsAreShort sends long texts before authentication, which must not fill the log.
func TestRefusalsAreShort(t *testing.T) {
	var log bytes.Buffer
	s := openSecured(t, &testMethods{}, AuthTokenKerberos, Privacy,
		func(c *Config) { c.Logger = hclog.New(&hclog.LoggerOptions{Output: &log}) })
	long := strings.Repeat("A", 200<<10)
	kerberos := of(`22 12 0a08 "KERBEROS" 1206 "GSSAPI"`)
	method := append(protowire.AppendString([]byte{0x0a}, long), 0x12, 0)
	response := func(text string) []byte { return saslMessage(proto.RpcSaslProto_RESPONSE, []byte(text)) }
	for name, message := range map[string][]byte{
		"a method":              protowire.AppendBytes(append(saslMessage(proto.RpcSaslProto_INITIATE, nil), 0x22), method),
		"a directive's name":    response(long[:16000] + "=\""),
		"a name without comma":  response(long[:16000] + "=a b"),
		"a directive's value":   response("qop=" + long[:16000]),
		"a ticket":              append(saslMessage(proto.RpcSaslProto_INITIATE, []byte(long)), kerberos...),
		"a state":               append([]byte{0x10, 99}, long...),
		"an unexpected message": saslMessage(proto.RpcSaslProto_CHALLENGE, []byte(long)),
	} {
		b := dialBare(t, s.Server)
		b.send(of(`"hrpc" 09 00 df`), capturedNegotiate)
		b.frame()
		b.send(appendControl(nil, idSasl, "", message))
		if rest, err := io.ReadAll(b); err != nil || len(rest) > 2048 || !bytes.Contains(rest, []byte("Exception")) {
			t.Errorf("%s: the answer has %d bytes, %v: %.100q", name, len(rest), err, rest)
		}
		_ = b.Close()
	}
	if err := s.Close(); err != nil { // the log is complete
		t.Fatal(err)
	}
	if n := log.Len(); n == 0 || n > 10<<10 {
		t.Errorf("the log has %d bytes", n)
	}
}

// gssClient makes the steps of a client by hand.
type gssClient struct {
	*bare
	ctx *gss.Context
}

// begin does the first step, up to the server's proof.
func (s *secured) begin(t testing.TB) *gssClient {
	t.Helper()
	i, token, err := gss.Initiate(s.key.Ticket(t, testPrincipal, nil), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	b := dialBare(t, s.Server)
	b.send(of(`"hrpc" 09 00 df`), capturedNegotiate)
	b.frame()
	b.initiate(token)
	ctx, err := i.Finish(b.challenge())
	if err != nil {
		t.Fatal(err)
	}
	return &gssClient{b, ctx}
}

func (b *bare) initiate(token []byte) {
	b.t.Helper()
	b.send(appendControl(nil, idSasl, "", append(saslMessage(proto.RpcSaslProto_INITIATE, token),
		of(`22 12 0a08 "KERBEROS" 1206 "GSSAPI"`)...)))
}

func (b *bare) challenge() []byte {
	b.t.Helper()
	h, rest := b.frame()
	var m proto.RpcSaslProto
	if h.GetStatus() != proto.RpcResponseHeaderProto_SUCCESS {
		b.t.Fatal(h)
	}
	body, _, _ := cut(rest)
	if err := readReply(body, &m); err != nil || m.GetState() != proto.RpcSaslProto_CHALLENGE {
		b.t.Fatal(&m, err)
	}
	return m.GetToken()
}

func (b *bare) respond(token []byte) {
	b.t.Helper()
	b.send(appendControl(nil, idSasl, "", saslMessage(proto.RpcSaslProto_RESPONSE, token)))
}

// layers does the second step: it returns the offer of protection.
func (g *gssClient) layers() []byte {
	g.t.Helper()
	g.respond([]byte{})
	offer, sealed, err := g.ctx.Unwrap(g.challenge())
	if err != nil || sealed {
		g.t.Fatal(err)
	}
	return offer
}

// choose does the third step.
func (g *gssClient) choose(choice ...byte) { g.respond(g.ctx.Wrap(nil, choice, false)) }

func TestLayerChoice(t *testing.T) {
	for _, c := range []struct {
		offers  Protection
		choice  []byte
		offer   string
		message string // of the refusal
		outcome string
	}{
		{Authentication, []byte{1, 0, 0, 0}, "\x01\x00\x00\x00", "", "OK"},
		{Privacy, []byte{4, 0, 0, 0}, "\x04\x01\x00\x00", "", "OK"},
		{Authentication, []byte("\x01\x00\x00\x00" + testPrincipal), "\x01\x00\x00\x00", "", "OK"},
		{anyProtection, []byte{2, 1, 0, 0}, "\x07\x01\x00\x00", "", "OK"},
		{Privacy, []byte{1, 0, 0, 0}, "\x04\x01\x00\x00", "Client selected unsupported protection: 1", "protection"},
		{anyProtection, []byte{0, 0, 0, 0}, "\x07\x01\x00\x00", "Client selected unsupported protection: 0", "protection"},
		{anyProtection, []byte{3, 0, 0, 0}, "\x07\x01\x00\x00", "Client selected unsupported protection: 3", "protection"},
		{Authentication, []byte("\x01\x00\x00\x00root@EXAMPLE"), "\x01\x00\x00\x00",
			"ann@EXAMPLE is not authorized to connect as root@EXAMPLE", "authorization"},
		{Authentication, []byte{1, 0, 0}, "\x01\x00\x00\x00", "Final handshake failed", "handshake"},
	} {
		s := openSecured(t, &testMethods{}, AuthKerberos, c.offers)
		g := s.begin(t)
		if got := g.layers(); string(got) != c.offer {
			t.Errorf("offers %v: got %x", c.offers, got)
		}
		g.choose(c.choice...)
		if c.message != "" {
			if got := g.wantError(idSasl, proto.RpcResponseHeaderProto_FATAL, ClassSasl,
				DetailFatalAuthorized); got != c.message {
				t.Errorf("%q: got %q, want %q", c.choice, got, c.message)
			}
			g.wantEnd()
		} else {
			g.want(of(`00000012 0e|08dfffffff0f 1000 1809 3a00 4001| 02|1000`))
		}
		if got := s.lastHand(); got != "KERBEROS "+c.outcome {
			t.Errorf("%q: it is counted as %q", c.choice, got)
		}
	}
}

// TestSteps sends the messages of a negotiation in wrong ways.
func TestSteps(t *testing.T) {
	s := openSecured(t, &testMethods{}, AuthTokenKerberos, anyProtection)
	refused := func(b *bare, want string) {
		t.Helper()
		if got := b.wantError(idSasl, proto.RpcResponseHeaderProto_FATAL, ClassSasl, DetailFatalAuthorized); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		b.wantEnd()
	}
	g := s.begin(t)
	g.respond([]byte("more"))
	refused(g.bare, "Handshake expecting no response data from server")

	g = s.begin(t)
	g.layers()
	g.respond([]byte("not wrapped"))
	refused(g.bare, "Final handshake failed")

	g = s.begin(t)
	g.layers()
	forged := g.ctx.Wrap(nil, []byte{1, 0, 0, 0}, false)
	forged[16] = 2
	g.respond(forged)
	refused(g.bare, "Final handshake failed")

	b := dialBare(t, s.Server)
	b.send(of(`"hrpc" 09 00 df`), capturedNegotiate)
	b.frame()
	b.initiate([]byte("no ticket"))
	refused(b, "GSS initiate failed")
	if got := s.lastHand(); got != "KERBEROS malformed" {
		t.Errorf("it is counted as %q", got)
	}

	oneSided := s.key.Ticket(t, testPrincipal, nil)
	oneSided.OneSided = true
	_, token, err := gss.Initiate(oneSided, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	b = dialBare(t, s.Server)
	b.send(of(`"hrpc" 09 00 df`), capturedNegotiate)
	b.frame()
	b.initiate(token)
	refused(b, "GSS initiate failed")

	// A captured token opens nothing a second time.
	_, token, err = gss.Initiate(s.key.Ticket(t, testPrincipal, nil), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		b := dialBare(t, s.Server)
		b.send(of(`"hrpc" 09 00 df`), capturedNegotiate)
		b.frame()
		b.initiate(token)
		if i == 0 {
			b.challenge()
		} else {
			refused(b, "GSS initiate failed")
		}
	}
	if got := s.lastHand(); got != "KERBEROS replay" {
		t.Errorf("it is counted as %q", got)
	}
}

// established returns a client whose connection is wrapped from now on.
func (s *secured) established(t testing.TB, p Protection) *gssClient {
	t.Helper()
	g := s.begin(t)
	g.layers()
	g.choose(byte(p), 0, 0, 0)
	g.want(of(`00000012 0e|08dfffffff0f 1000 1809 3a00 4001| 02|1000`))
	return g
}

// wrapped returns the frame in which bytes are wrapped.
func (g *gssClient) wrapped(seal bool, b []byte) []byte {
	return appendControl(nil, idSasl, "", saslMessage(proto.RpcSaslProto_WRAP, g.ctx.Wrap(nil, b, seal)))
}

// unwrap reads a wrapped frame and returns what is in it.
func (g *gssClient) unwrap() []byte {
	g.t.Helper()
	h, rest := g.frame()
	body, _, err := cut(rest)
	if err != nil || int32(h.GetCallId()) != idSasl {
		g.t.Fatal(h, err)
	}
	token, err := wrappedToken(body)
	if err != nil {
		g.t.Fatal(err)
	}
	m, _, err := g.ctx.Unwrap(token)
	if err != nil {
		g.t.Fatal(err)
	}
	return m
}

func introduction(user string) []byte {
	return appendControl(nil, idContext, testClientID, append(of(fmt.Sprintf(`12 %02x 0a %02x`, 2+len(user), len(user))),
		append(append([]byte(user), 0x1a, byte(len(testProtocol))), testProtocol...)...))
}

// TestStream sends a byte in each wrapped frame, and then many frames in one.
func TestStream(t *testing.T) {
	s := openSecured(t, &testMethods{}, AuthKerberos, anyProtection)
	g := s.established(t, Privacy)
	for _, b := range append(introduction(testPrincipal), call(1, "echo", "one")...) {
		g.send(g.wrapped(true, []byte{b}), g.wrapped(true, nil))
	}
	if got := g.unwrap(); !bytes.Contains(got, []byte("one")) {
		t.Errorf("got %q", got)
	}
	var all []byte
	for i := range 20 {
		all = append(all, call(int32(i+2), "bytesInline", "d")...)
		all = append(all, call(int32(i+100), "echo", "x")...)
	}
	g.send(g.wrapped(true, all[:len(all)-7]), g.wrapped(true, all[len(all)-7:]))
	for range 40 {
		g.unwrap()
	}
}

// TestUnprotected sends what a wrapped connection must not take.
func TestUnprotected(t *testing.T) {
	good := append(introduction(testPrincipal), call(1, "echo", "x")...)
	for name, send := range map[string]func(g *gssClient){
		"plain":       func(g *gssClient) { g.send(good) },
		"plain ping":  func(g *gssClient) { g.send(appendControl(nil, idPing, testClientID, nil)) },
		"not sealed":  func(g *gssClient) { g.send(g.wrapped(false, good)) },
		"negotiation": func(g *gssClient) { g.send(capturedNegotiate) },
		"changed": func(g *gssClient) {
			b := g.wrapped(true, good)
			b[len(b)-1] ^= 1
			g.send(b)
		},
		"twice": func(g *gssClient) {
			b := g.wrapped(true, appendControl(nil, idPing, testClientID, nil))
			g.send(b, b)
		},
		"a part": func(g *gssClient) {
			b := g.wrapped(true, make([]byte, 60000))
			g.send(b[:len(b)-1])
			_ = g.Conn.(interface{ CloseWrite() error }).CloseWrite()
		},
		"long": func(g *gssClient) { g.send(g.wrapped(true, binary.BigEndian.AppendUint32(nil, 1<<30))) },
	} {
		s := openSecured(t, &testMethods{}, AuthKerberos, Privacy)
		g := s.established(t, Privacy)
		send(g)
		if rest, _ := io.ReadAll(g); len(rest) > 0 {
			t.Errorf("%s: the server answers %q", name, rest)
		}
		waitFor(t, func() bool { return s.Stats().Connections == 0 })
		if n := held(&s.large); n != 0 {
			t.Errorf("%s: %d bytes of large frames are not given back", name, n)
		}
	}
	// Negotiating within the wrapped connection is over, and its refusal is wrapped.
	s := openSecured(t, &testMethods{}, AuthKerberos, Privacy)
	g := s.established(t, Privacy)
	g.send(g.wrapped(true, capturedNegotiate))
	if got := g.unwrap(); !bytes.Contains(got, []byte("the negotiation is over")) {
		t.Errorf("got %q", got)
	}
}

// TestProxyUser has the effective users that Java takes.
func TestProxyUser(t *testing.T) {
	for _, c := range []struct {
		ticket, effective string
		want              Caller
		refused           string
	}{
		{"ann@EXAMPLE", "ann@EXAMPLE", Caller{User: "ann", Principal: "ann@EXAMPLE"}, ""},
		{"oozie/host@EXAMPLE", "ann", Caller{User: "ann", RealUser: "oozie", Principal: "oozie/host@EXAMPLE"}, ""},
		{"oozie/host@EXAMPLE", "ann@EXAMPLE", Caller{User: "ann", RealUser: "oozie", Principal: "oozie/host@EXAMPLE"}, ""},
		{"ann@EXAMPLE", "root", Caller{}, "ann may not act for root"},
		{"oozie/host@EXAMPLE", "root@OTHER", Caller{}, "Illegal principal name root@OTHER: No rules applied to root@OTHER"},
	} {
		d := &testMethods{}
		s := openSecured(t, d, AuthKerberos, Authentication)
		to := s.target(t, c.ticket, nil)
		to.User = c.effective
		_, err := echo(context.Background(), openClient(t), to, "x")
		var remote *RemoteError
		switch {
		case c.refused != "" && (!errors.As(err, &remote) || remote.Message != c.refused ||
			remote.Detail != DetailFatalAuthorized):
			t.Errorf("%s for %s: %v", c.ticket, c.effective, err)
		case c.refused != "":
		case err != nil:
			t.Errorf("%s for %s: %v", c.ticket, c.effective, err)
		default:
			who := *d.last().Caller
			c.want.Kind, c.want.Address = KindKerberos, who.Address
			if fmt.Sprint(who) != fmt.Sprint(c.want) {
				t.Errorf("%s for %s: the caller is %v, want %v", c.ticket, c.effective, who, c.want)
			}
		}
	}
}

// TestLargeTicket has a ticket of the size that Active Directory may make.
func TestLargeTicket(t *testing.T) {
	s := openSecured(t, &testMethods{}, AuthKerberos, Authentication)
	to := s.target(t, testPrincipal, func(p *messages.EncTicketPart) {
		p.AuthorizationData = append(p.AuthorizationData, struct {
			ADType int32  `asn1:"explicit,tag:0"`
			ADData []byte `asn1:"explicit,tag:1"`
		}{1, make([]byte, 100<<10)})
	})
	if _, err := echo(context.Background(), openClient(t), to, "x"); err != nil {
		t.Error(err)
	}
}

// FuzzSecured sends any bytes to a port with Kerberos: before the negotiation, and within wrapped
// frames after it. The server must end each connection, give back its memory, and serve others.
func FuzzSecured(f *testing.F) {
	s := openSecured(f, &testMethods{}, AuthTokenKerberos, anyProtection)
	hello := append(of(`"hrpc" 09 00 df`), capturedNegotiate...)
	_, token, err := gss.Initiate(s.key.Ticket(f, testPrincipal, nil), time.Now())
	if err != nil {
		f.Fatal(err)
	}
	initiate := appendControl(nil, idSasl, "",
		append(saslMessage(proto.RpcSaslProto_INITIATE, token), of(`22 12 0a08 "KERBEROS" 1206 "GSSAPI"`)...))
	f.Add(append(hello, initiate...), false)
	f.Add(append(append([]byte(nil), hello...),
		appendControl(nil, idSasl, "", saslMessage(proto.RpcSaslProto_WRAP, token))...), false)
	f.Add(append(introduction(testPrincipal), call(1, "echo", "x")...), true)
	f.Add(append(introduction("oozie"), call(1, "bytesInline", "dd")...), true)
	f.Fuzz(func(t *testing.T, b []byte, wrapped bool) {
		if wrapped {
			g := s.established(t, Privacy)
			g.send(g.wrapped(true, b))
			_ = g.Conn.(interface{ CloseWrite() error }).CloseWrite()
			_, _ = io.Copy(io.Discard, g)
			_ = g.Close()
			return
		}
		c := dialBare(t, s.Server)
		_, _ = c.Write(b)
		_ = c.Conn.(interface{ CloseWrite() error }).CloseWrite()
		_, _ = io.Copy(io.Discard, c)
		_ = c.Close()
	})
}
