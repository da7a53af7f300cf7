package state

import (
	"pgregory.net/rapid"

	"rmd/fsm/event"
	"rmd/yarn"
)

// Actions of the machine for leases.

func (m *machine) Lend(t *rapid.T) {
	a, k := m.wanting(t)
	node, n := pick(t, "reserved node", &m.s.Nodes, func(n *Node) bool {
		return n.State.Usable() && n.Reservation != 0 && m.s.Reservations.Get(n.Reservation).Members == 0 &&
			m.within(k.Size, n.Unallocated())
	})
	e := &event.ContainerLent{ContainerAllocated: event.ContainerAllocated{App: a.ID.Seq, Number: m.s.Meta.NextNumber(a),
		Key: k.Key, Node: node,
		Locality: yarn.OffSwitch, AM: k.AM}, Reservation: m.s.Reservations.Get(n.Reservation).Number,
		DeadlineMillis: event.NoLease}
	if !k.AM {
		e.DeadlineMillis = drawOf(t, "deadline", []int64{event.NoLease, 0, m.s.Meta.NowMillis + 5000})
	}
	m.apply(t, e)
}

func (m *machine) LendMore(t *rapid.T) { m.Lend(t) }

// Recall recalls a container with a lease.
func (m *machine) Recall(t *rapid.T) {
	slot, l := pick(t, "lease", &m.s.Leases, func(*Lease) bool { return true })
	if m.s.Preemptions.Has(slot) {
		t.Skip("it is asked for")
	}
	m.apply(t, &event.PreemptionAsked{Container: m.s.Apps.Ref(m.s.Containers.Get(slot)), Reservation: l.Reservation,
		Queue: "root.b.x",
		Cause: yarn.PreemptLease, DeadlineMillis: m.s.Meta.NowMillis + 100})
}
