// Package auth identifies callers over HTTP and says what they may do. It identifies them by access
// token, by client certificate and, on the pages, by session. It also limits the requests of each
// caller, and refuses credentials and changes that cross a network unencrypted.
package auth

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/x509"
	"net/http"
	"slices"
	"strings"
	"time"

	"rmd/api"
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/transport/caller"
	"rmd/transport/http/problem"
	"rmd/transport/http/view"
	"rmd/yarn"
)

// Parts has the parts of the replica that a Guard needs.
type Parts struct {
	ID        string
	Views     *view.Source
	Consensus Consensus
	// WaitApplied returns when this replica has applied an index.
	WaitApplied func(ctx context.Context, index uint64) error
	// Admit decides which requests are allowed on which connections. The default is AdmitPrivate.
	Admit func(r *http.Request, class Class) error
	// Who names a caller without a role. The default is X-Rmd-User.
	Who func(r *http.Request) string
	// Hosts lists the names that a Host header may have besides loopback and plain addresses. "*"
	// turns the check off.
	Hosts []string
	Now   func() time.Time
	// Kerberos identifies callers with tickets. If it is set, every caller must be identified by
	// some means, as in mode Required. If it is nil, nobody needs a ticket.
	Kerberos *Kerberos
	// Proof says that Hadoop's files ask callers to prove who they are (hadoop.security.authentication).
	// Then the user.name of a caller without a role is not believed.
	Proof bool
}

// Consensus is asked when this replica does not know a token.
type Consensus interface {
	ReadIndex(ctx context.Context) (uint64, error)
}

// Guard identifies callers, and admits or refuses their requests. It is safe for concurrent use.
type Guard struct {
	cfg      Config
	parts    Parts
	hosts    map[string]bool
	rates    *rates
	lookups  *Bucket // limits requests to the leader for unknown tokens
	sessions sessions
}

// New returns a guard. Its configuration must be valid.
func New(cfg Config, parts Parts) *Guard {
	if parts.Admit == nil {
		parts.Admit = AdmitPrivate
	}
	if parts.Who == nil {
		parts.Who = func(r *http.Request) string { return r.Header.Get(api.HeaderUser) }
	}
	if parts.Kerberos != nil && cfg.Mode == Optional {
		cfg.Mode = Required
	}
	g := &Guard{cfg: cfg, parts: parts, hosts: map[string]bool{}, rates: newRates(cfg.Rate, cfg.Burst),
		lookups: NewBucket(10, 20)}
	for _, h := range parts.Hosts {
		g.hosts[strings.ToLower(h)] = true
	}
	return g
}

// Mode returns the mode of http.auth.
func (g *Guard) Mode() string { return g.cfg.Mode }

// Access says what a request requires of its caller.
type Access struct {
	Class  Class
	Least  yarn.Role // least role, once access is guarded
	Hadoop bool      // Hadoop's own user and ACLs are checked as well
	First  bool      // a first step of a cluster, for which nobody can have a token yet
	Queues bool      // the role submit is enough: the planner checks the rights to the changed queues
}

// Ways to identify a principal.
const (
	ByToken       = "token"
	ByCertificate = "certificate"
	BySession     = "session"
	ByProcess     = "process"
	ByKerberos    = "kerberos"
)

// Principal is a caller. One without a role is known only by its address.
type Principal struct {
	Name, By string
	Role     yarn.Role
	// Real is the user who acts for Name with Kerberos (doAs), or "".
	Real string
	// Delegated says that the caller has shown a delegation token and no ticket.
	Delegated bool
	nameless  bool   // its user.name proves nothing, and a proof is asked for
	from      string // the caller's address
	full      string // the Kerberos principal, which may act for the user Name
	expires   int64  // when a caller with a ticket must authenticate again, in Unix milliseconds
}

func (p Principal) Known() bool { return p.Role != yarn.RoleNone }

// String names the principal for the audit. A session has the name of its token.
func (p Principal) String() string {
	switch p.By {
	case BySession:
		return ByToken + " " + p.Name
	case ByKerberos:
		if p.Real != "" { // the users of a gateway are different callers
			return ByKerberos + " " + p.full + " for " + p.Name
		}
		return ByKerberos + " " + p.full
	case "":
		return p.from
	}
	return p.By + " " + p.Name
}

type principalKey struct{}

