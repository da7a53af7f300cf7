package ledger

import (
	"cmp"
	"slices"

	"rmd/fsm/event"
	"rmd/yarn"
)

// reservation is one that is held.
type reservation struct {
	number    uint64
	app       int32
	node      uint32
	attempt   uint32
	container uint64
	key       yarn.SchedulerKey
	size      yarn.Resource
	am        bool
	made      uint64
	grows     bool // its container runs, and is to grow
}

// end is how a reservation ended.
type end struct{ number, index uint64 }

func (r *reservation) chain(m *Model) []Step {
	if r == nil {
		return nil
	}
	a := &m.apps[r.app]
	return []Step{m.step(r.made, "r%d holds node %s for %s of %s", r.number, m.nodeName(r.node), a.id(r.attempt, r.container), r.size)}
}

// held finds a reservation's place by number; -1 when it is not held.
func (m *Model) held(number uint64) int {
	i, ok := slices.BinarySearchFunc(m.reservations, number, func(r reservation, n uint64) int { return cmp.Compare(r.number, n) })
	if !ok {
		return -1
	}
	return i
}

func (m *Model) reservation(number uint64) *reservation {
	if i := m.held(number); i >= 0 {
		return &m.reservations[i]
	}
	return nil
}

func (m *Model) reserved(e *event.ReservationMade) {
	a := m.app(e.App)
	if a == nil || !m.takeNumber(a, e.Number) {
		return
	}
	m.Counts.Reservations++
	id := a.id(a.attempt, e.Number)
	n, ok := m.node(e.Node)
	if !ok {
		m.bad("S8", nil, "r%d reserves node %d, which there is not", e.Reservation, e.Node)
		return
	}
	if n.reservation != 0 {
		m.bad("S8", m.reservation(n.reservation).chain(m), "node %s is held by r%d and by r%d", n.id, n.reservation, e.Reservation)
		return
	}
	if e.Reservation <= m.lastReserved {
		m.bad("S6", nil, "reservation r%d is made after r%d", e.Reservation, m.lastReserved)
		return
	}
	k := m.askOf(a, e.Key, id)
	if k == nil {
		return
	}
	m.auditReservation(a, k, n, e.Reservation)
	m.lastReserved = e.Reservation
	m.reservations = append(m.reservations, reservation{number: e.Reservation, app: m.find(e.App), node: e.Node, attempt: a.attempt,
		container: e.Number, key: e.Key, size: k.size, am: e.AM, made: m.index})
	n.reservation = e.Reservation
	k.holds++
	a.holds++
	m.charge(a, k.size, k.size)
}

// auditReservation holds a new reservation against rule 10.1: the container is
// not larger than the node, and does not fit what is free on it.
func (m *Model) auditReservation(a *app, k *ask, n *node, number uint64) {
	m.Counts.Decisions++
	room := n.total.Sub(n.used)
	switch {
	case !n.state.Usable():
		m.bad("S8", nil, "r%d reserves %s, which is %s", number, n.id, n.state)
	case !m.fits(k.size, n.total):
		m.bad(Audit, nil, "r%d reserves %s of %s for %s", number, n.id, n.total, k.size)
	case m.fits(k.size, room):
		m.bad(Audit, nil, "r%d reserves %s for %s, and %s is free there", number, n.id, k.size, room)
	case !m.fits(m.rules.minimum, room):
		m.bad(Audit, nil, "r%d reserves %s, where %s is free and the smallest container is %s", number, n.id, room, m.rules.minimum)
	case slices.Contains(a.black, n.id.Host) || slices.Contains(a.black, n.rack):
		m.bad(Audit, nil, "r%d reserves %s, which its application refuses", number, n.id)
	}
}

// renumber has what is held promise containers of a new epoch: S6.
func (m *Model) renumber() {
	for i := range m.reservations {
		r := &m.reservations[i]
		if r.grows {
			continue
		}
		a := &m.apps[r.app]
		a.lastNumber = max(a.lastNumber, yarn.ContainerNumber(m.epoch, 0)) + 1
		r.container = a.lastNumber
	}
}

func (m *Model) fulfilled(e *event.ReservationFulfilled) {
	r := m.leave(e.Reservation, "fulfilled")
	if r == nil {
		return
	}
	if r.grows {
		m.fulfilledGrowth(r)
		return
	}
	a, n := &m.apps[r.app], &m.nodes[r.node]
	id := a.id(r.attempt, r.container)
	if at, ok := a.place(r.attempt, r.container); ok {
		m.bad("S6", a.life(m, &a.containers[at]), "%s, which r%d promised, was given before", id, r.number)
		return
	}
	m.Counts.Decisions++
	if room := n.total.Sub(n.used); !m.fits(r.size, room) {
		m.bad("S7", append(r.chain(m), m.onNode(n)...), "r%d becomes %s of %s on %s, which has %s free of %s", r.number, id, r.size, n.id, room, n.total)
	}
	if !n.state.Usable() {
		m.bad("S8", r.chain(m), "r%d is fulfilled on %s, which is %s", r.number, n.id, n.state)
	}
	k := m.askOf(a, r.key, id)
	if k == nil {
		return
	}
	if k.size != r.size {
		m.bad("S8", r.chain(m), "r%d of %s is fulfilled, the ask is of %s", r.number, r.size, k.size)
	}
	k.holds--
	a.use(k, n, e.Locality)
	m.changed(a)
	m.place(a, r.node, container{attempt: r.attempt, number: r.container, node: r.node, key: r.key, size: r.size, locality: e.Locality, am: r.am})
	m.charge(a, none1, none1.Sub(r.size))
}

func (m *Model) cancelled(e *event.ReservationCancelled) {
	r := m.leave(e.Reservation, "cancelled")
	if r == nil {
		return
	}
	if e.Cause < yarn.CancelAskGone || e.Cause > yarn.CancelOperator {
		m.bad(Audit, r.chain(m), "r%d is cancelled for no cause there is (%d)", r.number, e.Cause)
	}
	a := &m.apps[r.app]
	if k := a.ask(r.key); k != nil && !r.grows {
		k.holds--
		a.settle(k)
	}
	m.charge(a, none1.Sub(r.size), none1.Sub(r.size))
}

// leave takes a reservation off its node; nil, and a violation, when it is not
// held.
func (m *Model) leave(number uint64, what string) *reservation {
	i := m.held(number)
	if i < 0 {
		m.bad("S8", nil, "r%d is %s and is not held", number, what)
		return nil
	}
	r := m.reservations[i]
	m.reservations = slices.Delete(m.reservations, i, i+1)
	m.ends = append(m.ends, end{number, m.index})
	m.apps[r.app].holds--
	if n := &m.nodes[r.node]; n.reservation == number {
		n.reservation = 0
	} else {
		m.bad("S8", r.chain(m), "r%d is %s, node %s is held by r%d", number, what, n.id, n.reservation)
	}
	return &r
}
