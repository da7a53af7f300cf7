package auth

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"rmd/api"
	"rmd/fsm/state"
	"rmd/transport/http/problem"
	"rmd/yarn"
)

// Kerberos identifies callers by SPNEGO (RFC 4559), by the cookie that they get then, and by
// delegation tokens, as Hadoop's RMAuthenticationFilter does. Its fields do not change.
type Kerberos struct {
	// Accept checks Kerberos's token of a client. It returns the client's principal, and the reply
	// that proves to the client who the server is, or nil if the client does not ask. It logs why it
	// refuses a token.
	Accept func(token []byte, from netip.Addr) (principal string, reply []byte, err error)
	// ShortName returns the name of a principal by which YARN's ACLs know it.
	ShortName func(principal string) (string, error)
	// MayImpersonate returns an error if real may not act for user (doAs) from an address.
	MayImpersonate func(real, user string, from netip.Addr) error
	// Token returns the owner of a delegation token that is written as in URLs.
	Token func(ctx context.Context, text string) (user string, err error)
	// Admin reports whether a user is an administrator of YARN. It has the role operator, and other
	// users the role submit.
	Admin func(user string) bool
	// Secret signs cookies. If it is nil, secrets in the replicated state do.
	Secret []byte
	// Validity is how long a cookie is valid. CookieDomain may be empty. A cookie that is not
	// persistent ends with the browser's session.
	Validity         time.Duration
	CookieDomain     string
	CookiePersistent bool
	// Open lists the paths that need no login.
	Open []string
}

// TokenHeader is the header with the delegation token that a call renews or cancels. In other calls rmd
// also takes it for the proof of the caller; a Java ResourceManager does not.
const TokenHeader = "Hadoop-YARN-RM-Delegation-Token"

// ProofHeaders are the headers with the delegation token of a caller, the newer one first.
var ProofHeaders = []string{"X-Hadoop-Delegation-Token", "Hadoop-YARN-Auth-Delegation-Token"}

// negotiate is the scheme of SPNEGO.
const negotiate = "Negotiate"

// Challenge returns the header WWW-Authenticate of answers to unknown callers, or "" if it is the
// usual one.
func (g *Guard) Challenge() string {
	if g.parts.Kerberos == nil {
		return ""
	}
	return negotiate
}

// principalOfKerberos returns the principal of a caller by delegation token, by cookie or by SPNEGO.
// It adds to h what the caller must be answered. Without any of them it returns a principal without
// a role.
func (g *Guard) principalOfKerberos(h http.Header, r *http.Request) (Principal, error) {
	k := g.parts.Kerberos
	st, _ := g.parts.Views.Fork(r)
	stranger := Principal{from: HostOf(r.RemoteAddr)} // tokens and tickets cost more than a request
	if text := proof(r); text != "" {
		if err := g.rates.take(stranger, r); err != nil {
			return Principal{}, err
		}
		user, err := k.Token(r.Context(), text)
		if err != nil {
			return Principal{}, refusedToken(err)
		}
		p := k.as(pass{user: user, principal: user}, user) // as in Hadoop, doAs means nothing here
		p.Delegated = true
		return p, nil
	}
	now := g.Clock(st)
	if cookie, err := r.Cookie(cookieName); err == nil && cookie.Value != "" {
		if p, ok := verifyPass(cookie.Value, k.secrets(st)); ok && now < p.expires {
			return k.principal(p, r)
		}
		k.setPass(h, r, "", 0) // as in Hadoop, an invalid cookie is passed over and removed
	}
	scheme, text, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, negotiate) {
		return Principal{}, nil
	}
	if err := g.rates.take(stranger, r); err != nil {
		return Principal{}, err
	}
	p, err := k.negotiate(h, r, strings.TrimSpace(text))
	if err != nil {
		return Principal{}, err
	}
	p.expires = now + k.Validity.Milliseconds()
	if secrets := k.secrets(st); len(secrets) > 0 && writable(p.user) && writable(p.principal) {
		k.setPass(h, r, p.sign(secrets[0]), p.expires)
	}
	return k.principal(p, r)
}

// TokenPath is the path of the calls that get, renew and cancel a delegation token.
const TokenPath = "/ws/v1/cluster/delegation-token"

// namesToken reports whether the token in a request's header is not the caller's proof, but the token
// to renew or to cancel.
func namesToken(r *http.Request) bool {
	return r.URL.Path == TokenPath+"/expiration" || r.URL.Path == TokenPath && r.Method == http.MethodDelete
}

// proof returns the delegation token by which a caller proves who it is, or "".
func proof(r *http.Request) string {
	for _, name := range ProofHeaders {
		if text := r.Header.Get(name); text != "" {
			return text
		}
	}
	if namesToken(r) {
		return ""
	}
	return r.Header.Get(TokenHeader)
}

func (k *Kerberos) secrets(st *state.State) [][]byte {
	if k.Secret != nil {
		return [][]byte{k.Secret}
	}
	return cookieSecrets(st)
}

