package state

import (
	"testing"

	"rmd/fsm/event"
	"rmd/yarn"
)

// TestFormerQueue checks that an application keeps the path of the queue in which it ended until it
// is forgotten, even if another queue gets the slot of that queue.
func TestFormerQueue(t *testing.T) {
	s := New()
	apply(t, s, &event.TimeAdvanced{NowMillis: 1000},
		&event.ClusterInitialized{ClusterID: "c", ClusterTimestamp: 5, Level: event.Level},
		&event.QueuesConfigured{Version: 1, Queues: []event.QueueDefinition{{Path: "root"}}},
		&event.QueueCreated{Path: "root.ann", Leaf: true, State: yarn.QueueRunning},
		&event.ApplicationSubmitted{App: 1, User: "ann", Queue: "root.ann"},
		&event.ApplicationEnded{App: 1, State: yarn.AppKilled})
	queue := func() string { return s.QueueOf(s.Apps.Get(s.Apps.Find(1))) }
	if q := queue(); q != "root.ann" || s.FormerQueues.Len() != 0 {
		t.Errorf("it is in %q, and %d former queues are kept", q, s.FormerQueues.Len())
	}
	apply(t, s, &event.QueuesRemoved{Paths: []string{"root.ann"}},
		&event.QueueCreated{Path: "root.bob", Leaf: true, State: yarn.QueueRunning})
	if q := queue(); q != "root.ann" {
		t.Errorf("its queue was removed, and it is in %q", q)
	}
	if err := s.Check(); err != nil {
		t.Error(err)
	}
	apply(t, s, &event.ApplicationForgotten{App: 1})
	if s.FormerQueues.Len() != 0 {
		t.Error("the former queue of a forgotten application is kept")
	}
}

// TestDigestCoversActiveLeaves checks that the digest and DynamicQueues.Set depend on which leaves of
// managed parents are active. The guarantees of the leaves depend on it.
func TestDigestCoversActiveLeaves(t *testing.T) {
	s := refusable(t)
	apply(t, s, made("root.b.u", true), made("root.b.v", true))
	a, b := s.Fork(), s.Fork()
	apply(t, a, &event.QueuesActivated{Active: []string{"root.b.u"}})
	apply(t, b, &event.QueuesActivated{Active: []string{"root.b.v"}})
	if a.Digest() == b.Digest() || a.Digest() == s.Digest() {
		t.Error("which queue is active is not in the digest")
	}
	if a.DynamicQueues.Set() == b.DynamicQueues.Set() || a.DynamicQueues.Set() == s.DynamicQueues.Set() {
		t.Error("which queue is active is not in the set of dynamic queues")
	}
	apply(t, a, &event.QueuesActivated{Inactive: []string{"root.b.u"}})
	if a.DynamicQueues.Set() != s.DynamicQueues.Set() {
		t.Error("the set of dynamic queues is another one after a change and back")
	}
	if err := a.Check(); err != nil {
		t.Error(err)
	}
}
