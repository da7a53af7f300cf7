package view

import (
	"slices"
	"testing"
	"time"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/scheduler/capacity/preset"
	"rmd/yarn"
)

// TestEventSubjectMatchesDocument checks that the subject of an event agrees with the event's
// document.
func TestEventSubjectMatchesDocument(t *testing.T) {
	st := state.New()
	key := yarn.SchedulerKey{Priority: 1}
	size := yarn.NewResource(1024, 1)
	var story []event.Event
	apply := func(list ...event.Event) {
		t.Helper()
		for _, e := range list {
			if err := st.Apply(e); err != nil {
				t.Fatal(err)
			}
		}
		story = append(story, list...)
	}
	conf, err := capacity.Parse(preset.Demo())
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
	apply(&event.TimeAdvanced{NowMillis: 1},
		&event.ClusterInitialized{ClusterID: "c1", ClusterTimestamp: 1, Level: event.Level}, queues,
		&event.NodeRegistered{Node: 1, ID: yarn.NodeID{Host: "n1", Port: 1}, Rack: "/r", Total: yarn.NewResource(4096, 4)},
		&event.ApplicationSubmitted{App: 1, User: "ann", Queue: "root.train", Unmanaged: true, MaxAttempts: 1},
		&event.AttemptStarted{App: 1, Attempt: 1}, &event.AttemptActivated{App: 1}, &event.AttemptRegistered{App: 1},
		&event.AskChanged{App: 1, Key: key, Name: yarn.Any, Count: 3, Size: size, Relax: true},
		&event.ContainerAllocated{App: 1, Number: 1, Key: key, Node: 1, Locality: yarn.OffSwitch},
		&event.ContainerAllocated{App: 1, Number: 2, Key: key, Node: 1, Locality: yarn.OffSwitch},
		&event.ContainerLaunched{Container: event.ContainerRef{App: 1, Attempt: 1, Number: 1}},
		&event.AskChanged{App: 1, Key: key, Name: yarn.Any, Count: 1, Size: yarn.NewResource(4096, 4), Relax: true},
		&event.ReservationMade{Reservation: 1, App: 1, Number: 3, Key: key, Node: 1},
		&event.TimeAdvanced{NowMillis: 2})
	// Node 2 has the number of a node that was forgotten. Decisions about the forgotten node are
	// not about this one.
	apply(&event.NodeRegistered{Node: 2, ID: yarn.NodeID{Host: "n2", Port: 1}, Rack: "/r"})
	story = append(story, &event.TimeAdvanced{NowMillis: 1}, &event.ReservationMade{Node: 2, App: 1},
		&event.TimeAdvanced{NowMillis: 3}, &event.ReservationMade{Node: 2, App: 1},
		&event.ReservationCancelled{Reservation: 1}, &event.ReservationFulfilled{Reservation: 2},
		&event.PreemptionAsked{Container: event.ContainerRef{App: 1, Attempt: 1, Number: 2}})
	v := NewSource(nil, time.Now).At(st, 1)
	at := int64(0)
	var named []string
	for _, e := range story {
		if t, ok := e.(*event.TimeAdvanced); ok {
			at = t.NowMillis
		}
		s, d := v.Subject(e, at), v.Event(e, at)
		if e, ok := e.(*event.ReservationMade); ok && e.Node == 2 {
			named = append(named, d.Node)
		}
		app, node := "", ""
		if s.App != 0 {
			app = v.AppID(s.App).String()
		}
		if s.Node != 0 {
			node = v.NodeID(s.Node)
		}
		if app != d.App || node != d.Node {
			t.Errorf("%s: %+v is not %s at %s", d.Kind, s, d.App, d.Node)
		}
	}
	warned := v.Event(story[len(story)-1], at)
	if warned.Reservation != "" || warned.Node != "n1:1" {
		t.Errorf("a warning for no reservation is about %q on %q", warned.Reservation, warned.Node)
	}
	if !slices.Equal(named, []string{"", "n2:1"}) {
		t.Errorf("decisions about the number of a node, before and after it had it, are about %q", named)
	}
}

// TestHashIsText checks that a hash is text. As a number of 64 bits, most readers of JSON would round it.
func TestHashIsText(t *testing.T) {
	v := NewSource(nil, time.Now).At(state.New(), 1)
	d := v.Event(&event.RequestRecorded{BodyHash: 1<<63 + 1}, 0)
	if got := d.Data["body_hash"]; got != "8000000000000001" {
		t.Errorf("body_hash is %#v, want the text 8000000000000001", got)
	}
}
