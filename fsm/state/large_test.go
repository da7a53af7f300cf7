package state

import (
	"bytes"
	"errors"
	"testing"

	"rmd/fsm/event"
	"rmd/fsm/state/table"
	"rmd/yarn"
)

// box returns a size in MiB and vcores, with an amount of each further kind.
func box(mib, vcores int64, more ...int64) yarn.Resource {
	r := yarn.NewResource(mib, vcores)
	copy(r[2:], more)
	return r
}

// asked returns an event by which application 1 asks for one container of a size.
func asked(size yarn.Resource) *event.AskChanged {
	return &event.AskChanged{App: 1, Key: k1, Name: yarn.Any, Count: 1, Size: size, Relax: true}
}

// roomy returns a world whose nodes 1 and 2 have 8 GiB and 8 vcores, without a label. Node 3 has
// label gpu, two GPUs, 32 GiB and 4 vcores; node 4 has label ssd, 4 GiB and 2 vcores.
func roomy(t failer, dominant bool) *State {
	s := labelled(t)
	e := tree(2, leaf("root.a"), parent("root.b"), leaf("root.b.x"), leaf("root.b.y"))
	e.Dominant, e.Kinds = dominant, append(yarn.DefaultKinds(), "yarn.io/gpu")
	apply(t, s, e, &event.TimeAdvanced{NowMillis: 5000},
		nodeUp(3, "h3", box(32<<10, 4, 2)), nodeUp(4, "h4", box(4<<10, 2)), on("h3", "gpu", "h4", "ssd"))
	return s
}

// TestLargeAllocated checks which containers are large: each is allocated on an empty node.
func TestLargeAllocated(t *testing.T) {
	for _, c := range []struct {
		name  string
		size  yarn.Resource
		node  NodeSlot
		large bool
		plain bool // with the default calculator
	}{
		{"exactly half of the memory", box(4<<10, 1), 1, true, true},
		{"less than half of the memory", box(4<<10-1, 1), 1, false, false},
		{"exactly half of the vcores", box(1<<10, 4), 1, true, false},
		{"less than half of the vcores", box(1<<10, 3), 1, false, false},
		{"half of another label's node", box(2<<10, 1), 1, false, false},
		{"half of the label's node", box(2<<10, 1), 4, true, true},
		{"a GPU", box(1<<10, 1, 1), 3, true, false},
		{"on a node with GPUs, but without one", box(1<<10, 1), 3, false, false},
		{"half of its vcores", box(1<<10, 2), 3, true, false},
	} {
		for _, dominant := range []bool{true, false} {
			t.Run(c.name, func(t *testing.T) {
				s := roomy(t, dominant)
				apply(t, s, asked(c.size), allocated(1, 1, k1, c.node))
				on, want := s.Nodes.Get(c.node).Label, int64(0)
				if dominant && c.large || !dominant && c.plain {
					want = 5000
				}
				for label := range LabelSlot(3) {
					if got := s.LargeContainers.AllocatedAt(label); label == on && got != want || label != on && got != 0 {
						t.Errorf("dominant %v: label %d has had a large container at %d; want %d for label %d only", dominant, label,
							got, want, on)
					}
				}
			})
		}
	}
}

// TestLargeIsRelativeToTheMeanNode checks that nodes that serve no more do not count, and that those
// of different sizes count with their mean.
func TestLargeIsRelativeToTheMeanNode(t *testing.T) {
	s := roomy(t, true)
	apply(t, s, &event.NodeResourceChanged{Node: 2, Total: box(2<<10, 8)}) // a mean of 5 GiB
	smaller := s.Fork()
	apply(t, s, asked(box(2<<10+512, 1)), allocated(1, 1, k1, 1))
	apply(t, smaller, asked(box(2<<10+511, 1)), allocated(1, 1, k1, 1))
	if s.LargeContainers.AllocatedAt(0) != 5000 || smaller.LargeContainers.AllocatedAt(0) != 0 {
		t.Errorf("half of the mean: at %d; less: at %d", s.LargeContainers.AllocatedAt(0),
			smaller.LargeContainers.AllocatedAt(0))
	}
	alone := roomy(t, true)
	apply(t, alone, &event.NodeResourceChanged{Node: 1, Total: box(2<<10, 8)},
		&event.NodeStateChanged{Node: 1, State: yarn.NodeLost},
		asked(box(3<<10, 1)), allocated(1, 1, k1, 2))
	if at := alone.LargeContainers.AllocatedAt(0); at != 0 {
		t.Errorf("a lost node counts: at %d", at)
	}
}

