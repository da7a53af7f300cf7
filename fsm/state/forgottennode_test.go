package state

import (
	"bytes"
	"fmt"
	"testing"

	"rmd/fsm/event"
	"rmd/fsm/state/table"
	"rmd/yarn"
)

func forgotten(n NodeSlot, host string) *event.NodeForgotten {
	return &event.NodeForgotten{Node: n, ID: yarn.NodeID{Host: host, Port: 1}}
}

// leaves returns nodeManagers after the containers on node 1 have completed and the node was lost.
func leaves(t failer) *State {
	s := nodeManagers(t)
	apply(t, s, &event.ContainerCompleted{Container: ref(1, 1)}, &event.ContainerCompleted{Container: ref(1, 2)},
		&event.ContainerCompleted{Container: ref(2, 1)},
		&event.NodeStateChanged{Node: 1, State: yarn.NodeLost})
	return s
}

func confirmed(t failer, s *State) *State {
	for app := range uint32(2) {
		apply(t, s, &event.ResponseRecorded{App: app + 1, Response: 1}, &event.ResponseRecorded{App: app + 1, Response: 2})
	}
	return s
}

// TestNodeForgotten checks that NodeForgotten removes what refers to the node, keeps what others
// use, and frees the node's number.
func TestNodeForgotten(t *testing.T) {
	s := confirmed(t, leaves(t))
	apply(t, s, ask(1, k2, 1, 1), &event.AskChanged{App: 1, Key: k2, Name: "/r1", Count: 1})
	before := s.Digest()
	apply(t, s, forgotten(1, "h1"))
	switch {
	case s.Digest() == before:
		t.Error("the digest did not move")
	case s.Nodes.Has(1) || s.Nodes.Find(yarn.NodeID{Host: "h1", Port: 1}) != 0 || s.Nodes.Next() != 1:
		t.Error("the node is still there")
	case s.NodeApplications.Find(appID(1), 1) != 0 || s.NodeApplications.Find(appID(1), 2) == 0:
		t.Error("application 1 is on the forgotten node, or not on the other one")
	case s.Names.Find("h1") != 0 || s.Names.Find("/r1") == 0 || s.Names.Find("h2") == 0:
		t.Error("only the name that nobody uses any more goes")
	}
	r, err := decode(encode(s))
	if err != nil || r.Nodes.Next() != 1 {
		t.Fatalf("restored: %v", err)
	}
	for _, s := range []*State{s, r} {
		apply(t, s, nodeUp(1, "new", gb(4)), nodeUp(4, "h4", gb(4)))
		if n := s.Nodes.Get(1); n.ID.Host != "new" || n.NodeApplications != 0 || n.HeartbeatSession != 0 ||
			n.Registered != s.Meta.NowMillis {
			t.Errorf("what has the number next is %+v", n)
		}
	}
	if !bytes.Equal(encode(s), encode(r)) {
		t.Error("the restored state goes on differently")
	}
}

func TestNodeForgottenIsRefused(t *testing.T) {
	s := leaves(t)
	refuse(t, s, forgotten(1, "h1")) // the AMs have not acknowledged the completions
	confirmed(t, s)
	for _, e := range []*event.NodeForgotten{forgotten(9, "h9"), forgotten(1, "h2"), forgotten(2, "h2")} {
		refuse(t, s, e)
	}
}

// TestHostChurnStateSize checks that 10,000 hosts that come and go, 100 at a time, do not make the
// state larger, apart from the digits of its counters.
func TestHostChurnStateSize(t *testing.T) {
	s := confirmed(t, leaves(t))
	size := len(encode(s))
	for round := range 100 {
		var numbers []NodeSlot
		for i := range 100 {
			e := nodeUp(s.Nodes.Next(), fmt.Sprintf("ip-%03d-%03d", round, i), gb(8))
			e.NodeManager = true
			numbers = append(numbers, e.Node)
			if err := s.Apply(e); err != nil {
				t.Fatal(err)
			}
		}
		for _, n := range numbers {
			for _, e := range []event.Event{&event.NodeStateChanged{Node: n, State: yarn.NodeLost},
				&event.NodeForgotten{Node: n, ID: s.Nodes.Get(n).ID}} {
				if err := s.Apply(e); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	if now := len(encode(s)); now > size+8 || s.Nodes.Cap() > 3*table.PageSize || s.Names.Cap() > 3*table.PageSize {
		t.Errorf("%d bytes before, %d after; room for %d nodes and %d names", size, now, s.Nodes.Cap(), s.Names.Cap())
	}
}
