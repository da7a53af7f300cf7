package ledger

import (
	"fmt"
	"slices"
	"strings"

	"rmd/yarn"
)

// Fields returns the ledger as a list of named values, in a fixed order. The names are those in a
// dump of rmd's own state:
//
//	app/12/state  app/12/queue  app/12/live
//	node/n1:45454/state  …/total  …/allocated  …/reservation
//	queue/root.a/used  …/reserved
//	reservation/r41/node  …/size  …/container
//	container/container_…/node  …/size         live, or still on their node
func (l *Ledger) Fields() []Field {
	var out []Field
	add := func(value any, format string, args ...any) {
		out = append(out, Field{fmt.Sprintf(format, args...), fmt.Sprint(value)})
	}
	for _, s := range l.apps.seqs {
		a := &l.apps.list[s.at]
		if a.forgotten {
			continue
		}
		add(a.state, "app/%d/state", a.seq)
		if !a.state.Ended() {
			add(l.queues.list[a.queue].path, "app/%d/queue", a.seq)
		}
		add(a.live, "app/%d/live", a.seq)
	}
	for i := range l.apps.seqs {
		l.containerFields(&l.apps.list[l.apps.seqs[i].at], add)
	}
	for i := 1; i < len(l.nodes.list); i++ {
		n := &l.nodes.list[i]
		add(n.state, "node/%s/state", n.id)
		add(n.total, "node/%s/total", n.id)
		add(n.used, "node/%s/allocated", n.id)
		if n.reservation != 0 {
			add(fmt.Sprintf("r%d", n.reservation), "node/%s/reservation", n.id)
		}
	}
	for i := range l.queues.list {
		if q := &l.queues.list[i]; !q.gone {
			used, held := l.queues.sum(int32(i), "")
			add(used, "queue/%s/used", q.path)
			add(held, "queue/%s/reserved", q.path)
		}
	}
	for i := range l.reservations.list {
		r := &l.reservations.list[i]
		add(l.nodes.list[r.node].id, "reservation/r%d/node", r.number)
		add(r.size, "reservation/r%d/size", r.number)
		add(l.apps.list[r.app].id(r.attempt, r.container), "reservation/r%d/container", r.number)
	}
	return out
}

func (l *Ledger) containerFields(a *app, add func(value any, format string, args ...any)) {
	for i := range a.containers {
		if c := &a.containers[i]; c.live || c.onNode {
			id := a.id(c.attempt, c.number)
			add(l.nodes.list[c.node].id, "container/%s/node", id)
			add(c.size, "container/%s/size", id)
		}
	}
}

// Field is a named value of the ledger.
type Field struct{ Name, Value string }

// prefixes and suffixes are those of the fields that the ledger has. A dump also has others.
var prefixes = []string{"app/", "container/", "node/", "queue/", "reservation/"}

// Recount computes all sums again from containers and reservations, and returns where the ledger's
// own sums differ. A difference is a fault of the ledger, or the result of a log with violations.
func (l *Ledger) Recount() []string {
	var out []string
	nodes := make([]yarn.Resource, len(l.nodes.list))
	queues := map[leafPartition]share{}
	for i := range l.apps.list {
		a := &l.apps.list[i]
		for k := range a.containers {
			c := &a.containers[k]
			if c.onNode {
				nodes[c.node] = nodes[c.node].Add(c.size)
			}
		}
		if !a.state.Ended() {
			a.uses(l.nouns, func(label string, used, held yarn.Resource) {
				at := leafPartition{a.queue, label}
				s := queues[at]
				s.take(used, held)
				queues[at] = s
			})
		}
	}
	clusters := map[string]yarn.Resource{"": {}}
	for label := range l.nodes.clusters {
		clusters[label] = yarn.Resource{}
	}
	for i := range l.nodes.list {
		n := &l.nodes.list[i]
		if n.used != nodes[i] {
			out = append(out, fmt.Sprintf("node %s gives %s, its containers sum to %s", n.id, n.used, nodes[i]))
		}
		if n.state.Usable() {
			clusters[n.label] = clusters[n.label].Add(n.total)
		}
	}
	for label, sum := range clusters {
		if have := l.nodes.size(label).now; have != sum {
			out = append(out, fmt.Sprintf("the cluster has %s%s, its nodes sum to %s", have, ofPartition(label), sum))
		}
		for i := range l.queues.list {
			q := &l.queues.list[i]
			have, want := q.of(label), queues[leafPartition{int32(i), label}]
			if q.leaf && !q.gone && (have.used != want.used || have.held != want.held) {
				out = append(out, fmt.Sprintf("queue %s uses %s (%s reserved)%s, its applications sum to %s (%s)", q.path,
					have.used, have.held, ofPartition(label), want.used, want.held))
			}
		}
	}
	return out
}

// Differ compares a dump of a replica's state with the ledger at the same index, and returns the
// differences. It ignores fields that only one of the two has, except fields of a thing that does
// not exist in the ledger.
func (l *Ledger) Differ(dump []Field) []string {
	mine := l.Fields()
	slices.SortFunc(mine, byName)
	var out []string
	for _, d := range dump {
		i, ok := slices.BinarySearchFunc(mine, d, byName)
		switch {
		case ok && mine[i].Value != d.Value:
			out = append(out, fmt.Sprintf("%s is %s, the log makes it %s", d.Name, d.Value, mine[i].Value))
		case !ok && hasFields(d.Name):
			out = append(out, fmt.Sprintf("%s is %s, the log knows of none", d.Name, d.Value))
		}
	}
	return out
}

func byName(a, b Field) int { return strings.Compare(a.Name, b.Name) }

// hasFields reports whether the ledger has fields with such a name. If it lacks one of them, the
// thing does not exist in the ledger.
func hasFields(name string) bool {
	i := strings.LastIndexByte(name, '/')
	return i > 0 && slices.Contains(suffixes, name[i+1:]) &&
		slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

var suffixes = []string{"state", "live", "node", "size", "container", "total", "allocated", "reservation",
	"used", "reserved"}
