package peer

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"rmd/internal/portblock"
)

// patience is how long a test waits for something that must happen.
const patience = time.Minute

// listen starts a server in cluster "test" with cluster id "c1".
func listen(t testing.TB, id string, tweak func(*Config)) *Server {
	t.Helper()
	cfg := DefaultConfig()
	cfg.ClusterName, cfg.ID, cfg.Listen, cfg.Logger = "test", id, "127.0.0.1:0", hclog.NewNullLogger()
	if tweak != nil {
		tweak(&cfg)
	}
	s, err := Listen(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	s.Identify("inc-"+id, "c1")
	return s
}

// TestInterrupt checks that Interrupt ends a call to a replica that does not answer and a dial to
// one that does not finish its hello, and that later calls succeed.
func TestInterrupt(t *testing.T) {
	a, b := listen(t, "a", func(c *Config) { c.HandshakeTimeout = 2 * patience }), listen(t, "b", nil)
	ta := a.Transport(2*patience, hclog.NewNullLogger()).(*Transport)
	tb := b.Transport(patience, hclog.NewNullLogger()).(*Transport)
	t.Cleanup(func() { _, _ = ta.Close(), tb.Close() })
	mute, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	req := &raft.RequestVoteRequest{RPCHeader: raft.RPCHeader{ID: []byte("a.inc-a"), Addr: []byte(a.Addr())}}
	call := func(addr string) chan error {
		done := make(chan error, 1)
		go func() { done <- ta.RequestVote("b", raft.ServerAddress(addr), req, &raft.RequestVoteResponse{}) }()
		return done
	}
	unanswered, undialed := call(b.Addr()), call(mute.Addr().String())
	<-tb.Consumer() // the request has arrived
	if _, err := mute.Accept(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	ta.Interrupt()
	for what, done := range map[string]chan error{"a call": unanswered, "a dial": undialed} {
		if err := <-done; err == nil {
			t.Errorf("%s succeeded without an answer", what)
		}
	}
	if took := time.Since(began); took > patience { // less than every timeout
		t.Errorf("the calls ended %s after the interrupt", took)
	}
	again := call(b.Addr())
	rpc := <-tb.Consumer()
	rpc.Respond(&raft.RequestVoteResponse{Granted: true}, nil)
	if err := <-again; err != nil {
		t.Errorf("a later call: %v", err)
	}
}

func TestCall(t *testing.T) {
	a, b := listen(t, "a", nil), listen(t, "b", nil)
	b.Handle(40, func(_ context.Context, from string, req []byte) ([]byte, error) {
		return append([]byte(from+":"), req...), nil
	})
	b.Handle(41, func(context.Context, string, []byte) ([]byte, error) { return nil, codedError{} })
	var wg sync.WaitGroup
	for i := range 200 { // many calls at the same time over one connection
		wg.Go(func() {
			want := fmt.Sprintf("a.inc-a:%d", i)
			if got, err := a.Call(t.Context(), b.Addr(), 40, fmt.Append(nil, i)); err != nil || string(got) != want {
				t.Errorf("got %q %v", got, err)
			}
		})
	}
	wg.Wait()
	b.mu.Lock()
	n := len(b.conns)
	b.mu.Unlock()
	if n != 1 {
		t.Errorf("%d connections", n)
	}
	var re *RemoteError
	if _, err := a.Call(t.Context(), b.Addr(), 41, nil); !errors.As(err, &re) || re.Code != "NICE" || re.Text != "no" {
		t.Errorf("got %v", err)
	}
	if _, err := a.Call(t.Context(), b.Addr(), 42, nil); !errors.As(err, &re) || re.Code != "NO_METHOD" {
		t.Errorf("got %v", err)
	}
	big := make([]byte, a.cfg.FrameMax)
	if got, err := a.Call(t.Context(), b.Addr(), 40, big[:len(big)-len("a.inc-a:")]); err != nil || len(got) != len(big) {
		t.Errorf("largest frame: %d bytes, %v", len(got), err)
	}
	if _, err := a.Call(t.Context(), b.Addr(), 40, big); !errors.As(err, &re) || re.Code != "TOO_LARGE" {
		t.Errorf("reply too large: %v", err)
	}
	if _, err := a.Call(t.Context(), b.Addr(), 40, append(big, 0)); !errors.Is(err, ErrNotSent) ||
		!errors.Is(err, ErrTooLarge) {
		t.Errorf("request too large: %v", err)
	}
}

type codedError struct{}

func (codedError) Error() string     { return "no" }
func (codedError) ErrorCode() string { return "NICE" }

// TestCallOutcome checks that a caller can distinguish a call that was not sent from one that was
// lost after it was sent.
func TestCallOutcome(t *testing.T) {
	a, b := listen(t, "a", nil), listen(t, "b", nil)
	entered, leave := make(chan struct{}, 8), make(chan struct{})
	var cancelled atomic.Int32
	b.Handle(40, func(ctx context.Context, _ string, _ []byte) ([]byte, error) {
		entered <- struct{}{}
		select {
		case <-leave:
		case <-ctx.Done():
			cancelled.Add(1)
		}
		return []byte("late"), nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() { _, err := a.Call(ctx, b.Addr(), 40, nil); result <- err }()
	<-entered
	cancel()
	if err := <-result; !errors.Is(err, ErrOutcomeUnknown) || !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled after sending: %v", err)
	}
	soon(t, "the handler is cancelled", func() bool { return cancelled.Load() > 0 })
	go func() { _, err := a.Call(t.Context(), b.Addr(), 40, nil); result <- err }()
	<-entered
	b.CloseConns()
	if err := <-result; !errors.Is(err, ErrOutcomeUnknown) || errors.Is(err, ErrNotSent) {
		t.Errorf("connection lost after sending: %v", err)
	}
	close(leave)
	if _, err := a.Call(t.Context(), b.Addr(), 40, nil); err != nil { // a new connection is opened
		t.Errorf("after a lost connection: %v", err)
	}
	<-entered
	_ = b.Close()
	soon(t, "it is told that nobody listens", func() bool { // the first call may still use the dead connection
		_, err := a.Call(t.Context(), b.Addr(), 40, nil)
		return errors.Is(err, ErrNotSent) && refused(err)
	})
}

// soon waits until holds returns true.
func soon(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %s: %s", patience, what)
		}
	}
}

// TestInFlightBound checks that calls above InFlightMax wait and are answered.
func TestInFlightBound(t *testing.T) {
	small := func(c *Config) { c.InFlightMax = 4 }
	a, b := listen(t, "a", small), listen(t, "b", small)
	var now, most atomic.Int32
	b.Handle(40, func(context.Context, string, []byte) ([]byte, error) {
		if n := now.Add(1); n > most.Load() {
			most.Store(n)
		}
		time.Sleep(time.Millisecond)
		now.Add(-1)
		return nil, nil
	})
	var wg sync.WaitGroup
	for range 60 {
		wg.Go(func() {
			if _, err := a.Call(t.Context(), b.Addr(), 40, nil); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if most.Load() > 4 {
		t.Errorf("%d at once", most.Load())
	}
}

// without returns access rules that refuse one replica as removed.
func without(removed string) func(server, kind, addr, serial string, key ed25519.PublicKey) (string, string) {
	return func(server, _, _, _ string, _ ed25519.PublicKey) (string, string) {
		if server == removed {
			return "REMOVED", "removed"
		}
		return "", ""
	}
}

func TestHelloRefusals(t *testing.T) {
	a := listen(t, "a", func(c *Config) { c.HandshakeTimeout = 2 * patience }) // no step waits for this timeout
	a.SetGate(without("gone.inc-gone"), nil, nil, nil)
	call := func(s *Server) error { _, err := s.Call(t.Context(), a.Addr(), 99, nil); return err }
	check := func(name string, err error, code HelloCode) {
		t.Helper()
		var he *HelloError
		if !errors.As(err, &he) || he.Code != code || he.RefusedBy() != "a.inc-a" || !errors.Is(err, ErrNotSent) {
			t.Errorf("%s: got %v, want %s", name, err, code)
		}
	}
	check("other name", call(listen(t, "b", func(c *Config) { c.ClusterName = "another" })), HelloOtherName)
	b := listen(t, "b", nil)
	b.Identify("i", "c2")
	check("other cluster", call(b), HelloOtherCluster)
	gone := listen(t, "gone", nil)
	check("removed", call(gone), HelloRemoved)
	if !errors.Is(call(gone), ErrRemoved) {
		t.Error("removal is no ErrRemoved")
	}
	fresh := listen(t, "f", nil)
	fresh.Identify("i", "")
	var re *RemoteError
	if err := call(fresh); !errors.As(err, &re) {
		t.Errorf("a replica without a cluster may call: %v", err)
	}
	_, err := fresh.stream.Dial(raft.ServerAddress(a.Addr()), patience)
	if he := (*HelloError)(nil); !errors.As(err, &he) || he.Code != HelloNotReady {
		t.Errorf("a replica without a cluster speaks raft: %v", err)
	}
	conn, err := net.Dial("tcp", a.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_, _ = conn.Write([]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"))
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	if _, err := io.ReadAll(conn); err != nil {
		var ne net.Error
		if errors.As(err, &ne) && ne.Timeout() {
			t.Error("a replica of another cluster is kept waiting")
		}
	}
}

// TestRecheck checks that Recheck ends the open connections of a removed replica.
func TestRecheck(t *testing.T) {
	a, b := listen(t, "a", nil), listen(t, "b", nil)
	a.Handle(40, func(context.Context, string, []byte) ([]byte, error) { return nil, nil })
	if _, err := b.Call(t.Context(), a.Addr(), 40, nil); err != nil {
		t.Fatal(err)
	}
	a.SetGate(without("b.inc-b"), nil, nil, nil)
	a.Recheck()
	soon(t, "it is told that it was removed", func() bool {
		_, err := b.Call(t.Context(), a.Addr(), 40, nil)
		return errors.Is(err, ErrRemoved)
	})
}

// logged collects what several goroutines log.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// TestCloseLogsNoError closes a transport while it has a request of another replica, and checks that the
// library logs no error about the end of the connection.
func TestCloseLogsNoError(t *testing.T) {
	a, b := listen(t, "a", nil), listen(t, "b", nil)
	var out logged
	log := hclog.New(&hclog.LoggerOptions{Level: hclog.Debug, Output: &out})
	ta := a.Transport(patience, hclog.NewNullLogger()).(*Transport)
	tb := b.Transport(patience, log).(*Transport)
	defer func() { _, _ = ta.Close(), tb.Close() }()
	req := &raft.RequestVoteRequest{RPCHeader: raft.RPCHeader{ID: []byte("a.inc-a"), Addr: []byte(a.Addr())}}
	go func() { _ = ta.RequestVote("b", raft.ServerAddress(b.Addr()), req, &raft.RequestVoteResponse{}) }()
	<-tb.Consumer()
	if err := tb.Close(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(patience); !strings.Contains(out.String(), "failed to decode incoming command"); {
		if time.Sleep(time.Millisecond); time.Now().After(end) {
			t.Fatalf("the end of the connection is not logged:\n%s", &out)
		}
	}
	if text := out.String(); strings.Contains(text, "[ERROR]") {
		t.Errorf("a transport that is closed logs an error:\n%s", text)
	}
}

// TestStreamLayer runs Raft's transport over the stream layer. It must not use a heartbeat handler.
func TestStreamLayer(t *testing.T) {
	a, b := listen(t, "a", nil), listen(t, "b", nil)
	ta := a.Transport(patience, hclog.NewNullLogger()).(*Transport)
	tb := b.Transport(patience, hclog.NewNullLogger()).(*Transport)
	defer func() { _, _ = ta.Close(), tb.Close() }()
	tb.SetHeartbeatHandler(func(raft.RPC) { t.Error("the fast path was taken") })
	go func() {
		rpc := <-tb.Consumer()
		rpc.Respond(&raft.AppendEntriesResponse{Term: 7, Success: true}, nil)
	}()
	// A request that the Raft library treats as a heartbeat.
	req := &raft.AppendEntriesRequest{RPCHeader: raft.RPCHeader{ProtocolVersion: 3, ID: []byte("a.inc-a"),
		Addr: []byte(a.Addr())}, Term: 7}
	var resp raft.AppendEntriesResponse
	if err := ta.AppendEntries("b", raft.ServerAddress(b.Addr()), req, &resp); err != nil || resp.Term != 7 {
		t.Fatalf("%+v %v", resp, err)
	}
}

// TestWatch checks that statuses arrive, that a lost connection does not prove that a process has
// ended, and that a refused dial does.
func TestWatch(t *testing.T) {
	addr := portblock.Loopback(portblock.Open(t).Take()) // no other process gets this address while nobody listens on it
	at := func(c *Config) { c.Listen = addr }
	a, b := listen(t, "a", nil), listen(t, "b", at)
	gone := make(chan string, 8)
	b.Watch(nil, func() []byte { return []byte("here") }, nil)
	a.Watch(map[string]string{"b": b.Addr()}, nil, func(id string) { gone <- id })
	a.hears(t, "b", "here")
	for range 3 {
		b.CloseConns()
		select {
		case <-gone:
			t.Fatal("a lost connection was taken for a death")
		case <-time.After(150 * time.Millisecond):
		}
	}
	for range 5 {
		a.hears(t, "b", "here") // over a new connection
		start, proven := time.Now(), false
		_ = b.Close()
		select {
		case id := <-gone:
			proven = true
			t.Logf("proof after %s", time.Since(start))
			if id != "b" {
				t.Fatalf("got %s", id)
			}
		case <-time.After(proofTime):
		}
		b = listen(t, "b", at)
		b.Watch(nil, func() []byte { return []byte("here") }, nil)
		if proven {
			a.hears(t, "b", "here")
			a.Watch(nil, nil, nil)
			if n, _ := a.LastStatus("b"); n != nil {
				t.Error("a status of one who is not watched")
			}
			return
		}
	}
	t.Fatal("no proof")
}

// proofTime is how long a test waits for a proof. On a busy machine a proof may fail, so tests try
// again.
const proofTime = 5 * time.Second

// hears waits for a status that arrives after the call.
func (s *Server) hears(t *testing.T, id, want string) {
	t.Helper()
	from := time.Now()
	soon(t, "a status of "+id, func() bool {
		n, at := s.LastStatus(id)
		return string(n) == want && at.After(from)
	})
}

// TestWatchRestart checks that a new process at the same address proves that the old one has ended.
func TestWatchRestart(t *testing.T) {
	a, b := listen(t, "a", nil), listen(t, "b", nil)
	gone := make(chan string, 8)
	b.Watch(nil, func() []byte { return []byte("here") }, nil)
	a.Watch(map[string]string{"b": b.Addr()}, nil, func(id string) { gone <- id })
	for range 5 {
		a.hears(t, "b", "here")
		b.mu.Lock()
		b.me.Boot++
		b.mu.Unlock()
		b.CloseConns()
		select {
		case <-gone:
			return
		case <-time.After(proofTime):
		}
	}
	t.Fatal("a new process was not noticed")
}

// authority issues certificates.
type authority struct {
	t    *testing.T
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	pool *x509.CertPool
}

func newAuthority(t *testing.T) *authority {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ca"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	a := &authority{t: t, key: key, pool: x509.NewCertPool()}
	a.cert, _ = x509.ParseCertificate(der)
	a.pool.AddCert(a.cert)
	return a
}

// config returns the TLS configuration of a replica whose certificate names cluster and id.
func (a *authority) config(cluster, id string) *tls.Config {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	u, _ := url.Parse(URI(cluster, id))
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), URIs: []*url.URL{u}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, a.cert, &key.PublicKey, a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, RootCAs: a.pool}
}

func TestTLS(t *testing.T) {
	ca, other := newAuthority(t), newAuthority(t)
	with := func(c *tls.Config) func(*Config) { return func(cfg *Config) { cfg.TLS = c } }
	a := listen(t, "a", with(ca.config("test", "a")))
	a.Handle(40, func(_ context.Context, from string, _ []byte) ([]byte, error) { return []byte(from), nil })
	call := func(s *Server, to *Server) ([]byte, error) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		return s.Call(ctx, to.Addr(), 40, nil)
	}
	good := listen(t, "b", with(ca.config("test", "b")))
	if got, err := call(good, a); err != nil || string(got) != "b.inc-b" {
		t.Fatalf("got %q %v", got, err)
	}
	for name, s := range map[string]*Server{
		"other id":      listen(t, "c", with(ca.config("test", "b"))),
		"other cluster": listen(t, "c", with(ca.config("prod", "c"))),
		"other ca":      listen(t, "c", with(other.config("test", "c"))),
		"plain":         listen(t, "c", nil),
	} {
		if _, err := call(s, a); err == nil {
			t.Errorf("%s was let in", name)
		}
	}
	liar := listen(t, "a2", with(ca.config("test", "b"))) // a listener with the certificate of b
	if _, err := call(good, liar); err == nil || !strings.Contains(err.Error(), "certificate names") {
		t.Errorf("a listener that lies about its id: %v", err)
	}
	tlsHello, err := tls.Dial("tcp", a.Addr(), &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12})
	if err == nil {
		_ = tlsHello.Close()
		t.Error("TLS 1.2 was let in")
	}
}

// TestRenewedCertificates checks that new connections use the renewed certificate and CA, and that
// old connections stay open.
func TestRenewedCertificates(t *testing.T) {
	old, renewed := newAuthority(t), newAuthority(t)
	var now atomic.Pointer[authority]
	now.Store(old)
	open := func(id string) *Server {
		by := map[*authority]*tls.Config{old: old.config("test", id), renewed: renewed.config("test", id)}
		s := listen(t, id, func(cfg *Config) {
			cfg.TLS, cfg.FreshTLS = by[old], func() *tls.Config { return by[now.Load()] }
		})
		s.Handle(40, func(_ context.Context, from string, _ []byte) ([]byte, error) { return []byte(from), nil })
		return s
	}
	a, b, c := open("a"), open("b"), open("c")
	behind := listen(t, "d", func(cfg *Config) { cfg.TLS = old.config("test", "d") })
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if got, err := b.Call(ctx, a.Addr(), 40, nil); err != nil || string(got) != "b.inc-b" {
		t.Fatalf("got %q %v", got, err)
	}
	now.Store(renewed)
	if got, err := c.Call(ctx, a.Addr(), 40, nil); err != nil || string(got) != "c.inc-c" {
		t.Errorf("with the renewed ones: %q %v", got, err)
	}
	if _, err := behind.Call(ctx, a.Addr(), 40, nil); err == nil {
		t.Error("a certificate of the old CA was let in")
	}
	if got, err := b.Call(ctx, a.Addr(), 40, nil); err != nil || string(got) != "b.inc-b" {
		t.Errorf("the connection of before: %q %v", got, err)
	}
}

func TestConfigValidate(t *testing.T) {
	c := DefaultConfig()
	c.ClusterName, c.ID, c.Logger = "test", "a", hclog.NewNullLogger()
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	for _, addr := range []string{"0.0.0.0:8034", "10.0.0.1:8034", ":8034", "nonsense"} {
		bad := c
		bad.Listen = addr
		if err := bad.Validate(); err == nil {
			t.Errorf("%s without tls was taken", addr)
		}
		bad = c
		bad.Advertise = addr
		if err := bad.Validate(); err == nil {
			t.Errorf("%s advertised without tls was taken", addr)
		}
	}
	s := listen(t, "a", nil)
	if _, err := s.Call(t.Context(), "192.0.2.1:1", 40, nil); !errors.Is(err, ErrNotSent) ||
		!strings.Contains(err.Error(), "loopback") {
		t.Errorf("a plain dial beyond loopback: %v", err)
	}
}

func FuzzHello(f *testing.F) {
	f.Add(hello{Kind: KindRPC, Code: HelloRemoved, Text: "x", From: Identity{"c", "i", "n", "d", 7}}.encode())
	f.Add([]byte("RMDP"))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := readHello(bytes.NewReader(b))
		if err != nil {
			return
		}
		again, err := readHello(bytes.NewReader(h.encode()))
		if err != nil || again != h {
			t.Fatalf("%+v comes back as %+v, %v", h, again, err)
		}
	})
}

func FuzzFrame(f *testing.F) {
	var b bytes.Buffer
	w := bufio.NewWriter(&b)
	_ = writeFrame(w, frame{frameRequest, 3, 9, []byte("payload")})
	_ = w.Flush()
	f.Add(b.Bytes())
	f.Add(binary.BigEndian.AppendUint32(nil, 1<<31))
	f.Fuzz(func(t *testing.T, b []byte) {
		fr, err := readFrame(bytes.NewReader(b), func() int { return 1 << 16 })
		if err != nil {
			return
		}
		if fr.kind == frameError {
			_ = decodeError(fr.payload)
		}
		var out bytes.Buffer
		w := bufio.NewWriter(&out)
		_ = writeFrame(w, fr)
		_ = w.Flush()
		if !bytes.HasPrefix(b, out.Bytes()) {
			t.Fatalf("%x comes back as %x", b, out.Bytes())
		}
	})
}

func FuzzNote(f *testing.F) {
	f.Add(encodeStatus([]byte("status")))
	f.Fuzz(func(t *testing.T, b []byte) {
		if text, err := readStatus(bytes.NewReader(b)); err == nil && !bytes.HasPrefix(b, encodeStatus(text)) {
			t.Fatal("a status changes")
		}
	})
}
