package placement

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"rmd/internal/clip"
)

// ruleKeys are the keys of a rule, sorted.
var ruleKeys = []string{"create", "customPlacement", "fallbackResult", "matches", "parentQueue", "policy",
	"type", "value"}

// policies maps policies to the path in which they place. The path is below parentQueue, unless it
// is fixed. The method action has the policies that are not listed here.
var policies = map[string]struct {
	path  string
	fixed bool
}{
	"specified":          {varSpecified, true},
	"defaultQueue":       {varDefault, true},
	"user":               {varUser, false},
	"primaryGroup":       {varPrimaryGroup, false},
	"primaryGroupUser":   {varPrimaryGroup + "." + varUser, false},
	"secondaryGroup":     {varSecondaryGroup, false},
	"secondaryGroupUser": {varSecondaryGroup + "." + varUser, false},
	"applicationName":    {varApplication, false},
}

const policyNames = "specified, reject, defaultQueue, user, primaryGroup, secondaryGroup, primaryGroupUser, secondaryGroupUser, applicationName, setDefaultQueue or custom"

// jsonRule has the values of a rule in JSON. A nil value means that the key is absent.
type jsonRule struct {
	kind, matches, policy, parent, fallback, value, custom *string
	create                                                 *bool
}

// ParseJSON reads the rules of yarn.scheduler.capacity.mapping-rule-json: an object whose key
// "rules" has the list of rules. Warnings name unknown keys, which YARN ignores silently.
func ParseJSON(text string) (rules []Rule, warnings, problems []Problem) {
	dec := json.NewDecoder(strings.NewReader(text))
	var top map[string]json.RawMessage
	if err := dec.Decode(&top); err != nil {
		return nil, nil, []Problem{{What: syntax(text, err)}}
	}
	var list []json.RawMessage
	if raw, ok := top["rules"]; ok {
		if err := json.Unmarshal(raw, &list); err != nil || isNull(raw) {
			return nil, nil, []Problem{{What: "\"rules\" is not a list"}}
		}
	}
	if len(list) > MaxRules {
		return nil, nil, []Problem{{What: fmt.Sprintf("there are %d rules, more than %d", len(list), MaxRules)}}
	}
	for _, key := range unknown(top, []string{"rules"}) {
		warnings = append(warnings, Problem{
			What: fmt.Sprintf("the key %q means nothing; rules are in \"rules\"", clip.Text(key))})
	}
	for i, raw := range list {
		rule, strange, what := parseRule(raw)
		rules = append(rules, rule)
		for _, key := range strange {
			warnings = append(warnings, Problem{Rule: i + 1,
				What: fmt.Sprintf("the key %q means nothing; keys are %s", clip.Text(key), strings.Join(ruleKeys, ", "))})
		}
		if what != "" {
			problems = append(problems, Problem{Rule: i + 1, What: what})
		}
	}
	return rules, warnings, problems
}

// syntax describes a JSON error, if possible by line and column, which count from 1.
func syntax(text string, err error) string {
	at := int64(-1)
	var bad *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &bad):
		at = bad.Offset
	case errors.As(err, &kind):
		return "it is not a JSON object with \"rules\""
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the JSON ends too early"
	}
	if at < 0 || at > int64(len(text)) {
		return "it is not JSON: " + err.Error()
	}
	before := text[:at]
	line := strings.Count(before, "\n") + 1
	return fmt.Sprintf("line %d, column %d: %v", line, int(at)-strings.LastIndexByte(before, '\n')-1, err)
}

func isNull(raw json.RawMessage) bool { return string(bytes.TrimSpace(raw)) == "null" }

func unknown(object map[string]json.RawMessage, known []string) []string {
	var out []string
	for key := range object { // sorted below
		if !slices.Contains(known, key) {
			out = append(out, key)
		}
	}
	slices.Sort(out)
	return out
}