// Of returns the principal that Identify found for a request.
func Of(r *http.Request) Principal {
	p, ok := r.Context().Value(principalKey{}).(Principal)
	if !ok {
		return Principal{from: HostOf(r.RemoteAddr)}
	}
	return p
}

// Identify returns the request with its principal. page says that the request is for a page, which
// accepts sessions. It returns an error if the credentials are invalid or the caller sends too many
// requests. It adds to h what the caller must be answered to be identified.
func (g *Guard) Identify(h http.Header, r *http.Request, page bool) (*http.Request, error) {
	p, err := g.identify(r, page)
	if err == nil && !p.Known() && g.parts.Kerberos != nil && g.mustLogIn(r) {
		if p, err = g.principalOfKerberos(h, r); err == nil && p.Known() {
			r = withoutDoAs(r)
		}
	}
	p.from, p.nameless = HostOf(r.RemoteAddr), g.parts.Proof && !p.Known()
	if rate := g.rates.take(p, r); rate != nil {
		return r, rate
	}
	r = r.WithContext(context.WithValue(r.Context(), principalKey{}, p))
	return r.WithContext(caller.With(r.Context(), input.Caller{Who: g.Who(r), From: r.RemoteAddr})), err
}

// StillMay returns an error if the caller of a long request may no longer make it, because its
// token or certificate is no longer valid.
func (g *Guard) StillMay(r *http.Request, page bool, t Access) error {
	identify := g.identify
	if have := Of(r); have.By == ByKerberos {
		identify = func(r *http.Request, _ bool) (Principal, error) { return g.goesOn(r, have) }
	}
	p, err := identify(r, page)
	if err != nil {
		return err
	}
	p.from = HostOf(r.RemoteAddr)
	return g.Admit(r.WithContext(context.WithValue(r.Context(), principalKey{}, p)), t)
}

// LookAgain is the interval at which a stream checks its caller with StillMay.
const LookAgain = time.Second

// identify identifies the caller by token, by certificate or, on the pages, by session. It refuses
// invalid credentials even if the request needs none.
func (g *Guard) identify(r *http.Request, page bool) (Principal, error) {
	if g.cfg.Mode == Off {
		return Principal{}, nil
	}
	secret, err := secretOf(r.Header)
	switch {
	case err != nil:
		return Principal{}, err
	case secret != "" && g.knowsTokens(r):
		return g.principalOfToken(r, secret)
	}
	if g.revoked(r) {
		return Principal{}, Unauthenticated("the certificate is revoked")
	}
	if p, ok := g.principalOfCertificate(r); ok {
		return p, nil
	}
	if page {
		return g.principalOfSession(r)
	}
	return Principal{}, nil
}

// knowsTokens reports whether this replica can look up a token. One without the state of a cluster cannot:
// it passes over the token, so that who names one by default may still init it or join it to a cluster.
func (g *Guard) knowsTokens(r *http.Request) bool {
	st, _ := g.parts.Views.Fork(r)
	return g.cfg.OwnToken != "" || st.Meta.ClusterID != ""
}

// secretOf returns the access token of a request. It ignores other authorization schemes, which
// Hadoop's clients may send.
func secretOf(h http.Header) (string, error) {
	secret := strings.TrimSpace(h.Get(api.HeaderToken))
	scheme, bearer, _ := strings.Cut(h.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return secret, nil
	}
	bearer = strings.TrimSpace(bearer)
	switch {
	case bearer == "":
		return "", Unauthenticated("the header Authorization names no token")
	case secret != "" && secret != bearer:
		return "", Unauthenticated("the request carries two access tokens")
	}
	return bearer, nil
}

// freshWait is the most time to wait for a token that this replica does not know. Another replica
// may have made it a moment ago.
const freshWait = time.Second

// principalOfToken looks a token up by its hash. If this replica does not know the hash, it first
// catches up with the leader.
func (g *Guard) principalOfToken(r *http.Request, secret string) (Principal, error) {
	if own := g.cfg.OwnToken; own != "" && subtle.ConstantTimeCompare([]byte(own), []byte(secret)) == 1 {
		return Principal{Name: "workload", By: ByProcess, Role: yarn.RoleAdmin}, nil
	}
	hash := sha256.Sum256([]byte(secret))
	st, _ := g.parts.Views.Fork(r)
	t, ok := st.Access.ByHash(hash[:])
	if !ok && strings.HasPrefix(secret, TokenPrefix) && g.lookups.Allow() {
		ctx, cancel := context.WithTimeout(r.Context(), freshWait)
		defer cancel()
		if index, err := g.parts.Consensus.ReadIndex(ctx); err == nil && g.parts.WaitApplied(ctx, index) == nil {
			st, _ = g.parts.Views.Refork(r)
			t, ok = st.Access.ByHash(hash[:])
		}
	}
	if !ok {
		return Principal{}, Unauthenticated("the access token is not known, or was revoked")
	}
	if t.Expired(g.Clock(st)) {
		return Principal{}, Unauthenticated("the access token " + t.Name + " has expired")
	}
	return Principal{Name: t.Name, By: ByToken, Role: t.Role}, nil
}

