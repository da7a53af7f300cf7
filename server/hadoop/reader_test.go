package hadoop

import (
	"context"
	"errors"
	"testing"

	"github.com/hashicorp/raft"

	"rmd/fsm"
	"rmd/fsm/event"
	"rmd/yarn"
)

// TestMasterWatch checks which entries wake the launcher of AMs.
func TestMasterWatch(t *testing.T) {
	m := fsm.New(fsm.Config{})
	index := uint64(0)
	apply := func(events ...event.Event) {
		t.Helper()
		index++
		b := event.Batch{Level: event.Level, Events: events}
		if err, failed := m.Apply(&raft.Log{Index: index, Term: 1, Data: b.Encode()}).(error); failed {
			t.Fatal(err)
		}
	}
	key, size := yarn.SchedulerKey{Priority: 1}, yarn.NewResource(1024, 1)
	apply(&event.ClusterInitialized{ClusterID: "c", ClusterTimestamp: 1, Level: event.Level},
		&event.QueuesConfigured{Version: 1, Queues: []event.QueueDefinition{{Path: "root"}, {Path: "root.a", Leaf: true}}})
	w, err := (Reader{machine: m}).Watch()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	ref := event.ContainerRef{App: 1, Attempt: 1, Number: 1}
	for _, x := range []struct {
		wakes  bool
		events []event.Event
	}{
		{true, []event.Event{&event.NodeRegistered{Node: 1, ID: yarn.NodeID{Host: "n", Port: 1}, Rack: "/r",
			Total: yarn.NewResource(8192, 8)}}},
		{false, []event.Event{&event.ApplicationSubmitted{App: 1, User: "u", Queue: "root.a", MaxAttempts: 2, AM: size},
			&event.AttemptStarted{App: 1, Attempt: 1}}},
		{false, []event.Event{&event.AttemptActivated{App: 1},
			&event.AskChanged{App: 1, Name: yarn.Any, Count: 1, Size: size, Relax: true}}},
		{true, []event.Event{&event.ContainerAllocated{App: 1, Number: 1, Node: 1, Locality: yarn.OffSwitch, AM: true}}},
		{true, []event.Event{&event.AttemptLaunched{App: 1}}},
		{true, []event.Event{&event.ContainerLaunched{Container: ref}}},
		{false, []event.Event{&event.AttemptRegistered{App: 1},
			&event.AskChanged{App: 1, Key: key, Name: yarn.Any, Count: 2, Size: size, Relax: true}}},
		{false, []event.Event{&event.ContainerAllocated{App: 1, Number: 2, Key: key, Node: 1, Locality: yarn.OffSwitch}}},
		{false, []event.Event{&event.ContainerReleased{Container: event.ContainerRef{App: 1, Attempt: 1, Number: 2},
			ExitStatus: yarn.ExitPreempted}}},
		{true, []event.Event{&event.ContainerReleased{Container: ref, ExitStatus: yarn.ExitKilledByRM},
			&event.AttemptEnded{App: 1, Final: yarn.FinalFailed, Counts: true}}},
	} {
		apply(x.events...)
		if woken := wakes(t, w); woken != x.wakes {
			t.Errorf("%s: wakes the launcher: %v, want %v", event.Describe(x.events[len(x.events)-1]), woken, x.wakes)
		}
	}
}

// wakes reports whether a watch returns for what was applied, without waiting for more.
func wakes(t *testing.T, w interface{ Next(context.Context) error }) bool {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := w.Next(ctx)
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	return err == nil
}

// TestTokenWatch checks which entries wake the renewer of tokens.
func TestTokenWatch(t *testing.T) {
	m := fsm.New(fsm.Config{})
	index := uint64(0)
	apply := func(events ...event.Event) {
		t.Helper()
		index++
		b := event.Batch{Level: event.Level, Events: events}
		if err, failed := m.Apply(&raft.Log{Index: index, Term: 1, Data: b.Encode()}).(error); failed {
			t.Fatal(err)
		}
	}
	apply(&event.ClusterInitialized{ClusterID: "c", ClusterTimestamp: 1, Level: event.Level},
		&event.QueuesConfigured{Version: 1, Queues: []event.QueueDefinition{{Path: "root"}, {Path: "root.a", Leaf: true}}})
	w, err := (Reader{machine: m}).WatchTokens()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for _, x := range []struct {
		wakes bool
		e     event.Event
	}{
		{false, &event.ApplicationSubmitted{App: 1, User: "u", Queue: "root.a", MaxAttempts: 2}},
		{true, &event.TokensAdded{App: 1, Tokens: []event.AppToken{{Kind: "kms-dt"}}}},
		{true, &event.TokenRenewed{Token: 1, EndMillis: 1000, NextMillis: 900}},
		{false, &event.AttemptStarted{App: 1, Attempt: 1}},
	} {
		apply(x.e)
		if woken := wakes(t, w); woken != x.wakes {
			t.Errorf("%s: wakes the renewer: %v, want %v", event.Describe(x.e), woken, x.wakes)
		}
	}
}
