package state

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"rmd/fsm/event"
	"rmd/fsm/state/change"
	"rmd/yarn"
)

// seen has what readers learn from changes, read from a state instead: which containers live, which
// reservations and warnings there are, and in which state applications, attempts and nodes are.
type seen struct {
	live         map[event.ContainerRef]yarn.Resource
	onNode       map[event.ContainerRef]bool
	reservations map[uint64]uint32 // application by number
	warned       map[event.ContainerRef]uint64
	apps         map[uint32]string
	nodes        map[NodeSlot]string
}

func see(s *State) seen {
	v := seen{map[event.ContainerRef]yarn.Resource{}, map[event.ContainerRef]bool{}, map[uint64]uint32{},
		map[event.ContainerRef]uint64{}, map[uint32]string{}, map[NodeSlot]string{}}
	s.Containers.Each(func(slot ContainerSlot, c *Container) bool {
		if c.State.Live() {
			v.live[s.Apps.Ref(c)] = c.Size
		}
		if c.OnNode {
			v.onNode[s.Apps.Ref(c)] = true
		}
		if s.Preemptions.Has(slot) {
			v.warned[s.Apps.Ref(c)] = s.Preemptions.Get(slot).Reservation
		}
		return true
	})
	s.Reservations.Each(func(_ ReservationSlot, r *Reservation) bool {
		v.reservations[r.Number] = s.Apps.Get(r.App).ID.Seq
		return true
	})
	s.Apps.Each(func(_ AppSlot, a *App) bool {
		if v.apps[a.ID.Seq] = "ended"; !a.State.Ended() {
			v.apps[a.ID.Seq] = fmt.Sprint(a.Attempt, a.AttemptState, a.Queue, a.Priority)
		}
		return true
	})
	s.Nodes.Each(func(slot NodeSlot, n *Node) bool {
		v.nodes[slot] = fmt.Sprint(n.ID, n.State, n.Total, n.Silent())
		return true
	})
	return v
}

// checkChanges compares the changes of an event with the difference between the states before and
// after it.
func checkChanges(before, after seen, changes []change.Change) error {
	apps, nodes := map[uint32]bool{}, map[NodeSlot]bool{}
	for i := range changes {
		c := &changes[i]
		apps[c.Ref.App], nodes[c.Node] = true, true
		switch c.Kind {
		case change.ContainerStarted, change.ContainerRecovered:
			if _, had := before.live[c.Ref]; had {
				return fmt.Errorf("container %v had started before", c.Ref)
			}
			before.live[c.Ref], before.onNode[c.Ref] = after.live[c.Ref], true
		case change.ContainerEnded:
			if _, had := before.live[c.Ref]; !had {
				return fmt.Errorf("container %v had ended before", c.Ref)
			}
			delete(before.live, c.Ref)
		case change.ContainerResized:
			before.live[c.Ref] = after.live[c.Ref]
		case change.ReservationOpened:
			before.reservations[c.Number] = c.Ref.App
		case change.ReservationClosed:
			if before.reservations[c.Number] != c.Ref.App {
				return fmt.Errorf("r%d was of application %d, not of %d", c.Number, before.reservations[c.Number], c.Ref.App)
			}
			delete(before.reservations, c.Number)
		case change.WarningBegun:
			before.warned[c.Ref] = c.Number
		case change.WarningEnded:
			delete(before.warned, c.Ref)
		}
		if c.Left {
			delete(before.onNode, c.Ref)
		}
	}
	switch {
	case !maps.Equal(before.live, after.live):
		return fmt.Errorf("%v live, by the changes %v", after.live, before.live)
	case !maps.Equal(before.onNode, after.onNode):
		return fmt.Errorf("%v are on nodes, by the changes %v", after.onNode, before.onNode)
	case !maps.Equal(before.reservations, after.reservations):
		return fmt.Errorf("reservations %v, by the changes %v", after.reservations, before.reservations)
	case !maps.Equal(before.warned, after.warned):
		return fmt.Errorf("%v are warned, by the changes %v", after.warned, before.warned)
	}
	for app, is := range after.apps {
		if before.apps[app] != is && !apps[app] {
			return fmt.Errorf("application %d was %q, is %q, and no change names it", app, before.apps[app], is)
		}
	}
	for node, is := range after.nodes {
		if before.nodes[node] != is && !nodes[node] {
			return fmt.Errorf("node %d was %q, is %q, and no change names it", node, before.nodes[node], is)
		}
	}
	return nil
}

// TestChangesResolve checks that changes name the slots and the values that their events do not
// have.
func TestChangesResolve(t *testing.T) {
	s := world(t)
	apply(t, s, ask(1, k1, 3, 6), allocated(1, 1, k1, 1))
	app := s.Apps.Find(1)
	a := s.Apps.Get(app)
	user, queue := a.UserSlot, a.Queue
	apply(t, s, &event.ReservationMade{Reservation: 1, App: 1, Number: 2, Key: k1, Node: 1})
	opened := s.Changes()[0]
	apply(t, s, &event.ContainerCompleted{Container: ref(1, 1), ExitStatus: 3})
	ended := slices.Clone(s.Changes())
	apply(t, s, &event.ReservationFulfilled{Reservation: 1, Locality: yarn.OffSwitch})
	fulfilled := slices.Clone(s.Changes())
	if opened.Kind != change.ReservationOpened || opened.Reservation == 0 || opened.Ref != ref(1, 2) || opened.Ask == 0 {
		t.Errorf("a reservation: %+v", opened)
	}
	if len(ended) != 1 || ended[0].Kind != change.ContainerEnded || !ended[0].Left || ended[0].Exit != 3 ||
		ended[0].Key != k1 || ended[0].Node != 1 {
		t.Errorf("a completion: %+v", ended)
	}
	if len(fulfilled) != 2 || fulfilled[0].Kind != change.ReservationClosed || fulfilled[0].Cancelled != 0 ||
		fulfilled[1].Kind != change.ContainerStarted {
		t.Fatalf("a fulfilment: %+v", fulfilled)
	}
	for _, c := range fulfilled {
		if c.App != app || c.User != user || c.Queue != queue || c.Node != 1 || c.Ref != ref(1, 2) || c.Key != k1 {
			t.Errorf("a fulfilment names %+v", c)
		}
	}
	apply(t, s, &event.ResponseRecorded{App: 1, Response: 1})
	if len(s.Changes()) != 0 {
		t.Errorf("a response changes %+v", s.Changes())
	}
}

// TestChangesDoNotAllocate checks that an event that starts or ends a container allocates no memory
// for its changes.
func TestChangesDoNotAllocate(t *testing.T) {
	s := world(t)
	apply(t, s, ask(1, k1, 1, 1))
	c := &Container{App: s.Apps.Find(1)}
	if n := testing.AllocsPerRun(100, func() {
		s.changes = s.changes[:0]
		s.changeContainer(change.ContainerStarted, 1, c)
	}); n > 0 {
		t.Errorf("%v allocations for a change", n)
	}
}
