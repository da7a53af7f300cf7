package placement

import (
	"fmt"
	"strings"

	"rmd/yarn"
)

// Submission has the properties of an application that rules look at.
type Submission struct {
	User        string
	Groups      []string // the primary one first
	Application string   // its name
	Queue       string   // as the client named it; empty or "default" if it named none
	Tags        []string
	TagGroups   []string // of the user whom a tag userid=NAME names
}

// Step is a rule that matched, and its result.
type Step struct {
	Rule   int    // from 1
	Text   string // the rule
	Result string // placed, rejected, skipped or default; "set" if it set %default
	Queue  string // the queue it goes to, the new %default, or the queue that could not be used
	Create bool   // the queue does not exist yet
	Why    string // why the queue could not be used
}

// Result says where a submission goes. If Queue is empty and Rejected is false, it goes to the
// queue that its client named.
type Result struct {
	Queue      string // path of a leaf
	Create     bool   // the leaf does not exist yet; a parent above it creates it
	Rejected   bool
	Rule       int    // the rule that decided, from 1; 0: none
	Text       string // that rule
	PassedOver bool   // no rule was applied: the client named a queue, and Override is false
	Steps      []Step // the rules that matched, in their order
	TagUser    string // the user of a tag, for whom it was placed; empty if for its own user
}

// maxSteps is the most steps in a Result: the first ones, and the last.
const maxSteps = 1000

// Place applies the rules to a submission. As in YARN, a client that names the queue "default"
// counts as having named none.
func (r *Rules) Place(q Queues, s Submission) Result {
	var out Result
	if s.Queue != "" && s.Queue != defaultName && !r.Override {
		out.PassedOver = true
		return out
	}
	v := variablesOf(s)
	for i := range r.List {
		rule := &r.List[i]
		if !rule.matches(v) {
			continue
		}
		step := rule.run(q, v)
		step.Rule, step.Text = i+1, rule.Text
		if len(out.Steps) == maxSteps { // the deciding step must be the last one
			out.Steps = out.Steps[:maxSteps-1]
		}
		out.Steps = append(out.Steps, step)
		switch step.Result {
		case "placed", "default":
			out.Queue, out.Create = step.Queue, step.Create
		case "rejected":
			out.Rejected = true
		default:
			continue
		}
		out.Rule, out.Text = i+1, rule.Text
		break
	}
	return out
}

// run applies a rule that matches.
func (r *Rule) run(q Queues, v *variables) Step {
	switch r.Action {
	case Reject:
		return Step{Result: "rejected"}
	case SetDefault:
		v.setDefault(v.replace(r.Target))
		return Step{Result: "set", Queue: v.replace(varDefault)}
	}
	target := v.replacePath(q, r.Target)
	path, created, why := resolve(q, target, r.Create)
	if why == "" {
		return Step{Result: "placed", Queue: path, Create: created}
	}
	switch r.Fallback {
	case FallbackSkip:
		return Step{Result: "skipped", Queue: target, Why: why}
	case FallbackReject:
		return Step{Result: "rejected", Queue: target, Why: why}
	}
	def := v.replacePath(q, varDefault)
	path, _, no := resolve(q, def, false)
	if no != "" {
		return Step{Result: "rejected", Queue: target, Why: fmt.Sprintf("%s; nor can %%default be used: %s", why, no)}
	}
	return Step{Result: "default", Queue: path, Why: why}
}

// resolve returns the leaf of a target path, and whether it must be created first. If the target
// cannot be used, why says so and path is empty.
func resolve(q Queues, target string, create bool) (path string, created bool, why string) {
	if len(target) > maxPath {
		return "", false, fmt.Sprintf("the path has more than %d bytes", maxPath)
	}
	parent, leaf, nested := cut(target)
	if emptyPart(parent, leaf, nested) {
		return "", false, fmt.Sprintf("the path %q has an empty part", target)
	}
	found, created, why := find(q, parent, leaf, nested)
	switch {
	case why != "" && nested && create:
		why += ", and its parent does not create queues"
	case created && !create:
		why = fmt.Sprintf("there is no queue %q, and the rule may not create it", found.Path)
	case why == "" && !found.Leaf:
		why = fmt.Sprintf("%s is not a leaf", found.Path)
	}
	if why != "" {
		return "", false, why
	}
	return found.Path, created, ""
}

// find returns the queue of a path. created says that it does not exist, but that a queue above it
// can create it.
func find(q Queues, parent, leaf string, nested bool) (found Queue, created bool, why string) {
	name := leaf
	if nested {
		if name, why = normalize(q, parent+"."+leaf); why != "" {
			return Queue{}, false, why
		}
	}
	found, ok := q.Find(name)
	switch {
	case ok:
		return found, false, ""
	case q.Ambiguous(name):
		return Queue{}, false, fmt.Sprintf("several queues are named %q", name)
	case nested && creatable(q, name):
		return Queue{Path: name, Leaf: true}, true, ""
	}
	return Queue{}, false, fmt.Sprintf("there is no queue %q", name)
}

// creatable reports whether the leaf of a full path can be created: by its parent, or if the parent
// does not exist either, by a flexible queue above that. The limits on depth and number are checked
// when the queue is created.
func creatable(q Queues, path string) bool {
	parent := yarn.ParentQueue(path)
	if p, ok := q.Find(parent); ok {
		return p.creates()
	}
	p, ok := q.Find(yarn.ParentQueue(parent))
	return ok && p.Flexible
}

// normalize replaces the first part of a path, which may be a short name, with the full path of
// that queue.
func normalize(q Queues, path string) (full, why string) {
	parts := split(path)
	if len(parts) == 0 {
		return "", fmt.Sprintf("the path %q has an empty part", path)
	}
	first, ok := q.Find(parts[0])
	switch {
	case ok:
		parts[0] = first.Path
		return strings.Join(parts, "."), ""
	case q.Ambiguous(parts[0]):
		return "", fmt.Sprintf("several queues are named %q, where %q begins", parts[0], path)
	}
	return "", fmt.Sprintf("there is no queue %q, where %q begins", parts[0], path)
}

// cut splits a path at its last dot, as YARN's QueuePath does. nested is false if there is no dot.
func cut(path string) (parent, leaf string, nested bool) {
	dot := strings.LastIndexByte(path, '.')
	if dot < 0 {
		return "", path, false
	}
	return trim(path[:dot]), trim(path[dot+1:]), true
}

func emptyPart(parent, leaf string, nested bool) bool {
	if leaf == "" {
		return true
	}
	return nested && contains(split(parent+"."+leaf), "")
}
