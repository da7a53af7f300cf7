package placement

import (
	"fmt"
	"strings"
)

// Problem is what is wrong with a rule.
type Problem struct {
	Rule int // from 1; 0: with all of them
	What string
}

func (p Problem) String() string {
	if p.Rule == 0 {
		return p.What
	}
	return fmt.Sprintf("rule %d: %s", p.Rule, p.What)
}

// Check returns the rules whose queue can be used for no submission. Paths are looked at up to
// their first variable.
func Check(rules []Rule, q Queues) []Problem {
	var out []Problem
	for i := range rules {
		if rules[i].Action != Place {
			continue
		}
		if why := checkPath(q, rules[i].Target); why != "" {
			out = append(out, Problem{i + 1, why})
		}
	}
	return out
}

func checkPath(q Queues, path string) string {
	if path == "" {
		return "names no queue"
	}
	parts := split(path)
	fixed := 0
	for ; fixed < len(parts) && !contains(Variables, parts[fixed]); fixed++ {
		if parts[fixed] == "" {
			return fmt.Sprintf("the path %q has an empty part", path)
		}
	}
	switch fixed {
	case len(parts):
		return checkFixed(q, path)
	case 0:
		return ""
	}
	full, why := normalize(q, strings.Join(parts[:fixed], "."))
	if why != "" {
		return why
	}
	found, ok := q.Find(full)
	switch {
	case !ok && fixed > 1 && createdBelow(q, full):
		return ""
	case !ok:
		return fmt.Sprintf("there is no queue %q", full)
	case found.Leaf:
		return fmt.Sprintf("%s is a leaf, so there is no queue below it for %q", found.Path, path)
	}
	return ""
}

// createdBelow says whether the queue above a path creates queues.
func createdBelow(q Queues, path string) bool {
	p, ok := q.Find(above(path))
	return ok && p.creates()
}

func checkFixed(q Queues, path string) string {
	parent, leaf, nested := cut(path)
	found, _, why := find(q, parent, leaf, nested)
	switch {
	case why != "" && strings.Contains(path, "%"):
		return why + "; a variable must be a whole part of a path"
	case why != "":
		return why
	case !found.Leaf:
		return fmt.Sprintf("%s is not a leaf", found.Path)
	}
	return ""
}