// Clock returns the later of this replica's time and the state's, in Unix milliseconds.
func (g *Guard) Clock(st *state.State) int64 {
	return max(g.parts.Now().UnixMilli(), st.Meta.NowMillis)
}

// revoked reports whether the client's certificate is revoked, even if only since the connection
// began.
func (g *Guard) revoked(r *http.Request) bool {
	if r.TLS == nil || g.cfg.Revoked == nil {
		return false
	}
	return slices.ContainsFunc(r.TLS.PeerCertificates,
		func(c *x509.Certificate) bool { return g.cfg.Revoked(c.SerialNumber.Text(16)) })
}

// principalOfCertificate returns the principal in the verified certificate of a client:
// rmd://CLUSTER/role/ROLE/NAME, or rmd://CLUSTER/replica/ID for a replica, which has the role
// admin.
func (g *Guard) principalOfCertificate(r *http.Request) (Principal, bool) {
	if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 || len(r.TLS.VerifiedChains[0]) == 0 || g.cfg.Cluster == "" {
		return Principal{}, false
	}
	return roleInCertificate(r.TLS.VerifiedChains[0][0], g.cfg)
}

func roleInCertificate(leaf *x509.Certificate, a Config) (Principal, bool) {
	for _, u := range leaf.URIs {
		if u.Scheme != "rmd" || u.Host != a.Cluster {
			continue
		}
		part := strings.Split(strings.TrimPrefix(u.Path, "/"), "/")
		switch {
		case len(part) == 2 && part[0] == "replica" && part[1] != "" && (a.Member == nil || a.Member(part[1])):
			return Principal{Name: part[1], By: ByCertificate, Role: yarn.RoleAdmin}, true
		case len(part) == 3 && part[0] == "role" && part[2] != "":
			if role, err := yarn.ParseRole(part[1]); err == nil {
				return Principal{Name: part[2], By: ByCertificate, Role: role}, true
			}
		}
	}
	return Principal{}, false
}

// Guarded reports whether callers without a role may at most read.
func (g *Guard) Guarded(st *state.State) bool {
	switch g.cfg.Mode {
	case Off:
		return false
	case Required:
		return true
	}
	return len(st.Access) > 0
}

// Admit returns why the caller may not make a request, or nil.
func (g *Guard) Admit(r *http.Request, t Access) error {
	p, carrier := Of(r), t.Class
	if t.Class == ClassRead && t.Least > yarn.RoleRead {
		carrier = ClassWrite // the answer must not cross a network unencrypted
	}
	if p.Known() {
		switch {
		case p.Role < t.Least && !(t.Queues && p.Role == yarn.RoleSubmit):
			return tooLow(p, t.Least)
		case p.By == BySession && t.Class != ClassRead && !FromOwnPage(r):
			return OtherSite()
		case carrier == ClassRead:
			return nil
		}
		return g.parts.Admit(r, ClassWrite)
	}
	st, _ := g.parts.Views.Fork(r)
	open := t.Least == yarn.RoleNone || !g.Guarded(st) && !g.mustLogIn(r) || g.firstSteps(r, t, st)
	if g.cfg.Mode == Optional && (t.Least == yarn.RoleRead || t.Hadoop) ||
		t.Class == ClassRead && t.Least <= yarn.RoleRead && g.isOpen(r) {
		open = true
	}
	if !open {
		return Unauthenticated("this needs the role " + t.Least.String())
	}
	if carrier != ClassRead && t.Least > yarn.RoleRead {
		if err := admitUnknown(r); err != nil {
			return err
		}
	}
	return g.parts.Admit(r, carrier)
}

// AdmitConnection returns why a request is not allowed on its connection, or nil.
func (g *Guard) AdmitConnection(r *http.Request, class Class) error { return g.parts.Admit(r, class) }

