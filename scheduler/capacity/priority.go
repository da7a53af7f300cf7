package capacity

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"rmd/internal/clip"
	"rmd/yarn"
)

const (
	workflowKey       = Prefix + "workflow-priority-mappings"
	workflowEnableKey = Prefix + "workflow-priority-mappings-override.enable"
	workflowTagKey    = "yarn.workflow-id.tag-prefix"
	priorityACLKey    = "acl_application_max_priority"
)

// PriorityACL lets some users have priorities up to Max in a leaf. If HasDefault, Default is the
// priority of their applications that name none.
type PriorityACL struct {
	ACL        yarn.ACL
	Max        int32
	Default    int32
	HasDefault bool
}

// MayHavePriority reports whether an application of a user may have a priority in leaf q.
func (c *Config) MayHavePriority(q *Queue, priority int32, user string, groups ...string) bool {
	list := q.PriorityACLs
	return !c.ACLEnabled || len(list) == 0 || slices.ContainsFunc(list, func(p PriorityACL) bool {
		return priority <= p.Max && p.ACL.Allows(user, groups...)
	})
}

// DefaultPriority returns the priority of a user's applications in leaf q that name none: the
// default of the last matching entry, which has the lowest maximum, or else the queue's default.
func (c *Config) DefaultPriority(q *Queue, user string, groups ...string) int32 {
	if c.ACLEnabled {
		for _, p := range slices.Backward(q.PriorityACLs) {
			if !p.ACL.Allows(user, groups...) {
				continue
			}
			if p.HasDefault {
				return p.Default
			}
			break
		}
	}
	return q.DefaultAppPriority
}

var (
	priorityEntry = regexp.MustCompile(`\[([^\]]*)(\]|$)`)
	betweenWords  = " \t\r\n"
)

// readPriorityACLs reads the entries of a leaf: [user=u1,u2 group=g1 max_priority=7
// default_priority=4]. As in YARN, the entry with the highest maximum comes first.
func (r *reader) readPriorityACLs(c *Config, q *Queue, key func(string) string) {
	name := key(priorityACLKey)
	text, _ := r.get(name)
	if text == "" || text == "*" || !q.Leaf {
		return
	}
	const do = "write [user=u1,u2 group=g1 max_priority=7 default_priority=4]"
	if rest := strings.Trim(priorityEntry.ReplaceAllString(text, ""), betweenWords); rest != "" {
		r.ruleFault(name, fmt.Sprintf("%q is in no brackets", clip.Text(rest)), do)
	}
	for _, m := range priorityEntry.FindAllStringSubmatch(text, -1) {
		if strings.Trim(m[1], betweenWords) == "" {
			continue
		}
		p, problem := parsePriorityACL(m[1])
		if problem != "" {
			r.ruleFault(name, fmt.Sprintf("%s in [%s]", problem, clip.Text(m[1])), do)
			continue
		}
		if p.Max > c.MaxPriority {
			r.warn(name, fmt.Sprintf("max_priority %d is above the cluster's maximum of %d, which counts", p.Max, c.MaxPriority),
				"lower it, or raise yarn.cluster.max-application-priority")
			p.Max = c.MaxPriority
		}
		q.PriorityACLs = append(q.PriorityACLs, p)
	}
	slices.SortStableFunc(q.PriorityACLs, func(a, b PriorityACL) int { return cmp.Compare(b.Max, a.Max) })
}

func parsePriorityACL(text string) (p PriorityACL, problem string) {
	hasMax := false
	for _, word := range strings.Fields(text) {
		name, value, _ := strings.Cut(word, "=")
		switch name = strings.ToLower(name); name {
		case "user":
			users := yarn.ParseACL(value)
			p.ACL.All, p.ACL.Users = p.ACL.All || users.All, users.Users
		case "group":
			groups := yarn.ParseACL(" " + value)
			p.ACL.All, p.ACL.Groups = p.ACL.All || groups.All, groups.Groups
		case "max_priority", "default_priority":
			n, err := strconv.ParseInt(value, 10, 32)
			switch {
			case err != nil:
				return p, fmt.Sprintf("%s %q is not a whole number", name, clip.Text(value))
			case name == "max_priority":
				p.Max, hasMax = int32(n), true
			default:
				p.Default, p.HasDefault = int32(max(n, 0)), true
			}
		default:
			return p, fmt.Sprintf("%q is none of user, group, max_priority and default_priority", clip.Text(word))
		}
	}
	switch {
	case !p.ACL.All && len(p.ACL.Users)+len(p.ACL.Groups) == 0:
		return p, "there is no user and no group"
	case !hasMax:
		return p, "there is no max_priority"
	}
	return p, ""
}

// Workflow is a workflow id, and the queue for which it has a priority.
type Workflow struct{ Queue, ID string }

// WorkflowPriorities are the priorities of applications that belong to workflows.
type WorkflowPriorities struct {
	tagPrefix string
	of        map[Workflow]int32
}

// WorkflowPriority returns the priority of an application in leaf q because of the workflow that
// its last workflow tag names. A mapping for the leaf takes precedence over mappings for the queues
// above it. Mappings for root do not count.
func (c *Config) WorkflowPriority(q *Queue, tags []string) (int32, bool) {
	if len(c.Workflows.of) == 0 {
		return 0, false
	}
	id := ""
	for _, t := range tags {
		if after, ok := strings.CutPrefix(strings.ToLower(strings.TrimSpace(t)), c.Workflows.tagPrefix); ok {
			id = after
		}
	}
	for ; id != "" && q.Parent >= 0; q = &c.Queues[q.Parent] {
		if p, ok := c.Workflows.of[Workflow{q.Path, id}]; ok {
			return p, true
		}
	}
	return 0, false
}

// readWorkflows reads workflow-priority-mappings, a list of id:queue:priority.
func (r *reader) readWorkflows(c *Config) {
	enabled := r.bool(workflowEnableKey, false)
	prefix, ok := r.get(workflowTagKey)
	if !ok {
		prefix = "workflowid:"
	}
	of := map[Workflow]int32{}
	for _, text := range r.names(workflowKey) {
		w, priority, problem := parseWorkflow(text)
		if problem != "" {
			r.ruleFault(workflowKey, problem+" "+clip.Text(text),
				"write workflow-id:root.full.path.of.the.queue:priority, separated by commas")
			continue
		}
		if _, known := c.byPath[w.Queue]; !known {
			r.warn(workflowKey, fmt.Sprintf("there is no queue %q", clip.Text(w.Queue)), "write the full path of a queue")
		}
		of[w] = priority
	}
	if enabled {
		c.Workflows = WorkflowPriorities{tagPrefix: strings.ToLower(prefix), of: of}
	} else if len(of) > 0 {
		r.warn(workflowKey, "has no effect, since "+workflowEnableKey+" is not true",
			"set it to true, or remove the mappings")
	}
}

func parseWorkflow(text string) (w Workflow, priority int32, problem string) {
	var parts []string
	for _, p := range strings.Split(text, ":") {
		if p = strings.TrimSpace(p); p != "" {
			parts = append(parts, p)
		}
	}
	if len(parts) != 3 {
		return w, 0, "Illegal workflow priority mapping"
	}
	n, err := strconv.ParseInt(parts[2], 10, 32)
	if err != nil {
		return w, 0, "Illegal workflow priority for mapping"
	}
	return Workflow{Queue: parts[1], ID: strings.ToLower(parts[0])}, int32(n), ""
}
