package state

import (
	"testing"

	"rmd/fsm/event"
	"rmd/yarn"
)

func placed(e *event.ApplicationSubmitted, places ...yarn.Place) *event.ApplicationSubmitted {
	e.AMPlaces = places
	return e
}

// TestDigestTellsEffectsApart checks that two events that differ in one field give different
// digests, if later decisions depend on the field. Only the digest reveals a replica that applied
// an event differently.
func TestDigestTellsEffectsApart(t *testing.T) {
	tree2 := func(f func(e *event.QueuesConfigured)) *event.QueuesConfigured {
		e := tree(2, leaf("root.a"), parent("root.b"), leaf("root.b.x"), leaf("root.b.y"))
		f(e)
		return e
	}
	nothing := func(*event.QueuesConfigured) {}
	for _, c := range []struct {
		name string
		a, b event.Event
	}{
		{"another kind", &event.ApplicationReprioritized{App: 1}, &event.Audited{}},
		{"time", &event.TimeAdvanced{NowMillis: 5000}, &event.TimeAdvanced{NowMillis: 5001}},
		{"level", &event.LevelRaised{Level: event.Level + 1}, &event.LevelRaised{Level: event.Level + 2}},
		{"epoch", &event.EpochRaised{Epoch: 4}, &event.EpochRaised{Epoch: 5}},
		{"cluster timestamp", &event.EpochRaised{Epoch: 4}, &event.EpochRaised{Epoch: 4, ClusterTimestamp: 1}},
		{"token", &event.JoinTokenCreated{Hash: []byte{8}}, &event.JoinTokenCreated{Hash: []byte{9}}},
		{"request", &event.RequestRecorded{Key: "x", BodyHash: 1}, &event.RequestRecorded{Key: "x", BodyHash: 2}},
		{"requests forgotten", &event.RequestsForgotten{}, &event.RequestsForgotten{Count: 1}},
		{"configuration version", tree2(nothing), tree2(func(e *event.QueuesConfigured) { e.Version = 3 })},
		{"configuration value", tree2(nothing), tree2(func(e *event.QueuesConfigured) { e.Properties[0].Value = "c" })},
		{"configuration key", tree2(nothing), tree2(func(e *event.QueuesConfigured) { e.Properties[0].Name = "c" })},
		{"configuration calculator", tree2(nothing), tree2(func(e *event.QueuesConfigured) { e.Dominant = false })},
		{"configuration kinds", tree2(nothing), tree2(func(e *event.QueuesConfigured) { e.Kinds = append(e.Kinds, "x") })},
		{"configuration queue state", tree2(nothing), tree2(func(e *event.QueuesConfigured) {
			e.Queues[1].State = yarn.QueueDraining
		})},
		{"configuration queue kind", tree2(nothing), tree2(func(e *event.QueuesConfigured) {
			e.Queues = append(e.Queues, leaf("root.c"))
		})},
		{"queue state", &event.QueueStateChanged{Path: "root.a", State: yarn.QueueRunning},
			&event.QueueStateChanged{Path: "root.a", State: yarn.QueueDraining}},
		{"queue", &event.QueueStateChanged{Path: "root.a", State: yarn.QueueDraining},
			&event.QueueStateChanged{Path: "root", State: yarn.QueueDraining}},
		{"created queue", made("root.b.u", true), made("root.b.v", true)},
		{"created queue's kind", made("root.b.u", true), made("root.b.u", false)},
		{"created queue's state", made("root.b.u", true),
			&event.QueueCreated{Path: "root.b.u", Leaf: true, State: yarn.QueueStopped}},
		{"node total", nodeUp(5, "h5", gb(1)), nodeUp(5, "h5", gb(2))},
		{"node host", nodeUp(5, "h5", gb(1)), nodeUp(5, "h6", gb(1))},
		{"node state", &event.NodeStateChanged{Node: 3, State: yarn.NodeLost},
			&event.NodeStateChanged{Node: 3, State: yarn.NodeShutdown}},
		{"node's address", nodeUp(5, "h5", gb(1)),
			&event.NodeRegistered{Node: 5, ID: yarn.NodeID{Host: "h5", Port: 1}, Rack: "/r5", Total: gb(1),
				Address: "10.0.0.5"}},
		{"node's registration", nodeUp(5, "h5", gb(1)),
			&event.NodeRegistered{Node: 5, ID: yarn.NodeID{Host: "h5", Port: 1}, Rack: "/r5", Total: gb(1),
				HeartbeatSession: 5}},
		{"node's heartbeat session", &event.NodeHeard{Node: 3, HeartbeatSession: 1},
			&event.NodeHeard{Node: 3, HeartbeatSession: 2}},
		{"node's response", &event.NodeHeard{Node: 3, HeartbeatSession: 1},
			&event.NodeHeard{Node: 3, HeartbeatSession: 1, Response: 1}},
		{"node's silence", &event.NodeSilenceChanged{Node: 3, SinceMillis: 1},
			&event.NodeSilenceChanged{Node: 3, SinceMillis: 2}},
		{"silent node", &event.NodeSilenceChanged{Node: 3, SinceMillis: 1},
			&event.NodeSilenceChanged{Node: 2, SinceMillis: 1}},
		{"node resource", &event.NodeResourceChanged{Node: 3, Total: gb(4)},
			&event.NodeResourceChanged{Node: 3, Total: gb(5)}},
		{"application's queue", submit(6, "ann", "root.a"), submit(6, "ann", "root.b.x")},
		{"application's user", submit(6, "ann", "root.a"), submit(6, "bob", "root.a")},
		{"application's AM", submit(6, "ann", "root.a"),
			&event.ApplicationSubmitted{App: 6, Name: "n", User: "ann", Queue: "root.a", AM: gb(2), MaxAttempts: 2}},
		{"application's priority", submit(6, "ann", "root.a"),
			&event.ApplicationSubmitted{App: 6, Name: "n", User: "ann", Queue: "root.a", AM: gb(1), MaxAttempts: 2,
				Priority: 1}},
		{"application's places", placed(submit(6, "ann", "root.a"), yarn.Place{Name: "h1"}),
			placed(submit(6, "ann", "root.a"), yarn.Place{Name: "h2"})},
		{"application's place relaxed", placed(submit(6, "ann", "root.a"), yarn.Place{Name: "h1"}),
			placed(submit(6, "ann", "root.a"), yarn.Place{Name: "h1", Relax: true})},
		{"application's AM nowhere else", submit(6, "ann", "root.a"),
			&event.ApplicationSubmitted{App: 6, Name: "n", User: "ann", Queue: "root.a", AM: gb(1), MaxAttempts: 2,
				AMStrict: true}},
		{"application's end", &event.ApplicationEnded{App: 3, State: yarn.AppFailed},
			&event.ApplicationEnded{App: 3, State: yarn.AppKilled}},
		{"move", &event.ApplicationMoved{App: 2, Queue: "root.a"}, &event.ApplicationMoved{App: 2, Queue: "root.b.y"}},
		{"priority", &event.ApplicationReprioritized{App: 1, Priority: 1},
			&event.ApplicationReprioritized{App: 1, Priority: 2}},
		{"attempt's state", &event.AttemptStarted{App: 3, Attempt: 2},
			&event.AttemptStarted{App: 3, Attempt: 2, NonRunnable: true}},
		{"attempt's containers", &event.AttemptEnded{App: 2, Keep: true}, &event.AttemptEnded{App: 4}},
		{"response", &event.ResponseRecorded{App: 1, Response: 2}, &event.ResponseRecorded{App: 1, Response: 3}},
		{"ask's count", ask(1, k1, 1, 3), ask(1, k1, 2, 3)},
		{"ask's size", ask(1, k2, 1, 3), ask(1, k2, 1, 4)},
		{"location", &event.AskChanged{App: 1, Key: k1, Name: "h1", Count: 1},
			&event.AskChanged{App: 1, Key: k1, Name: "h2", Count: 1}},
		{"location's count", &event.AskChanged{App: 1, Key: k1, Name: "h1", Count: 1},
			&event.AskChanged{App: 1, Key: k1, Name: "h1", Count: 2}},
		{"locality relaxed", &event.AskChanged{App: 1, Key: k1, Name: "h1", Count: 1},
			&event.AskChanged{App: 1, Key: k1, Name: "h1", Count: 1, Relax: true}},
		{"opportunities", &event.AskCountersUpdated{App: 1, Key: k1, Opportunities: 1},
			&event.AskCountersUpdated{App: 1, Key: k1, ReReservations: 1}},
		{"blacklist", &event.BlacklistChanged{App: 1, Add: []string{"h1"}},
			&event.BlacklistChanged{App: 1, Add: []string{"h2"}}},
		{"container's node", &event.ContainerAllocated{App: 2, Number: first + 1, Key: k1, Node: 2, Locality: 3},
			&event.ContainerAllocated{App: 2, Number: first + 1, Key: k1, Node: 3, Locality: 3}},
		{"container launched", &event.ContainerLaunched{Container: ref(1, 1)},
			&event.ContainerLaunched{Container: ref(2, 1)}},
		{"container released", &event.ContainerReleased{Container: ref(1, 1)},
			&event.ContainerReleased{Container: ref(1, 1), ExitStatus: 1}},
		{"container completed", &event.ContainerCompleted{Container: ref(2, 1)},
			&event.ContainerCompleted{Container: ref(2, 1), Restore: true}},
		{"reservation's cause", &event.ReservationCancelled{Reservation: 1, Cause: 1},
			&event.ReservationCancelled{Reservation: 1, Cause: 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := refusable(t)
			a, b := s.Fork(), s.Fork()
			apply(t, a, c.a)
			apply(t, b, c.b)
			if a.Digest() == b.Digest() {
				t.Errorf("%s %+v and %s %+v have one digest", c.a.Kind(), c.a, c.b.Kind(), c.b)
			}
			if a.Digest() == s.Digest() {
				t.Error("the digest did not move")
			}
		})
	}
}