// negotiate checks a client's token of SPNEGO. Refusals have Hadoop's status 403: a client that is
// asked again would send another ticket for the same server.
func (k *Kerberos) negotiate(h http.Header, r *http.Request, text string) (pass, error) {
	token, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return pass{}, notAccepted(errNegotiate.Error(), "send Kerberos's token in base64")
	}
	mech, answer, err := unwrapNegotiate(token)
	if err != nil {
		return pass{}, notAccepted(err.Error(), "get a ticket with kinit, and allow the browser to negotiate with this site")
	}
	principal, reply, err := k.Accept(mech, addressOf(r))
	if err != nil {
		return pass{}, notAccepted("the Kerberos ticket is refused", "run kinit again; the log of this replica says why")
	}
	user, err := k.ShortName(principal)
	if err == nil && user == "" {
		err = errors.New("the rule makes an empty name of " + principal)
	}
	if err == nil {
		err = yarn.CheckUser(user)
	}
	if err != nil {
		return pass{}, notAccepted(err.Error(), "see hadoop.security.auth_to_local (rmd access whoami --principal)")
	}
	out, err := answer(reply)
	if err != nil {
		return pass{}, err
	}
	if len(out) > 0 {
		h.Set("WWW-Authenticate", negotiate+" "+base64.StdEncoding.EncodeToString(out))
	}
	return pass{user: user, principal: principal}, nil
}

func notAccepted(what, do string) error { return problem.New(api.CodeNotAllowed, what, do) }

// principal returns the principal of an authenticated caller, or of the user for whom it acts.
func (k *Kerberos) principal(p pass, r *http.Request) (Principal, error) {
	as, found, _ := doAs(r.URL.RawQuery)
	if !found || as == p.user {
		return k.as(p, p.user), nil
	}
	err := yarn.CheckUser(as)
	if as == "" { // a gateway that asks for somebody must not get its own rights
		err = errors.New("it names nobody")
	}
	if err != nil {
		return Principal{}, problem.Invalid("doAs: "+err.Error(), "name a user", "doAs")
	}
	if err := k.MayImpersonate(p.user, as, addressOf(r)); err != nil {
		return Principal{}, notAccepted(err.Error(), "see hadoop.proxyuser.*")
	}
	return k.as(p, as), nil
}

// as returns the principal of an authenticated caller that acts as a user, who may be the caller.
func (k *Kerberos) as(p pass, user string) Principal {
	out := Principal{Name: user, By: ByKerberos, Role: k.role(user), full: p.principal, expires: p.expires}
	if user != p.user {
		out.Real = p.user
	}
	return out
}

func (k *Kerberos) role(user string) yarn.Role {
	if k.Admin(user) {
		return yarn.RoleOperator
	}
	return yarn.RoleSubmit
}

// goesOn returns a caller with Kerberos that makes a long request, with its present role. It returns
// an error if its login has ended. A ticket can be shown only once, so it is not asked for again.
func (g *Guard) goesOn(r *http.Request, p Principal) (Principal, error) {
	k := g.parts.Kerberos
	st, _ := g.parts.Views.Fork(r)
	if p.Delegated {
		if _, err := k.Token(r.Context(), proof(r)); err != nil {
			return Principal{}, refusedToken(err)
		}
	} else if g.Clock(st) >= p.expires {
		return Principal{}, Unauthenticated("the login has expired")
	}
	p.Role = k.role(p.Name)
	return p, nil
}

// refusedToken has Hadoop's status 403: a client that is asked again would send the same token.
func refusedToken(err error) error {
	return notAccepted("the delegation token is refused: "+err.Error(), "get a new one, with a ticket")
}

// doAs returns the user for whom a caller wants to act, and the rest of the query, for which the
// endpoints have names. found says that the query has a doAs, which may name nobody. As in Hadoop, the
// case of the name does not matter, it may be escaped, and a semicolon separates too.
func doAs(query string) (user string, found bool, rest string) {
	var parts []string
	for part := range strings.FieldsFuncSeq(query, func(r rune) bool { return r == '&' || r == ';' }) {
		name, value, _ := strings.Cut(part, "=")
		name, _ = url.QueryUnescape(name) // what is not well-formed is not the name
		switch {
		case !strings.EqualFold(name, "doAs"):
			parts = append(parts, part)
		case !found:
			found = true
			user, _ = url.QueryUnescape(value) // what is not well-formed names nobody
		}
	}
	return user, found, strings.Join(parts, "&")
}

// withoutDoAs returns a request for the endpoint that has authenticated its caller.
func withoutDoAs(r *http.Request) *http.Request {
	_, found, rest := doAs(r.URL.RawQuery)
	if !found {
		return r
	}
	u := *r.URL
	u.RawQuery = rest
	r = r.WithContext(r.Context())
	r.URL = &u
	return r
}

func addressOf(r *http.Request) netip.Addr {
	a, _ := netip.ParseAddr(HostOf(r.RemoteAddr)) // zero if it cannot be parsed
	return a.Unmap()
}

// isOpen reports whether a path needs no login with Kerberos.
func (g *Guard) isOpen(r *http.Request) bool {
	return g.parts.Kerberos != nil && slices.Contains(g.parts.Kerberos.Open, r.URL.Path)
}

// YARNUser returns the user of a request to Hadoop's API: the one that Kerberos proves, or else
// user.name, which Hadoop's simple authentication believes. It is "" if nobody is believed.
func YARNUser(r *http.Request) string {
	switch p := Of(r); {
	case p.By == ByKerberos:
		return p.Name
	case p.nameless:
		return ""
	}
	return r.URL.Query().Get("user.name")
}
