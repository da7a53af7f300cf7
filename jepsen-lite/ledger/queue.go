package ledger

import (
	"slices"
	"strings"

	"rmd/fsm/event"
	"rmd/jepsen-lite/ledger/settings"
	"rmd/yarn"
)

type queue struct {
	path       string
	parent     int32 // -1 for root
	leaf, gone bool
	dynamic    bool // a submission created it
	active     bool // a leaf below a managed parent that has the capacity of the template
	state      yarn.QueueState
	share      // on nodes without a label
	labels     map[string]*share
	apps       int // applications that have not ended
	max        settings.Maximum
	labelled   settings.Labels
	most       yarn.Resource // the current maximum
	mostOf     yarn.Resource
	bounded    bool
	min        map[string]settings.Capacity // by label; without an entry the queue has no guarantee
	forbidden  settings.Forbidden
	priority   int32  // among its siblings
	backfill   string // which of its containers may borrow room of reserved nodes; empty: none
}

// queues are the queues and the configuration.
type queues struct {
	*nouns
	list       []queue          // queues keep their index when the configuration removes them
	places     map[string]int32 // indexes in list, by the paths of the current queues
	version    uint64
	properties settings.Properties // of the current configuration
	rules      settings.Rules
	preemption settings.Preemption
	configured bool            // the entry brought a configuration
	grown      []leafPartition // leaves whose usage grew in the entry
	fulfilled  []fulfilment    // reservations that became containers in the entry
}

// queue returns the index of the current queue with this path, or -1.
func (l *queues) queue(path string) int32 {
	if i, ok := l.places[path]; ok {
		return i
	}
	return -1
}

// addQueue adds a queue. It never reuses an index, because ended applications refer to removed
// queues, which may have had the same path.
func (l *queues) addQueue(q queue) int32 {
	i := int32(len(l.list))
	l.list = append(l.list, q)
	l.places[q.path] = i
	return i
}

func (l *queues) dropQueue(i int32) {
	l.list[i].gone = true
	l.debts.Drop(l.list[i].path)
	delete(l.places, l.list[i].path)
}

// configure replaces the tree. Queues that remain keep their usage. Removed queues must be empty.
func (l *queues) configure(e *event.QueuesConfigured) {
	if e.Version <= l.version {
		l.violate(Audit, nil, "configuration %d is in force and is followed by %d", l.version, e.Version)
	}
	l.version, l.dominant, l.configured = e.Version, e.Dominant, true
	if len(e.Kinds) > 0 {
		l.kinds = e.Kinds
	}
	l.properties = e.Properties
	l.rules, l.preemption = l.properties.Rules(), l.properties.Preemption()
	kept := make([]bool, len(l.list))
	for _, d := range e.Queues {
		i := l.queue(d.Path)
		if i < 0 {
			i = l.addQueue(queue{path: d.Path})
			kept = append(kept, false)
		}
		kept[i] = true
		q := &l.list[i]
		q.dynamic = false
		if !d.Leaf && q.apps > 0 {
			l.violate("S9", nil, "leaf %s holds %d applications and becomes a parent", q.path, q.apps)
		}
		q.leaf, q.state, q.parent = d.Leaf, d.State, l.queue(yarn.ParentQueue(d.Path))
		l.readQueue(q, e.Properties)
	}
	for i := range kept { // parents come before their children
		if q := &l.list[i]; q.dynamic && !q.gone && kept[q.parent] && !l.list[q.parent].leaf {
			kept[i] = true
			l.readQueue(q, l.settingsOf(q))
		}
	}
	for i := range kept {
		q := &l.list[i]
		if kept[i] || q.gone {
			continue
		}
		l.dropQueue(int32(i))
		if q.apps > 0 || !q.used.IsZero() || q.usesLabels() {
			l.violate("S9", nil, "queue %s is dropped with %d applications that use %s", q.path, q.apps, q.used)
		}
	}
	for i := range l.list {
		l.list[i].bounded = false
	}
}

