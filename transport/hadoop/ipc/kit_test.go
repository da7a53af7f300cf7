package ipc

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	protobuf "google.golang.org/protobuf/proto"

	"rmd/transport/hadoop/proto"
)

const (
	testProtocol = "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB"
	testToken    = "the identifier"
	testUser     = "appattempt_1700000000000_0007_000001"
)

var testPassword = []byte("twenty bytes of hmac")

// testMethods are the methods of the tests' protocol.
type testMethods struct {
	mu   sync.Mutex
	hold map[string]chan struct{} // by queue name; a call with such a name waits for the channel
	seen []*Call
}

// echo returns the queue's name of the request in its reply.
func (d *testMethods) echo(ctx context.Context, c *Call,
	req *proto.GetQueueInfoRequestProto) (*proto.GetQueueInfoResponseProto, error) {
	d.mu.Lock()
	d.seen = append(d.seen, c)
	wait := d.hold[req.GetQueueName()]
	d.mu.Unlock()
	if wait != nil {
		c.Detach()
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	switch name := req.GetQueueName(); name {
	case "panic":
		panic("on purpose")
	case "plain":
		return nil, errors.New("a plain error")
	case "coded":
		return nil, fmt.Errorf("wrapped: %w", errBusy)
	case "class":
		return nil, fmt.Errorf("wrapped: %w", &Error{Class: "org.example.Refusal", Message: "not today"})
	case "fatal":
		return nil, &Error{Class: "org.example.Refusal", Message: "and never again", Fatal: true}
	}
	return &proto.GetQueueInfoResponseProto{QueueInfo: &proto.QueueInfoProto{QueueName: req.QueueName}}, nil
}

// last returns the newest call.
func (d *testMethods) last() *Call {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.seen[len(d.seen)-1]
}

// block makes calls with a queue name wait until release is called.
func (d *testMethods) block(name string) (release func()) {
	ch := make(chan struct{})
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.hold == nil {
		d.hold = map[string]chan struct{}{}
	}
	d.hold[name] = ch
	return sync.OnceFunc(func() { close(ch) })
}

var errBusy = errors.New("too many calls wait")

func (d *testMethods) protocols() []Protocol {
	return []Protocol{{
		Name: testProtocol,
		Methods: map[string]Method{
			"echo":       Handle(d.echo),
			"echoInline": Handle(d.echo).Inline(),
			"incomplete": Handle(func(context.Context, *Call,
				*proto.GetQueueInfoRequestProto) (*proto.MoveApplicationAcrossQueuesRequestProto, error) {
				return &proto.MoveApplicationAcrossQueuesRequestProto{}, nil
			}),
			"bytes": HandleBytes(new(proto.AllocateRequestProto), func(_ context.Context, _ *Call, req []byte) ([]byte, error) {
				return append([]byte(nil), req...), nil
			}),
			"bytesInline": HandleBytes(new(proto.AllocateRequestProto),
				func(_ context.Context, c *Call, req []byte) ([]byte, error) {
					if len(req) > 0 && req[0] == 'd' {
						c.Detach()
					}
					return append([]byte(nil), req...), nil
				}).Inline(),
		},
	}, {Name: "org.example.Other", Version: 3, Methods: map[string]Method{"echo": Handle(d.echo)}}}
}

func testPasswords(_ context.Context, id []byte) (string, []byte, error) {
	switch string(id) {
	case testToken:
		return testUser, testPassword, nil
	case "standby":
		return "", nil, Standby("no leader")
	case "broken":
		return "", nil, errors.New("disk on fire")
	case "coded":
		return "", nil, errBusy
	}
	return "", nil, InvalidToken("the token is not known here, and this text has seventy-three bytes, yes!.")
}

func testConfig(t testing.TB, d *testMethods) Config {
	cfg := DefaultConfig()
	cfg.Logger = hclog.NewNullLogger()
	cfg.Auth = AuthTokenSimple
	cfg.Password = testPasswords
	cfg.Protocols = d.protocols()
	cfg.Translate = func(err error) *Error {
		if errors.Is(err, errBusy) {
			return Standby("busy: " + err.Error())
		}
		return nil
	}
	cfg.MayImpersonate = func(realUser, effective string, _ netip.Addr) error {
		if realUser == "oozie" {
			return nil
		}
		return fmt.Errorf("%s may not act for %s", realUser, effective)
	}
	return cfg
}

// openServer opens a server with a test configuration that change has edited.
func openServer(t testing.TB, d *testMethods, change ...func(*Config)) *Server {
	t.Helper()
	cfg := testConfig(t, d)
	for _, f := range change {
		f(&cfg)
	}
	s, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func openClient(t testing.TB, change ...func(*ClientConfig)) *Client {
	t.Helper()
	cfg := DefaultClientConfig()
	cfg.Logger = hclog.NewNullLogger()
	for _, f := range change {
		f(&cfg)
	}
	cl, err := OpenClient(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cl.Close() })
	return cl
}

func target(s *Server) Target {
	return Target{Address: s.Addr().String(), Protocol: testProtocol, User: "alice"}
}

// ask returns a request for echo.
func ask(name string) *proto.GetQueueInfoRequestProto {
	return &proto.GetQueueInfoRequestProto{QueueName: &name}
}

func echo(ctx context.Context, cl *Client, to Target, name string) (string, error) {
	var reply proto.GetQueueInfoResponseProto
	err := cl.Call(ctx, to, "echo", ask(name), &reply)
	return reply.GetQueueInfo().GetQueueName(), err
}

// bare is a client that sends and receives bytes.
type bare struct {
	t testing.TB
	net.Conn
}

func dialBare(t testing.TB, s *Server) *bare {
	t.Helper()
	nc, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	_ = nc.SetDeadline(time.Now().Add(2 * time.Minute))
	return &bare{t, nc}
}

func (b *bare) send(parts ...[]byte) {
	b.t.Helper()
	if _, err := b.Write(bytes.Join(parts, nil)); err != nil {
		b.t.Fatal(err)
	}
}

// want reads bytes and compares them with want.
func (b *bare) want(want []byte) {
	b.t.Helper()
	got := make([]byte, len(want))
	n, err := io.ReadFull(b, got)
	if err != nil || !bytes.Equal(got, want) {
		b.t.Fatalf("got  %x (%q) %v\nwant %x (%q)", got[:n], got[:n], err, want, want)
	}
}

// wantEnd checks that the connection ends without further bytes.
func (b *bare) wantEnd() {
	b.t.Helper()
	rest, err := io.ReadAll(b)
	if len(rest) > 0 || err != nil {
		b.t.Fatalf("got %x (%q), %v; want the end", rest, rest, err)
	}
}

// frame reads and decodes one frame.
func (b *bare) frame() (*proto.RpcResponseHeaderProto, []byte) {
	b.t.Helper()
	head := make([]byte, 4)
	if _, err := io.ReadFull(b, head); err != nil {
		b.t.Fatal(err)
	}
	frame := make([]byte, binary.BigEndian.Uint32(head))
	if _, err := io.ReadFull(b, frame); err != nil {
		b.t.Fatal(err)
	}
	message, rest, err := cut(frame)
	if err != nil {
		b.t.Fatal(err)
	}
	var h proto.RpcResponseHeaderProto
	if err := protobuf.Unmarshal(message, &h); err != nil {
		b.t.Fatal(err)
	}
	return &h, rest
}

// wantError reads one refusal and checks its fields. It returns the message.
func (b *bare) wantError(call int32, status proto.RpcResponseHeaderProto_RpcStatusProto, class string,
	detail int32) string {
	b.t.Helper()
	h, rest := b.frame()
	if int32(h.GetCallId()) != call || h.GetStatus() != status || h.GetExceptionClassName() != class ||
		int32(h.GetErrorDetail()) != detail || len(rest) > 0 {
		b.t.Fatalf("got %v and %x, want call %d, %v, %s, %d", h, rest, call, status, class, detail)
	}
	return h.GetErrorMsg()
}

// of returns the bytes of a text in the notation of this package's tests: hex and quoted text.
// Blanks and bars have no meaning. CC stands for the client id.
func of(s string) []byte {
	var out []byte
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == ' ' || c == '|' || c == '\n' || c == '\t':
			i++
		case c == '"':
			end := i + 1 + strings.IndexByte(s[i+1:], '"')
			out = append(out, s[i+1:end]...)
			i = end + 1
		case strings.HasPrefix(s[i:], "CC…"):
			out = append(out, testClientID...)
			i += len("CC…")
		default:
			b, err := hex.DecodeString(s[i : i+2])
			if err != nil {
				panic(err)
			}
			out = append(out, b...)
			i += 2
		}
	}
	return out
}

const testClientID = "0123456789abcdef"

// hello returns what a client with SIMPLE authentication sends before its first call.
func hello(user string) []byte {
	body := append([]byte{0x12, byte(2 + len(user)), 0x0a, byte(len(user))}, user...)
	body = append(append(body, 0x1a, byte(len(testProtocol))), testProtocol...)
	return appendControl(of(`"hrpc" 09 00 00`), idContext, testClientID, body)
}

// call returns the frame of a call.
func call(id int32, method, name string) []byte {
	b, err := appendRequest(nil, id, testClientID, testProtocol, 1, method, func(b []byte) ([]byte, error) {
		return appendDelimited(b, ask(name))
	})
	if err != nil {
		panic(err)
	}
	return b
}

// held returns the number of bytes taken from a budget.
func held(b *budget) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

func b64(b []byte) string { return base64.StdEncoding.EncodeToString(b) }
