package digest

import (
	"fmt"
	"strings"
)

// lengthMax limits a message, in bytes. RFC 2831 allows 2048 bytes for a challenge and 4096 for an
// answer. Token identifiers may make an answer longer.
const lengthMax = 16 << 10

// directives are keys and values in the order of the message.
type directives []struct{ key, value string }

// parse parses a comma-separated list of key=value and key="value".
func parse(b []byte) (directives, error) {
	if len(b) > lengthMax {
		return nil, fmt.Errorf("%w: %d bytes", ErrSyntax, len(b))
	}
	p := parser{s: string(b)}
	var out directives
	for {
		p.blanks(true)
		if p.i == len(p.s) {
			return out, nil
		}
		key := strings.ToLower(p.token())
		p.blanks(false)
		if key == "" || !p.eat('=') {
			return nil, fmt.Errorf("%w: no directive at byte %d", ErrSyntax, p.i)
		}
		p.blanks(false)
		value, ok := p.value()
		if !ok {
			return nil, fmt.Errorf("%w: value of %q", ErrSyntax, clip(key))
		}
		p.blanks(false)
		if p.i < len(p.s) && p.s[p.i] != ',' {
			return nil, fmt.Errorf("%w: no comma after %q", ErrSyntax, clip(key))
		}
		out = append(out, struct{ key, value string }{key, value})
	}
}

// clip shortens a text of the other side for an error.
func clip(s string) string { return s[:min(len(s), 100)] }

// once returns the value of a directive that may occur at most once.
func (d directives) once(key string) (value string, found bool, err error) {
	for _, x := range d {
		if x.key != key {
			continue
		}
		if found {
			return "", false, fmt.Errorf("%w: %q comes twice", ErrSyntax, key)
		}
		value, found = x.value, true
	}
	return value, found, nil
}

// parser parses one list.
type parser struct {
	s string
	i int
}

func (p *parser) eat(c byte) bool {
	if p.i < len(p.s) && p.s[p.i] == c {
		p.i++
		return true
	}
	return false
}

// blanks skips white space and, if commas is true, commas.
func (p *parser) blanks(commas bool) {
	for p.i < len(p.s) {
		switch c := p.s[p.i]; {
		case c == ' ' || c == '\t' || c == '\r' || c == '\n' || (commas && c == ','):
			p.i++
		default:
			return
		}
	}
}

// token returns the longest prefix that needs no quotes.
func (p *parser) token() string {
	from := p.i
	for p.i < len(p.s) && isToken(p.s[p.i]) {
		p.i++
	}
	return p.s[from:p.i]
}

func isToken(c byte) bool {
	return c > ' ' && c < 0x7f && !strings.ContainsRune(`()<>@,;:\"/[]?={}`, rune(c))
}

// value returns a token or the contents of a quoted string.
func (p *parser) value() (string, bool) {
	if !p.eat('"') {
		v := p.token()
		return v, v != ""
	}
	var b strings.Builder
	for p.i < len(p.s) {
		c := p.s[p.i]
		p.i++
		switch c {
		case '"':
			return b.String(), true
		case '\\':
			if p.i == len(p.s) {
				return "", false
			}
			c = p.s[p.i]
			p.i++
		}
		b.WriteByte(c)
	}
	return "", false
}

var quoting = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// quote returns a quoted string.
func quote(s string) string { return `"` + quoting.Replace(s) + `"` }
