package state

import (
	"fmt"
	"testing"

	"rmd/fsm/event"
	"rmd/fsm/state/table"
	"rmd/internal/growth"
	"rmd/yarn"
)

func label(names ...string) *event.LabelsSet {
	e := &event.LabelsSet{}
	for _, n := range names {
		e.Labels = append(e.Labels, event.Label{Name: n, Exclusive: true})
	}
	return e
}

// on returns an event that maps hosts ("host") and NodeManagers ("host:1") to labels. words are
// pairs of a node and a label.
func on(words ...string) *event.NodesLabelled {
	e := &event.NodesLabelled{}
	for i := 0; i < len(words); i += 2 {
		id := yarn.NodeID{Host: words[i]}
		if n := len(id.Host) - 2; n > 0 && id.Host[n] == ':' {
			id = yarn.NodeID{Host: id.Host[:n], Port: uint16(id.Host[n+1] - '0')}
		}
		e.Nodes = append(e.Nodes, event.LabelledNode{ID: id, Label: words[i+1]})
	}
	return e
}

// labelled returns world with the labels gpu and ssd.
func labelled(t failer) *State {
	s := world(t)
	apply(t, s, label("gpu", "ssd"))
	return s
}

// TestNodeLabels maps hosts and NodeManagers to labels, registered and unregistered ones.
func TestNodeLabels(t *testing.T) {
	s := labelled(t)
	at := func(host string, port uint16) string {
		return s.Labels.Name(s.LabelledHosts.LabelOf(yarn.NodeID{Host: host, Port: port}))
	}
	is := func(step string, want ...string) {
		t.Helper()
		got := []string{at("h1", 1), at("h1", 2), at("h9", 1), at("h9", 2)}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: h1:1, h1:2, h9:1, h9:2 have %q, want %q", step, got, want)
		}
	}
	apply(t, s, on("h1:1", "gpu", "h9", "ssd"))
	is("a NodeManager and a host", "gpu", "", "ssd", "ssd")
	apply(t, s, on("h9:2", "", "h9:1", "gpu"))
	is("NodeManagers apart from their host", "gpu", "", "gpu", "")
	apply(t, s, on("h9:1", "ssd"))
	if s.LabelledHosts.Len() != 3 {
		t.Errorf("%d entries say what three would", s.LabelledHosts.Len())
	}
	apply(t, s, nodeUp(3, "h9", gb(4)))
	if n := s.Nodes.Get(3); s.Labels.Name(n.Label) != "ssd" || s.Labels.Get(n.Label).Total != gb(4) {
		t.Errorf("h9 registers with label %d", n.Label)
	}
	apply(t, s, &event.LabelsRemoved{Names: []string{"ssd"}})
	is("ssd removed", "gpu", "", "", "")
	if s.LabelledHosts.Len() != 1 || s.Nodes.Get(3).Label != 0 {
		t.Error("the removed label is still on the map")
	}
	apply(t, s, label("ssd"), on("h1", "ssd"))
	is("a host takes the place of what its NodeManagers had", "ssd", "ssd", "", "")
	apply(t, s, on("h1", ""))
	is("no label", "", "", "", "")
	if s.LabelledHosts.Len() != 0 {
		t.Errorf("%d entries say nothing", s.LabelledHosts.Len())
	}
}

// TestReservationUnderALabel checks the sums of scenario 42.
func TestReservationUnderALabel(t *testing.T) {
	s := labelled(t)
	x := s.Labels.Find("gpu")
	apply(t, s, on("h1", "gpu"),
		ask(1, k1, 1, 1), &event.AskLabelled{App: 1, Key: k1, Label: "gpu"}, allocated(1, 1, k1, 1), // the AM
		ask(1, k2, 2, 4), &event.AskLabelled{App: 1, Key: k2, Label: "gpu"})
	root, leaf, user := s.Queues.Root(), s.Queues.Find("root.a"), s.Apps.Get(s.Apps.Find(1)).UserSlot
	if got := s.QueueUse(leaf, x); got.Pending != gb(8) || got.Used != gb(1) {
		t.Errorf("asked: %+v", got)
	}
	apply(t, s, allocated(1, 2, k2, 1), &event.ReservationMade{Reservation: 1, App: 1, Number: 3, Key: k2, Node: 1})
	for _, slot := range []QueueSlot{root, leaf} {
		if got := s.QueueUse(slot, x); got.Used != gb(9) || got.Reserved != gb(4) || got.Pending != gb(4) {
			t.Errorf("reserved: %+v", got)
		}
		if got := s.QueueUse(slot, 0); !got.Used.IsZero() || !got.Reserved.IsZero() || !got.Pending.IsZero() {
			t.Errorf("the default partition has %+v", got)
		}
	}
	if got := s.UserUse(user, x); got.Used != gb(9) {
		t.Errorf("the user has %+v", got)
	}
	apply(t, s, ask(1, k2, 0, 4), &event.ReservationCancelled{Reservation: 1, Cause: yarn.CancelAskGone})
	if got := s.QueueUse(root, x); got.Used != gb(5) || !got.Reserved.IsZero() || !got.Pending.IsZero() {
		t.Errorf("cancelled: %+v", got)
	}
	if q := s.Queues.Get(leaf); q.Containers != 2 {
		t.Errorf("the leaf counts %d containers", q.Containers)
	}
}

