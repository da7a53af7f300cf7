// Package statediff compares a replica's state with the ledger of the same log. Both simulations
// use it. The ledger itself does not import the state.
package statediff

import (
	"fmt"
	"slices"

	"rmd/fsm/state"
	"rmd/jepsen-lite/ledger"
	"rmd/jepsen-lite/ledger/owed"
	"rmd/yarn"
)

// Difference is a difference between a state and the ledger.
type Difference struct {
	ID   string // the invariant that it violates
	Text string
}

// Of returns the differences. The state and the ledger must be at the same index.
func Of(st *state.State, l *ledger.Ledger) []Difference {
	d := &differ{st: st, l: l}
	d.applications()
	d.containers()
	d.nodes()
	d.queues()
	d.dynamicQueues()
	d.reservations()
	d.warnings()
	d.debts()
	d.kept()
	d.compareAskLabels()
	return d.found
}

type differ struct {
	st    *state.State
	l     *ledger.Ledger
	found []Difference
}

func (d *differ) report(id, format string, args ...any) {
	d.found = append(d.found, Difference{id, fmt.Sprintf(format, args...)})
}

func (d *differ) applications() {
	d.st.Apps.Each(func(_ state.AppSlot, a *state.App) bool {
		want, ok := d.l.AppByID(a.ID)
		if !ok || want.Forgotten || want.Name != a.Details().Name || want.Priority() != a.Priority ||
			want.State.Ended() != a.State.Ended() {
			d.report("S9", "the state has %s as %s, priority %d, %s; the ledger %+v", a.ID, a.Details().Name, a.Priority,
				a.State, want)
		}
		return true
	})
	if n := d.st.Apps.Len(); n != d.l.Applications() {
		d.report("S9", "the state has %d applications, the ledger %d", n, d.l.Applications())
	}
}

func (d *differ) containers() {
	live, placed := 0, 0
	d.st.Containers.Each(func(_ state.ContainerSlot, c *state.Container) bool {
		if c.State.Live() {
			live++
		}
		if c.OnNode {
			placed++
		}
		ref, node := d.st.Apps.Ref(c), d.st.Nodes.Get(c.Node).ID
		if want, ok := d.l.ContainerByRef(ref); !ok || want.Live != c.State.Live() || want.OnNode != c.OnNode ||
			want.Size != c.Size || want.Node != node {
			d.report("S9", "container %+v is %s of %s on node %s, at it %v; the ledger has %+v", ref, c.State, c.Size, node,
				c.OnNode, want)
		}
		return true
	})
	if live != d.l.Live() || placed != d.l.Placed() {
		d.report("S9", "the state has %d live containers, %d on their nodes; the ledger has %d and %d", live, placed,
			d.l.Live(), d.l.Placed())
	}
}

func (d *differ) nodes() {
	d.st.Nodes.Each(func(slot state.NodeSlot, n *state.Node) bool {
		got := ledger.Node{ID: n.ID, Label: d.st.Labels.Name(n.Label), Total: n.Total, Used: n.Allocated}
		if n.Reservation != 0 {
			got.Reservation = d.st.Reservations.Get(n.Reservation).Number
		}
		if want, ok := d.l.Node(slot); !ok || want != got {
			d.report("S7", "the state has node %+v, the ledger %+v", got, want)
		}
		return true
	})
}

func (d *differ) queues() {
	labels := []state.LabelSlot{0}
	d.st.Labels.Each(func(slot state.LabelSlot, _ *state.Label) bool {
		labels = append(labels, slot)
		return true
	})
	d.st.Queues.Each(func(slot state.QueueSlot, q *state.Queue) bool {
		for _, label := range labels {
			has := d.st.QueueUse(slot, label)
			if used, reserved, _ := d.l.Queue(q.Path, d.st.Labels.Name(label)); used != has.Used || reserved != has.Reserved {
				d.report("S9", "the state has queue %s with %s used, %s reserved of label %q; the ledger with %s and %s", q.Path,
					has.Used, has.Reserved, d.st.Labels.Name(label), used, reserved)
			}
		}
		return true
	})
}