// TestLargeReserved checks that a reservation counts when it is made, and that its fulfillment
// within the same minute does not count again.
func TestLargeReserved(t *testing.T) {
	s := roomy(t, true)
	apply(t, s, ask(2, k1, 1, 1), allocated(2, 1, k1, 1), asked(gb(8)),
		&event.ReservationMade{Reservation: 1, App: 1, Number: 1, Key: k1, Node: 1})
	if at := s.LargeContainers.AllocatedAt(0); at != 5000 {
		t.Errorf("reserved at %d", at)
	}
	apply(t, s, &event.TimeAdvanced{NowMillis: 6000}, &event.ContainerCompleted{Container: ref(2, 1)},
		&event.ReservationFulfilled{Reservation: 1, Locality: yarn.OffSwitch})
	if at := s.LargeContainers.AllocatedAt(0); at != 5000 {
		t.Errorf("after the fulfillment: at %d", at)
	}
}

// TestLargeIsRecordedByTheMinute checks that the table, and with it the digest, changes at most once
// in a minute for each label, also after a snapshot.
func TestLargeIsRecordedByTheMinute(t *testing.T) {
	s := roomy(t, true)
	give := func(s *State, after int64, node NodeSlot) {
		t.Helper()
		n := s.Meta.NextNumber(s.Apps.Get(s.Apps.Find(1)))
		apply(t, s, &event.TimeAdvanced{NowMillis: s.Meta.NowMillis + after}, asked(box(4<<10, 2)), allocated(1, n, k1, node),
			&event.ContainerCompleted{Container: ref(1, n)})
	}
	give(s, 0, 1)
	for _, step := range []struct {
		after  int64
		node   NodeSlot
		at     int64 // without a label
		labels int
	}{{largeStep - 1, 1, 5000, 1}, {0, 4, 5000, 2}, {1, 2, 5000 + largeStep, 2}, {30_000, 1, 5000 + largeStep, 2}} {
		back, err := decode(encode(s))
		if err != nil {
			t.Fatal(err)
		}
		before := s.Fork()
		give(s, step.after, step.node)
		give(back, step.after, step.node)
		if s.LargeContainers.AllocatedAt(0) != step.at || s.LargeContainers.Len() != step.labels {
			t.Errorf("after %d ms on node %d: at %d, %d labels, want %+v", step.after, step.node,
				s.LargeContainers.AllocatedAt(0), s.LargeContainers.Len(), step)
		}
		if !bytes.Equal(encode(back), encode(s)) || back.Digest() != s.Digest() {
			t.Errorf("after %d ms: a restored state goes another way", step.after)
		}
		if before.LargeContainers.AllocatedAt(0) > before.Meta.NowMillis {
			t.Error("a fork was written to")
		}
	}
}

// TestLargeIsInTheDigest checks that a state that has recorded a large container has another digest
// than one that applied the same event and has not.
func TestLargeIsInTheDigest(t *testing.T) {
	a := roomy(t, true)
	apply(t, a, asked(gb(4)))
	b := a.Fork()
	table.Place(&b.LargeContainers.Table, 1).AtMillis = b.Meta.NowMillis
	apply(t, a, allocated(1, 1, k1, 1))
	apply(t, b, allocated(1, 1, k1, 1))
	if a.LargeContainers.AllocatedAt(0) != b.LargeContainers.AllocatedAt(0) || a.Digest() == b.Digest() {
		t.Errorf("at %d and %d, digests equal: %v", a.LargeContainers.AllocatedAt(0), b.LargeContainers.AllocatedAt(0),
			a.Digest() == b.Digest())
	}
}

// TestDamagedLargeIsRefused checks that no snapshot is restored that says when a container was
// allocated for a label that does not exist, or in the future.
func TestDamagedLargeIsRefused(t *testing.T) {
	for name, damage := range map[string]func(s *State){
		"unknown label": func(s *State) { table.Place(&s.LargeContainers.Table, 4).AtMillis = 1 },
		"future":        func(s *State) { table.Place(&s.LargeContainers.Table, 3).AtMillis = 5001 },
	} {
		s := roomy(t, true)
		damage(s)
		if _, err := decode(encode(s)); !errors.Is(err, ErrInconsistent) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