func (l *queues) readQueue(q *queue, properties settings.Properties) {
	parent := queue{labelled: settings.Labels{Access: []string{"*"}}}
	if q.parent >= 0 {
		parent = l.list[q.parent]
	}
	q.max = settings.ReadMaximum(properties.OfQueue(q.path, "maximum-capacity"), l.kinds)
	q.labelled = properties.Labels(q.path, parent.labelled.Access, l.kinds)
	q.min = properties.Capacities(q.path, l.kinds)
	q.forbidden = properties.ForbidsPreemption(q.path, parent.forbidden)
	q.priority = properties.Priority(q.path)
	q.backfill = properties.Backfill(q.path, parent.backfill)
	q.bounded = false
}

// settingsOf returns the properties of a dynamic queue: those of the configuration, and those of its
// parent's templates. Without a capacity there, the queue has the weight 1, also for each label.
func (l *queues) settingsOf(q *queue) settings.Properties {
	own := "yarn.scheduler.capacity." + q.path + "."
	if l.managed(q.parent) {
		return append(slices.Clip(l.properties), l.managedSettings(q, own)...)
	}
	out := settings.Properties{{Name: own + "capacity", Value: "1w"}}
	for label := range l.list[q.parent].labelled.Maximums { // the order does not matter: each sets another property
		out = append(out, event.Property{Name: own + "accessible-node-labels." + label + ".capacity", Value: "1w"})
	}
	kinds := []string{"template.", "parent-template."}
	if q.leaf {
		kinds[1] = "leaf-template."
	}
	for _, kind := range kinds { // the last value counts
		prefix := "yarn.scheduler.capacity." + l.list[q.parent].path + ".auto-queue-creation-v2." + kind
		for _, p := range l.properties {
			if key, ok := strings.CutPrefix(p.Name, prefix); ok {
				out = append(out, event.Property{Name: own + key, Value: p.Value})
			}
		}
	}
	return append(out, l.properties...)
}

func (l *queues) createQueue(e *event.QueueCreated) {
	parent := l.queue(yarn.ParentQueue(e.Path))
	if parent < 0 || l.list[parent].leaf || l.queue(e.Path) >= 0 {
		l.violate(Audit, nil, "queue %s is created, though it is there or has no parent", e.Path)
		return
	}
	at := &l.list[l.addQueue(queue{path: e.Path, parent: parent, leaf: e.Leaf, state: e.State, dynamic: true})]
	l.readQueue(at, l.settingsOf(at))
	l.configured = true // its siblings' guarantees are lower now
}

func (l *queues) removeQueues(e *event.QueuesRemoved) {
	for _, path := range e.Paths {
		i := l.queue(path)
		if i < 0 || !l.list[i].dynamic {
			l.violate(Audit, nil, "queue %s is removed, which is not a dynamic one", path)
			continue
		}
		q := &l.list[i]
		l.dropQueue(i)
		if q.apps > 0 || !q.used.IsZero() || q.usesLabels() {
			l.violate("S9", nil, "queue %s is removed with %d applications that use %s", q.path, q.apps, q.used)
		}
		for k := range l.list {
			if below := &l.list[k]; !below.gone && below.parent == i {
				l.violate(Audit, nil, "queue %s is removed, and %s is below it", q.path, below.path)
			}
		}
	}
	l.configured = true
}

// queueState stops, drains or starts a queue. A queue with applications must not be STOPPED.
func (l *queues) queueState(e *event.QueueStateChanged) {
	i := l.queue(e.Path)
	if i < 0 {
		l.violate(Audit, nil, "queue %s, which there is not, becomes %s", e.Path, e.State)
		return
	}
	q := &l.list[i]
	q.state = e.State
	if e.State == yarn.QueueStopped && q.apps > 0 {
		l.violate(Audit, nil, "queue %s is %s with %d applications in it", q.path, e.State, q.apps)
	}
}

// fulfil turns what an application has reserved on a node into usage.
func (l *queues) fulfil(a *app, n *node, size yarn.Resource) {
	l.charge(a, n, zero, zero.Sub(size))
	l.fulfilled = append(l.fulfilled, fulfilment{leafPartition{a.queue, n.label}, size})
}

// charge adds to the usage of an application's leaf in the partition of a node. Negative values
// subtract.
func (l *queues) charge(a *app, n *node, used, held yarn.Resource) {
	s := l.list[a.queue].of(n.label)
	if lent := held == zero && n.reservation != 0; !lent && used != zero && !used.Negative() {
		l.debts.takes(a, n, s, used)
	}
	if s.seen != l.index {
		s.seen, s.before = l.index, s.used
		l.grown = append(l.grown, leafPartition{a.queue, n.label})
	}
	s.take(used, held)
}