// TestRelabelledNode checks the sums of scenario 45: the containers on a node, including the AM,
// are charged to the node's new partition.
func TestRelabelledNode(t *testing.T) {
	s := labelled(t)
	x, y := s.Labels.Find("gpu"), s.Labels.Find("ssd")
	apply(t, s, submit(3, "ann", "root.a"), &event.ApplicationLabelled{App: 3, Label: "ssd", AMLabel: "gpu"},
		on("h1", "gpu"),
		&event.AttemptStarted{App: 3, Attempt: 1}, ask(3, k1, 1, 1), &event.AskLabelled{App: 3, Key: k1, Label: "gpu"},
		&event.AttemptActivated{App: 3})
	leaf, user := s.Queues.Find("root.a"), s.Apps.Get(s.Apps.Find(3)).UserSlot
	if q, u := s.QueueUse(leaf, x), s.UserUse(user, x); q.AMUsed != gb(1) || u.AMUsed != gb(1) ||
		s.Queues.Get(leaf).AMUsed != gb(1) {
		t.Errorf("an AM of gpu: %+v, %+v; without a label %s", q, u, s.Queues.Get(leaf).AMUsed)
	}
	apply(t, s, &event.ContainerAllocated{App: 3, Number: 1, Key: k1, Node: 1, Locality: yarn.OffSwitch, AM: true},
		ask(1, k2, 1, 2), allocated(1, 1, k2, 1)) // lent: the ask has no label
	if c := s.Container(ref(1, 1)); s.AskedLabels.Of(c) != 0 || s.AskedLabels.Of(s.Container(ref(3, 1))) != x {
		t.Error("the containers do not know which label was asked")
	}
	if got := s.QueueUse(leaf, x).Used; got != gb(3) {
		t.Errorf("gpu has %s", got)
	}
	apply(t, s, on("h1", "ssd"))
	if got := s.QueueUse(leaf, x); got != (Use{}) {
		t.Errorf("gpu keeps %+v", got)
	}
	if got := s.QueueUse(leaf, y); got.Used != gb(3) || got.AMUsed != gb(1) ||
		got.ActiveUsed != gb(0) && got.ActiveUsed != gb(3) {
		t.Errorf("ssd has %+v", got)
	}
	if a := appAt(t, s, 3); a.AMLabel != y || a.Details().Label != "ssd" || a.Details().AMLabel != "gpu" {
		t.Errorf("the AM is charged to label %d", a.AMLabel)
	}
	back, err := decode(encode(s))
	if err != nil || back.Digest() != s.Digest() || back.Nodes.Get(1).Label != y {
		t.Errorf("restored: %v", err)
	}
	apply(t, s, &event.ContainerCompleted{Container: ref(3, 1)}, &event.AttemptEnded{App: 3},
		&event.AttemptStarted{App: 3, Attempt: 2})
	if a := appAt(t, s, 3); a.AMLabel != x {
		t.Errorf("the next attempt's AM is for label %d", a.AMLabel)
	}
}

