package issuer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	gproto "google.golang.org/protobuf/proto"

	"rmd/internal/gss"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/token"
)

// The protocols of Hadoop's IPC, and the keys of the principals of their servers.
const (
	protocolNameNode = "org.apache.hadoop.hdfs.protocol.ClientProtocol"
	protocolHistory  = "org.apache.hadoop.mapreduce.v2.api.HSClientProtocolPB"
	keyNameNode      = "dfs.namenode.kerberos.principal"
	keyHistory       = "mapreduce.jobhistory.principal"
)

// ticketTimeout limits the time to get a ticket.
const ticketTimeout = 15 * time.Second

// rpc is a service that is called over Hadoop's IPC.
type rpc struct {
	s        *Services
	conf     conf
	protocol string
	key      string // of the servers' principal
	servers  []string
}

// nameNode returns the NameNodes of a token's service: ha-hdfs:NAME, or host:port.
func (s *Services) nameNode(c conf, service string) (*rpc, error) {
	r := &rpc{s: s, conf: c, protocol: protocolNameNode, key: keyNameNode}
	var err error
	if name, logical := strings.CutPrefix(service, "ha-hdfs:"); logical {
		r.servers, err = c.servers(name, "dfs.namenode.rpc-address", "8020")
	} else {
		r.servers, err = direct(service)
	}
	return r, err
}

func (s *Services) history(c conf, service string) (*rpc, error) {
	servers, err := direct(service)
	return &rpc{s: s, conf: c, protocol: protocolHistory, key: keyHistory, servers: servers}, err
}

func (r *rpc) renew(ctx context.Context, t token.Token) (time.Time, error) {
	reply := new(proto.RenewDelegationTokenResponseProto)
	err := r.call(ctx, "", "renewDelegationToken", &proto.RenewDelegationTokenRequestProto{Token: tokenProto(t)}, reply)
	return time.UnixMilli(int64(reply.GetNewExpiryTime())), err
}

func (r *rpc) cancel(ctx context.Context, t token.Token) error {
	return r.call(ctx, "", "cancelDelegationToken", &proto.CancelDelegationTokenRequestProto{Token: tokenProto(t)},
		new(proto.CancelDelegationTokenResponseProto))
}

func tokenProto(t token.Token) *proto.TokenProto {
	return &proto.TokenProto{Identifier: t.Identifier, Password: t.Password, Kind: &t.Kind, Service: &t.Service}
}

// call makes a call, for a user if there is one.
func (r *rpc) call(ctx context.Context, user, method string, request, reply gproto.Message) error {
	return r.s.each(ctx, r.servers, func(ctx context.Context, server string) error {
		return judge(r.one(ctx, server, user, method, request, reply))
	})
}

// one calls one server. Where an application says who the server is, the connection is not shared
// with others.
func (r *rpc) one(ctx context.Context, server, user, method string, request, reply gproto.Message) error {
	var asked atomic.Pointer[string]
	to, err := r.target(server, user, &asked)
	if err != nil {
		return err
	}
	if r.conf.app == nil {
		err = r.s.ipc.Call(ctx, to, method, request, reply)
	} else if conn, e := r.s.ipc.Connect(ctx, to); e != nil {
		err = e
	} else {
		err = conn.Call(ctx, method, request, reply)
		_ = conn.Close() // the call is over
	}
	if spn := asked.Load(); spn != nil && errors.Is(err, ipc.ErrNotConnected) {
		r.s.cfg.Login.Forget(*spn) // the key of the service may have changed
	}
	return err
}

