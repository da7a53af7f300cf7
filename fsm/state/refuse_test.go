package state

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"rmd/fsm/event"
	"rmd/yarn"
)

// refusable returns a world with a record of each kind: app 1 has containers 1 (acquired) and 2
// (releasing) and reservation r1 on node 1, app 2 has container 1 on node 2, app 3 is between two
// attempts in root.b.y, app 4 is non-runnable, and app 5 has ended.
func refusable(t failer) *State {
	s := world(t)
	apply(t, s,
		ask(1, k1, 5, 3),
		allocated(1, 1, k1, 1), allocated(1, 2, k1, 1),
		&event.ResponseRecorded{App: 1, Response: 1},
		&event.ContainerReleased{Container: ref(1, 2), ExitStatus: 1},
		&event.ReservationMade{Reservation: 1, App: 1, Number: 3, Key: k1, Node: 1},
		ask(2, k1, 3, 1),
		allocated(2, 1, k1, 2),
		submit(3, "cid", "root.b.y"), &event.AttemptStarted{App: 3, Attempt: 1}, &event.AttemptEnded{App: 3},
		submit(4, "cid", "root.a"), &event.AttemptStarted{App: 4, Attempt: 1, NonRunnable: true},
		submit(5, "cid", "root.a"), &event.ApplicationEnded{App: 5, State: yarn.AppKilled},
		nodeUp(3, "h3", gb(2)), nodeUp(4, "h4", gb(8)), &event.NodeStateChanged{Node: 4, State: yarn.NodeLost},
		&event.RequestRecorded{Key: "c/1"},
		&event.JoinTokenCreated{Hash: []byte{1}}, &event.JoinTokenCreated{Hash: []byte{2}},
		&event.JoinTokenUsed{Hash: []byte{2}, By: "r2"},
		&event.EpochRaised{Epoch: 3, ClusterTimestamp: 78},
	)
	return s
}

// first is the first container number of epoch 3.
const first = 3 << 40