// TestIncreaseOnARelabelledNode checks that the hidden ask of a container gets the new label of the
// container's node.
func TestIncreaseOnARelabelledNode(t *testing.T) {
	s := labelled(t)
	apply(t, s, ask(1, k1, 1, 2), allocated(1, 1, k1, 1), &event.ResponseRecorded{App: 1, Response: 1},
		&event.ContainerLaunched{Container: ref(1, 1)},
		&event.ContainerResizeAsked{Container: ref(1, 1), Size: gb(5)}, on("h1", "gpu"))
	leaf := s.Queues.Find("root.a")
	if got := s.QueueUse(leaf, s.Labels.Find("gpu")); got.Pending != gb(3) || got.Used != gb(2) ||
		!s.Queues.Get(leaf).Pending.IsZero() {
		t.Errorf("gpu has %+v, %s waits without a label", got, s.Queues.Get(leaf).Pending)
	}
	apply(t, s, &event.ContainerIncreased{Container: ref(1, 1)},
		&event.ContainerDecreased{Container: ref(1, 1), Size: gb(1)})
	if got := s.QueueUse(leaf, s.Labels.Find("gpu")); got.Used != gb(1) {
		t.Errorf("gpu has %+v", got)
	}
}

// TestMoveWithLabels checks that the use of labels' partitions moves with an application to another
// leaf.
func TestMoveWithLabels(t *testing.T) {
	s := labelled(t)
	x := s.Labels.Find("gpu")
	apply(t, s, on("h1", "gpu"), ask(1, k1, 3, 1), &event.AskLabelled{App: 1, Key: k1, Label: "gpu"},
		allocated(1, 1, k1, 1),
		ask(1, k2, 1, 2), allocated(1, 2, k2, 2), &event.ApplicationMoved{App: 1, Queue: "root.b.y"})
	if got := s.QueueUse(s.Queues.Find("root.a"), x); got != (Use{}) {
		t.Errorf("root.a keeps %+v", got)
	}
	for _, path := range []string{"root.b.y", "root.b", "root"} {
		if got := s.QueueUse(s.Queues.Find(path), x); got.Used != gb(1) || got.Pending != gb(2) {
			t.Errorf("%s uses %+v of label gpu, want %v used and %v pending", path, got, gb(1), gb(2))
		}
	}
	if q := s.Queues.Get(s.Queues.Find("root.b.y")); q.Used != gb(2) || q.Containers != 2 {
		t.Errorf("without a label: %s in %d", q.Used, q.Containers)
	}
}

// TestRestoredAskKeepsLabel checks that a restored ask keeps the label of its container.
func TestRestoredAskKeepsLabel(t *testing.T) {
	s := labelled(t)
	apply(t, s, on("h1", "gpu"), ask(1, k1, 1, 1), &event.AskLabelled{App: 1, Key: k1, Label: "gpu"},
		allocated(1, 1, k1, 1),
		&event.ContainerCompleted{Container: ref(1, 1), Restore: true})
	if k := s.Asks.Find(s.Apps.Get(s.Apps.Find(1)), k1); k == 0 || s.Labels.Name(s.Asks.Get(k).Label) != "gpu" {
		t.Error("the ask was put back without its label")
	}
	if s.AskedLabels.Len() != 0 {
		t.Error("the label of a container that is gone stays")
	}
}

func TestLabelRefusals(t *testing.T) {
	s := labelled(t)
	apply(t, s, ask(1, k1, 1, 1), &event.LabelsRemoved{Names: []string{"ssd"}})
	for _, e := range []event.Event{
		label(""), &event.LabelsRemoved{Names: []string{"gpu", "never"}}, &event.LabelsRemoved{Names: []string{""}},
		&event.LabelsRemoved{Names: []string{"ssd"}},
		on("h1", "gpu", "h2", "never"), on("h1", "ssd"), on("", "gpu"),
		&event.AskLabelled{App: 9, Key: k1}, &event.AskLabelled{App: 1, Key: k2, Label: "gpu"},
		&event.AskLabelled{App: 1, Key: k1, Label: "never"},
		&event.AskMissesUpdated{App: 9, Key: k1}, &event.AskMissesUpdated{App: 1, Key: k2},
		&event.ApplicationLabelled{App: 9}, &event.ApplicationLabelled{App: 1, Label: "gpu"},
	} {
		refuse(t, s, e)
	}
	apply(t, s, submit(3, "ann", "root.a"))
	refuse(t, s, &event.ApplicationLabelled{App: 3, AMLabel: "never"})
}

