package state

import (
	"errors"
	"slices"
	"testing"

	"rmd/fsm/event"
	"rmd/fsm/state/record"
	"rmd/yarn"
)

// nodeManagers returns a world with two NodeManagers and a simulated node, node 3. App 1 has
// containers 1 and 2 on node 1, 3 on node 2 and 4 on node 3. App 2 has container 1 on node 1, with
// a pending signal. App 3 has ended; its cleanup is pending on node 1.
func nodeManagers(t failer) *State {
	s := world(t)
	up := func(n NodeSlot, host string, nodeManager bool) event.Event {
		e := nodeUp(n, host, gb(8))
		e.NodeManager = nodeManager
		return e
	}
	apply(t, s, up(1, "h1", true), up(2, "h2", true), up(3, "h3", false),
		ask(1, k1, 4, 1), allocated(1, 1, k1, 1), allocated(1, 2, k1, 1), allocated(1, 3, k1, 2), allocated(1, 4, k1, 3),
		ask(2, k1, 1, 1), allocated(2, 1, k1, 1), &event.ContainerSignalled{Container: ref(2, 1), Command: 3},
		submit(3, "cid", "root.a"), &event.AttemptStarted{App: 3, Attempt: 1}, &event.AttemptActivated{App: 3},
		ask(3, k1, 1, 1), allocated(3, 1, k1, 1))
	return endApp(t, s, 3, ref(3, 1))
}

func endApp(t failer, s *State, app uint32, containers ...event.ContainerRef) *State {
	for _, c := range containers {
		apply(t, s, &event.ContainerCompleted{Container: c})
	}
	apply(t, s, &event.AttemptEnded{App: app}, &event.ApplicationEnded{App: app, State: yarn.AppFinished})
	return s
}

func appID(seq uint32) yarn.ApplicationID {
	return yarn.ApplicationID{ClusterTimestamp: 77, Seq: seq}
}

// toTell returns the applications whose cleanup is pending on a node.
func toTell(s *State, node NodeSlot) (over []uint32) {
	for p := s.Nodes.Get(node).NodeApplications; p != 0; p = s.NodeApplications.Get(p).NextOnNode() {
		if r := s.NodeApplications.Get(p); r.Slot == 0 {
			over = append(over, r.App.Seq)
		}
	}
	return over
}

// TestNodeApplications follows NodeApplications from an application's first container on a node
// until the node acknowledges the cleanup.
func TestNodeApplications(t *testing.T) {
	s := nodeManagers(t)
	if got := s.NodeApplications.Len(); got != 4 { // app 1 on two nodes, apps 2 and 3 on one
		t.Fatalf("%d node applications", got)
	}
	if s.NodeApplications.Find(appID(1), 1) == 0 || s.NodeApplications.Find(appID(1), 2) == 0 ||
		s.NodeApplications.Find(appID(1), 3) != 0 || s.NodeApplications.Find(appID(2), 2) != 0 {
		t.Error("app 1 is on nodes 1 and 2, which are NodeManagers, and on 3, which is not")
	}
	if got := toTell(s, 1); !slices.Equal(got, []uint32{3}) || s.Nodes.Get(1).PendingCleanups != 1 {
		t.Errorf("to be told of the end of %v", got)
	}
	endApp(t, s, 1, ref(1, 1), ref(1, 2), ref(1, 3), ref(1, 4))
	if a, b := toTell(s, 1), toTell(s, 2); !slices.Equal(a, []uint32{3, 1}) || !slices.Equal(b, []uint32{1}) ||
		appAt(t, s, 1).NodeApplications != 0 {
		t.Errorf("after an end: %v and %v", a, b)
	}
	apply(t, s, &event.ApplicationForgotten{App: 3}, &event.ApplicationForgotten{App: 1})
	apply(t, s, &event.CleanupsAcked{Node: 1, Apps: []yarn.ApplicationID{appID(1), appID(3)}})
	if a, b := toTell(s, 1), toTell(s, 2); len(a) != 0 || !slices.Equal(b, []uint32{1}) ||
		s.Nodes.Get(1).PendingCleanups != 0 || s.NodeApplications.Find(appID(2), 1) == 0 {
		t.Errorf("after node 1 was told: %v and %v", a, b)
	}
}

