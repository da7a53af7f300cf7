package placement

import (
	"fmt"
	"strings"

	"rmd/internal/clip"
)

// MaxRules is the most rules that a cluster may have.
const MaxRules = 10_000

// ParseLegacy reads the values of yarn.scheduler.capacity.queue-mappings (u:USER:QUEUE,
// g:GROUP:QUEUE) and yarn.scheduler.queue-placement-rules.app-name (NAME:QUEUE). The rules of the
// second follow those of the first, and Problems number both together. As in YARN, each rule falls
// back to %default, a repeated rule counts once, and u:%user matches every user.
func ParseLegacy(mappings, appNames string) ([]Rule, []Problem) {
	var out []Rule
	var problems []Problem
	add := func(item string, parse func([]string) (Rule, string)) {
		rule, what := parse(fields(item))
		rule.Text, rule.Action, rule.Create, rule.Fallback = item, Place, true, FallbackDefault
		out = append(out, rule)
		if what != "" {
			problems = append(problems, Problem{Rule: len(out), What: fmt.Sprintf("%q %s", clip.Text(item), what),
				YARN: illegal(item, what)})
		}
	}
	for _, item := range Items(mappings) {
		add(item, parseMapping)
	}
	for _, item := range Items(appNames) {
		add(item, parseAppName)
	}
	if len(out) > MaxRules {
		return nil, []Problem{{What: fmt.Sprintf("there are %d rules, more than %d", len(out), MaxRules)}}
	}
	return out, problems
}

const unknownPrefix = "begins with neither u nor g"

// illegal returns YARN's message for a faulty item.
func illegal(item, what string) string {
	if what == unknownPrefix {
		return "unknown mapping prefix " + fields(item)[0]
	}
	return "Illegal queue mapping " + item
}

func parseMapping(f []string) (r Rule, what string) {
	if len(f) != 3 {
		return r, "does not have three parts; write u:user:queue or g:group:queue"
	}
	r.Name, r.Target = f[1], f[2]
	switch f[0] {
	case "u":
		r.Match = MatchUser
		if f[1] == varUser {
			r.Match = MatchAll
		}
	case "g":
		r.Match = MatchGroup
	default:
		return r, unknownPrefix
	}
	return r, ""
}

func parseAppName(f []string) (r Rule, what string) {
	if len(f) != 2 {
		return r, "does not have two parts; write application:queue"
	}
	return Rule{Match: MatchApplication, Name: f[0], Target: f[1]}, ""
}

// Items splits a list at commas and newlines, as Hadoop's StringUtils.getTrimmedStringCollection
// does: without blanks around items, without empty items, and with each item once.
func Items(list string) []string {
	var out []string
	seen := map[string]bool{}
	for _, item := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == '\n' }) {
		if item = trim(item); item != "" && !seen[item] {
			seen[item] = true
			out = append(out, item)
		}
	}
	return out
}

// fields splits an item at its colons. As in YARN, empty fields are dropped.
func fields(item string) []string {
	var out []string
	for _, f := range strings.Split(item, ":") {
		if f = trim(f); f != "" {
			out = append(out, f)
		}
	}
	return out
}
