package digest

import (
	"crypto/subtle"
	"fmt"
	"slices"
	"strings"
)

// Client is the client side of one exchange.
type Client struct {
	exchange
	answered bool
}

// NewClient returns a client with a user name and a password.
func NewClient(user, password string) *Client {
	return &Client{exchange: exchange{user: user, password: password, cnonce: newNonce(), uri: uri}}
}

// Answer decodes the server's challenge and returns the client's proof that it knows the password.
// It may be called once.
func (c *Client) Answer(challenge []byte) ([]byte, error) {
	if c.answered {
		return nil, ErrUsed
	}
	d, err := parse(challenge)
	if err != nil {
		return nil, err
	}
	if err := c.accept(d); err != nil {
		return nil, err
	}
	c.answered = true
	var b strings.Builder
	b.WriteString("charset=utf-8,username=" + quote(c.user) + ",realm=" + quote(c.realm) + ",nonce=" + quote(c.nonce) +
		",nc=" + firstCount + ",cnonce=" + quote(c.cnonce) + ",digest-uri=" + quote(c.uri) +
		",maxbuf=65536,response=" + c.answer() + ",qop=" + qop)
	return []byte(b.String()), nil
}

// accept takes the realm and the nonce from a challenge and checks that the client supports what
// the challenge requires.
func (c *Client) accept(d directives) error {
	nonce, found, err := d.once("nonce")
	if err != nil {
		return err
	}
	if !found || nonce == "" {
		return fmt.Errorf("%w: %q is missing", ErrSyntax, "nonce")
	}
	algorithm, _, err := d.once("algorithm")
	if err != nil {
		return err
	}
	if algorithm != "md5-sess" {
		return fmt.Errorf("%w: algorithm %q is not spoken here", ErrSyntax, algorithm)
	}
	offered, found, err := d.once("qop")
	if err != nil {
		return err
	}
	list := strings.FieldsFunc(offered, func(r rune) bool { return r == ',' || r == ' ' })
	if found && !slices.Contains(list, qop) {
		return fmt.Errorf("%w: qop %q is not spoken here", ErrSyntax, offered)
	}
	c.nonce, c.realm = nonce, realm
	for _, x := range d {
		if x.key == "realm" { // a server may offer several realms; any of them is valid
			c.realm = x.value
			break
		}
	}
	return nil
}

// Verify checks the server's proof that it knows the password.
func (c *Client) Verify(final []byte) error {
	if !c.answered {
		return fmt.Errorf("%w: the last message comes first", ErrSyntax)
	}
	d, err := parse(final)
	if err != nil {
		return err
	}
	got, found, err := d.once("rspauth")
	if err != nil {
		return err
	}
	if !found || subtle.ConstantTimeCompare([]byte(got), []byte(c.final())) != 1 {
		return ErrMismatch
	}
	return nil
}
