package httpserver

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/x509"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/transport/caller"
	"rmd/transport/http/v1/api"
	"rmd/yarn"
)

// Modes of http.auth.
const (
	// AuthOptional lets everybody read; writes need a role. Until there is an access
	// token in the cluster, programs on this machine need none.
	AuthOptional = "optional"
	// AuthRequired lets nobody do anything without a role, but ask whether the
	// replica is well.
	AuthRequired = "required"
	// AuthOff takes no notice of tokens and certificates: programs on this machine
	// may do everything. It is the way back in for whoever may change rmd.yaml.
	AuthOff = "off"
)

// Auth is how callers are told apart and bounded.
type Auth struct {
	Mode string
	// Cluster is the name that role certificates carry; without it certificates
	// give no role.
	Cluster string
	// Member says whether a replica belongs to the cluster: the certificate of
	// one that was removed gives no role. Nil: all do.
	Member func(id string) bool
	// Revoked says whether the certificate with a serial number, in hexadecimal,
	// is revoked. Nil: none is.
	Revoked func(serial string) bool
	// Rate and Burst bound the requests a second of one principal, or of one
	// address without one. Programs on this machine without a role are not
	// bounded, nor is the binary door.
	Rate, Burst int
	// OwnToken is an administrator's token that this process alone knows, for a
	// workload inside it: it is in no state, and ends with the process. Empty: none.
	OwnToken string
	// SessionLife is how long a browser stays logged in.
	SessionLife time.Duration
}

// DefaultAuth returns the values of operations.md, section 7.
func DefaultAuth() Auth {
	return Auth{Mode: AuthOptional, Rate: 200, Burst: 400, SessionLife: 12 * time.Hour}
}

// validate says everything that is wrong.
func (a Auth) validate() error {
	var errs []error
	if a.Mode != AuthOptional && a.Mode != AuthRequired && a.Mode != AuthOff {
		errs = append(errs, errors.New("rest: Auth.Mode is optional, required or off"))
	}
	if a.Rate < 1 || a.Burst < 1 || a.SessionLife <= 0 {
		errs = append(errs, errors.New("rest: Auth.Rate, Burst and SessionLife must be above 0"))
	}
	return errors.Join(errs...)
}

// How a principal is known.
const (
	byToken       = "token"
	byCertificate = "certificate"
	bySession     = "session"
	byProcess     = "process"
)

// principal is who asks. One without a role is known by its address alone.
type principal struct {
	name, by string
	role     yarn.Role
	from     string // the address it asks from
}

func (p principal) known() bool { return p.role != yarn.RoleNone }

// String names it for the audit; a session is one of a token.
func (p principal) String() string {
	switch p.by {
	case bySession:
		return byToken + " " + p.name
	case "":
		return p.from
	}
	return p.by + " " + p.name
}

type principalKey struct{}

// principalOf is who serve found to ask.
func principalOf(r *http.Request) principal {
	p, ok := r.Context().Value(principalKey{}).(principal)
	if !ok {
		return principal{from: hostOf(r.RemoteAddr)}
	}
	return p
}

// identified returns the request with its principal.
func (s *Server) identified(r *http.Request) (*http.Request, error) {
	p, err := s.identify(r)
	p.from = hostOf(r.RemoteAddr)
	if rate := s.rates.take(p, r); rate != nil {
		return r, rate
	}
	r = r.WithContext(context.WithValue(r.Context(), principalKey{}, p))
	return r.WithContext(caller.With(r.Context(), input.Caller{Who: s.who(r), From: r.RemoteAddr})), err
}

// identify finds out who asks: by token, by certificate, on the pages also by
// session. What is given and not good is refused, never passed over.
func (s *Server) identify(r *http.Request) (principal, error) {
	if s.cfg.Auth.Mode == AuthOff {
		return principal{}, nil
	}
	secret, err := secretOf(r.Header)
	switch {
	case err != nil:
		return principal{}, err
	case secret != "":
		return s.principalOfToken(r, secret)
	}
	if s.revoked(r) {
		return principal{}, unauthenticated("the certificate is revoked")
	}
	if p, ok := s.principalOfCertificate(r); ok {
		return p, nil
	}
	if webPath(r.URL.Path) {
		return s.principalOfSession(r)
	}
	return principal{}, nil
}