// share is the usage of a leaf in one partition. The usage of a parent is the sum of its leaves.
type share struct {
	used, held yarn.Resource
	before     yarn.Resource // usage at the start of the entry
	seen       uint64        // the entry for which before was set
}

func (s *share) take(used, held yarn.Resource) {
	s.used, s.held = s.used.Add(used), s.held.Add(held)
}

// leafPartition is a leaf on the nodes of a label.
type leafPartition struct {
	leaf  int32
	label string
}

// fulfilment is what a reservation of a leaf becomes.
type fulfilment struct {
	leafPartition
	size yarn.Resource
}

// sum returns the usage of a queue in a partition, and the reserved part of it.
func (l *queues) sum(i int32, label string) (used, held yarn.Resource) {
	if q := &l.list[i]; q.leaf {
		s := q.of(label)
		return s.used, s.held
	}
	for k := range l.list {
		if q := &l.list[k]; q.leaf && !q.gone && l.isBelow(int32(k), i) {
			s := q.of(label)
			used, held = used.Add(s.used), held.Add(s.held)
		}
	}
	return used, held
}

// balance checks the usage of the queues after an entry, when readers can see it (S9).
func (l *queues) balance() {
	for _, g := range l.grown {
		q := &l.list[g.leaf]
		s := q.of(g.label)
		l.Counts.Balances++
		if s.used.Negative() || s.held.Negative() || !s.held.Within(s.used) {
			l.violate("S9", nil, "queue %s uses %s%s, of which %s is reserved", q.path, s.used, ofPartition(g.label), s.held)
		}
		if l.configured || l.apps.moved || s.used.Within(s.before) || slices.Contains(l.nodes.lent, g.label) {
			continue
		}
		for i := g.leaf; i >= 0; i = l.list[i].parent {
			l.underMaximum(i, g.label)
		}
	}
}

// lendsReserved reports whether some queue has backfill: then reservations do not count as usage,
// because their room may be lent.
func (l *queues) lendsReserved() bool {
	return slices.ContainsFunc(l.list, func(q queue) bool { return !q.gone && q.backfill != "" })
}

// underMaximum checks that the entry did not raise the usage of a queue above its maximum. It
// accepts usage that was above the maximum before the entry, because the cluster may have shrunk.
// It skips an entry that moves an application, changes the label of a node or lends a node. It
// computes limits with the largest cluster within the entry. Warned containers count as ended. If
// preemption reserves nodes, the reservations of a queue that may use all nodes do not count: only
// the nodes limit the queue, and the room that a reservation waits for would count twice. When such
// a reservation is fulfilled, its node limits it (S7), and no maximum: another node may use more
// than it has left since it shrank.
func (l *queues) underMaximum(i int32, label string) {
	used, held := l.sum(i, label)
	most := l.maximum(i, label, l.nodes.size(label).peak)
	everywhere := l.fits(l.nodes.size(label).peak, most) // only the nodes limit the queue
	if l.lendsReserved() || l.preemption.Reserves && everywhere {
		used = used.Sub(held)
		for _, f := range l.fulfilled {
			if f.label == label && l.isBelow(f.leaf, i) {
				most = most.Add(f.size)
			}
		}
	}
	if l.fits(used, most) {
		return
	}
	// room of warned containers is reserved and still used
	most = most.Add(l.warnings.warnedOf(i, label)).Add(l.warnings.sizesOf(l.warnings.withdrawn, i, label))
	var before yarn.Resource
	for _, g := range l.grown {
		if s := l.list[g.leaf].of(label); g.label == label && l.isBelow(g.leaf, i) {
			before = before.Add(s.used.Sub(s.before))
		}
	}
	before = used.Sub(before)
	for k := range used {
		if used[k] > most[k] && used[k] > before[k] && (k == yarn.Memory || l.dominant) {
			l.violate("S9", nil, "queue %s uses %s%s, its maximum is %s (before the entry %s)", l.list[i].path, used,
				ofPartition(label), most, before)
			return
		}
	}
}
