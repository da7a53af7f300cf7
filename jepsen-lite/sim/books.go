package sim

import (
	"fmt"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/yarn"
)

// books are the checker's own: who has what, from the events alone. They share no
// code with the state machine.
type books struct {
	apps         map[uint32]*appBook
	names        map[string]uint32 // every application is submitted under a name of its own
	nodes        map[uint32]*nodeBook
	containers   map[event.ContainerRef]*containerBook // every id ever given
	present      map[event.ContainerRef]*containerBook // those that live, or that a node holds
	reservations map[uint64]*reservationBook           // those held
	lastNumber   uint64                                // of a reservation
}

type appBook struct {
	name, user, queue string
	priority          int32
	attempt           uint32
	ended             bool
	sizes             map[yarn.SchedulerKey]yarn.Resource
}

type nodeBook struct {
	id          yarn.NodeID
	total, used yarn.Resource
	reservation uint64
}

type containerBook struct {
	node     uint32
	size     yarn.Resource
	am       bool
	promised bool // by a reservation: it exists when that is fulfilled
	live     bool
	onNode   bool
}

type reservationBook struct {
	app, node uint32
	key       yarn.SchedulerKey
	container event.ContainerRef
	size      yarn.Resource
}

func newBooks() *books {
	return &books{apps: map[uint32]*appBook{}, names: map[string]uint32{}, nodes: map[uint32]*nodeBook{},
		containers: map[event.ContainerRef]*containerBook{}, present: map[event.ContainerRef]*containerBook{}, reservations: map[uint64]*reservationBook{}}
}

// follow enters an event; an error is a violation.
func (b *books) follow(e event.Event, n *counts) error {
	switch e := e.(type) {
	case *event.ApplicationSubmitted:
		if b.apps[e.App] != nil || b.names[e.Name] != 0 {
			return fmt.Errorf("S5: application %d (%s) is submitted twice", e.App, e.Name)
		}
		b.apps[e.App] = &appBook{name: e.Name, user: e.User, queue: e.Queue, priority: e.Priority, sizes: map[yarn.SchedulerKey]yarn.Resource{}}
		b.names[e.Name] = e.App
	case *event.NodeRegistered:
		if b.nodes[e.Node] == nil {
			b.nodes[e.Node] = &nodeBook{id: e.ID}
		}
		b.nodes[e.Node].total = e.Total
	case *event.NodeResourceChanged:
		b.nodes[e.Node].total = e.Total
	case *event.NodeStateChanged:
		if e.State == yarn.NodeLost {
			n.expired++
		}
	case *event.ContainerAllocated, *event.ContainerReleased, *event.ContainerCompleted:
		return b.followContainer(e, n)
	case *event.ReservationMade, *event.ReservationFulfilled, *event.ReservationCancelled:
		return b.followReservation(e, n)
	default:
		if _, over := e.(*event.ApplicationEnded); over {
			n.over++
		}
		return b.followApp(e)
	}
	return nil
}

func (b *books) followApp(e event.Event) error {
	of := func(seq uint32) *appBook {
		if a := b.apps[seq]; a != nil {
			return a
		}
		return &appBook{sizes: map[yarn.SchedulerKey]yarn.Resource{}}
	}
	switch e := e.(type) {
	case *event.ApplicationMoved:
		of(e.App).queue = e.Queue
	case *event.ApplicationReprioritized:
		of(e.App).priority = e.Priority
	case *event.ApplicationEnded:
		if of(e.App).ended {
			return fmt.Errorf("S10: application %d ends twice", e.App)
		}
		of(e.App).ended = true
	case *event.AttemptStarted:
		if a := of(e.App); e.Attempt != a.attempt {
			a.attempt = e.Attempt
			clear(a.sizes)
		}
	case *event.AskChanged:
		if e.Name == yarn.Any {
			of(e.App).sizes[e.Key] = e.Size
		}
	}
	return nil
}

func (b *books) followContainer(e event.Event, n *counts) error {
	switch e := e.(type) {
	case *event.ContainerAllocated:
		n.allocated++
		a, node := b.apps[e.App], b.nodes[e.Node]
		if a == nil || node == nil {
			return fmt.Errorf("S10: %+v names an unknown application or node", e)
		}
		ref := event.ContainerRef{App: e.App, Attempt: a.attempt, Number: e.Number}
		if b.containers[ref] != nil {
			return fmt.Errorf("S6: container id %+v is given twice", ref)
		}
		if node.reservation != 0 {
			return fmt.Errorf("S8: %+v on %s, which r%d holds", e, node.id, node.reservation)
		}
		b.containers[ref] = &containerBook{node: e.Node, size: a.sizes[e.Key], am: e.AM, live: true, onNode: true}
		b.present[ref] = b.containers[ref]
		node.used = node.used.Add(a.sizes[e.Key])
	case *event.ContainerReleased:
		c := b.containers[e.Container]
		if c == nil || !c.live {
			return fmt.Errorf("S10: %+v of a container that does not live", e)
		}
		c.live = false
	case *event.ContainerCompleted:
		c := b.containers[e.Container]
		if c == nil || !c.onNode {
			return fmt.Errorf("S10: %+v of a container that no node holds", e)
		}
		if c.live && e.ExitStatus != yarn.ExitSuccess {
			n.lost++
		}
		c.live, c.onNode = false, false
		delete(b.present, e.Container)
		b.nodes[c.node].used = b.nodes[c.node].used.Sub(c.size)
	}
	return nil
}