// secretOf reads the access token of a request. Other schemes of authorization
// are not ours: Hadoop's clients may send theirs.
func secretOf(h http.Header) (string, error) {
	secret := strings.TrimSpace(h.Get(api.HeaderToken))
	scheme, bearer, _ := strings.Cut(h.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return secret, nil
	}
	bearer = strings.TrimSpace(bearer)
	switch {
	case bearer == "":
		return "", unauthenticated("the header Authorization names no token")
	case secret != "" && secret != bearer:
		return "", unauthenticated("the request carries two access tokens")
	}
	return bearer, nil
}

// freshWait bounds how long a token that this replica does not know is looked for
// at the leader: it may have been made a moment ago, through another replica.
const freshWait = time.Second

// principalOfToken looks a token up by its hash.
func (s *Server) principalOfToken(r *http.Request, secret string) (principal, error) {
	if own := s.cfg.Auth.OwnToken; own != "" && subtle.ConstantTimeCompare([]byte(own), []byte(secret)) == 1 {
		return principal{name: "workload", by: byProcess, role: yarn.RoleAdmin}, nil
	}
	hash := sha256.Sum256([]byte(secret))
	st, _ := s.forkOf(r)
	t, ok := st.AccessTokenByHash(hash[:])
	if !ok && strings.HasPrefix(secret, accessPrefix) && s.lookups.allow() {
		ctx, cancel := context.WithTimeout(r.Context(), freshWait)
		defer cancel()
		if index, err := s.cfg.Consensus.ReadIndex(ctx); err == nil && s.cfg.Reader.WaitApplied(ctx, index) == nil {
			st, _ = s.reforked(r)
			t, ok = st.AccessTokenByHash(hash[:])
		}
	}
	if !ok {
		return principal{}, unauthenticated("the access token is not known, or was revoked")
	}
	if t.Expired(s.clock(st)) {
		return principal{}, unauthenticated("the access token " + t.Name + " has expired")
	}
	return principal{name: t.Name, by: byToken, role: t.Role}, nil
}

// clock is the later one of this replica's and the state's.
func (s *Server) clock(st *state.State) int64 {
	return max(s.cfg.Now().UnixMilli(), st.Meta.NowMillis)
}

// revoked says whether the client's certificate was revoked, perhaps since the connection began.
func (s *Server) revoked(r *http.Request) bool {
	if r.TLS == nil || s.cfg.Auth.Revoked == nil {
		return false
	}
	return slices.ContainsFunc(r.TLS.PeerCertificates, func(c *x509.Certificate) bool { return s.cfg.Auth.Revoked(c.SerialNumber.Text(16)) })
}

// principalOfCertificate reads the role from the verified certificate of a
// client: rmd://CLUSTER/role/ROLE/NAME, or rmd://CLUSTER/replica/ID for a
// replica's own, which may do everything.
func (s *Server) principalOfCertificate(r *http.Request) (principal, bool) {
	if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 || len(r.TLS.VerifiedChains[0]) == 0 || s.cfg.Auth.Cluster == "" {
		return principal{}, false
	}
	return roleInCertificate(r.TLS.VerifiedChains[0][0], s.cfg.Auth)
}

func roleInCertificate(leaf *x509.Certificate, a Auth) (principal, bool) {
	for _, u := range leaf.URIs {
		if u.Scheme != "rmd" || u.Host != a.Cluster {
			continue
		}
		part := strings.Split(strings.TrimPrefix(u.Path, "/"), "/")
		switch {
		case len(part) == 2 && part[0] == "replica" && part[1] != "" && (a.Member == nil || a.Member(part[1])):
			return principal{name: part[1], by: byCertificate, role: yarn.RoleAdmin}, true
		case len(part) == 3 && part[0] == "role" && part[2] != "":
			if role, err := yarn.ParseRole(part[1]); err == nil {
				return principal{name: part[2], by: byCertificate, role: role}, true
			}
		}
	}
	return principal{}, false
}

// guarded says whether those without a role may at most read.
func (s *Server) guarded(st *state.State) bool {
	switch s.cfg.Auth.Mode {
	case AuthOff:
		return false
	case AuthRequired:
		return true
	}
	return len(st.Access) > 0
}

