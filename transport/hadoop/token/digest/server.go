package digest

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"strings"
)

// The errors of an exchange.
var (
	// ErrSyntax means that a message is malformed or requires something that is not supported.
	ErrSyntax = errors.New("malformed digest message")
	// ErrNonce means that the answer is for another challenge.
	ErrNonce = errors.New("digest answers another challenge")
	// ErrMismatch means that the other side does not know the password.
	ErrMismatch = errors.New("digest does not match")
	// ErrUsed means that the challenge was answered before.
	ErrUsed = errors.New("challenge was answered before")
)

// Server is the server side of one exchange.
type Server struct {
	nonce string
	used  bool
}

// NewServer returns a server with a random nonce.
func NewServer() *Server { return &Server{nonce: newNonce()} }

// Challenge returns the server's first message.
func (s *Server) Challenge() []byte {
	return []byte(`realm="` + realm + `",nonce="` + s.nonce + `",qop="auth",charset=utf-8,algorithm=md5-sess`)
}

// Evaluate checks the client's answer and returns the server's last message. It accepts one answer
// to the challenge, right or wrong. password returns the password of a user; its error is returned
// unchanged.
func (s *Server) Evaluate(answer []byte, password func(user string) (string, error)) ([]byte, error) {
	if s.used {
		return nil, ErrUsed
	}
	s.used = true
	r, err := parseResponse(answer)
	if err != nil {
		return nil, err
	}
	if r.nonce != s.nonce {
		return nil, ErrNonce
	}
	if r.password, err = password(r.user); err != nil {
		return nil, err
	}
	if subtle.ConstantTimeCompare([]byte(r.answer()), []byte(r.proven)) != 1 {
		return nil, ErrMismatch
	}
	return []byte("rspauth=" + r.final()), nil
}

// response is a client's answer.
type response struct {
	exchange
	proven string
}

// parseResponse decodes an answer and makes the checks that need no password.
func parseResponse(b []byte) (response, error) {
	d, err := parse(b)
	if err != nil {
		return response{}, err
	}
	var r response
	var count, protection, charset string
	for _, f := range []struct {
		key    string
		into   *string
		needed bool
	}{
		{"username", &r.user, true},
		{"realm", &r.realm, true},
		{"nonce", &r.nonce, true},
		{"cnonce", &r.cnonce, true},
		{"nc", &count, true},
		{"digest-uri", &r.uri, true},
		{"response", &r.proven, true},
		{"qop", &protection, false},
		{"charset", &charset, false},
		{"authzid", &r.authzid, false},
	} {
		value, found, err := d.once(f.key)
		if err != nil {
			return response{}, err
		}
		if !found && f.needed {
			return response{}, fmt.Errorf("%w: %q is missing", ErrSyntax, f.key)
		}
		*f.into = value
	}
	return r, r.check(count, protection, charset)
}

func (r *response) check(count, protection, charset string) error {
	for _, c := range []struct {
		ok   bool
		what string
	}{
		{r.realm == realm, "realm"},
		{count == firstCount, "nc"},
		{protection == "" || protection == qop, "qop"},
		{charset == "" || strings.EqualFold(charset, "utf-8"), "charset"},
		{strings.EqualFold(r.uri, uri), "digest-uri"},
		{r.authzid == "" || r.authzid == r.user, "authzid"},
		{len(r.proven) == 32, "response"},
		{r.cnonce != "", "cnonce"},
	} {
		if !c.ok {
			return fmt.Errorf("%w: %q has a value that is not taken here", ErrSyntax, c.what)
		}
	}
	return nil
}
