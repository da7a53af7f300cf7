package summary

import (
	"fmt"
	"strings"
	"testing"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/yarn"
)

var (
	dominant = yarn.Calculator{Kinds: 3, Dominant: true}
	smallest = yarn.NewResource(1024, 1)
)

// roomState is a state with nodes of 8 GB, 8 vcores and 2 GPUs, named n1, n2, …
type roomState struct {
	t  testing.TB
	st *state.State
}

func newRoomState(t testing.TB, nodes int) *roomState {
	s := &roomState{t, state.New()}
	s.apply(&event.ClusterInitialized{ClusterID: "c", ClusterTimestamp: 1, Level: event.Level},
		&event.QueuesConfigured{Version: 1, Kinds: []string{"memory-mb", "vcores", "gpu"}, Dominant: true,
			Queues: []event.QueueDefinition{{Path: "root"}, {Path: "root.a", Leaf: true}}})
	for n := range nodes {
		s.apply(&event.NodeRegistered{Node: state.NodeSlot(n + 1), ID: nodeNamed(n + 1), HTTPPort: 1, Rack: "/r",
			Total: yarn.Resource{8192, 8, 2}, Version: "v"})
	}
	return s
}

func nodeNamed(n int) yarn.NodeID { return yarn.NodeID{Host: fmt.Sprint("n", n), Port: 1} }

func (s *roomState) apply(events ...event.Event) {
	s.t.Helper()
	for _, e := range events {
		if err := s.st.Apply(e); err != nil {
			s.t.Fatal(err)
		}
	}
}

// run gives a new application a container on a node.
func (s *roomState) run(app uint32, node state.NodeSlot, size yarn.Resource) {
	s.t.Helper()
	key := s.ask(app, size)
	s.apply(&event.ContainerAllocated{App: app, Number: 1, Key: key, Node: node, Locality: yarn.OffSwitch})
}

// reserve reserves a node for a new application.
func (s *roomState) reserve(app uint32, node state.NodeSlot, size yarn.Resource) {
	s.t.Helper()
	key := s.ask(app, size)
	s.apply(&event.ReservationMade{Reservation: 1, App: app, Number: 1, Key: key, Node: node})
}

func (s *roomState) ask(app uint32, size yarn.Resource) yarn.SchedulerKey {
	s.t.Helper()
	key := yarn.SchedulerKey{Priority: 1}
	s.apply(&event.ApplicationSubmitted{App: app, User: "u", Queue: "root.a", Unmanaged: true, MaxAttempts: 1},
		&event.AttemptStarted{App: app, Attempt: 1},
		&event.AttemptActivated{App: app}, &event.AttemptRegistered{App: app},
		&event.AskChanged{App: app, Key: key, Name: "*", Count: 1, Size: size, Relax: true})
	return key
}

// says compares the rooms, one label after the other, with "empty/serving" and the free resources
// and nodes of the largest kinds.
func (s *roomState) says(want ...string) {
	s.t.Helper()
	s.counts(dominant, want...)
}

func (s *roomState) counts(calc yarn.Calculator, want ...string) {
	s.t.Helper()
	rooms := RoomsOf(s.st, calc, smallest)
	for label := range rooms { // there may be more than labels
		r := &rooms[label]
		got := fmt.Sprintf("%d/%d", r.Empty, r.Serving)
		for _, l := range r.Largest() {
			got += fmt.Sprintf(" %s%v=%v", s.st.Nodes.Get(l.Slot).ID.Host, l.Kinds, l.Free[:3])
		}
		expected := "0/0"
		if label < len(want) {
			expected = want[label]
		}
		if got != expected {
			s.t.Errorf("label %d: %s, want %s", label, got, expected)
		}
	}
}

func TestRoomsAreOfOneNode(t *testing.T) {
	s := newRoomState(t, 0)
	s.says("0/0")
	s = newRoomState(t, 3)
	s.says("3/3 n1[0 1 2]=[8192 8 2]")
	// each node has most of another kind
	s.run(1, 1, yarn.Resource{1024, 7, 1})
	s.run(2, 2, yarn.Resource{4096, 1, 1})
	s.run(3, 3, yarn.Resource{6144, 4, 0})
	s.says("0/3 n1[0]=[7168 1 1] n2[1]=[4096 7 1] n3[2]=[2048 4 2]")
	rooms := RoomsOf(s.st, dominant, smallest)
	if got, want := rooms[0].Free(), (yarn.Resource{7168, 7, 2}); got != want {
		t.Errorf("Free() = %v, want %v", got, want)
	}
	// of two nodes with the same free memory, the one with more of the other kinds counts
	s = newRoomState(t, 2)
	s.run(1, 1, yarn.Resource{4096, 6, 0})
	s.run(2, 2, yarn.Resource{4096, 1, 0})
	s.says("0/2 n2[0 1 2]=[4096 7 2]")
}

func TestRoomsOfLabels(t *testing.T) {
	s := newRoomState(t, 4)
	s.apply(&event.LabelsSet{Labels: []event.Label{{Name: "x", Exclusive: true}, {Name: "none"}}},
		&event.NodesLabelled{Nodes: []event.LabelledNode{{ID: nodeNamed(2), Label: "x"}, {ID: nodeNamed(3), Label: "x"}}})
	s.run(1, 1, yarn.Resource{4096, 4, 1})
	s.run(2, 2, yarn.Resource{2048, 2, 2})
	s.run(3, 3, yarn.Resource{4096, 4, 0})
	s.says("1/2 n4[0 1 2]=[8192 8 2]", "0/2 n2[0 1]=[6144 6 0] n3[2]=[4096 4 2]", "0/0")
}

