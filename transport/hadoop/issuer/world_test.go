package issuer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	gproto "google.golang.org/protobuf/proto"

	"rmd/internal/gss"
	"rmd/internal/gss/gsstest"
	"rmd/internal/hadoopconf"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/token"
)

const (
	testPrincipal = "rm/rm1.example@TEST"
	testPassword  = "the password of a token"
	nameNodeKey   = "nn/localhost@TEST"
)

// world has the keys of services, and is the login of the ResourceManager.
type world struct {
	t testing.TB

	mu        sync.Mutex
	keys      map[string]gsstest.Key // by service, name/host
	forgotten []string
	asked     []string // for tickets
}

func newWorld(t testing.TB) *world { return &world{t: t, keys: map[string]gsstest.Key{}} }

// key returns the key of a service, name/host.
func (w *world) key(service string) gsstest.Key {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.keys[service]; !ok {
		w.keys[service] = gsstest.NewKey(w.t, service+"@TEST", 18, 1)
	}
	return w.keys[service]
}

func (w *world) Principal() string            { return testPrincipal }
func (w *world) Realm(string) (string, error) { return "TEST", nil }

func (w *world) Ticket(_ context.Context, service string) (gss.Ticket, error) {
	w.mu.Lock()
	w.asked = append(w.asked, service)
	k, ok := w.keys[service]
	w.mu.Unlock()
	if !ok {
		return gss.Ticket{}, fmt.Errorf("the KDC does not know %s", service)
	}
	return k.Ticket(w.t, testPrincipal, nil), nil
}

func (w *world) Forget(service string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.forgotten = append(w.forgotten, service)
}

func (w *world) acceptor(service string) *gss.Acceptor {
	w.t.Helper()
	k := w.key(service)
	a, err := gss.OpenAcceptor(gss.Config{Principal: service + "@TEST", Keytab: gsstest.Keytab(w.t, k)})
	if err != nil {
		w.t.Fatal(err)
	}
	return a
}

// services opens the product with properties.
func (w *world) services(properties map[string]string, change ...func(*Config)) *Services {
	w.t.Helper()
	cfg := Config{Logger: hclog.NewNullLogger(), Conf: configuration(w.t, properties), Login: w,
		Reverse: func(_ context.Context, address string) ([]string, error) {
			if address == "127.0.0.1" {
				return []string{"localhost."}, nil
			}
			return nil, errors.New("no name")
		}}
	for _, f := range change {
		f(&cfg)
	}
	s, err := Open(cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = s.Close() })
	return s
}

func configuration(t testing.TB, properties map[string]string) *hadoopconf.Config {
	t.Helper()
	var b strings.Builder
	b.WriteString("<configuration>")
	for k, v := range properties {
		fmt.Fprintf(&b, "<property><name>%s</name><value>%s</value></property>", k, v)
	}
	b.WriteString("</configuration>")
	c, err := hadoopconf.Parse(strings.NewReader(b.String()), "test.xml")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// server is a NameNode or a history server in this process. fail is its answer to each call, if it is
// not nil.
type server struct {
	*ipc.Server
	mu    sync.Mutex
	fail  error
	calls []string // METHOD USER (real user) argument
}

func (s *server) answer(c *ipc.Call, method, argument string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, strings.TrimSpace(
		fmt.Sprintf("%s %s %s %s", method, c.Caller.User, c.Caller.RealUser, argument)))
	return s.fail
}

func (s *server) set(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = err
}

func (s *server) take() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { s.calls = nil }()
	return strings.Join(s.calls, "; ")
}

func (s *server) addr() string { return s.Addr().String() }

// The end that the servers tell.
var testEnd = time.UnixMilli(1_900_000_000_123)

// serve opens a server of a protocol for a principal, name/host.
func (w *world) serve(service, protocol string, offers ipc.Protection) *server {
	w.t.Helper()
	s := new(server)
	name, host, _ := strings.Cut(service, "/")
	cfg := ipc.DefaultConfig()
	cfg.Logger, cfg.Listen, cfg.Auth = hclog.NewNullLogger(), "127.0.0.1:0", ipc.AuthTokenKerberos
	cfg.HandshakeFrameMax = 1 << 20
	cfg.Password = func(context.Context, []byte) (string, []byte, error) { return "", nil, ipc.InvalidToken("none") }
	cfg.Kerberos = &ipc.Kerberos{Acceptor: w.acceptor(service), Service: name, Host: host,
		Short: func(p string) (string, error) {
			short, _, _ := strings.Cut(p, "/")
			return short, nil
		}}
	cfg.Protection = func(netip.Addr) ipc.Protection { return offers }
	cfg.MayImpersonate = func(real, user string, _ netip.Addr) error {
		if user == "root" {
			return fmt.Errorf("User: %s is not allowed to impersonate %s", real, user)
		}
		return nil
	}
	cfg.Protocols = []ipc.Protocol{{Name: protocol, Methods: map[string]ipc.Method{
		"getDelegationToken": ipc.Handle(func(_ context.Context, c *ipc.Call,
			r *proto.GetDelegationTokenRequestProto) (*proto.GetDelegationTokenResponseProto, error) {
			return &proto.GetDelegationTokenResponseProto{
					Token: &proto.TokenProto{Identifier: []byte("new"), Password: []byte("secret"), Kind: gproto.String(kindHDFS),
						Service: gproto.String("")}},
				s.answer(c, "get", r.GetRenewer())
		}),
		"renewDelegationToken": ipc.Handle(func(_ context.Context, c *ipc.Call,
			r *proto.RenewDelegationTokenRequestProto) (*proto.RenewDelegationTokenResponseProto, error) {
			end := uint64(testEnd.UnixMilli())
			return &proto.RenewDelegationTokenResponseProto{NewExpiryTime: &end},
				s.answer(c, "renew", string(r.GetToken().GetIdentifier()))
		}),
		"cancelDelegationToken": ipc.Handle(func(_ context.Context, c *ipc.Call,
			r *proto.CancelDelegationTokenRequestProto) (*proto.CancelDelegationTokenResponseProto, error) {
			return &proto.CancelDelegationTokenResponseProto{}, s.answer(c, "cancel", string(r.GetToken().GetIdentifier()))
		}),
	}}}
	var err error
	if s.Server, err = ipc.Open(cfg); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = s.Close() })
	return s
}

func (w *world) nameNode() *server {
	return w.serve("nn/localhost", protocolNameNode, ipc.Authentication)
}

func hdfs(service string) token.Token {
	return token.Token{Kind: kindHDFS, Service: service, Identifier: []byte("id"), Password: []byte(testPassword)}
}

// closed returns an address at which nobody listens.
func closed(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// clean checks that an error says nothing secret, and contains a text.
func clean(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the error is %v, want %q", err, want)
		return
	}
	if strings.Contains(err.Error(), testPassword) || strings.Contains(err.Error(), hdfs("").URLString()[:20]) {
		t.Errorf("the error has a secret: %v", err)
	}
}