func parseRule(raw json.RawMessage) (r Rule, strange []string, what string) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(raw, &object); err != nil || isNull(raw) {
		return r, nil, "is not a JSON object"
	}
	var j jsonRule
	for _, f := range []struct {
		key string
		to  **string
	}{{"type", &j.kind}, {"matches", &j.matches}, {"policy", &j.policy}, {"parentQueue", &j.parent},
		{"fallbackResult", &j.fallback}, {"value", &j.value}, {"customPlacement", &j.custom}} {
		text, ok := text(object[f.key])
		if !ok {
			return r, nil, fmt.Sprintf("%q is not a text", f.key)
		}
		*f.to = text
	}
	create, ok := boolean(object["create"])
	if !ok {
		return r, nil, "\"create\" is not true or false"
	}
	j.create = create
	r, what = j.rule()
	return r, unknown(object, ruleKeys), what
}

// text reads a string as Hadoop's JSON reader does, which also accepts numbers and booleans. A nil
// string means that there is no value.
func text(raw json.RawMessage) (*string, bool) {
	if raw == nil || isNull(raw) {
		return nil, true
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return &s, true
	}
	s = string(bytes.TrimSpace(raw))
	return &s, !strings.ContainsAny(s, "{[")
}

// boolean reads a boolean, or a string or whole number that stands for one.
func boolean(raw json.RawMessage) (*bool, bool) {
	s, ok := text(raw)
	if s == nil || !ok {
		return nil, ok
	}
	word := trim(*s)
	value := word == "true" || word == "True" || word == "TRUE"
	if n, err := strconv.ParseInt(word, 10, 32); err == nil && raw[0] != '"' {
		value = n != 0
	} else if word == "" || word == "null" {
		return nil, true
	} else if !value && word != "false" && word != "False" && word != "FALSE" {
		return nil, false
	}
	return &value, true
}

// rule checks the values and converts them to a Rule. what describes a fault; empty if there is
// none.
func (j *jsonRule) rule() (r Rule, what string) {
	switch {
	case j.policy == nil:
		return r, "has no policy; name " + policyNames
	case j.kind == nil:
		return r, "has no type; name user, group or application"
	case j.matches == nil || *j.matches == "":
		return r, "has no \"matches\"; write a name, or * for all users"
	}
	if what := j.match(&r); what != "" {
		return r, what
	}
	if what := j.action(&r); what != "" {
		return r, what
	}
	r.Create = j.create == nil || *j.create
	if *j.policy == "defaultQueue" {
		r.Create = false
	}
	r.Fallback = FallbackSkip
	if j.fallback != nil {
		switch *j.fallback {
		case "skip":
		case "reject":
			r.Fallback = FallbackReject
		case "placeDefault":
			r.Fallback = FallbackDefault
		default:
			return r, fmt.Sprintf("the fallbackResult %q is not skip, reject or placeDefault", clip.Text(*j.fallback))
		}
	}
	r.Text = fmt.Sprintf("%s %s: %s", *j.kind, *j.matches, *j.policy)
	if r.Action != Reject {
		r.Text += " " + r.Target
	}
	return r, ""
}

func (j *jsonRule) match(r *Rule) string {
	r.Name = *j.matches
	switch *j.kind {
	case "user":
		r.Match = MatchUser
		if r.Name == "*" {
			r.Match = MatchAll
		}
	case "group":
		if r.Name == "*" {
			return "cannot match * for groups"
		}
		r.Match = MatchGroup
	case "application":
		r.Match = MatchApplication
	default:
		return fmt.Sprintf("the type %q is not user, group or application", clip.Text(*j.kind))
	}
	return ""
}

func (j *jsonRule) action(r *Rule) string {
	r.Action = Place
	if p, ok := policies[*j.policy]; ok {
		r.Target = p.path
		if !p.fixed && j.parent != nil {
			r.Target = *j.parent + "." + p.path
		}
		return ""
	}
	switch *j.policy {
	case "reject":
		r.Action = Reject
	case "custom":
		if j.custom == nil {
			return "has the policy custom and no customPlacement"
		}
		r.Target = *j.custom
	case "setDefaultQueue":
		if j.value == nil {
			return "has the policy setDefaultQueue and no value"
		}
		r.Action, r.Target = SetDefault, *j.value
	default:
		return fmt.Sprintf("the policy %q is not %s", clip.Text(*j.policy), policyNames)
	}
	return ""
}