// TestRefusals has an event for every check of Apply. Apply must reject it and leave the state
// unchanged.
func TestRefusals(t *testing.T) {
	number := func(e *event.ContainerAllocated, n uint64) *event.ContainerAllocated { e.Number = n; return e }
	for _, c := range []struct {
		name string
		e    event.Event
	}{
		{"time runs backwards", &event.TimeAdvanced{NowMillis: 999}},
		{"initialized twice", &event.ClusterInitialized{ClusterID: "d"}},
		{"level not raised", &event.LevelRaised{Level: event.Level}},
		{"epoch not raised", &event.EpochRaised{Epoch: 3}},
		{"token twice", &event.JoinTokenCreated{Hash: []byte{1}}},
		{"token unknown", &event.JoinTokenUsed{Hash: []byte{9}}},
		{"token spent", &event.JoinTokenUsed{Hash: []byte{2}}},
		{"request key reused", &event.RequestRecorded{Key: "c/1"}},
		{"more requests forgotten than there are", &event.RequestsForgotten{Count: 2}},

		{"queue version not newer", tree(1, leaf("root.a"), parent("root.b"), leaf("root.b.x"), leaf("root.b.y"))},
		{"no queues", &event.QueuesConfigured{Version: 2}},
		{"first queue is not root", &event.QueuesConfigured{Version: 2, Queues: []event.QueueDefinition{leaf("other")}}},
		{"two roots", tree(2, leaf("root.a"), parent("root.b"), leaf("root.b.x"), leaf("root.b.y"), leaf("other"))},
		{"queue before its parent", tree(2, leaf("root.a"), leaf("root.b.x"), parent("root.b"), leaf("root.b.y"))},
		{"queue under a leaf", tree(2, leaf("root.a"), leaf("root.a.k"), parent("root.b"), leaf("root.b.x"),
			leaf("root.b.y"))},
		{"queue twice", tree(2, leaf("root.a"), leaf("root.a"), parent("root.b"), leaf("root.b.x"), leaf("root.b.y"))},
		{"queue in use dropped", tree(2, parent("root.b"), leaf("root.b.x"), leaf("root.b.y"))},
		{"queue of an application between attempts dropped", tree(2, leaf("root.a"), parent("root.b"), leaf("root.b.x"))},
		{"leaf in use becomes a parent", tree(2, parent("root.a"), parent("root.b"), leaf("root.b.x"), leaf("root.b.y"))},
		{"leaf of an application between attempts becomes a parent",
			tree(2, leaf("root.a"), parent("root.b"), leaf("root.b.x"), parent("root.b.y"))},
		{"too many kinds", &event.QueuesConfigured{Version: 2,
			Queues: tree(2, leaf("root.a"), parent("root.b"), leaf("root.b.x"), leaf("root.b.y")).Queues,
			Kinds:  make([]string, yarn.MaxKinds+1)}},
		{"queue removed that is not dynamic", &event.QueuesRemoved{Paths: []string{"root.b.x"}}},
		{"unknown queue removed", &event.QueuesRemoved{Paths: []string{"root.b.u"}}},
		{"state of an unknown queue", &event.QueueStateChanged{Path: "root.z", State: yarn.QueueStopped}},
		{"unknown queue state", &event.QueueStateChanged{Path: "root.a", State: 9}},
		{"queue in use stopped", &event.QueueStateChanged{Path: "root.a", State: yarn.QueueStopped}},
		{"queue of an application between attempts stopped",
			&event.QueueStateChanged{Path: "root.b.y", State: yarn.QueueStopped}},

		{"node number skipped", nodeUp(9, "h9", gb(1))},
		{"node number reused", nodeUp(1, "h9", gb(1))},
		{"known node under another number", nodeUp(2, "h1", gb(1))},
		{"node of negative size", nodeUp(5, "h9", gb(-1))},
		{"state of an unknown node", &event.NodeStateChanged{Node: 9, State: yarn.NodeLost}},
		{"unknown node state", &event.NodeStateChanged{Node: 3, State: 99}},
		{"node state 0", &event.NodeStateChanged{Node: 3}},
		{"node lost with containers", &event.NodeStateChanged{Node: 2, State: yarn.NodeLost}},
		{"node lost with a reservation", &event.NodeStateChanged{Node: 1, State: yarn.NodeUnhealthy}},
		{"resource of an unknown node", &event.NodeResourceChanged{Node: 9, Total: gb(1)}},
		{"negative resource", &event.NodeResourceChanged{Node: 2, Total: gb(-1)}},
		{"node smaller than its reservation", &event.NodeResourceChanged{Node: 1, Total: gb(2)}},

		{"application number reused", submit(2, "ann", "root.a")},
		{"last application number", submit(1<<32-1, "ann", "root.a")},
		{"submitted to an unknown queue", submit(6, "ann", "root.z")},
		{"submitted to a parent", submit(6, "ann", "root.b")},
		{"unknown application ends", &event.ApplicationEnded{App: 9, State: yarn.AppKilled}},
		{"application ends in a state that is no end", &event.ApplicationEnded{App: 3, State: yarn.AppRunning}},
		{"application ends in an unknown state", &event.ApplicationEnded{App: 3, State: 99}},
		{"application ends twice", &event.ApplicationEnded{App: 5, State: yarn.AppKilled}},
		{"application ends with an attempt", &event.ApplicationEnded{App: 2, State: yarn.AppKilled}},
		{"unknown application moves", &event.ApplicationMoved{App: 9, Queue: "root.a"}},
		{"ended application moves", &event.ApplicationMoved{App: 5, Queue: "root.b.x"}},
		{"move to where it is", &event.ApplicationMoved{App: 1, Queue: "root.a"}},
		{"move to a parent", &event.ApplicationMoved{App: 1, Queue: "root.b"}},
		{"move to an unknown queue", &event.ApplicationMoved{App: 1, Queue: "root.z"}},
		{"unknown application reprioritized", &event.ApplicationReprioritized{App: 9}},
		{"unknown application forgotten", &event.ApplicationForgotten{App: 9}},
		{"running application forgotten", &event.ApplicationForgotten{App: 1}},

		{"attempt of an unknown application", &event.AttemptStarted{App: 9, Attempt: 1}},
		{"attempt of an ended application", &event.AttemptStarted{App: 5, Attempt: 1}},
		{"second attempt beside the first", &event.AttemptStarted{App: 1, Attempt: 2}},
		{"attempt number skipped", &event.AttemptStarted{App: 3, Attempt: 3}},
		{"attempt number reused", &event.AttemptStarted{App: 3, Attempt: 1}},
		{"non-runnable attempt made non-runnable again", &event.AttemptStarted{App: 4, Attempt: 1, NonRunnable: true}},
		{"unknown application activated", &event.AttemptActivated{App: 9}},
		{"active attempt activated", &event.AttemptActivated{App: 1}},
		{"non-runnable attempt activated", &event.AttemptActivated{App: 4}},
		{"unknown application registered", &event.AttemptRegistered{App: 9}},
		{"attempt registered twice", &event.AttemptRegistered{App: 1}},
		{"ended attempt registered", &event.AttemptRegistered{App: 3}},
		{"attempt of an unknown application ends", &event.AttemptEnded{App: 9}},
		{"attempt ends twice", &event.AttemptEnded{App: 3}},
		{"attempt ends with a reservation", &event.AttemptEnded{App: 1, Keep: true}},
		{"attempt ends with live containers", &event.AttemptEnded{App: 2}},
		{"answer to an unknown application", &event.ResponseRecorded{App: 9, Response: 2}},
		{"response reused", &event.ResponseRecorded{App: 1, Response: 1}},

		{"ask of an unknown application", ask(9, k1, 1, 1)},
		{"ask of a non-runnable attempt", ask(4, k1, 1, 1)},
		{"ask between attempts", ask(3, k1, 1, 1)},
		{"negative count", ask(1, k1, -1, 1)},
		{"negative size", ask(1, k1, 1, -1)},
		{"location without \"*\"", &event.AskChanged{App: 1, Key: k2, Name: "never heard of", Count: 1}},
		{"unknown application counted", &event.AskCountersUpdated{App: 9, Key: k1}},
		{"unknown ask counted", &event.AskCountersUpdated{App: 1, Key: k2}},
		{"blacklist of an unknown application", &event.BlacklistChanged{App: 9, Add: []string{"never heard of"}}},

		{"allocated to an unknown application", allocated(9, 1, k1, 2)},
		{"allocated to an attempt not active", allocated(4, 1, k1, 2)},
		{"allocated without an ask", number(allocated(2, 0, k2, 2), first+1)},
		{"container number reused", allocated(2, 1, k1, 2)},
		{"container number skipped", number(allocated(2, 0, k1, 2), first+2)},
		{"container number of the epoch before", allocated(2, 2, k1, 2)},
		{"allocated on an unknown node", number(allocated(2, 0, k1, 9), first+1)},
		{"allocated on a lost node", number(allocated(2, 0, k1, 4), first+1)},
		{"allocated on a reserved node", number(allocated(2, 0, k1, 1), first+1)},
		{"over-committed", number(allocated(1, 0, k1, 3), first+2)},
		{"no locality", &event.ContainerAllocated{App: 2, Number: first + 1, Key: k1, Node: 2}},
		{"unknown locality", &event.ContainerAllocated{App: 2, Number: first + 1, Key: k1, Node: 2, Locality: 4}},
		{"unknown container launched", &event.ContainerLaunched{Container: ref(1, 99)}},
		{"container of an unknown application launched", &event.ContainerLaunched{Container: ref(9, 1)}},
		{"released container launched", &event.ContainerLaunched{Container: ref(1, 2)}},
		{"unknown container released", &event.ContainerReleased{
			Container: event.ContainerRef{App: 1, Attempt: 2, Number: 1}}},
		{"released twice", &event.ContainerReleased{Container: ref(1, 2)}},
		{"unknown container completed", &event.ContainerCompleted{Container: ref(2, 99)}},
		{"ask of a released container restored", &event.ContainerCompleted{Container: ref(1, 2), Restore: true}},
		{"ask of an acquired container restored", &event.ContainerCompleted{Container: ref(1, 1), Restore: true}},

		{"reservation for an unknown application",
			&event.ReservationMade{Reservation: 2, App: 9, Number: first + 1, Key: k1, Node: 2}},
		{"reservation without an ask", &event.ReservationMade{Reservation: 2, App: 1, Number: first + 2, Key: k2, Node: 2}},
		{"reservation on an unknown node", &event.ReservationMade{Reservation: 2, App: 1, Number: first + 2,
			Key: k1, Node: 9}},
		{"reservation number reused", &event.ReservationMade{Reservation: 1, App: 1, Number: first + 2, Key: k1, Node: 2}},
		{"reservation number skipped", &event.ReservationMade{Reservation: 3, App: 1, Number: first + 2, Key: k1, Node: 2}},
		{"reservation with a container number reused",
			&event.ReservationMade{Reservation: 2, App: 1, Number: 3, Key: k1, Node: 2}},
		{"second reservation on a node", &event.ReservationMade{Reservation: 2, App: 2, Number: first + 1, Key: k1, Node: 1}},
		{"reservation on a lost node", &event.ReservationMade{Reservation: 2, App: 1, Number: first + 2, Key: k1, Node: 4}},
		{"reservation larger than the node", &event.ReservationMade{Reservation: 2, App: 1, Number: first + 2,
			Key: k1, Node: 3}},
		{"reservation where it fits", &event.ReservationMade{Reservation: 2, App: 1, Number: first + 2, Key: k1, Node: 2}},
		{"unknown reservation fulfilled", &event.ReservationFulfilled{Reservation: 9, Locality: 3}},
		{"reservation fulfilled where it does not fit", &event.ReservationFulfilled{Reservation: 1, Locality: 3}},
		{"reservation fulfilled at no locality", &event.ReservationFulfilled{Reservation: 1}},
		{"unknown reservation cancelled", &event.ReservationCancelled{Reservation: 9, Cause: 1}},
		{"cancelled for no cause", &event.ReservationCancelled{Reservation: 1}},
		{"cancelled for an unknown cause", &event.ReservationCancelled{Reservation: 1, Cause: 99}},
	} {
		t.Run(c.name, func(t *testing.T) { refuse(t, refusable(t), c.e) })
	}
}