// TestNodeApplicationsOfANodeThatLeaves checks that a node that leaves loses its pending cleanups
// and gets no new ones, but keeps the records of running applications.
func TestNodeApplicationsOfANodeThatLeaves(t *testing.T) {
	empty := func(t *testing.T, s *State) {
		apply(t, s, &event.ContainerCompleted{Container: ref(1, 1)}, &event.ContainerCompleted{Container: ref(1, 2)},
			&event.ContainerCompleted{Container: ref(2, 1)})
	}
	for state := yarn.NodeRunning; state <= yarn.NodeShutdown; state++ {
		s := nodeManagers(t)
		empty(t, s)
		apply(t, s, &event.NodeStateChanged{Node: 1, State: state})
		stays := state == yarn.NodeRunning || state == yarn.NodeUnhealthy || state == yarn.NodeDecommissioning
		if (len(toTell(s, 1)) == 1) != stays || s.NodeApplications.Find(appID(1), 1) == 0 ||
			s.NodeApplications.Find(appID(2), 1) == 0 {
			t.Errorf("%s: to be told %v", state, toTell(s, 1))
		}
		endApp(t, s, 2)
		if (s.NodeApplications.Find(appID(2), 1) != 0) != stays {
			t.Errorf("%s: what ended meanwhile is kept: %v", state, !stays)
		}
		up := nodeUp(1, "h1", gb(8))
		up.NodeManager = true
		apply(t, s, up)
		if len(toTell(s, 1)) != 0 || s.NodeApplications.Find(appID(1), 1) == 0 {
			t.Errorf("%s: a registration leaves %v to tell", state, toTell(s, 1))
		}
	}
}

// TestNodeApplicationsWhenTheKindOfANodeChanges turns a NodeManager into a simulated node and back.
func TestNodeApplicationsWhenTheKindOfANodeChanges(t *testing.T) {
	s := nodeManagers(t)
	apply(t, s, nodeUp(1, "h1", gb(8)))
	if s.NodeApplications.Find(appID(1), 1) == 0 || len(toTell(s, 1)) != 0 {
		t.Error("what lives stays, what is over goes")
	}
	endApp(t, s, 2, ref(2, 1))
	if s.NodeApplications.Find(appID(2), 1) != 0 {
		t.Error("a simulated node is to be told of an end")
	}
	up := nodeUp(3, "h3", gb(8))
	up.NodeManager = true
	apply(t, s, up)
	if s.NodeApplications.Find(appID(1), 3) == 0 {
		t.Error("a node that is a NodeManager from now on does not know whose containers it has")
	}
}

func TestSignals(t *testing.T) {
	s := nodeManagers(t)
	commands := func(step string, want int32) {
		t.Helper()
		if got := s.Nodes.Get(1).PendingCommands; got != want {
			t.Errorf("%s: %d pending commands, want %d", step, got, want)
		}
	}
	commands("signalled", 1)
	apply(t, s, &event.ContainerSignalled{Container: ref(2, 1), Command: 1},
		&event.ContainerSignalled{Container: ref(1, 1), Command: 2})
	commands("another signal, another container", 2)
	apply(t, s, &event.ContainerSignalled{Container: ref(2, 1)})
	commands("sent", 1)
	apply(t, s, &event.ContainerReleased{Container: ref(1, 1)})
	commands("released", 1)
	if c := s.Containers.Get(s.Container(ref(1, 1))); c.Signal != 0 {
		t.Error("a container that is being killed is signalled")
	}
	apply(t, s, &event.ContainerSignalled{Container: ref(1, 2), Command: 2},
		&event.ContainerCompleted{Container: ref(1, 2)}, &event.ContainerCompleted{Container: ref(1, 1)})
	commands("ended", 0)
}