// prepare gets the tickets for all servers. A server says for whom it wants one.
func (r *rpc) prepare(ctx context.Context) error {
	var errs []error
	for i, server := range r.servers {
		one, cancel := share(ctx, len(r.servers)-i)
		to, err := r.target(server, "", new(atomic.Pointer[string]))
		if err == nil {
			var conn *ipc.ClientConn
			if conn, err = r.s.ipc.Connect(one, to); err == nil {
				_ = conn.Close() // the ticket is there
			}
		}
		cancel()
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// target says how to connect to a server, for a user if there is one. It stores the service whose
// ticket it has got in asked.
func (r *rpc) target(server, user string, asked *atomic.Pointer[string]) (ipc.Target, error) {
	host, _, err := net.SplitHostPort(server)
	if err != nil {
		return ipc.Target{}, fmt.Errorf("it is no address host:port: %w", err)
	}
	to := ipc.Target{Address: server, Protocol: r.protocol, User: r.s.cfg.Login.Principal()}
	if user != "" {
		to.User, to.RealUser = user, to.User
	}
	to.Ticket = func(service, name string) (gss.Ticket, error) {
		// not that of the call: other calls may wait for the same connection
		ctx, cancel := context.WithTimeout(context.Background(), ticketTimeout)
		defer cancel()
		if err := r.check(ctx, service, name, host); err != nil {
			return gss.Ticket{}, err
		}
		spn := service + "/" + name
		asked.Store(&spn)
		return r.s.cfg.Login.Ticket(ctx, spn)
	}
	return to, nil
}

// check returns an error if a server says that it is another one than the configuration says. host
// is the one that was called.
func (r *rpc) check(ctx context.Context, service, name, host string) error {
	realm, err := r.s.cfg.Login.Realm(name)
	if err != nil {
		return err
	}
	got := service + "/" + name + "@" + realm
	if (r.conf.byApp(r.key) || r.conf.byApp(r.key+".pattern")) && !r.s.isHost(ctx, name, host) {
		// The user's server may pass the login on to the service that it names.
		//lint:ignore ST1005 Java's words
		return fmt.Errorf("Server has invalid Kerberos principal: %s: %s is not a name of %s, and the application's "+
			"configuration cannot say that it is", got, name, host)
	}
	if pattern := r.conf.value(r.key+".pattern", ""); pattern != "" {
		if !glob(pattern).MatchString(got) {
			//lint:ignore ST1005 Java's words
			return fmt.Errorf("Server has invalid Kerberos principal: %s, doesn't match the pattern: %s", got, pattern)
		}
		return nil
	}
	want := r.conf.value(r.key, "")
	if want == "" {
		//lint:ignore ST1005 Java's words
		return fmt.Errorf("Failed to specify server's Kerberos principal name: set %s", r.key)
	}
	if before, after, pattern := strings.Cut(want, "/_HOST@"); pattern {
		if !r.s.isHost(ctx, name, host) {
			name = strings.ToLower(host)
		}
		want = before + "/" + name + "@" + after
	}
	if got != want {
		//lint:ignore ST1005 Java's words
		return fmt.Errorf("Server has invalid Kerberos principal: %s, expecting: %s", got, want)
	}
	return nil
}

// isHost reports whether a name is that of a host, which may be an address.
func (s *Services) isHost(ctx context.Context, name, host string) bool {
	if name == strings.ToLower(host) {
		return true
	}
	addresses := []string{host}
	if _, err := netip.ParseAddr(host); err != nil {
		addresses, err = net.DefaultResolver.LookupHost(ctx, host)
		if err != nil {
			return false
		}
	}
	for _, a := range addresses {
		names, err := s.cfg.Reverse(ctx, a)
		if err != nil {
			continue
		}
		for _, n := range names {
			if strings.EqualFold(strings.TrimSuffix(n, "."), name) {
				return true
			}
		}
	}
	return false
}

// glob compiles a pattern of Hadoop's GlobPattern. One that cannot be compiled matches nothing.
func glob(pattern string) *regexp.Regexp {
	var b strings.Builder
	depth, class := 0, false
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '\\' && i+1 < len(pattern):
			i++
			b.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		case class:
			class = c != ']'
			if c == '!' && pattern[i-1] == '[' {
				c = '^'
			}
			b.WriteByte(c)
		case c == '[':
			class = true
			b.WriteByte(c)
		case c == '*':
			b.WriteString(".*")
		case c == '?':
			b.WriteByte('.')
		case c == '{':
			depth++
			b.WriteString("(?:")
		case c == '}' && depth > 0:
			depth--
			b.WriteByte(')')
		case c == ',' && depth > 0:
			b.WriteByte('|')
		default:
			b.WriteString(regexp.QuoteMeta(string(c)))
		}
	}
	re, err := regexp.Compile("^(?:" + b.String() + ")$")
	if err != nil {
		return regexp.MustCompile(`^\b$`)
	}
	return re
}

// judge finds out whether the refusal of a call is final. A refusal of the connection is not: it is
// about this replica and not about the token.
func judge(err error) error {
	var remote *ipc.RemoteError
	if !errors.As(err, &remote) {
		return err
	}
	if !remote.Fatal && !errors.Is(err, ipc.ErrNotConnected) {
		switch remote.Class {
		case ipc.ClassInvalidToken:
			return fmt.Errorf("%w: %s", ErrInvalidToken, firstLine(remote.Message))
		case ipc.ClassAccessControl:
			return fmt.Errorf("%w: %s", ErrNotRenewer, firstLine(remote.Message))
		}
	}
	return fmt.Errorf("%s: %s", remote.Class, firstLine(remote.Message))
}

// textMax limits the text of a service in an error, in bytes.
const textMax = 500

// firstLine returns the first line of a service's text. The others are a stack trace.
func firstLine(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	if len(text) > textMax {
		text = text[:textMax] + "…"
	}
	return strings.ToValidUTF8(text, "?")
}
