package issuer

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/internal/gss"
	"rmd/internal/hadoopconf"
	"rmd/internal/principal"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/token"
)

// The answers of a service that are final.
var (
	// ErrInvalidToken means that the service does not know the token any more: it has ended, or was
	// cancelled.
	ErrInvalidToken = errors.New("the token is no longer valid")
	// ErrNotRenewer means that the token names another renewer, or that its password is wrong.
	ErrNotRenewer = errors.New("this ResourceManager is not the renewer of the token")
)

// Files are the files of Hadoop's configuration that Services needs besides those that a
// ResourceManager reads anyway.
var Files = []string{"hdfs-site.xml", "mapred-site.xml"}

const (
	// callTimeout is the time for a call whose context has no deadline.
	callTimeout = time.Minute
	// answerMax limits an answer, in bytes.
	answerMax = 1 << 20
	// activesMax limits the name services whose active NameNode is remembered.
	activesMax = 4096
)

// Login is the Kerberos login of this replica. *kdc.Login implements it.
type Login interface {
	// Principal returns the principal with its realm.
	Principal() string
	// Realm returns the realm of the services of a host.
	Realm(host string) (string, error)
	// Ticket returns a ticket for a service, name/host.
	Ticket(ctx context.Context, service string) (gss.Ticket, error)
	// Forget makes Ticket ask for a new ticket for a service, which has refused the old one.
	Forget(service string)
}

// Config is what Services needs.
type Config struct {
	// Logger, Conf and Login are required. Conf has also the keys of Files.
	Logger hclog.Logger
	Conf   *hadoopconf.Config
	Login  Login
	// Protection are the qualities of protection that are taken (hadoop.rpc.protection). 0 means
	// ipc.Authentication.
	Protection ipc.Protection
	// Dial opens a connection. If it is nil, TCP is used.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// TLS is used for HTTPS. If it is nil, the certificates of the system are trusted.
	TLS *tls.Config
	// Reverse returns the names of an IP address. If it is nil, the system's resolver is asked for those
	// that lead back to the address, because the owner of a network can give its addresses any name.
	Reverse func(ctx context.Context, address string) ([]string, error)
}

// Services renews, cancels and fetches delegation tokens at the services that issued them. It is
// safe for concurrent use.
type Services struct {
	cfg  Config
	ipc  *ipc.Client
	http *http.Client

	mu      sync.Mutex
	actives map[string]string // the address that answered last, by the addresses of a service
}

// Open returns Services. The caller must call Close.
func Open(cfg Config) (*Services, error) {
	if cfg.Logger == nil || cfg.Conf == nil || cfg.Login == nil {
		return nil, errors.New("issuer: Logger, Conf and Login are required")
	}
	if cfg.Dial == nil {
		cfg.Dial = new(net.Dialer).DialContext
	}
	if cfg.Reverse == nil {
		cfg.Reverse = reverse
	}
	k := ipc.DefaultClientConfig()
	k.Logger, k.Dial, k.CallTimeout, k.FrameMax = cfg.Logger, cfg.Dial, callTimeout, answerMax
	k.ConnectTimeout = 20 * time.Second // ipc.client.connect.timeout
	k.Protection = max(cfg.Protection, ipc.Authentication)
	client, err := ipc.OpenClient(k)
	if err != nil {
		return nil, fmt.Errorf("issuer: %w", err)
	}
	return &Services{cfg: cfg, ipc: client, http: newHTTP(cfg), actives: make(map[string]string)}, nil
}

// reverse returns the names of an IP address that lead back to it.
func reverse(ctx context.Context, address string) ([]string, error) {
	a, err := netip.ParseAddr(address)
	if err != nil {
		return nil, err
	}
	return principal.HostNames(ctx, a), nil
}

// Close closes all connections. Calls in flight fail.
func (s *Services) Close() error {
	s.http.CloseIdleConnections()
	return s.ipc.Close()
}

// Renew renews a token and returns its new end. The end is the zero time if the service does not
// limit the token, so that it need not be renewed again. tokensConf is the field tokens_conf of the
// application's launch context, or nil.
func (s *Services) Renew(ctx context.Context, t token.Token, tokensConf []byte) (expires time.Time, err error) {
	ctx, cancel := limit(ctx)
	defer cancel()
	service, err := s.serviceOf(t, tokensConf)
	if err == nil {
		expires, err = service.renew(ctx, t)
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("renew %s of %q: %w", t.Kind, t.Service, err)
	}
	return expires, nil
}

