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
	offer Protection
	used  bool
	layer *Layer
}

// NewServer returns a server with a random nonce, which offers the given qualities of protection.
func NewServer(offer Protection) *Server { return &Server{nonce: newNonce(), offer: offer} }

// Challenge returns the server's first message.
func (s *Server) Challenge() []byte {
	ciphers := ""
	if s.offer&Privacy != 0 {
		ciphers = `,cipher="` + cipherName + `"`
	}
	return []byte(`realm="` + realm + `",nonce="` + s.nonce + `",qop="` + s.offer.String() + `",charset=utf-8` + ciphers +
		`,algorithm=md5-sess`)
}

// Layer returns what protects the messages after the exchange, or nil if nothing does.
func (s *Server) Layer() *Layer { return s.layer }

// Evaluate checks the client's answer and returns the server's last message. It accepts one answer
// to the challenge, right or wrong. password returns the password of a user; its error is returned
// unchanged.
func (s *Server) Evaluate(answer []byte, password func(user string) (string, error)) ([]byte, error) {
	if s.used {
		return nil, ErrUsed
	}
	s.used = true
	r, err := parseResponse(answer, s.offer)
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
	s.layer = r.layer(true)
	return []byte("rspauth=" + r.final()), nil
}

// response is a client's answer.
type response struct {
	exchange
	proven string
}

// parseResponse decodes an answer and makes the checks that need no password.
func parseResponse(b []byte, offer Protection) (response, error) {
	d, err := parse(b)
	if err != nil {
		return response{}, err
	}
	var r response
	var count, quality, cipher, charset string
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
		{"qop", &quality, false},
		{"cipher", &cipher, false},
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
	r.protection = Authentication
	if quality != "" {
		r.protection = parseProtection(quality)
	}
	return r, r.check(count, cipher, charset, offer)
}

func (r *response) check(count, cipher, charset string, offer Protection) error {
	for _, c := range []struct {
		ok   bool
		what string
	}{
		{r.realm == realm, "realm"},
		{count == firstCount, "nc"},
		{r.protection&offer != 0, "qop"},
		{r.protection != Privacy || cipher == cipherName, "cipher"},
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