// TestRefusalsAfterOtherEvents has the rejected events that need other events first.
func TestRefusalsAfterOtherEvents(t *testing.T) {
	dynamic := []event.Event{made("root.b.g", false), made("root.b.g.u", true), made("root.b.g.v", true)}
	inUse := append(dynamic, submit(7, "ann", "root.b.g.u"))
	free := []event.Event{&event.ContainerCompleted{Container: ref(1, 2)}}
	full := []event.Event{ask(2, k2, 1, 6), allocated(2, first+1, k2, 2)}
	waiting := []event.Event{submit(6, "ann", "root.a"), &event.AttemptStarted{App: 6, Attempt: 1}, ask(6, k1, 1, 3)}
	for _, c := range []struct {
		name  string
		first []event.Event
		e     event.Event
	}{
		{"queue created twice", dynamic, made("root.b.g.u", true)},
		{"queue created below nothing", dynamic, made("root.b.z.u", true)},
		{"queue created below a leaf", dynamic, made("root.b.g.u.k", true)},
		{"queue created without a name", dynamic, made("root.b.", true)},
		{"queue created in an unknown state", dynamic, &event.QueueCreated{Path: "root.b.w", State: 9}},
		{"queue activated that is not dynamic", dynamic, &event.QueuesActivated{Active: []string{"root.b.x"}}},
		{"queue activated that is no leaf", dynamic, &event.QueuesActivated{Active: []string{"root.b.g"}}},
		{"unknown queue activated", dynamic, &event.QueuesActivated{Active: []string{"root.b.k"}}},
		{"queue activated twice", dynamic, &event.QueuesActivated{Active: []string{"root.b.g.u", "root.b.g.u"}}},
		{"queue activated and not", dynamic, &event.QueuesActivated{Active: []string{"root.b.g.u"},
			Inactive: []string{"root.b.g.u"}}},
		{"queue not active any more that was not", dynamic, &event.QueuesActivated{Inactive: []string{"root.b.g.u"}}},
		{"active queue activated", append(dynamic[:3:3], &event.QueuesActivated{Active: []string{"root.b.g.u"}}),
			&event.QueuesActivated{Active: []string{"root.b.g.u"}}},
		{"queue removed twice", dynamic, &event.QueuesRemoved{Paths: []string{"root.b.g.u", "root.b.g.u"}}},
		{"queue removed with queues below", dynamic, &event.QueuesRemoved{Paths: []string{"root.b.g.u", "root.b.g"}}},
		{"queue removed before those below", dynamic,
			&event.QueuesRemoved{Paths: []string{"root.b.g", "root.b.g.v", "root.b.g.u"}}},
		{"queue removed with applications", inUse, &event.QueuesRemoved{Paths: []string{"root.b.g.u"}}},
		{"dynamic queue loses the queue above", dynamic, tree(2, leaf("root.a"), parent("root.c"), leaf("root.c.x"))},
		{"dynamic queue below a leaf", dynamic, tree(2, leaf("root.a"), parent("root.b"), leaf("root.b.x"), leaf("root.b.y"),
			leaf("root.b.g"))},
		{"completed twice", []event.Event{&event.ContainerCompleted{Container: ref(1, 1)}},
			&event.ContainerCompleted{Container: ref(1, 1)}},
		{"completed container launched", []event.Event{&event.ContainerCompleted{Container: ref(1, 1)}},
			&event.ContainerLaunched{Container: ref(1, 1)}},
		{"launched twice", []event.Event{&event.ContainerLaunched{Container: ref(1, 1)}},
			&event.ContainerLaunched{Container: ref(1, 1)}},
		{"fulfilled with the ask gone", append(free, ask(1, k1, 0, 3)),
			&event.ReservationFulfilled{Reservation: 1, Locality: 3}},
		{"fulfilled with the ask of another size", append(free, ask(1, k1, 3, 2)),
			&event.ReservationFulfilled{Reservation: 1, Locality: 3}},
		{"fulfilled twice", append(free, &event.ReservationFulfilled{Reservation: 1, Locality: 3}),
			&event.ReservationFulfilled{Reservation: 1, Locality: 3}},
		{"cancelled after it was fulfilled", append(free, &event.ReservationFulfilled{Reservation: 1, Locality: 3}),
			&event.ReservationCancelled{Reservation: 1, Cause: 1}},
		{"reserved for an ask of nothing", []event.Event{&event.ReservationCancelled{Reservation: 1, Cause: 1},
			ask(1, k1, 0, 3)},
			&event.ReservationMade{Reservation: 2, App: 1, Number: first + 2, Key: k1, Node: 1}},
		{"second reservation on a node, for what does not fit", []event.Event{ask(2, k2, 1, 3)},
			&event.ReservationMade{Reservation: 2, App: 2, Number: first + 1, Key: k2, Node: 1}},
		{"reserved for an ask that a reservation alone keeps", append(full, ask(1, k1, 0, 3)),
			&event.ReservationMade{Reservation: 2, App: 1, Number: first + 2, Key: k1, Node: 2}},
		{"reserved for an attempt not active", append(full, waiting...),
			&event.ReservationMade{Reservation: 2, App: 6, Number: first + 1, Key: k1, Node: 2}},
		{"allocated to an attempt that waits for activation", waiting, allocated(6, first+1, k1, 2)},
		{"allocated for an ask that a reservation alone keeps", []event.Event{ask(1, k1, 0, 3)},
			allocated(1, first+2, k1, 2)},
		{"application ends with containers kept", []event.Event{&event.AttemptEnded{App: 2, Keep: true}},
			&event.ApplicationEnded{App: 2, State: yarn.AppFailed}},
		{"ask of a kept container restored to the next attempt", []event.Event{&event.AttemptEnded{App: 2, Keep: true},
			&event.AttemptStarted{App: 2, Attempt: 2}}, &event.ContainerCompleted{Container: ref(2, 1), Restore: true}},
		{"ask restored between attempts", []event.Event{&event.AttemptEnded{App: 2, Keep: true}},
			&event.ContainerCompleted{Container: ref(2, 1), Restore: true}},
		{"forgotten while a node still holds a container",
			[]event.Event{&event.ReservationCancelled{Reservation: 1, Cause: 3},
				&event.ContainerReleased{Container: ref(1, 1)}, &event.AttemptEnded{App: 1},
				&event.ApplicationEnded{App: 1, State: yarn.AppFailed}},
			&event.ApplicationForgotten{App: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := refusable(t)
			apply(t, s, c.first...)
			refuse(t, s, c.e)
		})
	}
	refuse(t, New(), &event.ClusterInitialized{})
}

