package principal

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// compile compiles a regular expression of Java between two pieces of our own.
func compile(expr, before, after string) (*regexp.Regexp, error) {
	if err := sameInJava(expr); err != nil {
		return nil, fmt.Errorf("the regular expression %q %w; write it without", expr, err)
	}
	if _, err := syntax.Parse(expr, syntax.Perl); err != nil { // alone, so that it cannot close our group
		return nil, fmt.Errorf("the regular expression %q is not supported: %w", expr, err)
	}
	re, err := regexp.Compile(before + expr + after)
	if err != nil {
		return nil, fmt.Errorf("the regular expression %q is not supported: %w", expr, err)
	}
	return re, nil
}

// sameInJava returns an error for what package regexp accepts and reads otherwise than Java does.
func sameInJava(expr string) error {
	class, first := false, false // in [...], and at its beginning
	for i := 0; i < len(expr); i++ {
		rest := expr[i:]
		begins := first
		first = false
		switch {
		case strings.HasPrefix(rest, `\Q`):
			end := strings.Index(rest, `\E`)
			if end < 0 {
				return nil
			}
			i += end + 1
		case rest[0] == '\\' && len(rest) > 1:
			if strings.IndexByte("0123456789vC", rest[1]) >= 0 {
				return fmt.Errorf(`has \%c, which Java and this program read differently`, rest[1])
			}
			i++
		case class && rest[0] == '[':
			return errors.New("has a [ within [...]")
		case class && strings.HasPrefix(rest, "&&"):
			return errors.New("has && within [...]")
		case class && begins && rest[0] == '^':
			first = true
		case class && rest[0] == ']' && !begins:
			class = false
		case !class && rest[0] == '[':
			class, first = true, true
		case !class && strings.HasPrefix(rest, "(?"):
			flags := rest[2:]
			if end := strings.IndexAny(flags, ":)<"); end >= 0 && strings.ContainsAny(flags[:end], "UP") {
				return errors.New("has flags that Java does not have, or reads differently")
			}
		}
	}
	return nil
}

// substitution is the part s/from/to/g of a rule.
type substitution struct {
	from *regexp.Regexp
	rest *regexp.Regexp // from, where the text does not begin; nil if only the first match is replaced
	to   []piece
}

// piece is a part of a replacement: a text, or a group of the match if group is not negative.
type piece struct {
	text  string
	group int
}

func newSubstitution(from, to string, all bool) (*substitution, error) {
	s := &substitution{}
	var err error
	if s.from, err = compile(from, "", ""); err != nil {
		return nil, err
	}
	if all {
		if s.rest, err = behind(from); err != nil {
			return nil, err
		}
	}
	s.to, err = replacement(to, s.from)
	return s, err
}

// behind returns an expression that finds in the rest of a text what expr finds after the beginning
// of the text.
func behind(expr string) (*regexp.Regexp, error) {
	tree, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil, err
	}
	if err := neverAtBegin(tree); err != nil {
		return nil, fmt.Errorf("the regular expression %q %w; write it without, or drop the g", expr, err)
	}
	return regexp.Compile(tree.String())
}

func neverAtBegin(re *syntax.Regexp) error {
	switch re.Op {
	case syntax.OpBeginText:
		re.Op = syntax.OpNoMatch
	case syntax.OpBeginLine, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return errors.New("depends on the text before a match")
	}
	for _, sub := range re.Sub {
		if err := neverAtBegin(sub); err != nil {
			return err
		}
	}
	return nil
}

// apply replaces the first match, or all. As in Java, an empty match may follow another match.
func (s *substitution) apply(base string) string {
	at := s.from.FindStringSubmatchIndex(base)
	if at == nil {
		return base
	}
	var out strings.Builder
	for {
		out.WriteString(base[:at[0]])
		for _, p := range s.to {
			if p.group < 0 {
				out.WriteString(p.text)
			} else if at[2*p.group] >= 0 {
				out.WriteString(base[at[2*p.group]:at[2*p.group+1]])
			}
		}
		begin := at[1]
		if s.rest == nil {
			return out.String() + base[begin:]
		}
		if at[0] == at[1] { // the next match begins behind the next character
			if base[begin:] == "" {
				return out.String()
			}
			_, size := utf8.DecodeRuneInString(base[begin:])
			out.WriteString(base[begin : begin+size])
			begin += size
		}
		base = base[begin:]
		if at = s.rest.FindStringSubmatchIndex(base); at == nil {
			return out.String() + base
		}
	}
}

// replacement reads a replacement of Java: $1 or ${name} is a group, and a backslash makes the next
// character a text.
func replacement(to string, from *regexp.Regexp) ([]piece, error) {
	var out []piece
	text := ""
	bad := func(what string) ([]piece, error) {
		return nil, fmt.Errorf("the replacement %q %s, so every use of the rule would fail", to, what)
	}
	for i := 0; i < len(to); i++ {
		switch {
		case to[i] == '\\':
			if i++; i == len(to) {
				return bad("ends with a backslash")
			}
			text += to[i : i+1]
		case to[i] != '$':
			text += to[i : i+1]
		default:
			group, size := reference(to[i+1:], from)
			if group < 0 {
				return bad("has a $ without a group of the regular expression")
			}
			out = append(out, piece{text, -1}, piece{"", group})
			text = ""
			i += size
		}
	}
	return append(out, piece{text, -1}), nil
}

// reference returns the group that follows a "$", and the length of its number or name. The group is
// -1 if there is none.
func reference(s string, from *regexp.Regexp) (group, size int) {
	if strings.HasPrefix(s, "{") {
		name, _, closed := strings.Cut(s[1:], "}")
		if !closed || name == "" {
			return -1, 0
		}
		return from.SubexpIndex(name), len(name) + 2
	}
	if s == "" || s[0] < '0' || s[0] > '9' {
		return -1, 0
	}
	group = int(s[0] - '0')
	if group > from.NumSubexp() {
		return -1, 0
	}
	for size = 1; size < len(s) && s[size] >= '0' && s[size] <= '9'; size++ {
		next := group*10 + int(s[size]-'0')
		if next > from.NumSubexp() {
			break
		}
		group = next
	}
	return group, size
}
