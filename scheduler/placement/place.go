package placement

import (
	"fmt"
	"strings"
)

// Submission is what rules know of an application.
type Submission struct {
	User        string
	Groups      []string // the primary one first
	Application string   // its name
	Queue       string   // as the client named it; empty or "default": none
	Tags        []string
	TagGroups   []string // of the user that a tag userid=NAME names
}

// Step is a rule that matched, and what came of it.
type Step struct {
	Rule   int    // from 1
	Text   string // the rule
	Result string // placed, rejected, skipped or default; "set" if it set %default
	Queue  string // the queue it led to, or would have led to
	Why    string // why its queue could not be used, if so
}

// Result says where a submission goes. Without Queue and Rejected it goes to the queue that its
// client named.
type Result struct {
	Queue      string // path of a leaf
	Rejected   bool
	Rule       int    // the rule that decided, from 1; 0: none
	Text       string // that rule
	PassedOver bool   // no rule was asked: the client named a queue, and rules do not override that
	Steps      []Step // the rules that matched, in their order
	TagUser    string // the user of the tag, for whom it was placed; empty: for its own user
}

// Place runs the rules. As in YARN, a client that names the queue "default" has named none.
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
		out.Steps = append(out.Steps, step)
		switch step.Result {
		case "placed", "default":
			out.Queue = step.Queue
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

// run does what a rule that matches says.
func (r *Rule) run(q Queues, v *variables) Step {
	switch r.Action {
	case Reject:
		return Step{Result: "rejected"}
	case SetDefault:
		v.setDefault(v.replace(r.Target))
		return Step{Result: "set", Queue: v.replace(varDefault)}
	}
	target := v.replacePath(q, r.Target)
	path, why := resolve(q, target, r.Create)
	if why == "" {
		return Step{Result: "placed", Queue: path}
	}
	switch r.Fallback {
	case FallbackSkip:
		return Step{Result: "skipped", Queue: target, Why: why}
	case FallbackReject:
		return Step{Result: "rejected", Queue: target, Why: why}
	}
	def := v.replacePath(q, varDefault)
	path, no := resolve(q, def, false)
	if no != "" {
		return Step{Result: "rejected", Queue: target, Why: fmt.Sprintf("%s; nor can %%default be used: %s", why, no)}
	}
	return Step{Result: "default", Queue: path, Why: why}
}

// resolve returns the path of the leaf that a target means, or why it means none.
func resolve(q Queues, target string, create bool) (path, why string) {
	parent, leaf, nested := cut(target)
	if emptyPart(parent, leaf, nested) {
		return "", fmt.Sprintf("the path %q has an empty part", target)
	}
	found, why := find(q, parent, leaf, nested)
	if why != "" {
		if nested && create {
			why += ", and its parent does not create queues"
		}
		return "", why
	}
	if !found.Leaf {
		return "", fmt.Sprintf("%s is not a leaf", found.Path)
	}
	return found.Path, ""
}

func find(q Queues, parent, leaf string, nested bool) (Queue, string) {
	name := leaf
	if nested {
		full, why := normalize(q, parent+"."+leaf)
		if why != "" {
			return Queue{}, why
		}
		name = full
	}
	found, ok := q.Find(name)
	switch {
	case ok:
		return found, ""
	case q.Ambiguous(name):
		return Queue{}, fmt.Sprintf("several queues are named %q", name)
	}
	return Queue{}, fmt.Sprintf("there is no queue %q", name)
}

// normalize replaces the first part of a path, which may be a short name, by the path of its queue.
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

// cut splits a path at its last dot, as YARN's QueuePath does.
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
