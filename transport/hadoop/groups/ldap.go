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

	"github.com/go-ldap/ldap/v3"
	"github.com/hashicorp/go-hclog"
)

// maxFound bounds the entries that one search may find.
const maxFound = 10_000

// directory asks LDAP servers, one connection for each user: answers are kept for minutes.
type directory struct {
	conf *ldapConfig
	log  hclog.Logger

	mu   sync.Mutex
	url  int // of conf.urls, in use
	user int // of conf.users, in use
}

func newLDAP(get keys, log hclog.Logger) (*directory, error) {
	conf, err := readLDAP(get)
	if err != nil {
		return nil, err
	}
	return &directory{conf: conf, log: log}, nil
}

// Groups implements Provider. A server that fails is asked again, and after some attempts the next one.
func (d *directory) Groups(ctx context.Context, user string) ([]string, error) {
	var last error
	same := 1 // attempts at one server
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

// nextServer turns to the next server, unless somebody else has.
func (d *directory) nextServer(from string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.conf.urls[d.url] == from {
		d.url = (d.url + 1) % len(d.conf.urls)
	}
}

// nextUser turns to the next user to bind as, unless somebody else has.
func (d *directory) nextUser(from bindUser) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.conf.users[d.user] == from {
		d.user = (d.user + 1) % len(d.conf.users)
	}
}

// session is one connection, whose every step is bounded in time.
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

// dial connects, with TLS where it is configured.
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
	var conf *tls.Config
	if d.conf.tls != nil {
		conf = d.conf.tls.Clone()
		conf.ServerName = u.Hostname()
	}
	s.step()
	if u.Scheme == "ldaps" {
		secure := tls.Client(raw, conf)
		if err := secure.HandshakeContext(ctx); err != nil {
			_ = raw.Close()
			return nil, err
		}
		s.conn = ldap.NewConn(secure, true)
	} else {
		s.conn = ldap.NewConn(raw, false)
	}
	s.conn.Start()
	if d.conf.startTLS {
		s.step()
		if err := s.conn.StartTLS(conf); err != nil {
			_ = s.conn.Close()
			return nil, fmt.Errorf("StartTLS: %w", err)
		}
	}
	return s, nil
}

// step gives the next request its time. Should that pass, the connection fails.
func (s *session) step() { _ = s.raw.SetDeadline(time.Now().Add(s.conf.read)) }

// find searches below a base. It returns what was found up to a number.
func (s *session) find(base, filter string, most int) ([]*ldap.Entry, error) {
	s.step()
	attributes := append([]string{s.conf.groupName, s.conf.uid, s.conf.gid}, s.conf.filterAttributes...)
	if s.conf.memberOf != "" {
		attributes = append(attributes, s.conf.memberOf)
	}
	seconds := int((s.conf.search + time.Second - 1) / time.Second)
	r, err := s.conn.Search(ldap.NewSearchRequest(base, ldap.ScopeWholeSubtree, ldap.NeverDerefAliases, most, seconds, false, filter, attributes, nil))
	if r != nil && len(r.Entries) >= most && ldap.IsErrorWithCode(err, ldap.LDAPResultSizeLimitExceeded) {
		err = nil
	}
	if err != nil {
		return nil, fmt.Errorf("search %q for %s: %w", base, filter, err)
	}
	return r.Entries, nil
}

// groupsOf finds the user, and its groups in an attribute of the user or by a second search.
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

// named are the groups that an attribute of the user names; none if it does not name every one well.
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

// groupFilter finds the groups that a user is in itself.
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
		return fmt.Sprintf("(&%s(|(%s=%s)(%s=%s)))", c.groupFilter, c.gid, ldap.EscapeFilter(gid), c.member, ldap.EscapeFilter(uid)), nil
	}
	return fmt.Sprintf("(&%s(%s=%s))", c.groupFilter, c.member, ldap.EscapeFilter(user.DN)), nil
}

// climb finds groups, and those that they are members of, up to the configured number of levels.
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

// ruleBased changes the letters of the names.
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