func (b *books) followReservation(e event.Event, n *counts) error {
	switch e := e.(type) {
	case *event.ReservationMade:
		n.made++
		a, node := b.apps[e.App], b.nodes[e.Node]
		if a == nil || node == nil {
			return fmt.Errorf("S10: %+v names an unknown application or node", e)
		}
		ref := event.ContainerRef{App: e.App, Attempt: a.attempt, Number: e.Number}
		switch {
		case e.Reservation <= b.lastNumber:
			return fmt.Errorf("S8: reservation number %d after %d", e.Reservation, b.lastNumber)
		case b.containers[ref] != nil:
			return fmt.Errorf("S6: container id %+v is given twice, to r%d", ref, e.Reservation)
		case node.reservation != 0:
			return fmt.Errorf("S8: %s is reserved by r%d and by r%d", node.id, node.reservation, e.Reservation)
		}
		b.lastNumber, node.reservation = e.Reservation, e.Reservation
		b.containers[ref] = &containerBook{node: e.Node, size: a.sizes[e.Key], am: e.AM, promised: true}
		b.reservations[e.Reservation] = &reservationBook{app: e.App, node: e.Node, key: e.Key, container: ref, size: a.sizes[e.Key]}
	case *event.ReservationFulfilled:
		n.fulfilled++
		r := b.reservations[e.Reservation]
		if r == nil {
			return fmt.Errorf("S8: r%d is fulfilled and is not held", e.Reservation)
		}
		b.leave(e.Reservation)
		c := b.containers[r.container]
		c.promised, c.live, c.onNode = false, true, true
		b.present[r.container] = c
		b.nodes[r.node].used = b.nodes[r.node].used.Add(r.size)
	case *event.ReservationCancelled:
		n.cancelled++
		if e.Cause == yarn.CancelExchanged {
			n.exchanged++
		}
		if b.reservations[e.Reservation] == nil {
			return fmt.Errorf("S8: r%d is cancelled and is not held", e.Reservation)
		}
		b.leave(e.Reservation)
	}
	return nil
}

func (b *books) leave(number uint64) {
	b.nodes[b.reservations[number].node].reservation = 0
	delete(b.reservations, number)
}

// balance holds between entries: no node gives more than it has.
func (b *books) balance(dominant bool) error {
	for _, n := range b.nodes {
		if n.used[yarn.Memory] > n.total[yarn.Memory] || (dominant && !n.used.Within(n.total)) {
			return fmt.Errorf("S7: %s gives %s of %s", n.id, n.used, n.total)
		}
		if n.used.Negative() {
			return fmt.Errorf("S7: %s gives %s", n.id, n.used)
		}
	}
	return nil
}

// differ compares a state with the books.
func (b *books) differ(st *state.State) []string {
	var out []string
	bad := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	seen := 0
	st.Reservations.Each(func(_ uint32, r *state.Reservation) bool {
		seen++
		a := st.Apps.Get(r.App)
		got := reservationBook{app: a.ID.Seq, node: r.Node, key: r.Key, size: r.Size,
			container: event.ContainerRef{App: a.ID.Seq, Attempt: r.Attempt, Number: r.Container}}
		switch want := b.reservations[r.Number]; {
		case want == nil:
			bad("the state holds r%d %+v, which is over", r.Number, got)
		case *want != got:
			bad("the state holds r%d as %+v, it was made as %+v", r.Number, got, *want)
		}
		return true
	})
	if seen != len(b.reservations) {
		bad("the state holds %d reservations, %d were made and are not over", seen, len(b.reservations))
	}
	st.Nodes.Each(func(slot uint32, n *state.Node) bool {
		if want := b.nodes[slot]; want == nil || want.id != n.ID || want.used != n.Allocated || want.total != n.Total {
			bad("the state has node %s with %s of %s given, the books %+v", n.ID, n.Allocated, n.Total, want)
		}
		return true
	})
	live := 0
	st.Containers.Each(func(_ uint32, c *state.Container) bool {
		if ref := st.Ref(c); c.State.Live() {
			live++
			if want := b.present[ref]; want == nil || !want.live {
				bad("container %+v lives in the state, the books have %+v", ref, want)
			}
		}
		return true
	})
	for _, c := range b.present {
		if c.live {
			live--
		}
	}
	if live != 0 {
		bad("the state has %d more living containers than the books", live)
	}
	st.Apps.Each(func(_ uint32, a *state.App) bool {
		if want := b.apps[a.ID.Seq]; want == nil || want.name != a.Details().Name || want.priority != a.Priority || want.ended != a.State.Ended() {
			bad("the state has %s as %s, priority %d, %s; the books %+v", a.ID, a.Details().Name, a.Priority, a.State, want)
		}
		return true
	})
	if st.Apps.Len() != len(b.apps) {
		bad("the state has %d applications, the books %d", st.Apps.Len(), len(b.apps))
	}
	return out
}
