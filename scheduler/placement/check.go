package placement

import (
	"fmt"
	"strings"

	"rmd/yarn"
)

// Problem is a fault in the rules.
type Problem struct {
	Rule int // the rule's number, from 1; 0: no single rule
	What string
	YARN string // YARN's message for the same fault; empty if unknown
}

func (p Problem) String() string {
	if p.Rule == 0 {
		return p.What
	}
	return fmt.Sprintf("rule %d: %s", p.Rule, p.What)
}

// Check returns a Problem for each rule whose queue can never be used. It checks a path only up to
// its first variable.
func Check(rules []Rule, q Queues) []Problem {
	var out []Problem
	for i := range rules {
		if rules[i].Action != Place {
			continue
		}
		if p := checkPath(q, rules[i].Target); p.What != "" {
			p.Rule = i + 1
			if p.YARN != "" {
				p.YARN = "org.apache.hadoop.yarn.exceptions.YarnException: " + p.YARN
			}
			out = append(out, p)
		}
	}
	return out
}

func checkPath(q Queues, path string) Problem {
	if path == "" {
		return Problem{What: "names no queue", YARN: "Queue path is empty."}
	}
	parts := split(path)
	fixed := 0
	for ; fixed < len(parts) && !contains(Variables, parts[fixed]); fixed++ {
		if parts[fixed] == "" {
			return Problem{What: fmt.Sprintf("the path %q has an empty part", path),
				YARN: fmt.Sprintf("Path segment cannot be empty '%s'.", path)}
		}
	}
	switch fixed {
	case len(parts):
		return checkFixed(q, path)
	case 0:
		return Problem{}
	}
	return checkFixedPart(q, path, strings.Join(parts[:fixed], "."), fixed)
}

// checkFixedPart checks the part of a path before its first variable. names is the number of queue
// names in fixed.
func checkFixedPart(q Queues, path, fixed string, names int) Problem {
	full, p := checkRoot(q, fixed)
	if p.What != "" {
		return p
	}
	found, ok := q.Find(full)
	switch {
	case !ok && names > 1 && createdBelow(q, full):
		return Problem{}
	case !ok:
		return Problem{What: fmt.Sprintf("there is no queue %q", full),
			YARN: fmt.Sprintf("No eligible parent found on path '%s'.", asYARN(path))}
	case found.Leaf:
		return Problem{What: fmt.Sprintf("%s is a leaf, so there is no queue below it for %q", found.Path, path),
			YARN: fmt.Sprintf(
				"Queue path '%s' is invalid because '%s' is a leaf queue, which can have no other queues under it.",
				asYARN(path), full)}
	}
	return Problem{}
}

// checkRoot replaces the first name of a path, which may be a short name, with the full path of
// that queue.
func checkRoot(q Queues, path string) (full string, p Problem) {
	full, why := normalize(q, path)
	if why == "" {
		return full, Problem{}
	}
	p.What = why
	if parts := split(path); len(parts) > 0 {
		state := "does not exist"
		if q.Ambiguous(parts[0]) {
			state = "is ambiguous"
		}
		p.YARN = fmt.Sprintf("Path root '%s' %s. Path '%s' is invalid", parts[0], state, path)
	}
	return full, p
}

// createdBelow reports whether the parent of a path creates queues.
func createdBelow(q Queues, path string) bool {
	p, ok := q.Find(yarn.ParentQueue(path))
	return ok && p.creates()
}

func checkFixed(q Queues, path string) Problem {
	parent, leaf, nested := cut(path)
	found, _, why := find(q, parent, leaf, nested)
	switch {
	case why != "":
		if strings.Contains(path, "%") {
			why += "; a variable must be a whole part of a path"
		}
		_, p := checkRoot(q, asYARN(path))
		if p.What == "" {
			p.YARN = fmt.Sprintf("Mapping rule specified a parent queue '%s', but it is not a dynamic parent queue, and no queue exists with name '%s' under it.", parent, leaf)
		}
		p.What = why
		return p
	case !found.Leaf:
		return Problem{What: fmt.Sprintf("%s is not a leaf", found.Path),
			YARN: fmt.Sprintf("Target queue '%s' but it's not a leaf queue.", asYARN(path))}
	}
	return Problem{}
}

// asYARN returns a path as YARN's QueuePath writes it: without blanks around its last dot.
func asYARN(path string) string {
	parent, leaf, nested := cut(path)
	if !nested {
		return leaf
	}
	return parent + "." + leaf
}
