package view

import (
	"strings"
	"testing"
	"time"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/yarn"
)

// shortNames returns a cluster whose nodes, queues and applications have similar names.
func shortNames(t *testing.T) *View {
	t.Helper()
	conf, err := capacity.Parse([]capacity.Property{
		{Name: capacity.Prefix + "root.queues", Value: "a,b"}, {Name: capacity.Prefix + "root.a.capacity", Value: "50"},
		{Name: capacity.Prefix + "root.b.capacity", Value: "50"},
		{Name: capacity.Prefix + "root.a.queues", Value: "etl,only"},
		{Name: capacity.Prefix + "root.a.etl.capacity", Value: "50"},
		{Name: capacity.Prefix + "root.a.only.capacity", Value: "50"},
		{Name: capacity.Prefix + "root.b.queues", Value: "etl"},
		{Name: capacity.Prefix + "root.b.etl.capacity", Value: "100"}})
	if err != nil {
		t.Fatal(err)
	}
	queues := &event.QueuesConfigured{Version: 1, Kinds: conf.Kinds}
	for _, q := range conf.Queues {
		queues.Queues = append(queues.Queues, event.QueueDefinition{Path: q.Path, Leaf: q.Leaf, State: q.State})
	}
	for _, p := range conf.Properties() {
		queues.Properties = append(queues.Properties, event.Property{Name: p.Name, Value: p.Value})
	}
	events := []event.Event{&event.ClusterInitialized{ClusterID: "c1", ClusterTimestamp: 1780000000000, Level: event.Level}, queues,
		&event.ApplicationSubmitted{App: 93, User: "ann", Queue: "root.a.only", Unmanaged: true, MaxAttempts: 1}}
	for i, id := range []yarn.NodeID{{Host: "sim-01", Port: 1}, {Host: "sim-01", Port: 2}, {Host: "sim-010", Port: 1},
		{Host: "sim-02.east", Port: 1}, {Host: "sim-02.west", Port: 1}, {Host: "sim-03.east", Port: 1},
		{Host: "sim-03x", Port: 1}} {
		events = append(events, &event.NodeRegistered{Node: state.NodeSlot(i + 1), ID: id, Rack: "/r",
			Total: yarn.NewResource(4096, 4)})
	}
	st := state.New()
	for _, e := range events {
		if err := st.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	return NewSource(nil, time.Now).At(st, 1)
}

// TestShortNames checks that a unique short name finds its object, and that the error for an
// ambiguous name lists the candidates.
func TestShortNames(t *testing.T) {
	v := shortNames(t)
	node := func(text string) (string, error) {
		slot, err := v.FindNode(text)
		return v.NodeID(slot), err
	}
	queue := func(text string) (string, error) {
		slot, err := v.FindQueue(text)
		return v.QueuePath(slot), err
	}
	app := func(text string) (string, error) {
		id, slot, err := v.FindApp(text)
		if slot == 0 {
			return "", err
		}
		return id.String(), err
	}
	for _, c := range []struct {
		find        func(string) (string, error)
		text, found string
		refused     []string
	}{
		{node, "sim-01:2", "sim-01:2", nil},
		{node, "sim-01", "", []string{"NODE_AMBIGUOUS", "sim-01:1, sim-01:2"}},
		{node, "sim-010", "sim-010:1", nil},
		{node, "sim-02", "", []string{"NODE_AMBIGUOUS", "2 nodes", "sim-02.east:1, sim-02.west:1"}},
		{node, "sim-02.west", "sim-02.west:1", nil},
		{node, "sim-03", "sim-03.east:1", nil},
		{node, "sim", "", []string{"NO_SUCH_NODE"}},
		{node, "", "", []string{"NO_SUCH_NODE"}},
		{node, "sim-01:3", "", []string{"NO_SUCH_NODE"}},
		{queue, "only", "root.a.only", nil},
		{queue, "etl", "", []string{"QUEUE_AMBIGUOUS", "2 queues", "root.a.etl, root.b.etl"}},
		{queue, "none", "", []string{"NO_SUCH_QUEUE"}},
		{app, "93", "application_1780000000000_0093", nil},
		{app, "0093", "application_1780000000000_0093", nil},
		{app, "…_0093", "application_1780000000000_0093", nil},
		{app, "application_1780000000000_0093", "application_1780000000000_0093", nil},
		{app, "94", "", []string{"NO_SUCH_APPLICATION"}},
		{app, "0", "", []string{"INVALID_REQUEST"}},
		{app, "-93", "", []string{"INVALID_REQUEST"}},
		{app, "4294967389", "", []string{"INVALID_REQUEST"}}, // 2^32 + 93
	} {
		found, err := c.find(c.text)
		if found != c.found || (err == nil) != (c.refused == nil) {
			t.Errorf("%q is %q, %v; want %q", c.text, found, err, c.found)
			continue
		}
		for _, want := range c.refused {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v does not say %q", c.text, err, want)
			}
		}
	}
}

