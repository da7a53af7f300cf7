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
	// number of gang members for which it holds the node, without charging the queue; 0 if it is not for a gang
	members int64
}

// end is the end of a reservation.
type end struct{ number, index uint64 }

func (r *reservation) chain(l *nouns) []Step {
	if r == nil {
		return nil
	}
	a := &l.apps.list[r.app]
	return []Step{l.step(r.made, "r%d holds node %s for %s of %s", r.number, l.nodes.nodeName(r.node),
		a.id(r.attempt, r.container), r.size)}
}

// reservations are the reservations that have not ended.
type reservations struct {
	*nouns
	list     []reservation // ascending by number
	ends     []end         // ends of reservations, in order
	last     uint64
	doubtful []int32    // applications with reservations whose asks changed in the entry
	awaited  []uint64   // reservations for which containers were warned in the entry
	full     []fullNode // of the entry: legal only if containers are warned for them
}

// reservationIndex returns the index of a reservation in reservations, or -1.
func (l *reservations) reservationIndex(number uint64) int {
	i, ok := slices.BinarySearchFunc(l.list, number, func(r reservation, n uint64) int { return cmp.Compare(r.number, n) })
	if !ok {
		return -1
	}
	return i
}

func (l *reservations) reservation(number uint64) *reservation {
	if i := l.reservationIndex(number); i >= 0 {
		return &l.list[i]
	}
	return nil
}

func (l *reservations) reserved(e *event.ReservationMade) {
	a := l.apps.app(e.App)
	if a == nil || !l.containers.takeNumber(a, e.Number) {
		return
	}
	l.Counts.Reservations++
	id := a.id(a.attempt, e.Number)
	n, ok := l.nodes.node(e.Node)
	if !ok {
		l.violate("S8", nil, "r%d reserves node %d, which there is not", e.Reservation, e.Node)
		return
	}
	if n.reservation != 0 {
		l.violate("S8", l.reservation(n.reservation).chain(l.nouns), "node %s is held by r%d and by r%d", n.id, n.reservation,
			e.Reservation)
		return
	}
	if e.Reservation <= l.last {
		l.violate("S6", nil, "reservation r%d is made after r%d", e.Reservation, l.last)
		return
	}
	k := l.containers.askOf(a, e.Key, id)
	if k == nil {
		return
	}
	l.auditReservation(a, k, e.Node, e.Reservation)
	l.containers.auditLabel(a, k, n, fmt.Sprintf("r%d", e.Reservation), e.AM)
	l.last = e.Reservation
	l.list = append(l.list, reservation{number: e.Reservation, app: l.apps.appIndex(e.App), node: e.Node,
		attempt:   a.attempt,
		container: e.Number, key: e.Key, size: k.size, am: e.AM, made: l.index, since: l.now})
	n.reservation = e.Reservation
	k.holds++
	a.holds++
	l.queues.charge(a, n, k.size, k.size)
}

// auditReservation checks a new reservation: the container is not larger than the node, and does
// not fit into what is free there.
func (l *reservations) auditReservation(a *app, k *ask, node yarn.NodeSlot, number uint64) {
	l.Counts.Decisions++
	n := &l.nodes.list[node]
	room := n.total.Sub(n.used)
	l.nodes.auditHeard(n, fmt.Sprintf("r%d", number))
	switch {
	case !n.state.Usable():
		l.violate("S8", nil, "r%d reserves %s, which is %s", number, n.id, n.state)
	case !l.fits(k.size, n.total):
		l.violate(Audit, nil, "r%d reserves %s of %s for %s", number, n.id, n.total, k.size)
	case l.fits(k.size, room):
		l.violate(Audit, nil, "r%d reserves %s for %s, and %s is free there", number, n.id, k.size, room)
	case !l.fits(l.queues.rules.Minimum, room) && !l.queues.preemption.MovesToFullNodes() && !l.roomComes(node, k.size):
		l.full = append(l.full, fullNode{number,
			l.finding(Audit, nil, "r%d reserves %s, where %s is free and the smallest container is %s", number, n.id, room,
				l.queues.rules.Minimum)})
	case slices.Contains(a.black, n.id.Host) || slices.Contains(a.black, n.rack):
		l.violate(Audit, nil, "r%d reserves %s, which its application refuses", number, n.id)
	}
}

// roomComes reports whether a container fits on a node after the released containers there have
// ended. A round of preemption counts that room.
func (l *reservations) roomComes(node yarn.NodeSlot, size yarn.Resource) bool {
	return l.queues.preemption.On && l.queues.preemption.Reserves &&
		l.fits(size, l.warnings.roomAfter(node, func(_ *app,
			c *container) bool {
			return c.released != 0 && c.completed == 0
		}))
}

