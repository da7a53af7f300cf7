package groups

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	ber "github.com/go-asn1-ber/asn1-ber"
	"github.com/go-ldap/ldap/v3"
	"github.com/hashicorp/go-hclog"
)

// maxFound limits the entries of one search.
const maxFound = 10_000

// directory searches LDAP servers. It opens a connection for each lookup, because package access
// caches the answers for minutes.
type directory struct {
	conf *ldapConfig
	log  hclog.Logger
	read budget

	mu   sync.Mutex
	url  int // index in conf.urls of the server in use
	user int // index in conf.users of the user in use
}

func newLDAP(get keys, log hclog.Logger) (*directory, error) {
	conf, err := readLDAP(get)
	if err != nil {
		return nil, err
	}
	return &directory{conf: conf, log: log}, nil
}

// Groups implements Provider. If a server fails, it is asked again, and after conf.beforeAnother
// failed attempts the next server is asked.
func (d *directory) Groups(ctx context.Context, user string) ([]string, error) {
	var last error
	same := 1 // attempts at the present server
	for range d.conf.attempts {
		if err := ctx.Err(); err != nil {
			return nil, errors.Join(err, last)
		}
		server, as := d.using()
		out, err := d.ask(ctx, server, as, user)
		if err == nil {
			return out, nil
		}
		last = fmt.Errorf("%s: %w", server, err)
		d.log.Warn("cannot get groups", "user", user, "server", server, "error", err)
		if ldap.IsErrorWithCode(err, ldap.LDAPResultInvalidCredentials) {
			d.nextUser(as)
		} else if same >= d.conf.beforeAnother {
			d.nextServer(server)
			same = 0
		}
		same++
	}
	return nil, last
}

func (d *directory) using() (server string, as bindUser) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.conf.urls[d.url], d.conf.users[d.user]
}

// nextServer selects the next server, unless another lookup already has.
func (d *directory) nextServer(from string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.conf.urls[d.url] == from {
		d.url = (d.url + 1) % len(d.conf.urls)
	}
}

// nextUser selects the next user for the bind, unless another lookup already has.
func (d *directory) nextUser(from bindUser) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.conf.users[d.user] == from {
		d.user = (d.user + 1) % len(d.conf.users)
	}
}

// session is one connection. Every request on it has a time limit.
type session struct {
	conf *ldapConfig
	raw  net.Conn
	conn *ldap.Conn
}

func (d *directory) ask(ctx context.Context, server string, as bindUser, user string) ([]string, error) {
	s, err := d.dial(ctx, server)
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.conn.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = s.raw.Close() })
	defer stop()
	if as.name != "" {
		s.step()
		if err := s.conn.Bind(as.name, as.password); err != nil {
			return nil, fmt.Errorf("bind as %s: %w", as.name, err)
		}
	}
	return s.groupsOf(user)
}

// dial connects to a server, with TLS if it is configured. A meter limits what is read.
func (d *directory) dial(ctx context.Context, server string) (*session, error) {
	u, err := url.Parse(server)
	if err != nil {
		return nil, err
	}
	raw, err := (&net.Dialer{Timeout: d.conf.connect}).DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return nil, err
	}
	s := &session{conf: d.conf, raw: raw}
	s.step()
	conn, err := d.secure(ctx, raw, u)
	if err != nil {
		_ = raw.Close()
		return nil, err
	}
	s.conn = ldap.NewConn(&meter{Conn: conn, all: &d.read}, conn != raw)
	s.conn.Start()
	return s, nil
}

// secure begins TLS on a connection, if it is configured.
func (d *directory) secure(ctx context.Context, raw net.Conn, server *url.URL) (net.Conn, error) {
	if d.conf.startTLS {
		if err := d.startTLS(raw); err != nil {
			return nil, fmt.Errorf("StartTLS: %w", err)
		}
	} else if server.Scheme != "ldaps" {
		return raw, nil
	}
	conf := d.conf.tls.Clone()
	conf.ServerName = server.Hostname()
	secure := tls.Client(raw, conf)
	return secure, secure.HandshakeContext(ctx)
}

// startTLS asks the server to begin TLS. The library's own call would put TLS above the meter, which
// could then count no elements.
func (d *directory) startTLS(raw net.Conn) error {
	request := ber.Encode(ber.ClassApplication, ber.TypeConstructed, ldap.ApplicationExtendedRequest, nil, "")
	request.AppendChild(ber.NewString(ber.ClassContext, ber.TypePrimitive, 0, "1.3.6.1.4.1.1466.20037", ""))
	message := ber.Encode(ber.ClassUniversal, ber.TypeConstructed, ber.TagSequence, nil, "")
	message.AppendChild(ber.NewInteger(ber.ClassUniversal, ber.TypePrimitive, ber.TagInteger, int64(1), ""))
	message.AppendChild(request)
	if _, err := raw.Write(message.Bytes()); err != nil {
		return err
	}
	var answered budget
	answer, err := ber.ReadPacket(&meter{Conn: raw, all: &answered})
	if err != nil {
		return err
	}
	return ldap.GetLDAPError(answer)
}

// step sets the deadline of the next request. After the deadline the connection fails.
func (s *session) step() { _ = s.raw.SetDeadline(time.Now().Add(s.conf.read)) }

