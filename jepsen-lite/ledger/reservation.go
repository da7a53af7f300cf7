package ledger

import (
	"cmp"
	"fmt"
	"slices"

	"rmd/fsm/event"
	"rmd/yarn"
)

// reservation is a reservation that has not ended.
type reservation struct {
	number    uint64
	app       int32
	node      yarn.NodeSlot
	attempt   uint32
	container uint64
	key       yarn.SchedulerKey
	size      yarn.Resource
	am        bool
	made      uint64
	since     int64 // time when it was made, by the state's clock
	grows     bool  // it is for an increase of a running container
	members   int64 // number of gang members for which it holds the node, without charging the queue; 0 if it is not for a gang
}

// end is the end of a reservation.
type end struct{ number, index uint64 }

func (r *reservation) chain(l *Ledger) []Step {
	if r == nil {
		return nil
	}
	a := &l.apps[r.app]
	return []Step{l.step(r.made, "r%d holds node %s for %s of %s", r.number, l.nodeName(r.node), a.id(r.attempt, r.container), r.size)}
}

// reservationIndex returns the index of a reservation in reservations, or -1.
func (l *Ledger) reservationIndex(number uint64) int {
	i, ok := slices.BinarySearchFunc(l.reservations, number, func(r reservation, n uint64) int { return cmp.Compare(r.number, n) })
	if !ok {
		return -1
	}
	return i
}

func (l *Ledger) reservation(number uint64) *reservation {
	if i := l.reservationIndex(number); i >= 0 {
		return &l.reservations[i]
	}
	return nil
}

func (l *Ledger) reserved(e *event.ReservationMade) {
	a := l.app(e.App)
	if a == nil || !l.takeNumber(a, e.Number) {
		return
	}
	l.Counts.Reservations++
	id := a.id(a.attempt, e.Number)
	n, ok := l.node(e.Node)
	if !ok {
		l.violate("S8", nil, "r%d reserves node %d, which there is not", e.Reservation, e.Node)
		return
	}
	if n.reservation != 0 {
		l.violate("S8", l.reservation(n.reservation).chain(l), "node %s is held by r%d and by r%d", n.id, n.reservation, e.Reservation)
		return
	}
	if e.Reservation <= l.lastReserved {
		l.violate("S6", nil, "reservation r%d is made after r%d", e.Reservation, l.lastReserved)
		return
	}
	k := l.askOf(a, e.Key, id)
	if k == nil {
		return
	}
	l.auditReservation(a, k, e.Node, e.Reservation)
	l.auditLabel(a, k, n, fmt.Sprintf("r%d", e.Reservation), e.AM)
	l.lastReserved = e.Reservation
	l.reservations = append(l.reservations, reservation{number: e.Reservation, app: l.appIndex(e.App), node: e.Node, attempt: a.attempt,
		container: e.Number, key: e.Key, size: k.size, am: e.AM, made: l.index, since: l.now})
	n.reservation = e.Reservation
	k.holds++
	a.holds++
	l.charge(a, n, k.size, k.size)
}

// auditReservation checks a new reservation: the container is not larger than the node, and does
// not fit into what is free there.
func (l *Ledger) auditReservation(a *app, k *ask, node yarn.NodeSlot, number uint64) {
	l.Counts.Decisions++
	n := &l.nodes[node]
	room := n.total.Sub(n.used)
	l.auditHeard(n, fmt.Sprintf("r%d", number))
	switch {
	case !n.state.Usable():
		l.violate("S8", nil, "r%d reserves %s, which is %s", number, n.id, n.state)
	case !l.fits(k.size, n.total):
		l.violate(Audit, nil, "r%d reserves %s of %s for %s", number, n.id, n.total, k.size)
	case l.fits(k.size, room):
		l.violate(Audit, nil, "r%d reserves %s for %s, and %s is free there", number, n.id, k.size, room)
	case !l.fits(l.rules.minimum, room) && !l.preemption.movesToFullNodes() && !l.roomComes(node, k.size):
		l.full = append(l.full, fullNode{number, l.finding(Audit, nil, "r%d reserves %s, where %s is free and the smallest container is %s", number, n.id, room, l.rules.minimum)})
	case slices.Contains(a.black, n.id.Host) || slices.Contains(a.black, n.rack):
		l.violate(Audit, nil, "r%d reserves %s, which its application refuses", number, n.id)
	}
}

