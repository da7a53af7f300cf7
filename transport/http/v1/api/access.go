package api

// HeaderToken carries an access token, as "Authorization: Bearer" does.
const HeaderToken = "X-Rmd-Token"

// Codes of access control.
const (
	CodeUnauthenticated = "UNAUTHENTICATED"   // 401: say who you are
	CodeTooManyRequests = "TOO_MANY_REQUESTS" // 429, Retry-After
)

// AccessTokenRequest makes an access token.
type AccessTokenRequest struct {
	Name string   `json:"name"`
	Role string   `json:"role"`          // read, submit, operator or admin
	TTL  Duration `json:"ttl,omitempty"` // 720h unless given; at most ten years
	// Replace gives a token that is there a new secret, role and end.
	Replace bool `json:"replace,omitempty"`
	// Force allows that no token is left that may change access.
	Force bool `json:"force,omitempty"`
}

// AccessTokenMade is a new access token; the secret is shown this once.
type AccessTokenMade struct {
	Token         string `json:"token"`
	Name          string `json:"name"`
	Role          string `json:"role"`
	ExpiresMillis int64  `json:"expires_ms"`
	Index         uint64 `json:"index"`
}

// AccessToken is what is known of an access token.
type AccessToken struct {
	Name          string `json:"name"`
	Role          string `json:"role"`
	ExpiresMillis int64  `json:"expires_ms"`
	Expired       bool   `json:"expired"`
	CreatedMillis int64  `json:"created_ms"`
	ChangedMillis int64  `json:"changed_ms"`
	By            string `json:"by,omitempty"`
}

// AccessTokens are all of them, by name.
type AccessTokens struct {
	Tokens []AccessToken `json:"tokens"`
}

// Access says who the caller is for the replica that answers.
type Access struct {
	Name string `json:"name,omitempty"`
	Role string `json:"role"` // none without a token or a certificate
	By   string `json:"by"`   // token, certificate, session or nothing
	Auth string `json:"auth"` // http.auth: optional, required or off
	// Guarded says that those without a role may at most read.
	Guarded bool `json:"guarded"`
}
