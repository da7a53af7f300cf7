package ledger

import (
	"cmp"
	"slices"

	"rmd/fsm/event"
	"rmd/yarn"
)

type container struct {
	attempt  uint32
	node     yarn.NodeSlot
	number   uint64
	key      yarn.SchedulerKey
	size     yarn.Resource
	more     yarn.Resource // asked increase
	version  int32         // number of changes of its size
	locality yarn.Locality
	asked    string // label of the ask that it serves
	am       bool
	live     bool // counts in its queue
	onNode   bool // counts on its node
	launched bool
	lease    lease
	since    int64 // time of its allocation, by the state's clock
	restored bool  // lost before its AM received it; its ask was restored
	// deadlines are those of all its warnings. Only the last warning may stand.
	deadlines []int64
	spared    spared
	// Indexes of the events; 0 if the event has not happened.
	made, released, completed, signalled uint64
}

var zero yarn.Resource

// id returns a container's id as clients and nodes see it.
func (a *app) id(attempt uint32, number uint64) yarn.ContainerID {
	return yarn.ContainerID{App: yarn.ApplicationID{ClusterTimestamp: a.timestamp, Seq: a.seq}, Attempt: attempt,
		Number: number}
}

// place returns the index of a container in a.containers, or where it would be inserted.
func (a *app) place(attempt uint32, number uint64) (int, bool) {
	n := len(a.containers)
	if n == 0 || before(&a.containers[n-1], attempt, number) < 0 {
		return n, false
	}
	lo, hi := 0, n
	for lo < hi {
		mid := (lo + hi) / 2
		if before(&a.containers[mid], attempt, number) < 0 {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo, lo < n && before(&a.containers[lo], attempt, number) == 0
}

func before(c *container, attempt uint32, number uint64) int {
	if d := cmp.Compare(c.attempt, attempt); d != 0 {
		return d
	}
	return cmp.Compare(c.number, number)
}

// containers are all containers. Their records are in their applications.
type containers struct {
	*nouns
	live  int                // number of containers that count in their queue
	given []yarn.ContainerID // ids that the entry assigns, including those of reservations
}

func (l *containers) container(r event.ContainerRef, what string) (*app, *container) {
	i := l.apps.appIndex(r.App)
	if i >= 0 {
		a := &l.apps.list[i]
		if at, ok := a.place(r.Attempt, r.Number); ok {
			return a, &a.containers[at]
		}
	}
	l.violate("S10", nil, "container %d of attempt %d of application %d is %s and was never allocated", r.Number,
		r.Attempt, r.App, what)
	return nil, nil
}

// allocated records a new container on a node that lender has reserved; 0 means no reservation.
func (l *containers) allocated(e *event.ContainerAllocated, lender uint64) {
	a := l.apps.app(e.App)
	if a == nil || !l.takeNumber(a, e.Number) {
		return
	}
	n, ok := l.nodes.node(e.Node)
	if !ok {
		l.violate("S7", nil, "container %s is allocated on node %d, which there is not", a.id(a.attempt, e.Number), e.Node)
		return
	}
	id := a.id(a.attempt, e.Number)
	k := l.askOf(a, e.Key, id)
	if k == nil {
		return
	}
	if n.reservation != lender {
		l.violate("S8", l.reservations.reservation(n.reservation).chain(l.nouns),
			"container %s is allocated on %s, which r%d holds", id, n.id, n.reservation)
	}
	l.auditPlace(a, k, n, e.Locality, id)
	l.auditLabel(a, k, n, id.String(), e.AM)
	l.gangs.gangMember(a, k, e)
	size, asked := k.size, k.label
	a.use(k, n, e.Locality)
	l.reservations.changed(a)
	l.place(a, e.Node, container{attempt: a.attempt, number: e.Number, node: e.Node, key: e.Key, size: size,
		locality: e.Locality, am: e.AM, asked: asked})
	l.queues.charge(a, n, size, zero)
}

// takeNumber assigns the number of a container. It checks S6: the numbers of an attempt ascend
// without gaps, and the numbers of an epoch are above those of all earlier epochs.
func (l *containers) takeNumber(a *app, number uint64) bool {
	l.Counts.Containers++
	id := a.id(a.attempt, number)
	if at, ok := a.place(a.attempt, number); ok {
		c := &a.containers[at]
		l.violate("S6", []Step{l.step(c.made, "%s is allocated on %s", id, l.nodes.nodeName(c.node))},
			"%s given twice at index %d (term %d) and %d (term %d)", id, c.made, l.termOf(c.made), l.index, l.term)
		return false
	}
	if number <= a.lastNumber {
		l.violate("S6", nil, "%s is given after container %d of the same attempt", id, a.lastNumber)
		return false
	}
	if next := max(a.lastNumber, yarn.ContainerNumber(l.apps.epoch, 0)) + 1; number != next {
		l.violate("S6", nil, "%s is given, the next one is %s", id, a.id(a.attempt, next))
	}
	a.lastNumber = number
	l.given = append(l.given, id)
	return true
}

// askOf returns the ask that a decision serves. It checks that the ask exists and that its attempt
// may receive containers.
func (l *containers) askOf(a *app, key yarn.SchedulerKey, id yarn.ContainerID) *ask {
	k := a.ask(key)
	if k == nil || k.count <= 0 {
		l.violate(Audit, a.chain(l.nouns), "%s serves an ask (priority %d, id %d) that there is not", id, key.Priority,
			key.AllocationID)
		return nil
	}
	if a.state.Ended() {
		l.violate("S10", a.chain(l.nouns), "%s is given to application %d, which is %s", id, a.seq, a.state)
	} else if a.stage != active && a.stage != registered {
		l.violate(Audit, a.chain(l.nouns), "%s is given to an attempt that is %s", id, a.stage)
	}
	return k
}

// auditPlace checks an allocation against the node and the ask (S7 and audit).
func (l *containers) auditPlace(a *app, k *ask, n *node, loc yarn.Locality, id yarn.ContainerID) {
	l.Counts.Decisions++
	l.nodes.auditHeard(n, id.String())
	if room := n.total.Sub(n.used); !l.fits(k.size, room) {
		l.violate("S7", l.nodes.newestOn(n), "%s of %s is put on %s, which has %s free of %s", id, k.size, n.id,
			room, n.total)
	}
	switch {
	case !n.state.Usable():
		l.violate(Audit, nil, "%s is put on %s, which is %s", id, n.id, n.state)
	case slices.Contains(a.black, n.id.Host) || slices.Contains(a.black, n.rack):
		l.violate(Audit, nil, "%s is put on %s, which its application refuses", id, n.id)
	case loc == yarn.NodeLocal && k.at(n.id.Host) == 0:
		l.violate(Audit, nil, "%s is put on %s as node-local, and %s is not asked for", id, n.id, n.id.Host)
	case loc == yarn.RackLocal && k.at(n.rack) == 0:
		l.violate(Audit, nil, "%s is put on %s as rack-local, and %s is not asked for", id, n.id, n.rack)
	case loc == yarn.OffSwitch && !k.relax && len(k.where) > 0:
		l.note("%s is put on %s, its ask names other places and does not relax", id, n.id)
	case loc < yarn.NodeLocal || loc > yarn.OffSwitch:
		l.violate(Audit, nil, "%s is put on %s at no locality", id, n.id)
	}
}

// place records a new container in its application and on its node.
func (l *containers) place(a *app, number yarn.NodeSlot, c container) {
	c.made, c.since, c.live, c.onNode = l.index, l.now, true, true
	at, _ := a.place(c.attempt, c.number)
	a.containers = slices.Insert(a.containers, at, c)
	a.live++
	l.live++
	l.nodes.placed++
	n := &l.nodes.list[number]
	n.used = n.used.Add(c.size)
	n.count++
	l.debts.Paid(l.queues.list[a.queue].path, n.label)
}

func (l *containers) launched(r event.ContainerRef) {
	a, c := l.container(r, "launched")
	if c == nil {
		return
	}
	if !c.live {
		l.violate("S10", a.life(l.nouns, c), "%s is launched after its end", a.id(c.attempt, c.number))
	}
	c.launched = true
}

func (l *containers) signalled(e *event.ContainerSignalled) {
	if _, c := l.container(e.Container, "signalled"); c != nil && e.Command != 0 {
		c.signalled = l.index
	}
}

func (l *containers) released(e *event.ContainerReleased) {
	a, c := l.container(e.Container, "released")
	if c == nil {
		return
	}
	if !c.live {
		l.violate("S10", a.life(l.nouns, c), "%s is released after its end", a.id(c.attempt, c.number))
		return
	}
	l.growthOver(a, c)
	l.warnings.endWarning(a, c, e.ExitStatus)
	l.Counts.Terminal++
	c.released = l.index
	l.uncharge(a, c)
}

func (l *containers) uncharge(a *app, c *container) {
	c.live = false
	a.live--
	l.live--
	l.queues.charge(a, &l.nodes.list[c.node], zero.Sub(c.size), zero)
}

func (l *containers) completed(e *event.ContainerCompleted) {
	a, c := l.container(e.Container, "completed")
	if c == nil {
		return
	}
	if !c.onNode {
		l.violate("S10", a.life(l.nouns, c), "%s is completed after its end: its share of %s is given back twice",
			a.id(c.attempt, c.number), l.nodes.nodeName(c.node))
		return
	}
	l.growthOver(a, c)
	l.Counts.Terminal++
	n := &l.nodes.list[c.node]
	if c.live {
		if e.ExitStatus != yarn.ExitSuccess {
			l.Counts.Lost++
		}
		l.warnings.endWarning(a, c, e.ExitStatus)
		l.uncharge(a, c)
	} else if e.Restore {
		l.violate(Audit, a.life(l.nouns, c), "the ask of %s is put back after its release", a.id(c.attempt, c.number))
	}
	c.onNode, c.completed = false, l.index
	l.nodes.placed--
	n.used = n.used.Sub(c.size)
	n.count--
	if n.used.Negative() {
		l.violate("S7", l.nodes.newestOn(n), "node %s gives %s after %s", n.id, n.used, a.id(c.attempt, c.number))
	}
	if e.Restore {
		c.restored = true
		a.putBack(c, n)
	}
}

// life returns the history of a container.
func (a *app) life(l *nouns, c *container) []Step {
	id := a.id(c.attempt, c.number)
	out := []Step{l.step(c.made, "%s is allocated on %s", id, l.nodes.nodeName(c.node))}
	if c.released != 0 {
		out = append(out, l.step(c.released, "%s is released", id))
	}
	if c.completed != 0 {
		out = append(out, l.step(c.completed, "%s is completed", id))
	}
	return out
}
