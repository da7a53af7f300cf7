package statediff

import (
	"strings"
	"testing"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/jepsen-lite/ledger"
	"rmd/yarn"
)

var (
	key   = yarn.SchedulerKey{Priority: 1}
	small = yarn.NewResource(1024, 1)
	large = yarn.NewResource(6144, 1)
)

// cluster returns a log with two nodes and two applications. The first application has two
// containers, the second one has a reservation.
func cluster() [][]event.Event {
	ask := func(app uint32, size yarn.Resource) event.Event {
		return &event.AskChanged{App: app, Key: key, Name: yarn.Any, Count: 3, Size: size, Relax: true}
	}
	give := func(app uint32, number uint64, node state.NodeSlot) event.Event {
		return &event.ContainerAllocated{App: app, Number: number, Key: key, Node: node, Locality: yarn.OffSwitch}
	}
	log := [][]event.Event{{
		&event.ClusterInitialized{ClusterID: "c", ClusterTimestamp: 1780000000000, Level: event.Level},
		&event.QueuesConfigured{Version: 1, Kinds: yarn.DefaultKinds(),
			Queues: []event.QueueDefinition{{Path: "root", State: yarn.QueueRunning},
				{Path: "root.a", Leaf: true, State: yarn.QueueRunning}, {Path: "root.b", Leaf: true, State: yarn.QueueRunning},
				{Path: "root.users", State: yarn.QueueRunning}}},
		&event.QueueCreated{Path: "root.users.ann", Leaf: true, State: yarn.QueueRunning},
	}}
	for n := state.NodeSlot(1); n <= 2; n++ {
		log = append(log, []event.Event{&event.NodeRegistered{Node: n, ID: yarn.NodeID{Host: "n", Port: uint16(n)},
			Rack: "/r", Total: yarn.NewResource(10240, 8)}})
	}
	for app := uint32(1); app <= 2; app++ {
		log = append(log, []event.Event{&event.ApplicationSubmitted{App: app, Name: "job", User: "u",
			Queue: "root.a", AM: small},
			&event.AttemptStarted{App: app, Attempt: 1}, &event.AttemptActivated{App: app}, &event.AttemptRegistered{App: app}})
	}
	return append(log, []event.Event{ask(1, large), give(1, 1, 1), give(1, 2, 2), ask(2, large),
		&event.ReservationMade{Reservation: 1, App: 2, Number: 1, Key: key, Node: 1}})
}

// TestOf checks that a state that has applied the ledger's log does not differ, and that one more
// event is found under the invariant that it violates.
func TestOf(t *testing.T) {
	for _, c := range []struct {
		id, says string
		more     event.Event // nil: none
	}{
		{},
		{"S9", "has application_", &event.ApplicationReprioritized{App: 1, Priority: 7}},
		{"S9", "3 applications, the ledger 2", &event.ApplicationSubmitted{App: 3, Name: "new", User: "u",
			Queue: "root.b", AM: small}},
		{"S9", "container", &event.ContainerReleased{Container: event.ContainerRef{App: 1, Attempt: 1, Number: 1}}},
		{"S9", "the state has 1 live containers",
			&event.ContainerCompleted{Container: event.ContainerRef{App: 1, Attempt: 1, Number: 1}}},
		{"S9", "queue root.a", &event.ContainerReleased{Container: event.ContainerRef{App: 1, Attempt: 1, Number: 2}}},
		{"S9", "queue root.b", &event.ApplicationMoved{App: 1, Queue: "root.b"}},
		{"S7", "node", &event.NodeResourceChanged{Node: 2, Total: yarn.NewResource(16384, 8)}},
		{"S7", "node", &event.ReservationCancelled{Reservation: 1, Cause: yarn.CancelOperator}},
		{"S8", "the state has 0 reservations, the ledger 1",
			&event.ReservationCancelled{Reservation: 1, Cause: yarn.CancelOperator}},
		{"S17", "the state has container", &event.PreemptionAsked{
			Container: event.ContainerRef{App: 1, Attempt: 1, Number: 1}, Reservation: 1,
			Queue: "root.a", Cause: yarn.PreemptReservation, DeadlineMillis: 15_000}},
		{"S9", "the state has 2 dynamic queues, the ledger 1",
			&event.QueueCreated{Path: "root.users.bob", Leaf: true, State: yarn.QueueRunning}},
		{"S9", "the ledger has the dynamic queue root.users.ann, the state has none",
			&event.QueuesRemoved{Paths: []string{"root.users.ann"}}},
		{"S9", "queue root.users.ann active: true; the ledger: false",
			&event.QueuesActivated{Active: []string{"root.users.ann"}}},
		{"L7", "the state has 1 debts, the ledger []", &event.GuaranteeOwed{Path: "root.a", Debt: yarn.DebtOwed}},
		{"L7", "the state keeps {", &event.GuaranteeKept{Path: "root.a", Size: small}},
		{"L7", "something for 1 leaves, the ledger []", &event.GuaranteeKept{Path: "root.a", Size: small}},
		{"S8", "the state has r2", &event.ReservationMade{Reservation: 2, App: 2, Number: 2, Key: key, Node: 2}},
	} {
		st, l := state.New(), ledger.New()
		for i, events := range cluster() {
			apply(t, st, events...)
			if err := l.Entry(uint64(i+1), 1, (&event.Batch{Level: 1, Events: events}).Encode()); err != nil {
				t.Fatal(err)
			}
		}
		if v := l.Violations(); len(v) > 0 {
			t.Fatalf("violations %v before any change, want none", v)
		}
		if c.more != nil {
			apply(t, st, c.more)
		}
		found := Of(st, l)
		if c.more == nil && len(found) > 0 {
			t.Fatalf("differences %v without a change, want none", found)
		}
		if c.more != nil && !holds(found, c.id, c.says) {
			t.Errorf("after %T: %v, want %s: %s", c.more, found, c.id, c.says)
		}
	}
}

func apply(t *testing.T, st *state.State, events ...event.Event) {
	t.Helper()
	for _, e := range events {
		if err := st.Apply(e); err != nil {
			t.Fatalf("%T: %v", e, err)
		}
	}
}

func holds(found []Difference, id, says string) bool {
	for _, d := range found {
		if d.ID == id && strings.Contains(d.Text, says) {
			return true
		}
	}
	return false
}
