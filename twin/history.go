package twin

import (
	"fmt"
	"strings"
)

// History is what both schedulers play: one step per line, readable for people and for both
// programs.
//
//	set NAME VALUE                  a property of the configuration, before start or refresh
//	unset NAME                      the property has no value
//	start                           the scheduler starts with the properties
//	node HOST RACK SIZE             a node registers
//	lose HOST                       a node is lost
//	size HOST SIZE                  an administrator changes a node's total
//	sick HOST, well HOST            a node reports that it is unhealthy, or healthy again
//	drain HOST                      a node is to leave when its containers have ended
//	back HOST                       a draining node stays; nothing if a container there is not running
//	overdue HOST                    the drain of a node reaches its deadline
//	beat HOST [run=C,…] [done=C,…]  a heartbeat: the node runs containers, others have ended
//	restart HOST SIZE [run=C,…] [done=C,…]
//	                                a NodeManager registers again, with the containers that it runs
//	restart HOST SIZE lost          the same without them
//	eager                           before start: rmd runs in eager mode, and only amounts are compared
//	done C                          a container ends, wherever it runs
//	quiet                           AMs call and nodes send heartbeats until nothing changes
//	submit APP QUEUE USER PRIORITY SIZE [unmanaged] [keep] [label=LABEL] [am=LABEL]
//	allocate APP [ask=KEY:NAME:COUNT:SIZE[:strict][:label=LABEL]]… [release=C]… [refuse=NAME]… [admit=NAME]… [grow=C:SIZE]… [shrink=C:SIZE]…
//	fail APP                        the current attempt fails
//	finish APP                      the application ends
//	move APP QUEUE
//	priority APP PRIORITY
//	manage                          leaves below a managed parent become active or inactive
//	expire                          queues that submissions have created are removed if nothing is in them
//	refresh                         the queues are configured again
//	preempt                         what YARN's preemption would end; nothing changes
//	label NAME [shared]             the cluster has a label; shared: it is not exclusive
//	unlabel NAME                    the label is removed
//	relabel HOST[:PORT]=[LABEL]…    hosts, or single NodeManagers there, have labels, or none
//
// HOST is a host or, for a second NodeManager there, HOST:PORT. The port of the first is 1. SIZE is
// memory in MiB, vcores and further kinds, separated by commas. KEY is priority.allocation id. A
// container C is named by its application and by the order in which the application received its
// containers: 3.2.
type History struct {
	Name  string
	Steps []Step
}

// Step is one line of a history, in words.
type Step []string

func (s Step) String() string { return strings.Join(s, " ") }

// Is reports whether the step is of one of the kinds.
func (s Step) Is(kinds ...string) bool {
	for _, k := range kinds {
		if len(s) > 0 && s[0] == k {
			return true
		}
	}
	return false
}

func (h *History) add(format string, args ...any) Step {
	s := Step(strings.Fields(fmt.Sprintf(format, args...)))
	h.Steps = append(h.Steps, s)
	return s
}

func (h *History) String() string {
	var b strings.Builder
	for _, s := range h.Steps {
		b.WriteString(s.String())
		b.WriteByte('\n')
	}
	return b.String()
}

// Parse reads a history. Text after "#" is a comment.
func Parse(name, text string) *History {
	h := &History{Name: name}
	for _, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		if w := strings.Fields(line); len(w) > 0 {
			h.Steps = append(h.Steps, w)
		}
	}
	return h
}

// Observation describes the state of a scheduler after a step, one line per object.
type Observation []string
