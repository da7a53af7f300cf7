package principal

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"rmd/internal/hadoopconf"
)

// The mechanisms of hadoop.security.auth_to_local.mechanism.
const (
	// Hadoop refuses a result that has a "/" or an "@", and a principal to which no rule applies.
	Hadoop = "hadoop"
	// MIT allows both. A principal to which no rule applies is its own name.
	MIT = "mit"
)

// Rules are the rules of hadoop.security.auth_to_local. They do not change, so any goroutine may
// use them.
type Rules struct {
	rules []rule
	mit   bool
	realm string // for DEFAULT
}

// rule is one rule. All fields of DEFAULT except text are zero.
type rule struct {
	text       string // as Java prints it
	isDefault  bool
	components int
	format     string
	match      *regexp.Regexp // nil: every name
	change     *substitution  // nil: the name stays
	lower      bool
}

var ruleParser = regexp.MustCompile(
	`^[ \t\n\x0b\f\r]*((DEFAULT)|(RULE:\[(\d*):([^\]]*)\](\(([^)]*)\))?(s/([^/]*)/([^/]*)/(g)?)?))/?(L)?`)

// Kerberos reports whether Hadoop's files say that callers have principals.
func Kerberos(conf *hadoopconf.Config) bool {
	return strings.EqualFold(conf.Value("hadoop.security.authentication", "simple"), "kerberos")
}

// Load reads the rules in Hadoop's files. Without a key, a site with Kerberos has the rule DEFAULT,
// and others drop host and realm.
func Load(conf *hadoopconf.Config) (*Rules, error) {
	const key, mechanism = "hadoop.security.auth_to_local", "hadoop.security.auth_to_local.mechanism"
	secure := Kerberos(conf)
	rules := "RULE:[1:$1] RULE:[2:$1]"
	if secure {
		rules = "DEFAULT"
	}
	realm, err := DefaultRealm(Configuration())
	if err == nil && realm == "" {
		err = errors.New("it has no default_realm in [libdefaults]")
	}
	if secure && err != nil {
		//lint:ignore ST1005 Java's words
		return nil, fmt.Errorf("Can't get Kerberos realm: %s: %w", Configuration(), err)
	}
	p, named := conf.Get(key)
	if named {
		rules = p.Value
	}
	r, err := Parse(rules, conf.Value(mechanism, Hadoop), realm)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", p.Origin(), key, err)
	}
	return r, nil
}

// Parse reads rules. realm is the default realm of krb5.conf. A regular expression that package
// regexp does not have, or reads otherwise than Java does, is an error with the number of its rule.
func Parse(rules, mechanism, realm string) (*Rules, error) {
	r := &Rules{realm: realm, mit: strings.EqualFold(mechanism, MIT)}
	if !r.mit && !strings.EqualFold(mechanism, Hadoop) {
		return nil, errors.New("Invalid rule mechanism: " + mechanism)
	}
	for rest := trim(rules); rest != ""; {
		m := ruleParser.FindStringSubmatch(rest)
		if m == nil {
			return nil, fmt.Errorf("rule %d: Invalid rule: %s", len(r.rules)+1, rest)
		}
		one, err := parseRule(m)
		if err != nil {
			return nil, fmt.Errorf("rule %d: %w", len(r.rules)+1, err)
		}
		r.rules = append(r.rules, one)
		rest = rest[len(m[0]):]
	}
	return r, nil
}

// trim is String.trim of Java.
func trim(s string) string { return strings.TrimFunc(s, func(r rune) bool { return r <= ' ' }) }

// parseRule makes a rule from the groups of ruleParser.
func parseRule(m []string) (rule, error) {
	if m[2] != "" {
		return rule{text: "DEFAULT", isDefault: true}, nil
	}
	n, err := strconv.ParseInt(m[4], 10, 32)
	if err != nil {
		//lint:ignore ST1005 Java's words
		return rule{}, fmt.Errorf("Invalid rule: %s: %q is not a number of components", trim(m[0]), m[4])
	}
	r := rule{components: int(n), format: m[5], lower: m[12] != "", text: fmt.Sprintf("RULE:[%d:%s]", n, m[5])}
	if m[6] != "" {
		r.text += "(" + m[7] + ")"
		if r.match, err = compile(m[7], `\A(?:`, `)\z`); err != nil {
			return rule{}, err
		}
	}
	if m[8] != "" {
		r.text += "s/" + m[9] + "/" + m[10] + "/" + m[11]
		if r.change, err = newSubstitution(m[9], m[10], m[11] != ""); err != nil {
			return rule{}, err
		}
	}
	if r.lower {
		r.text += "/L"
	}
	return r, nil
}

// Rule is the rule that decided about a principal.
type Rule struct {
	// Number counts from 1. It is 0 if no rule was needed, or none applied.
	Number int
	// Text is the rule as Hadoop prints it.
	Text string
}

// Short returns the short name of a principal and the rule that decided. If the rule refuses the
// principal, Short returns the rule with the error.
func (r *Rules) Short(principal string) (string, Rule, error) {
	name, err := ParseName(principal)
	if err != nil {
		return "", Rule{}, err
	}
	if !name.hasHost && !name.hasRealm {
		return name.Service, Rule{}, nil
	}
	params := name.params()
	for i, rule := range r.rules {
		short, ok, err := r.apply(rule, params)
		if ok || err != nil {
			return short, Rule{i + 1, rule.text}, err
		}
	}
	if r.mit {
		return name.String(), Rule{}, nil
	}
	return "", Rule{}, errors.New("No rules applied to " + name.String())
}

// apply returns the short name that a rule makes. ok is false if the rule does not apply.
func (r *Rules) apply(rule rule, params []string) (short string, ok bool, err error) {
	switch {
	case rule.isDefault:
		if params[0] != r.realm {
			return "", false, nil
		}
		short = params[1]
	case len(params)-1 != rule.components:
		return "", false, nil
	default:
		if short, err = expand(rule.format, params); err != nil {
			return "", false, err
		}
		if rule.match != nil && !rule.match.MatchString(short) {
			return "", false, nil
		}
		if rule.change != nil {
			short = rule.change.apply(short)
		}
	}
	if !r.mit && strings.ContainsAny(short, "/@") {
		//lint:ignore ST1005 Java's words
		return "", false, fmt.Errorf("Non-simple name %s after auth_to_local rule %s", short, rule.text)
	}
	if rule.lower {
		// Java keeps the dot, so the name stays another one
		short = strings.ToLower(strings.ReplaceAll(short, "\u0130", "i\u0307"))
	}
	return short, true, nil
}

var parameter = regexp.MustCompile(`\$(\d*)`)

// expand replaces $0, $1 and $2 in the format of a rule.
func expand(format string, params []string) (string, error) {
	var out strings.Builder
	for rest := format; ; {
		at := parameter.FindStringSubmatchIndex(rest)
		if at == nil {
			out.WriteString(rest)
			return out.String(), nil
		}
		digits := rest[at[2]:at[3]]
		n, err := strconv.ParseInt(digits, 10, 32)
		if err != nil {
			return "", errors.New("bad format in username mapping in " + digits)
		}
		if int(n) >= len(params) {
			return "", fmt.Errorf("index %d from %s is outside of the valid range 0 to %d", n, format, len(params)-1)
		}
		out.WriteString(rest[:at[0]])
		out.WriteString(params[n])
		rest = rest[at[1]:]
	}
}