// TestDigestDependsOnOrder checks that equal events for two applications of one queue, or for two
// equal nodes, give different digests in a different order.
func TestDigestDependsOnOrder(t *testing.T) {
	base := world(t)
	apply(t, base, &event.ApplicationMoved{App: 1, Queue: "root.b.x"}, ask(1, k1, 5, 3), ask(2, k1, 5, 3),
		allocated(1, 1, k1, 1), allocated(2, 1, k1, 1))
	for name, one := range map[string]func(i uint32) event.Event{
		"ask":        func(i uint32) event.Event { return ask(i, k1, 2, 2) },
		"new ask":    func(i uint32) event.Event { return ask(i, k2, 2, 2) },
		"location":   func(i uint32) event.Event { return &event.AskChanged{App: i, Key: k1, Name: "h1", Count: 1} },
		"counted":    func(i uint32) event.Event { return &event.AskCountersUpdated{App: i, Key: k1, Opportunities: 1} },
		"blacklist":  func(i uint32) event.Event { return &event.BlacklistChanged{App: i, Add: []string{"h1"}} },
		"allocation": func(i uint32) event.Event { return allocated(i, 2, k1, 2) },
		"launch":     func(i uint32) event.Event { return &event.ContainerLaunched{Container: ref(i, 1)} },
		"release":    func(i uint32) event.Event { return &event.ContainerReleased{Container: ref(i, 1)} },
		"completion": func(i uint32) event.Event { return &event.ContainerCompleted{Container: ref(i, 1)} },
		"answer":     func(i uint32) event.Event { return &event.ResponseRecorded{App: i, Response: 1} },
		"priority":   func(i uint32) event.Event { return &event.ApplicationReprioritized{App: i, Priority: 1} },
		"move":       func(i uint32) event.Event { return &event.ApplicationMoved{App: i, Queue: "root.a"} },
		"attempt":    func(i uint32) event.Event { return &event.AttemptEnded{App: i, Keep: true} },
		"node state": func(i uint32) event.Event {
			return &event.NodeStateChanged{Node: NodeSlot(i), State: yarn.NodeDecommissioning}
		},
		"node total":   func(i uint32) event.Event { return &event.NodeResourceChanged{Node: NodeSlot(i), Total: gb(9)} },
		"request":      func(i uint32) event.Event { return &event.RequestRecorded{Key: string(rune('a' + i))} },
		"registration": func(i uint32) event.Event { return nodeUp(NodeSlot(i), "h"+string(rune('0'+i)), gb(8)) },
	} {
		a, b := base.Fork(), base.Fork()
		apply(t, a, one(1), one(2))
		apply(t, b, one(2), one(1))
		if a.Digest() == b.Digest() {
			t.Errorf("%s: two orders have one digest", name)
		}
	}
	made := func(app uint32) *event.ReservationMade {
		return &event.ReservationMade{Reservation: 1, App: app, Number: 2, Key: k1, Node: 1}
	}
	a, b := base.Fork(), base.Fork()
	apply(t, a, made(1))
	apply(t, b, made(2))
	if a.Digest() == b.Digest() {
		t.Error("reservations of two applications have one digest")
	}
}

func made(path string, leaf bool) *event.QueueCreated {
	return &event.QueueCreated{Path: path, Leaf: leaf, State: yarn.QueueRunning}
}
