package ledger

import (
	"strings"

	"rmd/fsm/event"
	"rmd/yarn"
)

type queue struct {
	path       string
	parent     int32 // -1 of the root
	leaf, gone bool
	state      yarn.QueueState
	used, held yarn.Resource // of a leaf; a parent's are summed
	apps       int           // not ended
	before     yarn.Resource // used at the start of the entry
	seen       uint64        // entry in which before was taken
	max        maximumCapacity
	most       yarn.Resource // the maximum in force, for the cluster it was computed of
	mostOf     yarn.Resource
	bounded    bool
}

// queue finds a queue in force by its path; -1 when there is none.
func (l *Ledger) queue(path string) int32 {
	for i := range l.queues {
		if q := &l.queues[i]; !q.gone && q.path == path {
			return int32(i)
		}
	}
	return -1
}

func parentOf(path string) string {
	i := strings.LastIndexByte(path, '.')
	if i < 0 {
		return ""
	}
	return path[:i]
}

// configure replaces the tree. Queues that are kept keep their use; those left
// out must be empty.
func (l *Ledger) configure(e *event.QueuesConfigured) {
	if e.Version <= l.version {
		l.violate(Audit, nil, "configuration %d is in force and is followed by %d", l.version, e.Version)
	}
	l.version, l.dominant, l.configured = e.Version, e.Dominant, true
	if len(e.Kinds) > 0 {
		l.kinds = e.Kinds
	}
	l.rules = readRules(e.Properties)
	kept := make([]bool, len(l.queues))
	for _, d := range e.Queues {
		i := l.queue(d.Path)
		if i < 0 {
			i = int32(len(l.queues))
			l.queues = append(l.queues, queue{path: d.Path})
			kept = append(kept, false)
		}
		kept[i] = true
		q := &l.queues[i]
		if !d.Leaf && q.apps > 0 {
			l.violate("S9", nil, "leaf %s holds %d applications and becomes a parent", q.path, q.apps)
		}
		q.leaf, q.state, q.parent = d.Leaf, d.State, l.queue(parentOf(d.Path))
		q.max = readMaximumCapacity(maximumOf(e.Properties, d.Path), l.kinds)
		q.bounded = false
	}
	for i := range kept {
		q := &l.queues[i]
		if kept[i] || q.gone {
			continue
		}
		q.gone = true
		if q.apps > 0 || !q.used.IsZero() {
			l.violate("S9", nil, "queue %s is dropped with %d applications that use %s", q.path, q.apps, q.used)
		}
	}
	for i := range l.queues {
		l.queues[i].bounded = false
	}
}

// queueState stops, drains or starts a queue; none stands still with applications
// in it.
func (l *Ledger) queueState(e *event.QueueStateChanged) {
	i := l.queue(e.Path)
	if i < 0 {
		l.violate(Audit, nil, "queue %s, which there is not, becomes %s", e.Path, e.State)
		return
	}
	q := &l.queues[i]
	q.state = e.State
	if e.State == yarn.QueueStopped && q.apps > 0 {
		l.violate(Audit, nil, "queue %s is %s with %d applications in it", q.path, e.State, q.apps)
	}
}

func maximumOf(properties []event.Property, path string) string {
	name := "yarn.scheduler.capacity." + path + ".maximum-capacity"
	for i := len(properties) - 1; i >= 0; i-- {
		if properties[i].Name == name {
			return properties[i].Value
		}
	}
	return ""
}

// charge adds to what an application's leaf uses, negative to give back.
func (l *Ledger) charge(a *app, used, held yarn.Resource) {
	q := &l.queues[a.queue]
	if q.seen != l.index {
		q.seen, q.before = l.index, q.used
		l.grown = append(l.grown, a.queue)
	}
	q.take(used, held)
}

func (q *queue) take(used, held yarn.Resource) {
	q.used, q.held = q.used.Add(used), q.held.Add(held)
}

// sum is what a queue uses: a leaf its own, a parent what its leaves do.
func (l *Ledger) sum(i int32) (used, held yarn.Resource) {
	if l.queues[i].leaf {
		return l.queues[i].used, l.queues[i].held
	}
	for k := range l.queues {
		if q := &l.queues[k]; q.leaf && !q.gone && l.below(int32(k), i) {
			used, held = used.Add(q.used), held.Add(q.held)
		}
	}
	return used, held
}

func (l *Ledger) below(i, above int32) bool {
	for ; i >= 0; i = l.queues[i].parent {
		if i == above {
			return true
		}
	}
	return false
}

// balance holds the queues of an entry against their limits, as a reader sees
// them after it: S9.
func (l *Ledger) balance() {
	for _, leaf := range l.grown {
		q := &l.queues[leaf]
		l.Counts.Balances++
		if q.used.Negative() || q.held.Negative() || !q.held.Within(q.used) {
			l.violate("S9", nil, "queue %s uses %s, of which %s is reserved", q.path, q.used, q.held)
		}
		if l.configured || l.moved || q.used.Within(q.before) {
			continue
		}
		for i := leaf; i >= 0; i = l.queues[i].parent {
			l.underMaximum(i)
		}
	}
}

// underMaximum holds that nothing was taken beyond a queue's maximum. What was
// above it before, for the cluster shrank, is not the entry's doing, and one that
// moves an application is passed over; the largest cluster within the entry is taken for its limits.
func (l *Ledger) underMaximum(i int32) {
	used, _ := l.sum(i)
	most := l.maximum(i, l.entryPeak)
	if l.fits(used, most) {
		return
	}
	var before yarn.Resource
	for _, leaf := range l.grown {
		if l.below(leaf, i) {
			before = before.Add(l.queues[leaf].used.Sub(l.queues[leaf].before))
		}
	}
	before = used.Sub(before)
	for k := range used {
		if used[k] > most[k] && used[k] > before[k] && (k == yarn.Memory || l.dominant) {
			l.violate("S9", nil, "queue %s uses %s, its maximum is %s (before the entry %s)", l.queues[i].path, used, most, before)
			return
		}
	}
}