// dynamicQueues compares the dynamic queues: a removed one must not remain, and a leaf of a managed
// parent has its capacity or not.
func (d *differ) dynamicQueues() {
	all := d.l.DynamicQueues()
	for _, want := range all {
		slot := d.st.Queues.Find(want.Path)
		if slot == 0 || !d.st.DynamicQueues.Has(slot) {
			d.report("S9", "the ledger has the dynamic queue %s, the state has none", want.Path)
		} else if active := d.st.DynamicQueues.Get(slot).Active; active != want.Active {
			d.report("S9", "the state has the dynamic queue %s active: %v; the ledger: %v", want.Path, active, want.Active)
		}
	}
	if n := d.st.DynamicQueues.Len(); n != len(all) {
		d.report("S9", "the state has %d dynamic queues, the ledger %d", n, len(all))
	}
}

// compareAskLabels compares the labels of the asks.
func (d *differ) compareAskLabels() {
	d.st.Asks.Each(func(_ state.AskSlot, k *state.Ask) bool {
		if k.IncreaseOf != 0 || k.Count == 0 {
			return true
		}
		seq := d.st.Apps.Get(k.App).ID.Seq
		if want, ok := d.l.AskLabel(seq, k.Key); !ok || want != d.st.Labels.Name(k.Label) {
			d.report("S9", "the state has an ask of application %d under %+v of label %q; the ledger of %q", seq, k.Key,
				d.st.Labels.Name(k.Label), want)
		}
		return true
	})
}

// warnings compares the standing warnings: container, reservation, queue and deadline.
func (d *differ) warnings() {
	d.st.Preemptions.Each(func(slot state.ContainerSlot, p *state.Preemption) bool {
		ref := d.st.Apps.Ref(d.st.Containers.Get(slot))
		got := ledger.Warning{Reservation: p.Reservation, Queue: p.Queue, DeadlineMillis: p.DeadlineMillis}
		if want, ok := d.l.Warning(ref); !ok || want != got {
			d.report("S17", "the state has container %+v warned as %+v, the ledger as %+v", ref, got, want)
		}
		return true
	})
	if n := d.st.Preemptions.Len(); n != d.l.Warnings() {
		d.report("S17", "the state has %d warnings, the ledger %d", n, d.l.Warnings())
	}
}

// debts compares the leaves that wait for their guarantees: since when, and whether they are overdue.
func (d *differ) debts() {
	n, list := 0, d.l.Owed().List
	d.st.Debts.Each(func(slot state.QueueSlot, debts *state.Debts) bool {
		for _, got := range *debts {
			path, label := d.st.Queues.Get(slot).Path, d.st.Labels.Name(got.Label)
			n++
			if !slices.ContainsFunc(list, func(o owed.Debt) bool {
				return o.Path == path && o.Label == label && o.SinceMillis == got.SinceMillis && o.Overdue == got.Overdue
			}) {
				d.report("L7", "the state has the debt %+v to %s, the ledger has %+v", got, path, list)
			}
		}
		return true
	})
	if n != len(list) {
		d.report("L7", "the state has %d debts, the ledger %+v", n, list)
	}
}

// kept compares what is kept of the guarantees of leaves, and when they last used as much.
func (d *differ) kept() {
	n, list := 0, d.l.Owed().Kept
	d.st.Kept.Each(func(slot state.QueueSlot, keeps *state.Keeps) bool {
		for _, got := range *keeps {
			path, label := d.st.Queues.Get(slot).Path, d.st.Labels.Name(got.Label)
			n++
			if !slices.ContainsFunc(list, func(k owed.Kept) bool {
				return k.Path == path && k.Label == label && k.Size == got.Size &&
					k.ReachedMillis == got.ReachedMillis && k.IdleLeft == got.IdleLeft
			}) {
				d.report("L7", "the state keeps %+v for %s, the ledger %+v", got, path, list)
			}
		}
		return true
	})
	if n != len(list) {
		d.report("L7", "the state keeps something for %d leaves, the ledger %+v", n, list)
	}
}

func (d *differ) reservations() {
	d.st.Reservations.Each(func(_ state.ReservationSlot, r *state.Reservation) bool {
		id := d.st.Apps.Get(r.App).ID
		want, ok := d.l.Held(r.Number)
		container := yarn.ContainerID{App: id, Attempt: r.Attempt, Number: r.Container}
		if !ok || want.App != id || want.Node != r.Node || want.Key != r.Key || want.Size != r.Size ||
			want.Container != container {
			d.report("S8", "the state has r%d of %s on node %d for %s of %s; the ledger %+v", r.Number, id, r.Node,
				container, r.Size, want)
		}
		return true
	})
	if n := d.st.Reservations.Len(); n != d.l.Reservations() {
		d.report("S8", "the state has %d reservations, the ledger %d", n, d.l.Reservations())
	}
}
