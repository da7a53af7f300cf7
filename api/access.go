package api

// HeaderToken is the header with an access token. "Authorization: Bearer" is the alternative.
const HeaderToken = "X-Rmd-Token"

// Codes of access control.
const (
	CodeUnauthenticated = "UNAUTHENTICATED"   // 401: the call needs a valid token or certificate
	CodeTooManyRequests = "TOO_MANY_REQUESTS" // 429, Retry-After
)

// AccessTokenRequest makes an access token.
type AccessTokenRequest struct {
	Name string   `json:"name"`
	Role string   `json:"role"`          // read, submit, operator or admin
	TTL  Duration `json:"ttl,omitempty"` // default 720h; at most ten years
	// Replace allows that an existing token of the name gets a new secret, role and expiry.
	Replace bool `json:"replace,omitempty"`
	// Force allows a change that leaves no token with which access can be changed.
	Force bool `json:"force,omitempty"`
}

// AccessTokenMade is a new access token. Only this answer contains the secret.
type AccessTokenMade struct {
	Token         string `json:"token"`
	Name          string `json:"name"`
	Role          string `json:"role"`
	ExpiresMillis int64  `json:"expires_ms"`
	Index         uint64 `json:"index"`
}

// AccessToken describes an access token, without its secret.
type AccessToken struct {
	Name          string `json:"name"`
	Role          string `json:"role"`
	ExpiresMillis int64  `json:"expires_ms"`
	Expired       bool   `json:"expired"`
	CreatedMillis int64  `json:"created_ms"`
	ChangedMillis int64  `json:"changed_ms"`
	By            string `json:"by,omitempty"`
}

// AccessTokens lists all access tokens by name.
type AccessTokens struct {
	Tokens []AccessToken `json:"tokens"`
}

// Access says who the caller is for the replica that answers.
type Access struct {
	Name string `json:"name,omitempty"`
	Role string `json:"role"` // none if the caller has no token and no certificate
	By   string `json:"by"`   // token, certificate, session or nothing
	Auth string `json:"auth"` // http.auth: optional, required or off
	// Guarded is true if callers without a role may at most read.
	Guarded bool `json:"guarded"`
	// Principal is what the replica makes of the principal that the query names.
	Principal *PrincipalName `json:"principal,omitempty"`
}

// PrincipalName is the short name of a Kerberos principal by hadoop.security.auth_to_local.
type PrincipalName struct {
	Principal string `json:"principal"`
	Short     string `json:"short,omitempty"`
	// Rule is the number of the rule that decided, counted from 1, and Text the rule. They are
	// missing if no rule applied.
	Rule int    `json:"rule,omitempty"`
	Text string `json:"text,omitempty"`
	// Refused says why the principal has no short name.
	Refused string `json:"refused,omitempty"`
}