// TestATotalThatAnAdministratorSet checks that such a total outlives registrations until it is set
// again.
func TestATotalThatAnAdministratorSet(t *testing.T) {
	s := nodeManagers(t)
	n := func() *Node { return s.Nodes.Get(2) }
	changes := s.Meta.NodeChanges
	apply(t, s, &event.NodeResourceChanged{Node: 2, Total: gb(5)}, nodeUp(2, "h2", gb(9)))
	if n().Total != gb(9) || n().TotalSet {
		t.Errorf("without an administrator: %s", n().Total)
	}
	apply(t, s, &event.NodeResourceChanged{Node: 2, Total: gb(4), Set: true}, nodeUp(2, "h2", gb(9)))
	if n().Total != gb(4) || !n().TotalSet {
		t.Errorf("registered again: %s", n().Total)
	}
	apply(t, s, &event.NodeStateChanged{Node: 2, State: yarn.NodeDecommissioning},
		&event.NodeResourceChanged{Node: 2, Total: gb(1)}, nodeUp(2, "h2", gb(9)))
	if n().Total != gb(4) || s.Meta.Cluster != gb(4+8+8) {
		t.Errorf("after a drain: %s, cluster %s", n().Total, s.Meta.Cluster)
	}
	if got := s.Meta.NodeChanges - changes; got != 6 {
		t.Errorf("%d changes of state or total", got)
	}
	apply(t, s, &event.NodeStateChanged{Node: 2, State: yarn.NodeRunning, Report: "only that"}, nodeUp(2, "h2", gb(9)))
	if got := s.Meta.NodeChanges - changes; got != 6 {
		t.Errorf("%d changes of state or total, the last two were none", got)
	}
}

func TestHostLists(t *testing.T) {
	s := New()
	apply(t, s, &event.NodeListsSet{Exclude: []string{"10.0.0.9", "bad"}})
	for host, want := range map[string]bool{"a": true, "bad": false, "BAD": false, "10.0.0.9": false, "": true} {
		if s.Hosts.Allowed(host) != want {
			t.Errorf("%q is allowed: %v", host, !want)
		}
	}
	apply(t, s, &event.NodeListsSet{Include: []string{"a", "bad", "c"}, Exclude: []string{"bad"}})
	for host, want := range map[string]bool{"A": true, "bad": false, "b": false, "c": true} {
		if s.Hosts.Allowed(host) != want {
			t.Errorf("%q is allowed: %v", host, !want)
		}
	}
	a, b := s.Fork(), s.Fork()
	apply(t, a, &event.NodeListsSet{Include: []string{"x"}})
	apply(t, b, &event.NodeListsSet{Include: []string{"y"}})
	if a.Digest() == b.Digest() {
		t.Error("two lists have one digest")
	}
}

func TestRefusalsAboutNodes(t *testing.T) {
	for name, e := range map[string]event.Event{
		"told by an unknown node":            &event.CleanupsAcked{Node: 9, Apps: []yarn.ApplicationID{appID(3)}},
		"told of an application that lives":  &event.CleanupsAcked{Node: 1, Apps: []yarn.ApplicationID{appID(1)}},
		"told of an application never there": &event.CleanupsAcked{Node: 2, Apps: []yarn.ApplicationID{appID(3)}},
		"told twice":                         &event.CleanupsAcked{Node: 1, Apps: []yarn.ApplicationID{appID(3), appID(3)}},
		"told of two, one of them not there": &event.CleanupsAcked{Node: 1, Apps: []yarn.ApplicationID{appID(3), appID(4)}},
		"told of another cluster's": &event.CleanupsAcked{Node: 1,
			Apps: []yarn.ApplicationID{{ClusterTimestamp: 78, Seq: 3}}},
		"unknown container signalled":        &event.ContainerSignalled{Container: ref(1, 99), Command: 1},
		"container that has ended signalled": &event.ContainerSignalled{Container: ref(3, 1), Command: 1},
		"signal that is there already":       &event.ContainerSignalled{Container: ref(2, 1), Command: 3},
		"signal sent that was not there":     &event.ContainerSignalled{Container: ref(1, 1)},
		"hosts out of order":                 &event.NodeListsSet{Include: []string{"b", "a"}},
		"host twice":                         &event.NodeListsSet{Exclude: []string{"a", "a"}},
		"host in capitals":                   &event.NodeListsSet{Exclude: []string{"A"}},
	} {
		t.Run(name, func(t *testing.T) { refuse(t, nodeManagers(t), e) })
	}
	s := nodeManagers(t)
	apply(t, s, &event.ContainerReleased{Container: ref(1, 1)})
	refuse(t, s, &event.ContainerSignalled{Container: ref(1, 1), Command: 1})
}

