package httpserver

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"time"

	"rmd/scheduler/input"
	"rmd/transport/http/v1/api"
	"rmd/yarn"
)

func (s *Server) accessRoutes() []route {
	return []route{
		get("/v1/access", "", showAccess),
		get("/v1/access/tokens", "", listAccessTokens),
		post("/v1/access/tokens", "", createAccessToken),
		{method: http.MethodDelete, pattern: "/v1/access/tokens/{name}", class: ClassWrite, query: "force", handle: revokeAccessToken},
	}
}

// Access tokens.
const (
	accessPrefix     = "rmd_" // so that scanners for leaked secrets find them
	accessTokenLife  = 720 * time.Hour
	accessTokenLeast = time.Second
)

// showAccess tells the caller who it is here.
func showAccess(c *call) error {
	st, _ := c.s.cfg.Reader.Fork()
	p := principalOf(c.r)
	d := api.Access{Role: p.role.String(), By: "nothing", Auth: c.s.cfg.Auth.Mode, Guarded: c.s.guarded(st) || !onThisMachine(c.r)}
	if p.known() {
		d.Name, d.By = p.name, p.by
	}
	return c.json(http.StatusOK, d)
}

func listAccessTokens(c *call) error {
	v, err := c.view()
	if err != nil {
		return err
	}
	now := c.s.clock(v.st)
	d := api.AccessTokens{Tokens: []api.AccessToken{}}
	for _, t := range v.st.Access {
		d.Tokens = append(d.Tokens, api.AccessToken{Name: t.Name, Role: t.Role.String(), ExpiresMillis: t.ExpiresMillis, Expired: t.Expired(now),
			CreatedMillis: t.CreatedMillis, ChangedMillis: t.ChangedMillis, By: t.By})
	}
	return c.json(http.StatusOK, d)
}

// createAccessToken draws a token here; only its hash goes into the log. Each
// call draws a new one, so an idempotency key does not bring an old one back:
// nobody can.
func createAccessToken(c *call) error {
	var doc api.AccessTokenRequest
	if err := c.read(&doc); err != nil {
		return err
	}
	role, err := yarn.ParseRole(doc.Role)
	if err != nil {
		return invalid(err.Error(), `send {"name":"ci","role":"operator","ttl":"720h"}`, "role")
	}
	ttl := time.Duration(doc.TTL)
	if ttl == 0 {
		ttl = accessTokenLife
	}
	if ttl < accessTokenLeast {
		return invalid("ttl is out of range", "give 1s or more", "ttl")
	}
	var raw [tokenBytes]byte
	if _, err := rand.Read(raw[:]); err != nil {
		return err
	}
	token := accessPrefix + base64.RawURLEncoding.EncodeToString(raw[:])
	hash := sha256.Sum256([]byte(token))
	st, _ := c.s.cfg.Reader.Fork()
	in := &input.SetAccessToken{Name: doc.Name, Hash: hash[:], Role: role, ExpiresMillis: c.s.clock(st) + ttl.Milliseconds(), Who: c.who(),
		Replace: doc.Replace, Force: doc.Force}
	index, err := c.fresh(in)
	if err != nil {
		return err
	}
	return c.json(http.StatusCreated, api.AccessTokenMade{Token: token, Name: doc.Name, Role: role.String(), ExpiresMillis: in.ExpiresMillis, Index: index})
}

// fresh sends an input that carries a secret's hash through the door, without
// the caller's idempotency key.
func (c *call) fresh(in input.Input) (uint64, error) {
	c.r.Header.Del(api.HeaderKey)
	_, index, err := do[*input.Done](c, in)
	return index, err
}

func revokeAccessToken(c *call) error {
	if _, err := c.raw(); err != nil {
		return err
	}
	return c.done(&input.RevokeAccessToken{Name: c.args["name"], Force: c.flag("force")})
}
