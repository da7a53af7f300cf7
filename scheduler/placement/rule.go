package placement

import "strings"

// Match says which property of a submission a rule looks at.
type Match uint8

// What rules match.
const (
	MatchAll         Match = 1 + iota // every submission
	MatchUser                         // the user
	MatchGroup                        // any group of the user
	MatchApplication                  // the application's name
)

// Action is what a matching rule does.
type Action uint8

// Actions of rules.
const (
	Place      Action = 1 + iota // place the application in the queue Target
	Reject                       // reject the submission
	SetDefault                   // set %default to Target for the rules that follow
)

// Fallback is what happens if the queue of a rule cannot be used.
type Fallback uint8

// Fallbacks, by YARN's names.
const (
	FallbackSkip    Fallback = 1 + iota // go on to the next rule
	FallbackReject                      // reject the submission
	FallbackDefault                     // place in %default; reject if that cannot be used either
)

func (f Fallback) String() string {
	switch f {
	case FallbackSkip:
		return "skip"
	case FallbackReject:
		return "reject"
	case FallbackDefault:
		return "placeDefault"
	}
	return "unknown"
}

// Rule is one mapping rule. Name and Target may contain variables.
type Rule struct {
	Text     string // the rule for messages: as written, or a summary of its JSON
	Match    Match
	Name     string // the user, group or application it matches
	Action   Action
	Target   string // a path of queue names and variables, or the value of %default
	Create   bool   // the rule may create its queue
	Fallback Fallback
}

// Rules are the mapping rules of a cluster, in the order in which they apply.
type Rules struct {
	List     []Rule
	Override bool // also place applications whose client named a queue
}

// Queue is what rules know about a queue.
type Queue struct {
	Path     string
	Leaf     bool
	Managed  bool // submissions create leaves below it (auto-create-child-queue)
	Flexible bool // submissions create leaves and their parents below it (auto-queue-creation-v2)
}

func (q Queue) creates() bool { return q.Managed || q.Flexible }

// Queues is the queue tree. Find takes a full path, or a short name that only one queue has.
// Ambiguous reports whether several queues have a short name; "root" is never ambiguous.
type Queues interface {
	Find(pathOrName string) (Queue, bool)
	Ambiguous(name string) bool
}

// defaultName is the queue that YARN's clients send if the user names none.
const defaultName = "default"

// Names of the variables of rules.
const (
	varUser           = "%user"
	varPrimaryGroup   = "%primary_group"
	varSecondaryGroup = "%secondary_group"
	varApplication    = "%application"
	varSpecified      = "%specified"
	varDefault        = "%default"
)

// Variables are the names that stand for values in paths and names.
var Variables = []string{varUser, varPrimaryGroup, varSecondaryGroup, varApplication, varSpecified, varDefault}

// variable is a variable and its value.
type variable struct{ name, value string }

// variables are the variables of one submission.
type variables struct {
	list      []variable // the longest name first: YARN replaces variables in a text in this order
	user      string     // the user as sent; in the value of %user, cleanName replaces dots
	groups    []string   // of the user, as sent, each once
	secondary []string   // the candidates for %secondary_group
}

// cleanName converts a name to a part of a path.
func cleanName(name string) string { return strings.ReplaceAll(name, ".", "_dot_") }

func variablesOf(s Submission) *variables {
	v, seen := &variables{user: s.User}, make(map[string]bool, len(s.Groups)) // looked up by key only
	for _, g := range s.Groups {
		if !seen[g] {
			seen[g] = true
			v.groups = append(v.groups, g)
		}
	}
	if len(v.groups) == 1 {
		v.list = append(v.list, variable{varSecondaryGroup, ""})
	}
	if len(v.groups) > 0 { // without groups neither has a value, so their names remain
		v.list = append(v.list, variable{varPrimaryGroup, cleanName(v.groups[0])})
		for _, g := range v.groups[1:] {
			v.secondary = append(v.secondary, cleanName(g))
		}
	}
	specified := s.Queue
	if specified == defaultName {
		specified = ""
	}
	v.list = append(v.list, variable{varApplication, s.Application}, variable{varSpecified, specified},
		variable{varDefault, "root.default"}, variable{varUser, cleanName(s.User)})
	return v
}

func contains(list []string, s string) bool {
	for _, t := range list {
		if t == s {
			return true
		}
	}
	return false
}

func (v *variables) setDefault(value string) {
	for i := range v.list {
		if v.list[i].name == varDefault {
			v.list[i].value = value
		}
	}
}

// maxPath is the longest path after the replacement of variables, in bytes. Longer paths are cut
// off. Without a limit, rules that set %default to %default.%default would double it each time.
const maxPath = 2 << 10

// replace replaces variables with their values wherever their names occur in a text.
func (v *variables) replace(text string) string {
	for _, x := range v.list {
		text = cutOff(strings.ReplaceAll(text, x.name, x.value))
	}
	return text
}

// cutOff shortens a text that is longer than maxPath. The result is still longer than maxPath, so
// that resolve refuses it.
func cutOff(text string) string {
	if len(text) <= maxPath {
		return text
	}
	return text[:maxPath] + "…"
}

// replacePath replaces variables that are a whole part of a path. %secondary_group becomes the
// first secondary group that has a queue below the parts before it.
func (v *variables) replacePath(q Queues, path string) string {
	parts, length := split(path), 0
	for i, p := range parts {
		parts[i] = v.part(q, parts[:i], p)
		if length += len(parts[i]) + 1; length > maxPath+1 {
			return cutOff(strings.Join(parts[:i+1], "."))
		}
	}
	return strings.Join(parts, ".")
}

// part returns the value of p if it is a variable, and p otherwise. parents are the parts before
// it.
func (v *variables) part(q Queues, parents []string, p string) string {
	if p == varSecondaryGroup && len(v.secondary) > 0 {
		return v.secondaryGroup(q, parents)
	}
	for _, x := range v.list {
		if x.name == p {
			return x.value
		}
	}
	return p
}

func (v *variables) secondaryGroup(q Queues, parents []string) string {
	if _, ok := q.Find(strings.Join(parents, ".")); !ok && len(parents) > 0 {
		return "" // nothing is below it
	}
	for _, g := range v.secondary {
		if _, ok := q.Find(strings.Join(append(parents[:len(parents):len(parents)], g), ".")); ok {
			return g
		}
	}
	return ""
}

func (r *Rule) matches(v *variables) bool {
	switch r.Match {
	case MatchAll:
		return true
	case MatchUser:
		return v.replace(r.Name) == v.user
	case MatchGroup:
		return contains(v.groups, v.replace(r.Name))
	case MatchApplication:
		for _, x := range v.list {
			if x.name == varApplication {
				return v.replace(r.Name) == x.value
			}
		}
	}
	return false
}

// split splits a path as Java's String.split does: without empty parts at the end.
func split(path string) []string {
	if path == "" {
		return []string{""}
	}
	parts := strings.Split(path, ".")
	for len(parts) > 0 && parts[len(parts)-1] == "" {
		parts = parts[:len(parts)-1]
	}
	return parts
}

// trim removes the characters that Java's String.trim removes.
func trim(s string) string { return strings.TrimFunc(s, func(r rune) bool { return r <= ' ' }) }
