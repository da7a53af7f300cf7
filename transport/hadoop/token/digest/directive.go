package digest

import (
	"fmt"
	"strings"
)

// lengthMax bounds what is parsed. The RFC says 2048 for a challenge and 4096
// for an answer; token identifiers may make the latter longer.
const lengthMax = 16 << 10

// directives are key and value pairs in the order of the wire.
type directives []struct{ key, value string }

// parse cuts a comma-separated list of key=value and key="value" apart.
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
			return nil, fmt.Errorf("%w: value of %q", ErrSyntax, key)
		}
		p.blanks(false)
		if p.i < len(p.s) && p.s[p.i] != ',' {
			return nil, fmt.Errorf("%w: no comma after %q", ErrSyntax, key)
		}
		out = append(out, struct{ key, value string }{key, value})
	}
}

// once is the value of a directive that may come once at most.
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

// parser walks over one list.
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

// blanks skips white space, and empty elements of the list if commas is set.
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

// token is the longest run of characters that need no quotes.
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

// value is a token or a quoted string.
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

// quote is the reverse of value.
func quote(s string) string { return `"` + quoting.Replace(s) + `"` }