// renumber assigns the ids of the new epoch to the containers of all reservations (S6).
func (l *reservations) renumber() {
	for i := range l.list {
		r := &l.list[i]
		if r.grows {
			continue
		}
		a := &l.apps.list[r.app]
		a.lastNumber = max(a.lastNumber, yarn.ContainerNumber(l.apps.epoch, 0)) + 1
		r.container = a.lastNumber
		l.containers.given = append(l.containers.given, a.id(r.attempt, r.container))
	}
}

func (l *reservations) fulfilled(e *event.ReservationFulfilled) {
	r := l.leave(e.Reservation, "fulfilled")
	if r == nil {
		return
	}
	if r.grows {
		l.containers.fulfilledGrowth(r)
		return
	}
	a, n := &l.apps.list[r.app], &l.nodes.list[r.node]
	id := a.id(r.attempt, r.container)
	if at, ok := a.place(r.attempt, r.container); ok {
		l.violate("S6", a.life(l.nouns, &a.containers[at]), "%s, which r%d promised, was given before", id, r.number)
		return
	}
	l.Counts.Decisions++
	if room := n.total.Sub(n.used); !l.fits(r.size, room) {
		l.violate("S7", append(r.chain(l.nouns), l.nodes.newestOn(n)...),
			"r%d becomes %s of %s on %s, which has %s free of %s", r.number, id, r.size, n.id, room, n.total)
	}
	l.nodes.auditHeard(n, id.String())
	if !n.state.Usable() {
		l.violate("S8", r.chain(l.nouns), "r%d is fulfilled on %s, which is %s", r.number, n.id, n.state)
	}
	k := l.containers.askOf(a, r.key, id)
	if k == nil {
		return
	}
	if k.size != r.size {
		l.violate("S8", r.chain(l.nouns), "r%d of %s is fulfilled, the ask is of %s", r.number, r.size, k.size)
	}
	if !l.nodes.labels.Serves(n.label, k.label) {
		l.violate("S8", r.chain(l.nouns), "r%d is fulfilled on %s%s, the ask is%s", r.number, n.id, ofLabel(n.label),
			ofLabel(k.label))
	}
	asked := k.label
	k.holds--
	a.use(k, n, e.Locality)
	l.changed(a)
	l.containers.place(a, r.node, container{attempt: r.attempt, number: r.container, node: r.node, key: r.key,
		size: r.size, locality: e.Locality, am: r.am, asked: asked})
	l.queues.fulfil(a, n, r.size)
}

func (l *reservations) cancelled(e *event.ReservationCancelled) {
	r := l.leave(e.Reservation, "cancelled")
	if r == nil {
		return
	}
	if !e.Cause.Known() {
		l.violate(Audit, r.chain(l.nouns), "r%d is cancelled for no cause there is (%d)", r.number, e.Cause)
	}
	a := &l.apps.list[r.app]
	if k := a.ask(r.key); k != nil && !r.grows {
		k.holds--
		a.prune(k)
	}
	l.queues.charge(a, &l.nodes.list[r.node], zero.Sub(r.size), zero.Sub(r.size))
	a.banned = a.banned || e.Cause == yarn.CancelOperator
	if e.Cause == yarn.CancelPreempted || e.Cause == yarn.CancelResizeEnded { // the latter if its container ends next
		l.warnings.preemptedNow = append(l.warnings.preemptedNow, loss{a.queue, l.nodes.list[r.node].label, r.size, true})
	}
	if r.members > 0 {
		l.gangs.ganged(a)
	}
}

// madeInRound returns what a leaf has reserved on the nodes of a label by a round of preemption in the
// entry.
func (l *reservations) madeInRound(leaf int32, label string) (sum yarn.Resource) {
	for i := range l.list {
		r := &l.list[i]
		if r.made == l.index && slices.Contains(l.awaited, r.number) && l.apps.list[r.app].queue == leaf &&
			l.nodes.list[r.node].label == label {
			sum = sum.Add(r.size)
		}
	}
	return sum
}

// leave removes a reservation from its node. If it is not held, leave returns nil and records a
// violation.
func (l *reservations) leave(number uint64, what string) *reservation {
	i := l.reservationIndex(number)
	if i < 0 {
		l.violate("S8", nil, "r%d is %s and is not held", number, what)
		return nil
	}
	r := l.list[i]
	l.warnings.noWarningsFor(&r, what)
	l.leases.endLeases(&r)
	l.list = slices.Delete(l.list, i, i+1)
	l.ends = append(l.ends, end{number, l.index})
	l.apps.list[r.app].holds--
	if n := &l.nodes.list[r.node]; n.reservation == number {
		n.reservation = 0
	} else {
		l.violate("S8", r.chain(l.nouns), "r%d is %s, node %s is held by r%d", number, what, n.id, n.reservation)
	}
	return &r
}
