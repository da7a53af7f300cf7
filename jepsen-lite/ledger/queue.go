package ledger

import (
	"slices"
	"strings"

	"rmd/fsm/event"
	"rmd/yarn"
)

type queue struct {
	path       string
	parent     int32 // -1 of the root
	leaf, gone bool
	dynamic    bool // a submission created it
	active     bool // of a leaf below a managed parent: it has the capacity of the template
	state      yarn.QueueState
	share      // of nodes without a label
	labels     map[string]*share
	apps       int // not ended
	max        maximumCapacity
	maxOf      map[string]maximumCapacity // by label; one that is not there allows nothing
	access     []string                   // labels that it may use
	most       yarn.Resource              // the maximum in force, for the cluster it was computed of
	mostOf     yarn.Resource
	bounded    bool
	min        map[string]capacityOf // by label; one that is not there guarantees nothing
	disabled   bool                  // other queues take nothing from it
	priority   int32                 // among those below the same queue
	// disabledInside says that its applications take nothing from each other.
	disabledInside bool
	backfill       string // which of its containers may borrow room of reserved nodes; empty: none
}

// queue finds a queue in force by its path; -1 when there is none.
func (l *Ledger) queue(path string) int32 {
	if i, ok := l.places[path]; ok {
		return i
	}
	return -1
}

// addQueue adds a queue that is in force from now on. Others were before it, of the same path too, and
// ended applications name them: so no place is given twice.
func (l *Ledger) addQueue(q queue) int32 {
	i := int32(len(l.queues))
	l.queues = append(l.queues, q)
	l.places[q.path] = i
	return i
}

func (l *Ledger) dropQueue(i int32) {
	l.queues[i].gone = true
	delete(l.places, l.queues[i].path)
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
	l.properties = e.Properties
	l.rules, l.preemption = readRules(e.Properties), readPreemptionRules(e.Properties)
	kept := make([]bool, len(l.queues))
	for _, d := range e.Queues {
		i := l.queue(d.Path)
		if i < 0 {
			i = l.addQueue(queue{path: d.Path})
			kept = append(kept, false)
		}
		kept[i] = true
		q := &l.queues[i]
		q.dynamic = false
		if !d.Leaf && q.apps > 0 {
			l.violate("S9", nil, "leaf %s holds %d applications and becomes a parent", q.path, q.apps)
		}
		q.leaf, q.state, q.parent = d.Leaf, d.State, l.queue(parentOf(d.Path))
		l.readQueue(q, e.Properties)
	}
	for i := range kept { // parents come before their children
		if q := &l.queues[i]; q.dynamic && !q.gone && kept[q.parent] && !l.queues[q.parent].leaf {
			kept[i] = true
			l.readQueue(q, l.settings(q))
		}
	}
	for i := range kept {
		q := &l.queues[i]
		if kept[i] || q.gone {
			continue
		}
		l.dropQueue(int32(i))
		if q.apps > 0 || !q.used.IsZero() || q.usesLabels() {
			l.violate("S9", nil, "queue %s is dropped with %d applications that use %s", q.path, q.apps, q.used)
		}
	}
	for i := range l.queues {
		l.queues[i].bounded = false
	}
}

func (l *Ledger) readQueue(q *queue, properties []event.Property) {
	q.max = readMaximumCapacity(propertyOf(properties, "yarn.scheduler.capacity."+q.path+".maximum-capacity"), l.kinds)
	l.readLabels(q, properties)
	l.readCapacities(q, properties)
	l.readPreemption(q, properties)
	l.readPriority(q, properties)
	l.readBackfill(q, properties)
	q.bounded = false
}

// settings are the properties of a dynamic queue: those of the configuration and of the templates of the
// queue above it that has some. A queue weighs 1 if nothing says otherwise, of each label too.
func (l *Ledger) settings(q *queue) []event.Property {
	own := "yarn.scheduler.capacity." + q.path + "."
	if l.managed(q.parent) {
		return append(slices.Clip(l.properties), l.managedSettings(q, own)...)
	}
	out := []event.Property{{Name: own + "capacity", Value: "1w"}}
	for label := range l.queues[q.parent].maxOf { // each of another name
		out = append(out, event.Property{Name: own + "accessible-node-labels." + label + ".capacity", Value: "1w"})
	}
	kinds := []string{"template.", "parent-template."}
	if q.leaf {
		kinds[1] = "leaf-template."
	}
	for _, kind := range kinds { // of two the last counts
		prefix := "yarn.scheduler.capacity." + l.queues[q.parent].path + ".auto-queue-creation-v2." + kind
		for _, p := range l.properties {
			if key, ok := strings.CutPrefix(p.Name, prefix); ok {
				out = append(out, event.Property{Name: own + key, Value: p.Value})
			}
		}
	}
	return append(out, l.properties...)
}