// TestNodesWithoutRoom checks each reason for which a node does not count. The other node, n2, is
// full but for 1 GB.
func TestNodesWithoutRoom(t *testing.T) {
	const left = " n2[0 1]=[1024 1 0]"
	for _, c := range []struct {
		what  string
		do    func(s *roomState)
		serve string
	}{
		{"nothing", func(*roomState) {}, "1/2 n1[0 1 2]=[8192 8 2]"},
		{"a reservation", func(s *roomState) {
			s.run(2, 1, yarn.Resource{1024, 1, 0})
			s.reserve(3, 1, yarn.Resource{8192, 8, 2})
		}, "0/2" + left},
		{"a reservation of an empty node", func(s *roomState) {
			s.run(2, 1, yarn.Resource{1024, 1, 0})
			s.reserve(3, 1, yarn.Resource{8192, 8, 2})
			s.apply(&event.ContainerCompleted{Container: event.ContainerRef{App: 2, Attempt: 1, Number: 1}})
		}, "0/2" + left},
		{"a drain", func(s *roomState) { s.state(yarn.NodeDecommissioning, "") }, "0/1" + left},
		{"an unhealthy node", func(s *roomState) { s.state(yarn.NodeUnhealthy, "disk") }, "0/1" + left},
		{"a lost node", func(s *roomState) { s.state(yarn.NodeLost, "") }, "0/1" + left},
		{"a node that must register", func(s *roomState) { s.state(yarn.NodeRunning, state.TakenBack) }, "0/1" + left},
		{"too few vcores", func(s *roomState) { s.run(2, 1, yarn.Resource{1024, 8, 0}) }, "0/2" + left},
		{"an over-committed kind that no container needs", func(s *roomState) {
			s.run(2, 1, yarn.Resource{1024, 1, 2})
			s.apply(&event.NodeResourceChanged{Node: 1, Total: yarn.Resource{8192, 8, 1}, Set: true})
		}, "0/2" + left},
		{"an empty node that is too small", func(s *roomState) {
			s.apply(&event.NodeResourceChanged{Node: 1, Total: yarn.Resource{512, 8, 2}, Set: true})
		}, "1/2" + left},
	} {
		t.Run(strings.ReplaceAll(c.what, " ", "-"), func(t *testing.T) {
			s := newRoomState(t, 2)
			s.run(1, 2, yarn.Resource{7168, 7, 2})
			c.do(s)
			s.says(c.serve)
		})
	}
}

func (s *roomState) state(to yarn.NodeState, report string) {
	s.t.Helper()
	s.apply(&event.NodeStateChanged{Node: 1, State: to, Report: report})
}

// TestRoomsBlocked checks that the room which a reservation misses on its node is blocked on others.
func TestRoomsBlocked(t *testing.T) {
	s := newRoomState(t, 2)
	s.run(1, 1, yarn.Resource{6144, 4, 0})
	if b := RoomsOf(s.st, dominant, smallest)[0].Blocked; !b.IsZero() {
		t.Errorf("without reservations %v is blocked", b)
	}
	s.reserve(2, 1, yarn.Resource{7168, 2, 1})
	if b := RoomsOf(s.st, dominant, smallest)[0].Blocked; b != (yarn.Resource{5120, 0, 0}) {
		t.Errorf("%v is blocked, want the 5 GiB that the reservation misses", b)
	}
	s.run(3, 2, yarn.Resource{4096, 1, 0})
	if b := RoomsOf(s.st, dominant, smallest)[0].Blocked; b != (yarn.Resource{4096, 0, 0}) {
		t.Errorf("%v is blocked, want all that is free on the other node", b)
	}
}

// TestRoomsOfMemoryAlone checks that a node whose vcores are over-committed counts if the cluster
// schedules by memory alone, and that it has no vcores free instead of fewer than none.
func TestRoomsOfMemoryAlone(t *testing.T) {
	s := newRoomState(t, 1)
	s.run(1, 1, yarn.Resource{1024, 8, 0})
	s.apply(&event.NodeResourceChanged{Node: 1, Total: yarn.Resource{8192, 4, 2}, Set: true})
	s.counts(yarn.Calculator{Kinds: 3}, "0/1 n1[0 2]=[7168 0 2]")
}

// TestRoomsAreCountedOnce checks that the viewers of one state share its rooms.
func TestRoomsAreCountedOnce(t *testing.T) {
	s := newRoomState(t, 1)
	k := &Keeper{}
	defer k.Close()
	first := k.At(s.st, 1).Rooms(dominant, smallest)
	if again := k.At(s.st, 1).Rooms(dominant, smallest); &again[0] != &first[0] {
		t.Error("the rooms of one state were computed twice")
	}
	later := s.st.Fork()
	if other := k.At(later, 2).Rooms(dominant, smallest); &other[0] == &first[0] {
		t.Error("the rooms of another state are those of the first")
	}
}

// BenchmarkRooms measures the rooms of 10,000 nodes. Budget: 5 ms.
func BenchmarkRooms(b *testing.B) {
	s := newRoomState(b, 10_000)
	b.ReportAllocs()
	for b.Loop() {
		RoomsOf(s.st, dominant, smallest)
	}
}
