package placement

import "strings"

// Match says what of a submission a rule looks at.
type Match uint8

// What rules match.
const (
	MatchAll         Match = 1 + iota // every submission
	MatchUser                         // the user
	MatchGroup                        // any group of the user
	MatchApplication                  // the application's name
)

// Action is what a rule that matches does.
type Action uint8

// Actions of rules.
const (
	Place      Action = 1 + iota // in the queue Target
	Reject                       // the submission
	SetDefault                   // sets %default to Target for the rules behind; places nothing
)

// Fallback is what happens if the queue of a rule cannot be used.
type Fallback uint8

// Fallbacks, by YARN's names.
const (
	FallbackSkip    Fallback = 1 + iota // go on to the next rule
	FallbackReject                      // refuse the submission
	FallbackDefault                     // place in %default; refuse if that cannot be used either
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

// Rule is one mapping rule. Name and Target may have variables.
type Rule struct {
	Text     string // the rule for people: as written, or what the JSON says
	Match    Match
	Name     string // the user, group or application it matches
	Action   Action
	Target   string // a path of queue names and variables, or the value of %default
	Create   bool   // the rule allows that its queue is created
	Fallback Fallback
}

// Rules are the mapping rules of a cluster, in their order.
type Rules struct {
	List     []Rule
	Override bool // they also place applications whose client named a queue
}

// Queue is a queue as rules see it.
type Queue struct {
	Path     string
	Leaf     bool
	Managed  bool // it creates the leaves below it (auto-create-child-queue)
	Flexible bool // it creates leaves, and parents of leaves, below it (auto-queue-creation-v2)
}

func (q Queue) creates() bool { return q.Managed || q.Flexible }

// Queues is the queue tree. Find takes a full path, or a short name that one queue has.
// Ambiguous says whether several have it; "root" is never ambiguous.
type Queues interface {
	Find(pathOrName string) (Queue, bool)
	Ambiguous(name string) bool
}

// defaultName is the queue that YARN's clients name if the user names none.
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

// Variables are the names that may stand for a part of a path.
var Variables = []string{varUser, varPrimaryGroup, varSecondaryGroup, varApplication, varSpecified, varDefault}

// variable has a value. Those of a submission are sorted by the length of their names, longest
// first, the order in which YARN replaces them in a text.
type variable struct{ name, value string }

type variables struct {
	list      []variable
	user      string   // the user as written; %user has no dots
	groups    []string // of the user, as written, each once
	secondary []string // candidates of %secondary_group
}

// cleanName is a name as a part of a path.
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
	if len(v.groups) > 0 { // without groups both variables have no value and stand for themselves
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

// maxPath is how long a path may become when variables get their values, in bytes. What becomes longer
// is cut off beyond that: a rule may set %default to twice what it was, and the next rule again.
const maxPath = 2 << 10

// replace puts the values of variables into a text, wherever their names are.
func (v *variables) replace(text string) string {
	for _, x := range v.list {
		text = cutOff(strings.ReplaceAll(text, x.name, x.value))
	}
	return text
}

// cutOff shortens a text so that it is still seen to be too long.
func cutOff(text string) string {
	if len(text) <= maxPath {
		return text
	}
	return text[:maxPath] + "…"
}

// replacePath puts values where a whole part of a path is the name of a variable. The secondary
// group is the first with a queue below the parts before it.
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

// part is a part of a path below others, or its value if it is the name of a variable.
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

// split cuts a path as Java's split does: without the empty parts at its end.
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

// trim removes what Java's trim removes.
func trim(s string) string { return strings.TrimFunc(s, func(r rune) bool { return r <= ' ' }) }
