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
	takes    Protection
	answered bool
}

// NewClient returns a client for Hadoop's servers with a user name and a password. Of the qualities
// that it takes, it chooses the strongest that the server offers.
func NewClient(user, password string, takes Protection) *Client {
	return NewClientAt(uri, user, password, takes)
}

// NewClientAt returns a client for another service. at is its digest-uri, SERVICE/HOST.
func NewClientAt(at, user, password string, takes Protection) *Client {
	return &Client{exchange: exchange{user: user, password: password, cnonce: newNonce(), uri: at}, takes: takes}
}

// Layer returns what protects the messages after the exchange, or nil if nothing does. It may be
// called after Verify.
func (c *Client) Layer() *Layer { return c.layer(false) }

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
		",maxbuf=65536,response=" + c.answer() + ",qop=" + c.protection.String())
	if c.protection == Privacy {
		b.WriteString(`,cipher="` + cipherName + `"`)
	}
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
	if !found {
		offered = Authentication.String()
	}
	ciphers, _, err := d.once("cipher")
	if err != nil {
		return err
	}
	if c.protection = choose(c.takes, list(offered), list(ciphers)); c.protection == 0 {
		return fmt.Errorf("%w: the server offers qop %q and cipher %q, and %q is wanted", ErrSyntax, offered,
			ciphers, c.takes)
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

func list(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' })
}

// choose returns the strongest quality that both sides take, or 0.
func choose(takes Protection, offered, ciphers []string) Protection {
	for _, n := range names {
		if takes&n.one != 0 && slices.Contains(offered, n.name) &&
			(n.one != Privacy || slices.Contains(ciphers, cipherName)) {
			return n.one
		}
	}
	return 0
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