func TestDamageToNodeApplicationsIsSeen(t *testing.T) {
	at := func(s *State, app uint32, node NodeSlot) *NodeApplication {
		return s.NodeApplications.Mut(s.NodeApplications.Find(appID(app), node))
	}
	for name, spoil := range map[string]func(s *State){
		"number of what is over": func(s *State) { s.Nodes.Mut(1).PendingCleanups++ },
		"node's list":            func(s *State) { s.Nodes.Mut(1).NodeApplications = 0 },
		"application's list":     func(s *State) { s.Apps.Mut(s.Apps.Find(1)).NodeApplications = 0 },
		"node":                   func(s *State) { at(s, 1, 2).Node = 1 },
		"unknown node":           func(s *State) { at(s, 1, 2).Node = 99 },
		"application":            func(s *State) { at(s, 1, 2).App.Seq = 2 },
		"slot of another":        func(s *State) { at(s, 1, 2).Slot = s.Apps.Find(2) },
		"unknown slot":           func(s *State) { at(s, 1, 2).Slot = 99 },
		"over and alive":         func(s *State) { at(s, 3, 1).Slot = s.Apps.Find(3) },
		"alive and over":         func(s *State) { at(s, 1, 1).Slot = 0 },
		"back link": func(s *State) {
			at(s, 2, 1).PrevNode = s.NodeApplications.Find(appID(1), 1)
		},
		"circle on a node": func(s *State) {
			at(s, 1, 1).NextNode = s.NodeApplications.Find(appID(1), 1)
		},
		"circle of an application": func(s *State) {
			at(s, 1, 1).NextApp = s.NodeApplications.Find(appID(1), 1)
		},
		"link of what is over": func(s *State) {
			at(s, 3, 1).NextApp = s.NodeApplications.Find(appID(1), 2)
		},
		"node that is not told":                 func(s *State) { s.Nodes.Mut(1).NodeManager = false },
		"containers without a node application": func(s *State) { s.Nodes.Mut(3).NodeManager = true },
		"signal of what is not there": func(s *State) {
			s.Containers.Mut(s.Container(ref(2, 1))).State = yarn.ContainerReleasing
		},
		"signal without an order": func(s *State) { s.Containers.Mut(s.Container(ref(1, 1))).Signal = 1 },
		"total set":               func(s *State) { n := s.Nodes.Mut(2); n.TotalSet, n.SetTotal = true, gb(-1) },
		"hosts":                   func(s *State) { s.Hosts.Include = []string{"b", "a"} },
	} {
		t.Run(name, func(t *testing.T) {
			s := nodeManagers(t)
			spoil(s)
			if err := s.Check(); !errors.Is(err, ErrInconsistent) {
				t.Errorf("Check says %v", err)
			}
		})
	}
}

func TestDigestTellsNodeApplicationsApart(t *testing.T) {
	base := nodeManagers(t)
	up := nodeUp(3, "h3", gb(8))
	up.NodeManager = true
	for name, c := range map[string][2]event.Event{
		"NodeManager": {up, nodeUp(3, "h3", gb(8))},
		"signal": {&event.ContainerSignalled{Container: ref(1, 1), Command: 1},
			&event.ContainerSignalled{Container: ref(1, 1), Command: 2}},
		"told": {&event.CleanupsAcked{Node: 1, Apps: []yarn.ApplicationID{appID(3)}}, &event.CleanupsAcked{Node: 1}},
		"total set": {&event.NodeResourceChanged{Node: 3, Total: gb(4), Set: true},
			&event.NodeResourceChanged{Node: 3, Total: gb(4)}},
	} {
		a, b := base.Fork(), base.Fork()
		apply(t, a, c[0])
		apply(t, b, c[1])
		if a.Digest() == b.Digest() {
			t.Errorf("%s: %+v and %+v have one digest", name, c[0], c[1])
		}
	}
}

// TestNodeApplicationIsLookedUpWithoutAllocation checks that the lookup, which runs for every
// container on a NodeManager, allocates nothing.
func TestNodeApplicationIsLookedUpWithoutAllocation(t *testing.T) {
	s := nodeManagers(t)
	if n := testing.AllocsPerRun(10, func() { s.NodeApplications.Find(appID(1), 1) }); n != 0 {
		t.Errorf("it allocates %v times", n)
	}
}