// find searches below a base and returns at most `most` entries.
func (s *session) find(base, filter string, most int) ([]*ldap.Entry, error) {
	s.step()
	attributes := append([]string{s.conf.groupName, s.conf.uid, s.conf.gid}, s.conf.filterAttributes...)
	if s.conf.memberOf != "" {
		attributes = append(attributes, s.conf.memberOf)
	}
	seconds := int((s.conf.search + time.Second - 1) / time.Second)
	r, err := s.conn.Search(ldap.NewSearchRequest(base, ldap.ScopeWholeSubtree, ldap.NeverDerefAliases, most, seconds,
		false, filter, attributes, nil))
	if r != nil && len(r.Entries) >= most && ldap.IsErrorWithCode(err, ldap.LDAPResultSizeLimitExceeded) {
		err = nil
	}
	if err != nil {
		return nil, fmt.Errorf("search %q for %s: %w", base, filter, err)
	}
	return r.Entries[:min(len(r.Entries), most)], nil
}

// groupsOf returns the groups of a user, from an attribute of the user's entry or by a second
// search.
func (s *session) groupsOf(user string) ([]string, error) {
	found, err := s.find(s.conf.userBase, fill(s.conf.userFilter, user), 1)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	if s.conf.memberOf != "" && s.conf.levels == 0 {
		if out := s.named(found[0]); len(out) > 0 {
			return out, nil
		}
	}
	filter, err := s.groupFilter(found[0])
	if err != nil {
		return nil, err
	}
	return s.climb(filter)
}

// named returns the groups in the user's memberOf attribute. It returns none if one of the values
// is malformed.
func (s *session) named(user *ldap.Entry) (out []string) {
	for _, text := range user.GetEqualFoldAttributeValues(s.conf.memberOf) {
		dn, err := ldap.ParseDN(text)
		if err != nil || len(dn.RDNs) == 0 || !strings.EqualFold(dn.RDNs[0].Attributes[0].Type, s.conf.groupName) {
			return nil
		}
		out = append(out, dn.RDNs[0].Attributes[0].Value)
	}
	return out
}

// groupFilter returns the filter for the groups of which the user is a direct member.
func (s *session) groupFilter(user *ldap.Entry) (string, error) {
	c := s.conf
	switch {
	case c.filterAttributes != nil:
		values := make([]string, len(c.filterAttributes))
		for i, name := range c.filterAttributes {
			if values[i] = user.GetEqualFoldAttributeValue(name); strings.EqualFold(name, "userDN") {
				values[i] = user.DN
			}
		}
		return fill(c.groupFilter, values...), nil
	case c.posix:
		gid, uid := user.GetEqualFoldAttributeValue(c.gid), user.GetEqualFoldAttributeValue(c.uid)
		if gid == "" || uid == "" {
			return "", fmt.Errorf("%s has no attribute %s or %s", user.DN, c.gid, c.uid)
		}
		return fmt.Sprintf("(&%s(|(%s=%s)(%s=%s)))", c.groupFilter, c.gid, ldap.EscapeFilter(gid), c.member,
			ldap.EscapeFilter(uid)), nil
	}
	return fmt.Sprintf("(&%s(%s=%s))", c.groupFilter, c.member, ldap.EscapeFilter(user.DN)), nil
}

// climb returns the groups that match a filter, and the groups of which those are members, up to
// the configured number of levels.
func (s *session) climb(filter string) (out []string, err error) {
	seen := map[string]bool{}
	for level := 0; ; level++ {
		found, err := s.find(s.conf.groupBase, filter, maxFound)
		if err != nil {
			return nil, err
		}
		var above strings.Builder
		for _, g := range found {
			name := g.GetEqualFoldAttributeValue(s.conf.groupName)
			if name == "" {
				return nil, fmt.Errorf("group %s has no attribute %s", g.DN, s.conf.groupName)
			}
			if seen[g.DN] {
				continue
			}
			seen[g.DN] = true
			if !slices.Contains(out, name) {
				out = append(out, name)
			}
			fmt.Fprintf(&above, "(%s=%s)", s.conf.member, ldap.EscapeFilter(g.DN))
		}
		if level >= s.conf.levels || above.Len() == 0 || s.conf.posix || len(out) >= maxFound {
			return out, nil
		}
		filter = fmt.Sprintf("(&%s(|%s))", s.conf.groupFilter, above.String())
	}
}

// ruleBased changes the case of the groups' names (RuleBasedLdapGroupsMapping).
type ruleBased struct {
	Provider
	change func(string) string
}

func newRuleBased(get keys, log hclog.Logger) (Provider, error) {
	p, err := newLDAP(get, log)
	if err != nil {
		return nil, err
	}
	const name = ".conversion.rule"
	switch rule := get(ldapPrefix + name); strings.ToLower(rule) {
	case "to_upper":
		return ruleBased{p, strings.ToUpper}, nil
	case "to_lower":
		return ruleBased{p, strings.ToLower}, nil
	case "", "none":
		return p, nil
	default:
		return nil, fmt.Errorf("%s: %q is none of to_upper, to_lower and none", ldapPrefix+name, rule)
	}
}

// Groups implements Provider.
func (r ruleBased) Groups(ctx context.Context, user string) ([]string, error) {
	out, err := r.Provider.Groups(ctx, user)
	for i := range out {
		out[i] = r.change(out[i])
	}
	return out, err
}