// admit decides whether the caller may make a call of a route.
func (s *Server) admit(r *http.Request, t *route) error {
	p, carrier := principalOf(r), t.class
	if t.class == ClassRead && t.least > yarn.RoleRead {
		carrier = ClassWrite // what it shows must not cross a network in the open
	}
	if p.known() {
		switch {
		case p.role < t.least:
			return tooLow(p, t.least)
		case p.by == bySession && t.class != ClassRead && !fromOwnPage(r):
			return otherSite()
		case carrier == ClassRead:
			return nil
		}
		return s.cfg.Admit(r, ClassWrite)
	}
	st, _ := s.forkOf(r)
	open := t.least == yarn.RoleNone || !s.guarded(st) || s.firstSteps(r, t, st)
	if s.cfg.Auth.Mode == AuthOptional && (t.least == yarn.RoleRead || t.hadoop) {
		open = true
	}
	if !open {
		return unauthenticated("this needs the role " + t.least.String())
	}
	if carrier != ClassRead && t.least > yarn.RoleRead {
		if err := admitUnknown(r); err != nil {
			return err
		}
	}
	return s.cfg.Admit(r, carrier)
}

// firstSteps are what somebody on this machine may do where a role is required
// and nobody can have a token yet.
func (s *Server) firstSteps(r *http.Request, t *route, st *state.State) bool {
	return t.first && len(st.Access) == 0 && onThisMachine(r)
}

// admitHadoop decides about what Config.Hadoop answers. Hadoop's simple
// authentication and its ACLs say what a user may; a role is needed besides
// where one is required, and one that is given counts.
func (s *Server) admitHadoop(r *http.Request) error {
	least := yarn.RoleSubmit
	if strings.HasPrefix(r.URL.Path, "/proxy/") {
		least = yarn.RoleRead
	}
	p := principalOf(r)
	switch user := r.URL.Query().Get("user.name"); {
	case p.known() && p.role < least:
		return tooLow(p, least)
	case p.role == yarn.RoleSubmit && least == yarn.RoleSubmit && user != p.name:
		return problem(api.CodeNotAllowed, p.String()+" may not act as "+user, "send user.name="+p.name)
	case !p.known() && s.cfg.Auth.Mode == AuthRequired && r.Method != http.MethodOptions:
		return unauthenticated("this needs the role " + least.String())
	}
	return nil
}

func tooLow(p principal, least yarn.Role) error {
	return problem(api.CodeNotAllowed, p.String()+" has the role "+p.role.String()+", this needs "+least.String(), "use a token or a certificate of that role")
}

// unauthenticated asks to say who one is.
func unauthenticated(what string) *api.Error {
	return problem(api.CodeUnauthenticated, what, "give an access token (--token-file, or \"Authorization: Bearer\"; pages: /ui/login), or a client certificate with a role")
}

// fromOwnPage says whether a browser tells that a request comes from a page of
// this server. One that a cookie speaks for must be; older browsers that tell
// nothing cannot change anything with it.
func fromOwnPage(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" {
		return site == "same-origin"
	}
	_, host, ok := strings.Cut(r.Header.Get("Origin"), "://")
	return ok && host == r.Host
}

// user is the YARN user that a call acts as. The role submit acts for itself
// alone; operators may name another one.
func (c *call) user() string {
	p := principalOf(c.r)
	named := clip(c.r.Header.Get(api.HeaderUser))
	switch {
	case !p.known():
		return clip(c.s.cfg.Who(c.r))
	case p.role < yarn.RoleOperator || named == "":
		return p.name
	}
	return named
}

// mayActAs refuses to let the role submit act for others.
func (c *call) mayActAs(user string) error {
	if p := principalOf(c.r); p.role == yarn.RoleSubmit && user != p.name {
		return problem(api.CodeNotAllowed, p.String()+" may not act as "+user, "leave the user out, or use the role operator")
	}
	return nil
}

// ownApp refuses the role submit the applications of others.
func (c *call) ownApp() error {
	if principalOf(c.r).role != yarn.RoleSubmit || c.route.least != yarn.RoleSubmit || c.args["id"] == "" {
		return nil
	}
	id, err := c.appID()
	if err != nil {
		return err
	}
	st, _ := c.s.cfg.Reader.Fork()
	slot := st.AppByID(id)
	if slot == 0 {
		return nil // the planner says so, or knows it and this replica does not yet
	}
	return c.mayActAs(st.NameOf(st.Apps.Get(slot).User))
}

// whoMax bounds the names that callers give themselves: they are recorded.
const whoMax = 128

// clip makes a text that a caller has sent fit to be recorded and shown.
func clip(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\uFFFD' {
			return -1
		}
		return r
	}, text)
	for i := range text {
		if i >= whoMax {
			return text[:i]
		}
	}
	return text
}