// TestEventWithReservation checks that an event about a container names the application and the node
// of the container, not those of the reservation for which it makes room.
func TestEventWithReservation(t *testing.T) {
	v := shortNames(t)
	key, size := yarn.SchedulerKey{Priority: 1}, yarn.NewResource(4096, 4)
	for _, e := range []event.Event{
		&event.AttemptStarted{App: 93, Attempt: 1}, &event.AttemptActivated{App: 93}, &event.AttemptRegistered{App: 93},
		&event.AskChanged{App: 93, Key: key, Name: yarn.Any, Count: 1, Size: size, Relax: true},
		&event.ContainerAllocated{App: 93, Number: 1, Key: key, Node: 1, Locality: yarn.OffSwitch},
		&event.ApplicationSubmitted{App: 94, User: "bob", Queue: "root.b.etl", Unmanaged: true, MaxAttempts: 1},
		&event.AttemptStarted{App: 94, Attempt: 1}, &event.AttemptActivated{App: 94}, &event.AttemptRegistered{App: 94},
		&event.AskChanged{App: 94, Key: key, Name: yarn.Any, Count: 1, Size: size, Relax: true},
		&event.ReservationMade{Reservation: 1, App: 94, Number: 1, Key: key, Node: 1},
	} {
		if err := v.State.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	for want, e := range map[string]event.Event{
		"0093": &event.PreemptionAsked{Container: event.ContainerRef{App: 93, Attempt: 1, Number: 1}, Reservation: 1},
		"0094": &event.ReservationCancelled{Reservation: 1, Cause: yarn.CancelOperator},
	} {
		if d := v.Event(e, 0); !strings.HasSuffix(d.App, want) || d.Node != "sim-01:1" || d.Reservation != "r1" {
			t.Errorf("%s is about %s at %s, %s; want application %s", d.Kind, d.App, d.Node, d.Reservation, want)
		}
	}
}

// TestWaitsGrow checks that waits grow with the replica's clock while nothing is decided, since the
// state's own time stands still then, and that a view of an earlier state has that state's time.
func TestWaitsGrow(t *testing.T) {
	st := shortNames(t).State
	if err := st.Apply(&event.TimeAdvanced{NowMillis: 5_000}); err != nil {
		t.Fatal(err)
	}
	s := NewSource(nil, func() time.Time { return time.UnixMilli(65_000) })
	a := st.Apps.Get(st.Apps.Find(93))
	a.SubmittedMillis = 3_000
	if now, then := s.At(st, 1).App(a), s.Historical(st, 1).App(a); now.WaitingMillis != 62_000 ||
		now.WaitMillis != 62_000 || then.WaitingMillis != 2_000 {
		t.Errorf("waits of %d and %d ms now, of %d ms then", now.WaitingMillis, now.WaitMillis, then.WaitingMillis)
	}
}