// firstSteps reports whether a request is one of a cluster's first steps, which a program on this
// machine may make without a role as long as there is no token.
func (g *Guard) firstSteps(r *http.Request, t Access, st *state.State) bool {
	return t.First && len(st.Access) == 0 && OnThisMachine(r)
}

// mustLogIn reports whether a caller without a role may do nothing.
func (g *Guard) mustLogIn(r *http.Request) bool {
	return g.cfg.Mode == Required || g.parts.Kerberos != nil && !OnThisMachine(r)
}

// AdmitHadoop decides about the writes under /ws/v1 and the proxy. Hadoop's simple authentication
// and its ACLs say what a user may do. In mode required, the caller also needs the least role. If a
// caller has a role, the role is always checked.
func (g *Guard) AdmitHadoop(r *http.Request, least yarn.Role) error {
	p := Of(r)
	switch user := YARNUser(r); {
	case p.Known() && p.Role < least:
		return tooLow(p, least)
	case p.Role == yarn.RoleSubmit && least == yarn.RoleSubmit && user != p.Name:
		return problem.New(api.CodeNotAllowed, p.String()+" may not act as "+user, "send user.name="+p.Name)
	case !p.Known() && g.mustLogIn(r) && (r.Method != http.MethodOptions || g.parts.Kerberos != nil):
		return Unauthenticated("this needs the role " + least.String())
	}
	return nil
}

func tooLow(p Principal, least yarn.Role) error {
	return problem.New(api.CodeNotAllowed, p.String()+" has the role "+p.Role.String()+", this needs "+least.String(),
		"use a token or a certificate of that role")
}

// Unauthenticated returns an error that asks the caller to identify itself.
func Unauthenticated(what string) *api.Error {
	return problem.New(api.CodeUnauthenticated, what,
		"give an access token (--token-file, or \"Authorization: Bearer\"; pages: /ui/login), or a client certificate with a role")
}

// FromOwnPage reports whether a browser says that a request comes from a page of this server. A
// session cookie allows changes only in such requests. Older browsers do not say it, so they cannot
// make changes with a session.
func FromOwnPage(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" {
		return site == "same-origin"
	}
	_, host, ok := strings.Cut(r.Header.Get("Origin"), "://")
	return ok && host == r.Host
}

// whoMax is the most bytes of a name that a caller gives itself, because such names are recorded.
const whoMax = 128

// Clip makes a text of a caller safe to record and show: it drops control characters and truncates
// the text.
func Clip(text string) string {
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

// Who names the caller for the audit: the identified principal, or else the name that the caller
// claims.
func (g *Guard) Who(r *http.Request) string {
	if p := Of(r); p.Known() {
		return p.String()
	}
	return g.claimed(r)
}

// claimed returns the name that the caller claims.
func (g *Guard) claimed(r *http.Request) string { return Clip(g.parts.Who(r)) }

// User returns the YARN user as whom a caller acts. The role submit acts only as itself; operators
// may name another user.
func (g *Guard) User(r *http.Request) string {
	p := Of(r)
	named := Clip(r.Header.Get(api.HeaderUser))
	switch {
	case !p.Known():
		return g.claimed(r)
	case p.Role < yarn.RoleOperator || named == "":
		return p.Name
	}
	return named
}

// CheckNames refuses a request whose header or query names a user that there cannot be.
func CheckNames(r *http.Request) error {
	names := map[string]string{api.HeaderUser: r.Header.Get(api.HeaderUser)}
	if r.URL.RawQuery != "" {
		names["user.name"] = r.URL.Query().Get("user.name")
	}
	for what, name := range names {
		if err := yarn.CheckUser(name); err != nil { // one error is enough, so the order does not matter
			return problem.Invalid(what+": "+err.Error(), "send UTF-8 without control characters, and no path", what)
		}
	}
	return nil
}

// MayActAs refuses callers with the role submit that act as another user.
func MayActAs(r *http.Request, user string) error {
	if p := Of(r); p.Role == yarn.RoleSubmit && user != p.Name {
		return problem.New(api.CodeNotAllowed, p.String()+" may not act as "+user,
			"leave the user out, or use the role operator")
	}
	return nil
}

// OtherSite returns the error for a request that a page of another site made.
func OtherSite() *api.Error {
	return problem.New(api.CodeNotAllowed, "another site's page may not change anything here",
		"call from a program, or from this server's own pages")
}

// TokenPrefix begins every access token, so that scanners for leaked secrets find them.
const TokenPrefix = "rmd_"