func TestLabelDigests(t *testing.T) {
	s := labelled(t)
	apply(t, s, ask(1, k1, 1, 1), submit(3, "ann", "root.a"))
	for name, two := range map[string][2]event.Event{
		"label":        {label("a"), label("b")},
		"exclusivity":  {label("gpu"), &event.LabelsSet{Labels: []event.Label{{Name: "gpu"}}}},
		"removed":      {&event.LabelsRemoved{Names: []string{"gpu"}}, &event.LabelsRemoved{Names: []string{"ssd"}}},
		"node's label": {on("h1", "gpu"), on("h1", "ssd")},
		"node":         {on("h1", "gpu"), on("h2", "gpu")},
		"NodeManager":  {on("h8", "gpu"), on("h8:1", "gpu")},
		"ask": {&event.AskLabelled{App: 1, Key: k1, Label: "gpu"},
			&event.AskLabelled{App: 1, Key: k1, Label: "ssd"}},
		"misses": {&event.AskMissesUpdated{App: 1, Key: k1, Missed: 1},
			&event.AskMissesUpdated{App: 1, Key: k1, Missed: 2}},
		"application": {&event.ApplicationLabelled{App: 3, Label: "gpu"},
			&event.ApplicationLabelled{App: 3, Label: "ssd"}},
		"application's AM": {&event.ApplicationLabelled{App: 3, AMLabel: "gpu"},
			&event.ApplicationLabelled{App: 3, AMLabel: "ssd"}},
		"application twice": {&event.ApplicationLabelled{App: 3, Label: "gpu"},
			&event.ApplicationLabelled{App: 3, Label: "gpu", AMLabel: "gpu"}},
	} {
		a, b := s.Fork(), s.Fork()
		apply(t, a, two[0])
		apply(t, b, two[1])
		if a.Digest() == b.Digest() || a.Digest() == s.Digest() {
			t.Errorf("%s: two histories have one digest", name)
		}
	}
}

// TestCheckSeesLabels damages each record about labels.
func TestCheckSeesLabels(t *testing.T) {
	for name, spoil := range map[string]func(s *State){
		"a label's total":   func(s *State) { s.Labels.Mut(1).Total = gb(1) },
		"a label's nodes":   func(s *State) { s.Labels.Mut(1).Nodes++ },
		"a node's label":    func(s *State) { s.Nodes.Mut(1).Label = 2 },
		"a use":             func(s *State) { s.LabelUses.Mut(1).Pending = gb(7) },
		"an ask's label":    func(s *State) { s.Asks.Mut(s.Apps.Get(1).Asks).Label = 2 },
		"a label not there": func(s *State) { s.Asks.Mut(s.Apps.Get(1).Asks).Label = 9 },
		"a removed label":   func(s *State) { s.Labels.Mut(1).Listed = false },
		"a superfluous host": func(s *State) {
			s.LabelledHosts.Put(yarn.NodeID{Host: "h7"}, 1)
			s.LabelledHosts.Mut(2).Label = 0
		},
		"a label of no container": func(s *State) { *table.Place(&s.AskedLabels.Table, 40) = 1 },
	} {
		s := labelled(t)
		apply(t, s, on("h1", "gpu"), ask(1, k1, 2, 1), &event.AskLabelled{App: 1, Key: k1, Label: "gpu"},
			allocated(1, 1, k1, 1))
		if spoil(s); s.Check() == nil {
			t.Errorf("%s is not seen", name)
		}
	}
}

// TestRelabelManyNodes changes the labels of all nodes with one event. The time does not grow with the
// square of the nodes.
func TestRelabelManyNodes(t *testing.T) {
	s := labelled(t)
	const nodes = 100_000
	e := &event.NodesLabelled{}
	for i := range NodeSlot(nodes) {
		host := fmt.Sprintf("host-%05d", i)
		if err := s.Apply(nodeUp(i+3, host, gb(64))); err != nil {
			t.Fatal(err)
		}
		e.Nodes = append(e.Nodes, event.LabelledNode{ID: yarn.NodeID{Host: host}, Label: "gpu"})
	}
	apply(t, s, ask(1, k1, nodes, 1))
	for i := range NodeSlot(nodes) {
		if err := s.Apply(allocated(1, uint64(i+1), k1, i+3)); err != nil {
			t.Fatal(err)
		}
	}
	growth.InTime(t, "to relabel 100,000 nodes", func() { apply(t, s, e) })
	if got := s.QueueUse(s.Queues.Root(), s.Labels.Find("gpu")).Used; got != gb(nodes) {
		t.Errorf("gpu has %s", got)
	}
}
