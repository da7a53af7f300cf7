package ledger

import (
	"fmt"
	"slices"

	"rmd/fsm/event"
	"rmd/yarn"
)

// gang is the state of an application's gang according to the log.
type gang struct {
	spec    yarn.Gang
	left    int64           // members that this entry must still allocate
	nodes   []yarn.NodeSlot // of the allocated members
	served  bool
	unclear bool // members of an earlier attempt may still run
}

// dropGang forgets the members that an attempt has received.
func (a *app) dropGang() {
	if a.gang != nil {
		*a.gang = gang{spec: a.gang.spec, unclear: (a.gang.served || a.gang.unclear) && a.live > 0}
	}
}

// gangAsk returns the ask of a gang that has not started; nil if there is none or if several asks
// could be the one.
func (a *app) gangAsk() *ask {
	if a.gang == nil || a.gang.served || a.gang.unclear {
		return nil
	}
	var found *ask
	for i := range a.asks {
		if a.gang.spec.IsOf(a.asks[i].key) {
			if found != nil {
				return nil
			}
			found = &a.asks[i]
		}
	}
	return found
}

// isGang reports whether an ask belongs to a gang that has not started.
func (a *app) isGang(k *ask) bool {
	g := a.gangAsk()
	return g != nil && g.key == k.key && (a.stage == registered || a.stage == finishing)
}

// gangs are the gangs that applications declare.
type gangs struct {
	*nouns
	changed []int32 // applications whose gangs the entry changes
}

func (l *gangs) gangDeclared(e *event.GangDeclared) {
	if a := l.apps.goingOn(e.App, "has a gang declared"); a != nil {
		a.gang = &gang{spec: e.Gang, unclear: a.live > 1}
	}
}

func (l *gangs) gangEnded(e *event.GangEnded) {
	if a := l.apps.goingOn(e.App, "has its gang ended"); a != nil && a.gang != nil {
		if e.Cause == yarn.GangWithdrawn {
			a.gang = nil
		} else {
			a.gang.served = true // the rest of the ask is served as an ordinary ask
		}
	}
}

// gangReserved records a node that is reserved for members of a gang, and checks S8.
func (l *gangs) gangReserved(e *event.GangReserved) {
	a := l.apps.app(e.App)
	if a == nil || !l.containers.takeNumber(a, e.Number) {
		return
	}
	l.Counts.Reservations++
	n, ok := l.nodes.node(e.Node)
	switch {
	case !ok || n.reservation != 0 || !n.state.Usable():
		l.violate("S8", nil, "r%d reserves node %d for a gang, which is not there, is reserved, or is not usable",
			e.Reservation, e.Node)
		return
	case e.Reservation <= l.reservations.last:
		l.violate("S6", nil, "reservation r%d is made after r%d", e.Reservation, l.reservations.last)
		return
	case a.gang == nil:
		l.violate(Audit, a.chain(l.nouns), "r%d reserves node %s for a gang that there is not", e.Reservation, n.id)
		return
	}
	var k *ask
	for i := range a.asks {
		if c := &a.asks[i]; a.gang.spec.IsOf(c.key) && c.count >= a.gang.spec.Count {
			k = c
			break
		}
	}
	switch {
	case k == nil:
		l.violate(Audit, a.chain(l.nouns), "r%d reserves node %s for a gang that asks for fewer than its %d members",
			e.Reservation, n.id, a.gang.spec.Count)
		return
	case !l.fits(k.size.Times(int64(e.Members)), n.total):
		l.violate(Audit, nil, "r%d reserves %s of %s for %d of %s", e.Reservation, n.id, n.total, e.Members, k.size)
	case slices.Contains(a.black, n.id.Host) || slices.Contains(a.black, n.rack):
		l.violate(Audit, nil, "r%d reserves %s, which its application refuses", e.Reservation, n.id)
	}
	l.nodes.auditHeard(n, fmt.Sprintf("r%d", e.Reservation))
	l.reservations.last = e.Reservation
	l.reservations.list = append(l.reservations.list,
		reservation{number: e.Reservation, app: l.apps.appIndex(e.App), node: e.Node, attempt: a.attempt,
			container: e.Number, key: k.key, members: int64(e.Members), made: l.index})
	n.reservation = e.Reservation
	k.holds++
	a.holds++
	l.ganged(a)
}