// roomComes reports whether a container fits on a node after the released containers there have
// ended. A round of preemption counts that room.
func (l *Ledger) roomComes(node yarn.NodeSlot, size yarn.Resource) bool {
	return l.preemption.on && l.preemption.reserves &&
		l.fits(size, l.roomAfter(node, func(_ *app, c *container) bool { return c.released != 0 && c.completed == 0 }))
}

// renumber assigns the ids of the new epoch to the containers of all reservations (S6).
func (l *Ledger) renumber() {
	for i := range l.reservations {
		r := &l.reservations[i]
		if r.grows {
			continue
		}
		a := &l.apps[r.app]
		a.lastNumber = max(a.lastNumber, yarn.ContainerNumber(l.epoch, 0)) + 1
		r.container = a.lastNumber
		l.given = append(l.given, a.id(r.attempt, r.container))
	}
}

func (l *Ledger) fulfilled(e *event.ReservationFulfilled) {
	r := l.leave(e.Reservation, "fulfilled")
	if r == nil {
		return
	}
	if r.grows {
		l.fulfilledGrowth(r)
		return
	}
	a, n := &l.apps[r.app], &l.nodes[r.node]
	id := a.id(r.attempt, r.container)
	if at, ok := a.place(r.attempt, r.container); ok {
		l.violate("S6", a.life(l, &a.containers[at]), "%s, which r%d promised, was given before", id, r.number)
		return
	}
	l.Counts.Decisions++
	if room := n.total.Sub(n.used); !l.fits(r.size, room) {
		l.violate("S7", append(r.chain(l), l.newestOn(n)...), "r%d becomes %s of %s on %s, which has %s free of %s", r.number, id, r.size, n.id, room, n.total)
	}
	l.auditHeard(n, id.String())
	if !n.state.Usable() {
		l.violate("S8", r.chain(l), "r%d is fulfilled on %s, which is %s", r.number, n.id, n.state)
	}
	k := l.askOf(a, r.key, id)
	if k == nil {
		return
	}
	if k.size != r.size {
		l.violate("S8", r.chain(l), "r%d of %s is fulfilled, the ask is of %s", r.number, r.size, k.size)
	}
	if !l.labels.serves(n.label, k.label) {
		l.violate("S8", r.chain(l), "r%d is fulfilled on %s%s, the ask is%s", r.number, n.id, ofLabel(n.label), ofLabel(k.label))
	}
	asked := k.label
	k.holds--
	a.use(k, n, e.Locality)
	l.changed(a)
	l.place(a, r.node, container{attempt: r.attempt, number: r.container, node: r.node, key: r.key, size: r.size, locality: e.Locality, am: r.am, asked: asked})
	l.charge(a, n, zero, zero.Sub(r.size))
}

func (l *Ledger) cancelled(e *event.ReservationCancelled) {
	r := l.leave(e.Reservation, "cancelled")
	if r == nil {
		return
	}
	if !e.Cause.Known() {
		l.violate(Audit, r.chain(l), "r%d is cancelled for no cause there is (%d)", r.number, e.Cause)
	}
	a := &l.apps[r.app]
	if k := a.ask(r.key); k != nil && !r.grows {
		k.holds--
		a.prune(k)
	}
	l.charge(a, &l.nodes[r.node], zero.Sub(r.size), zero.Sub(r.size))
	if e.Cause == yarn.CancelPreempted {
		l.preemptedNow = append(l.preemptedNow, loss{a.queue, l.nodes[r.node].label, r.size, true})
	}
	if r.members > 0 {
		l.ganged(a)
	}
}

// leave removes a reservation from its node. If it is not held, leave returns nil and records a
// violation.
func (l *Ledger) leave(number uint64, what string) *reservation {
	i := l.reservationIndex(number)
	if i < 0 {
		l.violate("S8", nil, "r%d is %s and is not held", number, what)
		return nil
	}
	r := l.reservations[i]
	l.noWarningsFor(&r, what)
	l.endLeases(&r)
	l.reservations = slices.Delete(l.reservations, i, i+1)
	l.ends = append(l.ends, end{number, l.index})
	l.apps[r.app].holds--
	if n := &l.nodes[r.node]; n.reservation == number {
		n.reservation = 0
	} else {
		l.violate("S8", r.chain(l), "r%d is %s, node %s is held by r%d", number, what, n.id, n.reservation)
	}
	return &r
}