// TestIDOfAForgottenApplication reuses the id of an application whose cleanup is pending. The node
// must not get the cleanup, because it would delete the files of the second application.
func TestIDOfAForgottenApplication(t *testing.T) {
	s := nodeManagers(t)
	apply(t, s, &event.ApplicationForgotten{App: 3}, submit(3, "cid", "root.a"), &event.AttemptStarted{App: 3, Attempt: 1},
		&event.AttemptActivated{App: 3})
	if got := toTell(s, 1); !slices.Equal(got, []uint32{3}) {
		t.Fatalf("node 1 is to be told of %v", got)
	}
	apply(t, s, ask(3, k1, 1, 1), allocated(3, 1, k1, 1))
	if got := toTell(s, 1); len(got) != 0 || s.Nodes.Get(1).PendingCleanups != 0 {
		t.Errorf("node 1 is to be told of %v", got)
	}
	endApp(t, s, 3, ref(3, 1))
	if got := toTell(s, 1); !slices.Equal(got, []uint32{3}) {
		t.Errorf("after the second end node 1 is to be told of %v", got)
	}
}

// TestDraining checks what a draining node waits for, step by step.
func TestDraining(t *testing.T) {
	s := nodeManagers(t)
	const deadline = 5000
	hold := func(want Draining) {
		t.Helper()
		if got := s.Nodes.Get(1).Draining(deadline - 1); got != want {
			t.Errorf("it waits for %q, want %q", got, want)
		}
	}
	hold("")
	apply(t, s, &event.NodeStateChanged{Node: 1, State: yarn.NodeDecommissioning, DeadlineMillis: deadline})
	hold(record.DrainContainers)
	apply(t, s, &event.ContainerCompleted{Container: ref(1, 1)}, &event.ContainerCompleted{Container: ref(1, 2)},
		&event.ContainerCompleted{Container: ref(2, 1)})
	hold(DrainApps)
	endApp(t, s, 1, ref(1, 3), ref(1, 4))
	endApp(t, s, 2)
	hold(DrainApps) // the cleanups are pending
	apply(t, s, &event.CleanupsAcked{Node: 1, Apps: []yarn.ApplicationID{appID(1), appID(2), appID(3)}})
	hold(record.DrainReady)
	n := s.Nodes.Get(1)
	if left, ok := n.DrainMillis(deadline - 7); n.Draining(deadline) != record.DrainTimeout || !ok || left != 7 {
		t.Errorf("at the deadline it is %q; %d ms before, %v", n.Draining(deadline), left, ok)
	}
}

// TestNodeTimes checks that the state records since when it knows a node and since when the node
// drains, also across a restart of the NodeManager.
func TestNodeTimes(t *testing.T) {
	s := nodeManagers(t)
	hold := func(known, since int64) {
		t.Helper()
		r, err := decode(encode(s))
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []*State{s, r} {
			if n := s.Nodes.Get(4); n.KnownMillis != known || n.DrainSinceMillis != since {
				t.Errorf("known since %d, drains since %d; want %d and %d", n.KnownMillis, n.DrainSinceMillis, known, since)
			}
		}
	}
	up := nodeUp(4, "h4", gb(4))
	drain := &event.NodeStateChanged{Node: 4, State: yarn.NodeDecommissioning}
	apply(t, s, &event.TimeAdvanced{NowMillis: 10_000}, up)
	hold(10_000, 0)
	apply(t, s, &event.TimeAdvanced{NowMillis: 11_000}, drain, &event.TimeAdvanced{NowMillis: 12_000}, up, drain)
	hold(10_000, 11_000)
	apply(t, s, &event.NodeStateChanged{Node: 4, State: yarn.NodeDecommissioned})
	hold(10_000, 0)
}

// TestListedUnknown checks that only listed hosts without a node are returned: the excluded ones, and
// the others if they are to be LOST.
func TestListedUnknown(t *testing.T) {
	s := nodeManagers(t)
	expect := func(lost bool, want ...string) {
		t.Helper()
		var got []string
		for _, n := range s.ListedUnknown(lost) {
			if !n.NeverRegistered() {
				t.Errorf("ListedUnknown has a node that registered: %+v", n)
			}
			got = append(got, n.ID.Host+" "+n.State.String())
		}
		if !slices.Equal(got, want) {
			t.Errorf("ListedUnknown(%v) has %q, want %q", lost, got, want)
		}
	}
	expect(true)
	apply(t, s, &event.NodeListsSet{Include: []string{"b", "h1"}})
	expect(false)
	expect(true, "b LOST")
	apply(t, s, &event.NodeListsSet{Include: []string{"a", "b", "h1"}, Exclude: []string{"a", "h1", "z"}})
	expect(false, "a DECOMMISSIONED", "z DECOMMISSIONED")
	expect(true, "a DECOMMISSIONED", "b LOST", "z DECOMMISSIONED")
}