func (l *gangs) gangStarted(e *event.GangStarted) {
	a := l.apps.goingOn(e.App, "starts its gang")
	switch {
	case a == nil:
	case a.gang == nil || a.gang.served:
		l.violate(Audit, a.chain(l.nouns), "application %d starts a gang that it does not have", e.App)
	default:
		a.gang.left, a.gang.nodes, a.gang.unclear = a.gang.spec.Count, nil, false
		l.ganged(a)
	}
}

// gangMember records the allocation of a member, and checks that members are not allocated one by
// one.
func (l *gangs) gangMember(a *app, k *ask, e *event.ContainerAllocated) {
	switch g := a.gang; {
	case e.AM || g == nil || !g.spec.IsOf(e.Key):
	case g.left > 0:
		g.nodes = append(g.nodes, e.Node)
		if g.left--; g.left == 0 {
			g.served = true
			l.gangShape(a, e.Node)
		}
	case a.isGang(k):
		l.violate(Audit, a.chain(l.nouns), "container %d of application %d is allocated alone, it is of a gang of %d",
			e.Number, e.App, g.spec.Count)
	}
}

// gangShape checks that the members of a gang are on nodes that match its declaration.
func (l *gangs) gangShape(a *app, last yarn.NodeSlot) {
	g := a.gang
	on := map[yarn.NodeSlot]int64{} // each node is checked alone, so the order does not matter
	for _, n := range g.nodes {
		on[n]++
		if g.spec.OneRack && l.nodes.list[n].rack != l.nodes.list[last].rack {
			l.violate(Audit, a.chain(l.nouns), "the gang of application %d starts on nodes of racks %s and %s", a.seq,
				l.nodes.list[n].rack, l.nodes.list[last].rack)
		}
	}
	for n, count := range on {
		if g.spec.PerNode != 0 && count != g.spec.PerNode {
			l.violate(Audit, a.chain(l.nouns), "the gang of application %d has %d members on %s, not %d", a.seq, count,
				l.nodes.list[n].id, g.spec.PerNode)
		}
	}
}

// ganged records that this entry changes the gang of an application.
func (l *gangs) ganged(a *app) {
	if i := l.apps.appIndex(a.seq); !slices.Contains(l.changed, i) {
		l.changed = append(l.changed, i)
	}
}

// allOrNothing checks at the end of an entry that all members of a gang were allocated or none, and
// that it has nodes reserved for all of them or none.
func (l *gangs) allOrNothing() {
	for _, i := range l.changed {
		a := &l.apps.list[i]
		if a.gang != nil && a.gang.left > 0 {
			l.violate(Audit, a.chain(l.nouns), "the gang of application %d starts without %d of its %d members", a.seq,
				a.gang.left, a.gang.spec.Count)
		}
		held := int64(0)
		for k := range l.reservations.list {
			if l.reservations.list[k].app == i {
				held += l.reservations.list[k].members
			}
		}
		if held != 0 && (a.gang == nil || held != a.gang.spec.Count) {
			l.violate(Audit, a.chain(l.nouns), "the gang of application %d holds nodes for %d members", a.seq, held)
		}
	}
	l.changed = l.changed[:0]
}

// gangRoom reports whether all members of a gang fit together on usable nodes that are free or
// reserved for it. It returns false if the ask names places.
func (l *gangs) gangRoom(a *app, k *ask) bool {
	g := a.gang
	if k.count < g.spec.Count || len(k.where) > 0 {
		return false
	}
	size := k.size.Times(g.spec.Count)
	for i := a.queue; i >= 0; i = l.queues.list[i].parent {
		used, _ := l.queues.sum(i, k.label)
		if !l.queues.mayUse(i, k.label) || !l.fits(used.Add(size), l.queues.maximum(i, k.label, l.nodes.size(k.label).now)) {
			return false
		}
	}
	byRack := map[string]int64{} // never iterated
	for i := 1; i < len(l.nodes.list); i++ {
		n := &l.nodes.list[i]
		r := l.reservations.reservation(n.reservation)
		if n.state != yarn.NodeRunning || n.label != k.label || slices.Contains(a.black, n.id.Host) ||
			slices.Contains(a.black, n.rack) ||
			r != nil && (r.members == 0 || &l.apps.list[r.app] != a) {
			continue
		}
		fit := int64(0)
		for fit < g.spec.Count && l.fits(k.size.Times(fit+1), n.total.Sub(n.used)) {
			fit++
		}
		rack := ""
		if g.spec.OneRack {
			rack = n.rack
		}
		byRack[rack] += g.spec.OnNode(fit, g.spec.Count)
		if byRack[rack] >= g.spec.Count {
			return true
		}
	}
	return false
}
