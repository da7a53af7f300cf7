package v1

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"time"

	"rmd/api"
	"rmd/scheduler/input"
	"rmd/transport/http/auth"
	"rmd/transport/http/problem"
	"rmd/transport/http/route"
	"rmd/yarn"
)

// access serves access tokens, and who the caller is.
type access struct{ *shared }

func (s *access) routes() []route.Route {
	return []route.Route{
		route.Get("/v1/access", "principal", s.showAccess).Doc(
			"Say who the caller is for this replica; with principal, the short name of a Kerberos principal", nil, api.Access{}),
		route.Get("/v1/access/tokens", "", s.listAccessTokens).Doc("List the access tokens, without their secrets", nil,
			api.AccessTokens{}),
		route.Post("/v1/access/tokens", "", s.createAccessToken).Makes(&input.SetAccessToken{}).Doc(
			"Create an access token; the answer shows its secret once", api.AccessTokenRequest{},
			route.Answers{http.StatusCreated: api.AccessTokenMade{}}),
		route.Delete("/v1/access/tokens/{name}", "force", revokeAccessToken).Makes(&input.RevokeAccessToken{}).Doc(
			"Revoke an access token", nil, api.Done{}),
	}
}

// Lifetimes of access tokens.
const (
	accessTokenLife  = 720 * time.Hour
	accessTokenLeast = time.Second
)

// showAccess shows the caller its identity and role at this replica.
func (s *access) showAccess(c *route.Call) error {
	st, _ := s.cfg.Reader.Fork()
	p := auth.Of(c.R)
	d := api.Access{Role: p.Role.String(), By: "nothing", Auth: s.cfg.Guard.Mode(), Guarded: s.cfg.Guard.Guarded(st) ||
		!auth.OnThisMachine(c.R)}
	if p.Known() {
		d.Name, d.By = p.Name, p.By
	}
	if name := c.Query.Get("principal"); name != "" {
		if s.cfg.ShortName == nil {
			return problem.NotAvailable("the mapping of principals, which needs hadoop.conf_dir,")
		}
		short, rule, text, err := s.cfg.ShortName(name)
		d.Principal = &api.PrincipalName{Principal: name, Short: short, Rule: rule, Text: text}
		if err != nil {
			d.Principal.Refused = err.Error()
		}
	}
	return c.JSON(http.StatusOK, d)
}

func (s *access) listAccessTokens(c *route.Call) error {
	v, err := c.View()
	if err != nil {
		return err
	}
	now := s.cfg.Guard.Clock(v.State)
	d := api.AccessTokens{Tokens: []api.AccessToken{}}
	for _, t := range v.State.Access {
		d.Tokens = append(d.Tokens, api.AccessToken{Name: t.Name, Role: t.Role.String(), ExpiresMillis: t.ExpiresMillis,
			Expired:       t.Expired(now),
			CreatedMillis: t.CreatedMillis, ChangedMillis: t.ChangedMillis, By: t.By})
	}
	return c.JSON(http.StatusOK, d)
}

// createAccessToken makes a token on this replica. Only the hash of the token goes into the log.
// Each call makes a new token: an idempotency key cannot bring an earlier one back, because nobody
// has it any more.
func (s *access) createAccessToken(c *route.Call) error {
	var doc api.AccessTokenRequest
	if err := c.Read(&doc); err != nil {
		return err
	}
	role, err := yarn.ParseRole(doc.Role)
	if err != nil {
		return problem.Invalid(err.Error(), `send {"name":"ci","role":"operator","ttl":"720h"}`, "role")
	}
	ttl := time.Duration(doc.TTL)
	if ttl == 0 {
		ttl = accessTokenLife
	}
	if ttl < accessTokenLeast {
		return problem.Invalid("ttl is out of range", "give 1s or more", "ttl")
	}
	var raw [tokenBytes]byte
	if _, err := rand.Read(raw[:]); err != nil {
		return err
	}
	token := auth.TokenPrefix + base64.RawURLEncoding.EncodeToString(raw[:])
	hash := sha256.Sum256([]byte(token))
	st, _ := s.cfg.Reader.Fork()
	in := &input.SetAccessToken{Name: doc.Name, Hash: hash[:], Role: role,
		ExpiresMillis: s.cfg.Guard.Clock(st) + ttl.Milliseconds(), Who: c.Who(),
		Replace: doc.Replace, Force: doc.Force}
	index, err := fresh(c, in)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusCreated, api.AccessTokenMade{Token: token, Name: doc.Name, Role: role.String(),
		ExpiresMillis: in.ExpiresMillis, Index: index})
}

// fresh submits an input that carries the hash of a secret, without the caller's idempotency key.
func fresh(c *route.Call, in input.Input) (uint64, error) {
	c.R.Header.Del(api.HeaderKey)
	_, index, err := route.Do[*input.Done](c, in)
	return index, err
}

func revokeAccessToken(c *route.Call) error {
	if _, err := c.Raw(); err != nil {
		return err
	}
	return c.Done(&input.RevokeAccessToken{Name: c.Args["name"], Force: c.Flag("force")})
}