// Cancel cancels a token. A token that is not valid any more is no error.
func (s *Services) Cancel(ctx context.Context, t token.Token, tokensConf []byte) error {
	ctx, cancel := limit(ctx)
	defer cancel()
	service, err := s.serviceOf(t, tokensConf)
	if err == nil {
		err = service.cancel(ctx, t)
	}
	if err != nil && !errors.Is(err, ErrInvalidToken) {
		return fmt.Errorf("cancel %s of %q: %w", t.Kind, t.Service, err)
	}
	return nil
}

// Prepare gets the tickets with which a token is renewed, so that the KDC need not answer then.
func (s *Services) Prepare(ctx context.Context, t token.Token, tokensConf []byte) error {
	ctx, cancel := limit(ctx)
	defer cancel()
	service, err := s.serviceOf(t, tokensConf)
	if err == nil {
		err = service.prepare(ctx)
	}
	if err != nil {
		return fmt.Errorf("tickets for %s of %q: %w", t.Kind, t.Service, err)
	}
	return nil
}

// Fetch gets a new token of the default file system for a user, as whose proxy this replica acts.
// The token has the alias that Hadoop gives it in credentials.
func (s *Services) Fetch(ctx context.Context, user string) ([]token.Token, error) {
	ctx, cancel := limit(ctx)
	defer cancel()
	t, err := s.fetch(ctx, user)
	if err != nil {
		return nil, fmt.Errorf("fetch a token of the default file system for %s: %w", user, err)
	}
	return []token.Token{t}, nil
}

// service is a service that has issued a token.
type service interface {
	renew(ctx context.Context, t token.Token) (time.Time, error)
	cancel(ctx context.Context, t token.Token) error
	prepare(ctx context.Context) error
}

// serviceOf finds the service of a token.
func (s *Services) serviceOf(t token.Token, tokensConf []byte) (service, error) {
	c, err := overlay(s.cfg.Conf, tokensConf)
	if err != nil {
		return nil, err
	}
	switch t.Kind {
	case kindHDFS:
		return s.nameNode(c, t.Service)
	case kindHistory:
		return s.history(c, t.Service)
	case kindWebHDFS, kindSWebHDFS:
		return s.webHDFS(c, t)
	case kindKMS:
		return s.kms(c, t.Service)
	case token.KindTimeline:
		return s.timeline(c, t.Service)
	}
	return nil, errors.New("no service is known for the kind of this token")
}

// limit gives a context a deadline if it has none.
func limit(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, callTimeout)
}

// each calls the servers of a service, the last active one first, until one gives an answer that is
// final. Each has an equal share of the time that is left.
func (s *Services) each(ctx context.Context, servers []string,
	call func(ctx context.Context, server string) error) error {
	key := strings.Join(servers, " ")
	var errs []error
	for i, server := range s.order(key, servers) {
		one, cancel := share(ctx, len(servers)-i)
		err := call(one, server)
		cancel()
		if err == nil || errors.Is(err, ErrInvalidToken) || errors.Is(err, ErrNotRenewer) {
			s.remember(key, server)
			return err
		}
		errs = append(errs, fmt.Errorf("%s: %w", server, err))
	}
	return errors.Join(errs...)
}

// order returns the servers with the one that answered last in front.
func (s *Services) order(key string, servers []string) []string {
	s.mu.Lock()
	first := s.actives[key]
	s.mu.Unlock()
	out := make([]string, 0, len(servers))
	for _, server := range servers {
		if server == first {
			out = append([]string{server}, out...)
		} else {
			out = append(out, server)
		}
	}
	return out
}

func (s *Services) remember(key, server string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.actives) >= activesMax {
		clear(s.actives)
	}
	s.actives[key] = server
}

// share limits a context to one part of the time that is left to it.
func share(ctx context.Context, parts int) (context.Context, context.CancelFunc) {
	end, _ := ctx.Deadline()
	return context.WithTimeout(ctx, time.Until(end)/time.Duration(parts))
}