func (l *Ledger) createQueue(e *event.QueueCreated) {
	parent := l.queue(parentOf(e.Path))
	if parent < 0 || l.queues[parent].leaf || l.queue(e.Path) >= 0 {
		l.violate(Audit, nil, "queue %s is created, though it is there or has no parent", e.Path)
		return
	}
	at := &l.queues[l.addQueue(queue{path: e.Path, parent: parent, leaf: e.Leaf, state: e.State, dynamic: true})]
	l.readQueue(at, l.settings(at))
	l.configured = true // what its siblings have is less now
}

func (l *Ledger) removeQueues(e *event.QueuesRemoved) {
	for _, path := range e.Paths {
		i := l.queue(path)
		if i < 0 || !l.queues[i].dynamic {
			l.violate(Audit, nil, "queue %s is removed, which is not a dynamic one", path)
			continue
		}
		q := &l.queues[i]
		l.dropQueue(i)
		if q.apps > 0 || !q.used.IsZero() || q.usesLabels() {
			l.violate("S9", nil, "queue %s is removed with %d applications that use %s", q.path, q.apps, q.used)
		}
		for k := range l.queues {
			if below := &l.queues[k]; !below.gone && below.parent == i {
				l.violate(Audit, nil, "queue %s is removed, and %s is below it", q.path, below.path)
			}
		}
	}
	l.configured = true
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

// propertyOf is the value of a property; the last counts.
func propertyOf(properties []event.Property, name string) string {
	for i := len(properties) - 1; i >= 0; i-- {
		if properties[i].Name == name {
			return properties[i].Value
		}
	}
	return ""
}

// charge adds to what an application's leaf uses of the partition of a node, negative to give back.
func (l *Ledger) charge(a *app, n *node, used, held yarn.Resource) {
	s := l.queues[a.queue].of(n.label)
	if s.seen != l.index {
		s.seen, s.before = l.index, s.used
		l.grown = append(l.grown, leafPartition{a.queue, n.label})
	}
	s.take(used, held)
}

// share is what a leaf uses of one partition; a parent's is summed.
type share struct {
	used, held yarn.Resource
	before     yarn.Resource // used at the start of the entry
	seen       uint64        // entry in which before was taken
}

func (s *share) take(used, held yarn.Resource) {
	s.used, s.held = s.used.Add(used), s.held.Add(held)
}

// leafPartition is a leaf on the nodes of a label.
type leafPartition struct {
	leaf  int32
	label string
}

// sum is what a queue uses of a partition: a leaf its own, a parent what its leaves do.
func (l *Ledger) sum(i int32, label string) (used, held yarn.Resource) {
	if q := &l.queues[i]; q.leaf {
		s := q.of(label)
		return s.used, s.held
	}
	for k := range l.queues {
		if q := &l.queues[k]; q.leaf && !q.gone && l.below(int32(k), i) {
			s := q.of(label)
			used, held = used.Add(s.used), held.Add(s.held)
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
	for _, g := range l.grown {
		q := &l.queues[g.leaf]
		s := q.of(g.label)
		l.Counts.Balances++
		if s.used.Negative() || s.held.Negative() || !s.held.Within(s.used) {
			l.violate("S9", nil, "queue %s uses %s%s, of which %s is reserved", q.path, s.used, ofPartition(g.label), s.held)
		}
		if l.configured || l.moved || s.used.Within(s.before) || slices.Contains(l.lent, g.label) {
			continue
		}
		for i := g.leaf; i >= 0; i = l.queues[i].parent {
			l.underMaximum(i, g.label)
		}
	}
}

// underMaximum holds that nothing was taken beyond a queue's maximum. What was
// above it before, for the cluster shrank, is not the entry's doing, and one that
// moves an application, gives a node another label or lends one is passed over; the largest cluster within the entry is taken for its limits.
// What was warned counts as gone.
func (l *Ledger) underMaximum(i int32, label string) {
	used, held := l.sum(i, label)
	if slices.ContainsFunc(l.queues, func(q queue) bool { return !q.gone && q.backfill != "" }) { // what is reserved is not used yet
		used = used.Sub(held)
	}
	most := l.maximum(i, label, l.size(label).peak)
	if l.fits(used, most) {
		return
	}
	most = most.Add(l.warnedOf(i, label)).Add(l.sizesOf(l.withdrawn, i, label)) // what is reserved for preemption
	var before yarn.Resource
	for _, g := range l.grown {
		if s := l.queues[g.leaf].of(label); g.label == label && l.below(g.leaf, i) {
			before = before.Add(s.used.Sub(s.before))
		}
	}
	before = used.Sub(before)
	for k := range used {
		if used[k] > most[k] && used[k] > before[k] && (k == yarn.Memory || l.dominant) {
			l.violate("S9", nil, "queue %s uses %s%s, its maximum is %s (before the entry %s)", l.queues[i].path, used, ofPartition(label), most, before)
			return
		}
	}
}
