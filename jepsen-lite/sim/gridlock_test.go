package sim

import (
	"testing"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/yarn"
)

func TestGridlock(t *testing.T) {
	st := state.New()
	key := yarn.SchedulerKey{Priority: 1}
	apply := func(events ...event.Event) {
		t.Helper()
		for _, e := range events {
			if err := st.Apply(e); err != nil {
				t.Fatal(err)
			}
		}
	}
	ask := func(app uint32, count, mb int64) *event.AskChanged {
		return &event.AskChanged{App: app, Key: key, Name: yarn.Any, Count: count, Size: yarn.NewResource(mb, 1), Relax: true}
	}
	apply(&event.ClusterInitialized{ClusterID: "c", ClusterTimestamp: 1, Level: 1},
		&event.QueuesConfigured{Version: 1, Queues: []event.QueueDefinition{{Path: "root"}, {Path: "root.a", Leaf: true}}},
		&event.NodeRegistered{Node: 1, ID: yarn.NodeID{Host: "n1", Port: 1}, Rack: "/r", Total: yarn.NewResource(8192, 8)})
	for app := uint32(1); app <= 2; app++ {
		apply(&event.ApplicationSubmitted{App: app, User: "u", Queue: "root.a", Unmanaged: true}, &event.AttemptStarted{App: app, Attempt: 1},
			&event.AttemptActivated{App: app}, &event.AttemptRegistered{App: app}, ask(app, 2, 4096))
	}
	if id, locked := gridlock(st); locked {
		t.Errorf("an empty node: %s", id)
	}
	apply(&event.ContainerAllocated{App: 1, Number: 1, Key: key, Node: 1, Locality: yarn.OffSwitch}, ask(2, 1, 6144))
	if id, locked := gridlock(st); locked {
		t.Errorf("what the first one waits for fits: %s", id)
	}
	apply(ask(1, 1, 5120))
	if id, locked := gridlock(st); !locked || id.Seq == 0 {
		t.Errorf("nothing fits beside it: %s %v", id, locked)
	}
	apply(&event.NodeRegistered{Node: 2, ID: yarn.NodeID{Host: "n2", Port: 1}, Rack: "/r", Total: yarn.NewResource(2048, 8)},
		&event.ReservationMade{Reservation: 1, App: 1, Number: 2, Key: key, Node: 1}, ask(2, 1, 2048))
	if id, locked := gridlock(st); !locked {
		t.Errorf("all that may be used is reserved: %s", id)
	}
	apply(ask(2, 1, 1024))
	if id, locked := gridlock(st); locked {
		t.Errorf("this may still be used: %s", id)
	}
	apply(ask(2, 0, 1024), &event.AskChanged{App: 1, Key: yarn.SchedulerKey{Priority: 2}, Name: yarn.Any, Count: 1, Size: yarn.NewResource(2048, 1), Relax: true})
	if id, locked := gridlock(st); locked {
		t.Errorf("its reservation may be traded: %s", id)
	}
	apply(&event.ReservationCancelled{Reservation: 1, Cause: yarn.CancelExchanged}, ask(1, 0, 5120),
		&event.AskChanged{App: 1, Key: yarn.SchedulerKey{Priority: 2}, Name: yarn.Any, Size: yarn.NewResource(2048, 1), Relax: true})
	if id, locked := gridlock(st); locked {
		t.Errorf("nobody waits: %s", id)
	}
}