// TestVCoreOverCommitMemoryOnly checks that a node's vcores may be exceeded if only memory counts.
func TestVCoreOverCommitMemoryOnly(t *testing.T) {
	s := world(t)
	apply(t, s, &event.AskChanged{App: 1, Key: k1, Name: yarn.Any, Count: 2, Size: yarn.NewResource(1024, 9)})
	refuse(t, s, allocated(1, 1, k1, 1))
	byMemory := tree(2, leaf("root.a"), parent("root.b"), leaf("root.b.x"), leaf("root.b.y"))
	byMemory.Dominant = false
	apply(t, s, byMemory, allocated(1, 1, k1, 1))
}

type unknownEvent struct{ event.Event }

func (unknownEvent) Kind() event.Kind { return 999 }

func TestUnknownEventIsRefused(t *testing.T) { refuse(t, world(t), unknownEvent{}) }

// TestEveryKindHasOneApplier checks that each event type has a function that applies it, and that no
// second one can take its place.
func TestEveryKindHasOneApplier(t *testing.T) {
	for _, k := range event.Kinds() {
		if appliers[k] == nil {
			t.Errorf("nothing applies %s: add applies((*State).…) beside the function that does", k)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a second function may apply GangStarted")
		}
	}()
	applies((*State).gangStarted)
}

// nextEvent is an event of the feature level after that of this build.
type nextEvent struct{ event.TimeAdvanced }

func (*nextEvent) Since() uint32 { return event.Level + 1 }

// TestEventOfALaterLevel checks that an event is refused below its feature level, and reaches its
// applier from that level on. There is none for it here.
func TestEventOfALaterLevel(t *testing.T) {
	s, e := world(t), &nextEvent{}
	for _, want := range []string{fmt.Sprintf("the feature level is %d", event.Level), "does not know the event"} {
		var broken *BrokenError
		if err := s.Apply(e); !errors.As(err, &broken) || !strings.Contains(broken.Why, want) {
			t.Errorf("Apply at level %d: %v, want a refusal that says %q", s.Meta.Level, err, want)
		}
		apply(t, s, &event.LevelRaised{Level: s.Meta.Level + 1})
	}
}
