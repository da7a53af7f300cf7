package ledger

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"rmd/fsm/event"
	"rmd/yarn"
)

// TestLegal follows containers and reservations without any fault.
func TestLegal(t *testing.T) {
	l := begin(t)
	l.entry(give(1, 1, 1), give(1, 2, 1))
	l.entry(&event.ContainerLaunched{Container: ref(1, 1)})
	l.entry(&event.ContainerReleased{Container: ref(1, 1), ExitStatus: yarn.ExitAborted})
	l.entry(&event.ContainerCompleted{Container: ref(1, 1)},
		&event.ContainerCompleted{Container: ref(1, 2), Restore: true})
	l.app(2, "root.b")
	l.entry(want(2, large, 2))
	l.entry(give(2, 1, 1))
	l.entry(hold(1, 2, 2, 1)) // node 1 has 2 GiB free
	l.legal()
	l.entry(&event.ContainerCompleted{Container: ref(2, 1)})
	l.entry(&event.ReservationFulfilled{Reservation: 1, Locality: yarn.OffSwitch})
	l.entry(&event.ApplicationMoved{App: 2, Queue: "root.a"})
	l.entry(configuration(2, "100"))
	l.entry(want(2, large, 1), hold(2, 2, 3, 1))
	l.entry(want(2, large, 0), &event.ReservationCancelled{Reservation: 2, Cause: yarn.CancelAttemptEnded},
		&event.ContainerReleased{Container: ref(2, 2)},
		&event.AttemptEnded{App: 2}, &event.ApplicationEnded{App: 2, State: yarn.AppKilled})
	l.entry(&event.ContainerCompleted{Container: ref(2, 2)})
	l.entry(&event.ApplicationForgotten{App: 2})
	l.legal()
	a, ok := l.m.App("application_1780000000000_0002")
	if !ok || a.State != yarn.AppKilled || a.Ended == 0 || a.Queue != "root.a" {
		t.Errorf("application 2: %+v, found %v, want it killed and ended, in root.a", a, ok)
	}
	if was, ok := a.At(a.Ended - 1); !ok || was.State != yarn.AppRunning {
		t.Errorf("%+v before the end", was)
	}
	f, ok := l.m.Container("container_1780000000000_0001_01_000001")
	if !ok || f.Live || f.Released == 0 || f.Completed < f.Released || f.Node != nodeID(1) || f.Size != small {
		t.Errorf("container 1: %+v, found %v, want it released, then completed, with %v on %v",
			f, ok, small, nodeID(1))
	}
}

// TestViolations checks that each kind of violation is found at the end of a log.
func TestViolations(t *testing.T) {
	tests := []struct {
		name, id, text string
		do             func(l *logbook)
	}{
		{"a container id twice", "S6",
			"container_1780000000000_0001_01_000001 given twice at index 6 (term 1) and 7 (term 2)", func(l *logbook) {
				l.entry(give(1, 1, 1))
				l.term = 2
				l.entry(give(1, 1, 2))
			}},
		{"the id of a cancelled reservation", "S6", "after container 1 of the same attempt", func(l *logbook) {
			l.full()
			l.entry(&event.ReservationCancelled{Reservation: 1, Cause: yarn.CancelExchanged})
			l.entry(&event.ContainerAllocated{App: 2, Number: 1, Key: key, Node: 2, Locality: yarn.OffSwitch})
		}},
		{"an id below the epoch", "S6", "the next one is", func(l *logbook) {
			l.entry(&event.EpochRaised{Epoch: 1, ClusterTimestamp: 1780000000001})
			l.entry(give(1, 1, 1))
		}},
		{"the id that a reservation promises in a new epoch", "S6", "after container", func(l *logbook) {
			l.full()
			l.entry(&event.EpochRaised{Epoch: 1, ClusterTimestamp: 1780000000001})
			l.entry(&event.ReservationCancelled{Reservation: 1, Cause: yarn.CancelExchanged})
			l.entry(&event.ContainerAllocated{App: 2, Number: yarn.ContainerNumber(1, 1), Key: key, Node: 2,
				Locality: yarn.OffSwitch})
		}},
		{"more than a node has", "S7", "6144MB 1vc is put on n1:45454", func(l *logbook) {
			l.entry(want(1, large, 2))
			l.entry(give(1, 1, 1))
			l.entry(give(1, 2, 1))
		}},
		{"more than a node has by then", "S7", "is put on n1:45454, which has 512MB", func(l *logbook) {
			l.entry(give(1, 1, 1))
			l.entry(&event.NodeResourceChanged{Node: 1, Total: yarn.NewResource(1536, 8)})
			l.entry(give(1, 2, 1))
		}},
		{"a lost node that holds something", "S7", "is LOST with 1 containers", func(l *logbook) {
			l.entry(give(1, 1, 1))
			l.entry(&event.NodeStateChanged{Node: 1, State: yarn.NodeLost})
		}},
		{"two reservations of a node", "S8", "held by r1 and by r2", func(l *logbook) {
			l.full()
			l.entry(hold(2, 2, 2, 1))
		}},
		{"a reserved node serves another", "S8", "which r1 holds", func(l *logbook) {
			l.full()
			l.entry(give(1, 2, 1))
		}},
		{"a reservation outlives its node", "S8", "is LOST and r1 goes on", func(l *logbook) {
			l.full()
			l.entry(&event.ContainerCompleted{Container: ref(1, 1)}, &event.NodeStateChanged{Node: 1, State: yarn.NodeLost})
		}},
		{"a reservation outlives its attempt", "S8", "ends its attempt and r1 goes on", func(l *logbook) {
			l.full()
			l.entry(&event.AttemptEnded{App: 2})
		}},
		{"an ask after the end", "S10", "asks and is KILLED", func(l *logbook) {
			l.entry(&event.AttemptEnded{App: 1}, &event.ApplicationEnded{App: 1, State: yarn.AppKilled})
			l.entry(want(1, small, 1))
		}},
		{"an answer after the end", "S10", "is answered and is KILLED", func(l *logbook) {
			l.entry(&event.AttemptEnded{App: 1}, &event.ApplicationEnded{App: 1, State: yarn.AppKilled})
			l.entry(&event.ResponseRecorded{App: 1, Response: 1})
		}},
		{"another priority after the end", "S10", "is given another priority and is KILLED", func(l *logbook) {
			l.entry(&event.AttemptEnded{App: 1}, &event.ApplicationEnded{App: 1, State: yarn.AppKilled})
			l.entry(&event.ApplicationReprioritized{App: 1, Priority: 3})
		}},
		{"the launch of an AM after the end", "S10", "has its AM launched and is KILLED", func(l *logbook) {
			l.entry(&event.AttemptEnded{App: 1}, &event.ApplicationEnded{App: 1, State: yarn.AppKilled})
			l.entry(&event.AttemptLaunched{App: 1})
		}},
		{"a new beginning of the AM after the end", "S10", "starts over and is KILLED", func(l *logbook) {
			l.entry(&event.AttemptEnded{App: 1}, &event.ApplicationEnded{App: 1, State: yarn.AppKilled})
			l.entry(&event.AttemptResynced{App: 1})
		}},
		{"a reservation outlives its ask", "S8", "nothing is asked for it any more", func(l *logbook) {
			l.full()
			l.entry(want(2, large, 0))
		}},
		{"a reservation outlives its size", "S8", "goes on holding n1:45454, its ask is of 1024MB 1vc", func(l *logbook) {
			l.full()
			l.entry(want(2, small, 2))
		}},
		{"a reservation of a refused node", "S8", "which its application refuses", func(l *logbook) {
			l.full()
			l.entry(&event.BlacklistChanged{App: 2, Add: []string{"/r"}})
		}},
		{"a reservation of a full node", Audit, "the smallest container is 1024MB 1vc", func(l *logbook) {
			l.entry(want(1, yarn.NewResource(7680, 1), 1), give(1, 1, 1), want(1, large, 1))
			l.entry(hold(1, 1, 2, 1))
		}},
		{"a queue stopped with applications", Audit, "root.a is STOPPED with 1 applications", func(l *logbook) {
			l.entry(&event.QueueStateChanged{Path: "root.a", State: yarn.QueueStopped})
		}},
		{"a fulfillment of nothing", "S8", "r7 is fulfilled and is not held", func(l *logbook) {
			l.entry(&event.ReservationFulfilled{Reservation: 7, Locality: yarn.OffSwitch})
		}},
		{"a fulfillment without room", "S7", "r1 becomes", func(l *logbook) {
			l.full()
			l.entry(&event.ReservationFulfilled{Reservation: 1, Locality: yarn.OffSwitch})
		}},
		{"more than a queue's maximum", "S9", "root.a uses 9216MB 4vc, its maximum is 8192MB 8vc", func(l *logbook) {
			l.entry(want(1, yarn.NewResource(3072, 1), 4))
			l.entry(&event.ContainerAllocated{App: 1, Number: 1, Key: key, Node: 1, Locality: yarn.OffSwitch}, give(1, 2, 1))
			l.entry(want(1, yarn.NewResource(1024, 1), 4))
			l.entry(give(1, 3, 2))
			l.entry(want(1, yarn.NewResource(2048, 1), 4))
			l.entry(give(1, 4, 2))
		}},
		{"a queue dropped in use", "S9", "root.a is dropped", func(l *logbook) {
			c := configuration(2, "100")
			c.Queues = slices.Delete(c.Queues, 1, 2)
			l.entry(c)
		}},
		{"an application that ends with containers", "S9", "ends with 1 live containers", func(l *logbook) {
			l.entry(give(1, 1, 1))
			l.entry(&event.ApplicationEnded{App: 1, State: yarn.AppFailed})
		}},
		{"a container that ends twice", "S10", "is given back twice", func(l *logbook) {
			l.entry(give(1, 1, 1))
			l.entry(&event.ContainerCompleted{Container: ref(1, 1)})
			l.entry(&event.ContainerCompleted{Container: ref(1, 1)})
		}},
		{"a container that is launched after its end", "S10", "launched after its end", func(l *logbook) {
			l.entry(give(1, 1, 1))
			l.entry(&event.ContainerReleased{Container: ref(1, 1)})
			l.entry(&event.ContainerLaunched{Container: ref(1, 1)})
		}},
		{"an application that ends twice", "S10", "is FINISHED and ends again as KILLED", func(l *logbook) {
			l.entry(&event.AttemptEnded{App: 1}, &event.ApplicationEnded{App: 1, State: yarn.AppFinished})
			l.entry(&event.ApplicationEnded{App: 1, State: yarn.AppKilled})
		}},
		{"an application that comes back", "S10", "begins attempt 2", func(l *logbook) {
			l.entry(&event.AttemptEnded{App: 1}, &event.ApplicationEnded{App: 1, State: yarn.AppFailed})
			l.entry(&event.AttemptStarted{App: 1, Attempt: 2})
		}},
		{"an application submitted twice", "S5", "submitted a second time", func(l *logbook) { l.app(1, "root.b") }},
		{"a request recorded twice", "S5", "a second time", func(l *logbook) {
			l.entry(&event.RequestRecorded{Key: "c1/7"})
			l.entry(&event.RequestRecorded{Key: "c1/7"})
		}},
		{"an application forgotten too soon", "S4", "is forgotten while it is RUNNING",
			func(l *logbook) { l.entry(&event.ApplicationForgotten{App: 1}) }},
		{"a clock that goes back", "S3", "goes back", func(l *logbook) {
			l.entry(&event.TimeAdvanced{NowMillis: 9})
			l.entry(&event.TimeAdvanced{NowMillis: 8})
		}},
		{"an answer given before", "S12", "response 1 after 2", func(l *logbook) {
			l.entry(&event.ResponseRecorded{App: 1, Response: 2})
			l.entry(&event.ResponseRecorded{App: 1, Response: 1})
		}},
		{"an ask that nobody asked", Audit, "serves an ask", func(l *logbook) {
			l.entry(want(1, small, 1))
			l.entry(give(1, 1, 1))
			l.entry(give(1, 2, 1))
		}},
		{"a place that nobody asked", Audit, "as node-local", func(l *logbook) {
			e := give(1, 1, 1)
			e.Locality = yarn.NodeLocal
			l.entry(e)
		}},
		{"a refused node", Audit, "which its application refuses", func(l *logbook) {
			l.entry(&event.BlacklistChanged{App: 1, Add: []string{"n1"}})
			l.entry(give(1, 1, 1))
		}},
		{"a reservation where there is room", Audit, "is free there", func(l *logbook) { l.entry(hold(1, 1, 1, 1)) }},
		{"a node of another label", Audit,
			"container_1780000000000_0001_01_000001 is put on n1:45454 of label x, it is asked for nodes without a label",
			func(l *logbook) {
				l.labelled(true)
				l.entry(give(1, 1, 1))
			}},
		{"a labelled ask on a node without one", Audit,
			"is put on n2:45454 without a label, it is asked for nodes of label x", func(l *logbook) {
				l.labelled(false)
				l.entry(&event.AskLabelled{App: 1, Key: key, Label: "x"})
				l.entry(give(1, 1, 2))
			}},
		{"a label that the queue may not use", Audit, "of label x, which root.b may not use", func(l *logbook) {
			l.labelled(false)
			l.app(2, "root.b")
			l.entry(want(2, small, 1), &event.AskLabelled{App: 2, Key: key, Label: "x"})
			l.entry(give(2, 1, 1))
		}},
		{"an AM on a lent node", Audit, "is put on n1:45454 of label x", func(l *logbook) {
			l.labelled(false)
			g := give(1, 1, 1)
			g.AM = true
			l.entry(g)
		}},
		{"an AM of another label", Audit, "is an AM without a label, its application wants it of label x", func(l *logbook) {
			l.labelled(false)
			l.entry(&event.ApplicationSubmitted{App: 2, Name: "job", User: "u", Queue: "root.a", AM: small},
				&event.ApplicationLabelled{App: 2, AMLabel: "x"},
				&event.AttemptStarted{App: 2, Attempt: 1}, &event.AttemptActivated{App: 2})
			g := give(2, 1, 2)
			g.AM = true
			l.entry(want(2, small, 1), g)
		}},
		{"more than a queue's maximum of a label", "S9", "queue root.a uses 5120MB 5vc of label x, its maximum is 4096MB 4vc",
			func(l *logbook) {
				l.labelled(true)
				l.entry(want(1, small, 9), &event.AskLabelled{App: 1, Key: key, Label: "x"})
				l.entry(give(1, 1, 1), give(1, 2, 1), give(1, 3, 1), give(1, 4, 1))
				l.legal()
				l.entry(give(1, 5, 1))
			}},
		{"a reserved node that gets a label", "S8", "n1:45454 without a label gets another one, and r1 goes on holding it",
			func(l *logbook) {
				l.full()
				l.labelled(true)
			}},
		{"a reservation for an ask of another label", "S8",
			"r1 goes on holding n1:45454 without a label, its ask is of label x", func(l *logbook) {
				l.full()
				l.entry(&event.LabelsSet{Labels: []event.Label{{Name: "x"}}})
				l.entry(&event.AskLabelled{App: 2, Key: key, Label: "x"})
			}},
		{"a label that there is not", Audit, "n1:0 gets label \"y\", which there is not", func(l *logbook) {
			l.entry(&event.NodesLabelled{Nodes: []event.LabelledNode{{ID: yarn.NodeID{Host: "n1"}, Label: "y"}}})
		}},
		{"a non-runnable attempt that is served", Audit, "is given to an attempt that is pending", func(l *logbook) {
			l.entry(&event.ApplicationSubmitted{App: 3, Queue: "root.b"}, &event.AttemptStarted{App: 3, Attempt: 1},
				want(3, small, 1))
			l.entry(give(3, 1, 1))
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := begin(t)
			l.legal()
			tt.do(l)
			l.broken(tt.id, tt.text)
		})
	}
}

// labelled gives node 1 the label x. root.a may use half of its nodes and root.b none.
func (l *logbook) labelled(exclusive bool) {
	c := configuration(2, "50")
	const of = "yarn.scheduler.capacity.root."
	c.Properties = append(c.Properties, event.Property{Name: of + "a.accessible-node-labels.x.maximum-capacity",
		Value: "50"}, event.Property{Name: of + "b.accessible-node-labels", Value: " "})
	l.entry(c, &event.LabelsSet{Labels: []event.Label{{Name: "x", Exclusive: exclusive}}},
		&event.NodesLabelled{Nodes: []event.LabelledNode{{ID: yarn.NodeID{Host: "n1"}, Label: "x"}}})
}

// TestLabels follows containers on labelled nodes without any fault.
func TestLabels(t *testing.T) {
	l := begin(t)
	l.entry(give(1, 1, 1))
	l.labelled(false)
	l.entry(give(1, 2, 1), give(1, 3, 2)) // node 1 is lent
	l.entry(&event.AskLabelled{App: 1, Key: key, Label: "x"})
	l.entry(give(1, 4, 1))
	for _, w := range []struct {
		label string
		used  yarn.Resource
	}{{"x", yarn.NewResource(3072, 3)}, {"", small}} {
		if used, _, _ := l.m.Queue("root.a", w.label); used != w.used {
			t.Errorf("root.a uses %s of %q, want %s", used, w.label, w.used)
		}
	}
	l.entry(&event.ContainerCompleted{Container: ref(1, 4), Restore: true})
	l.entry(&event.LabelsRemoved{Names: []string{"x"}})
	l.entry(&event.ContainerCompleted{Container: ref(1, 2)}, &event.ContainerCompleted{Container: ref(1, 1)},
		&event.ContainerCompleted{Container: ref(1, 3)})
	if label, ok := l.m.AskLabel(1, key); !ok || label != "x" {
		t.Errorf("the ask is of %q, %v", label, ok)
	}
	for _, label := range []string{"x", ""} {
		if used, held, _ := l.m.Queue("root", label); !used.IsZero() || !held.IsZero() {
			t.Errorf("root uses %s of %q in the end", used, label)
		}
	}
	l.legal()
}

// full fills node 1 and lets application 2 of b reserve it.
func (l *logbook) full() {
	l.entry(want(1, large, 4))
	l.entry(give(1, 1, 1))
	l.app(2, "root.b")
	l.entry(want(2, large, 2))
	l.entry(hold(1, 2, 1, 1))
	l.legal()
}

// TestMaximumIsNotExceededByShrinking checks that usage above a maximum is no violation if it is
// the cluster or the maximum that has shrunk.
func TestMaximumIsNotExceededByShrinking(t *testing.T) {
	l := begin(t)
	l.entry(want(1, yarn.NewResource(2048, 1), 4))
	for n := uint64(1); n <= 4; n++ {
		l.entry(give(1, n, 1))
	}
	l.entry(&event.NodeStateChanged{Node: 2, State: yarn.NodeLost})
	l.entry(configuration(2, "[memory=2Gi]"))
	l.entry(&event.ContainerCompleted{Container: ref(1, 4)})
	l.legal()
	l.entry(want(1, small, 1), give(1, 5, 1))
	l.broken("S9", "its maximum is 2048MB 8vc")
}

// TestFence checks that the ledger skips a batch that was planned on another log, as every replica
// does.
func TestFence(t *testing.T) {
	l := begin(t)
	write := func(index, term, sequence uint64, e event.Event) {
		b := event.Batch{Level: 1, Sequence: sequence, Events: []event.Event{e}}
		if err := l.m.Entry(index, term, b.Encode()); err != nil {
			t.Fatal(err)
		}
	}
	write(100, 3, 3<<32+1, give(1, 1, 1))
	write(101, 3, 3<<32+1, give(1, 1, 1)) // repeated
	write(102, 3, 3<<32+3, give(1, 3, 1)) // number 2 is missing
	write(103, 4, 3<<32+2, give(1, 2, 1)) // planned in another term
	write(104, 4, 4<<32+1, give(1, 2, 1))
	l.legal()
	if c := l.m.Counts; c.Skipped != 3 || c.Containers != 2 {
		t.Errorf("counts %+v, want 3 skipped and 2 containers", c)
	}
}

func TestNotFollowed(t *testing.T) {
	b := event.Batch{Level: 1, Events: []event.Event{&event.TimeAdvanced{NowMillis: 1}}}
	if err := New().Entry(9, 1, b.Encode()); !errors.Is(err, ErrNoBeginning) {
		t.Errorf("a log without its beginning: %v", err)
	}
	l := begin(t)
	if err := l.m.Entry(2, 1, b.Encode()); !errors.Is(err, ErrOrder) {
		t.Errorf("an index that was there: %v", err)
	}
	if err := l.m.Entry(50, 1, []byte("no batch")); !errors.Is(err, event.ErrNotBatch) {
		t.Errorf("bytes that are no batch: %v", err)
	}
}

// TestDiffer compares dumps of a replica with the ledger.
func TestDiffer(t *testing.T) {
	l := begin(t)
	l.full()
	same := append(l.m.Fields(), Field{"queue/root/pending", "7"}, Field{"meta/level", "1"})
	if d := l.m.Differ(same); len(d) != 0 {
		t.Errorf("the same: %v", d)
	}
	for _, tt := range []struct{ name, value, want string }{
		{"queue/root/used", "1024MB 1vc", "queue/root/used is 1024MB 1vc, the log makes it 12288MB 2vc"},
		{"node/n1:45454/allocated", "0MB 0vc", "the log makes it 6144MB 1vc"},
		{"node/n2:45454/reservation", "r9", "the log knows of none"},
		{"app/9/state", "RUNNING", "the log knows of none"},
	} {
		if d := l.m.Differ([]Field{{tt.name, tt.value}}); len(d) != 1 || !slices.ContainsFunc(d, contains(tt.want)) {
			t.Errorf("%s = %s: %v, want %q", tt.name, tt.value, d, tt.want)
		}
	}
}

// TestStuck checks that Stuck finds a reservation on a node with room for it, and that Waiting
// finds an ask that fits and has no competitor.
func TestStuck(t *testing.T) {
	l := begin(t)
	if sure, _ := l.m.Waiting(); len(sure) != 1 {
		t.Errorf("%v wait", sure)
	}
	l.full()
	if s := l.m.Stuck(); len(s) != 0 {
		t.Errorf("%v is stuck", s)
	}
	l.entry(&event.ContainerCompleted{Container: ref(1, 1)})
	if s := l.m.Stuck(); len(s) != 1 || !contains("r1 waits on n1:45454")(s[0].Text) {
		t.Errorf("stuck: %v", s)
	}
}

// TestUniqueNames checks that a name that is submitted twice is a violation, unless the first call
// was forgotten in between. Without UniqueNames, names are not checked.
func TestUniqueNames(t *testing.T) {
	for _, c := range []struct {
		unique, forgotten bool
		violations        int
		again             uint64
	}{{true, false, 1, 0}, {true, true, 0, 1}, {false, false, 0, 0}} {
		l := begin(t)
		if c.unique {
			l.m = New().UniqueNames()
			l.index = 0
			l.entry(&event.ClusterInitialized{ClusterID: "c", ClusterTimestamp: 1, Level: event.Level}, configuration(1, "50"))
			l.app(1, "root.a")
		}
		l.entry(&event.RequestRecorded{Key: "k"})
		if c.forgotten {
			l.entry(&event.RequestsForgotten{Count: 1})
		}
		l.app(2, "root.a")
		if n := len(l.m.Violations()); n != c.violations || l.m.Counts.Resubmitted != c.again {
			t.Errorf("%+v: %v, %d again", c, l.m.Violations(), l.m.Counts.Resubmitted)
		}
		if c.unique && l.m.Submitted("job") != 2 {
			t.Errorf("%+v: submitted as %d", c, l.m.Submitted("job"))
		}
	}
}

// TestGiven checks that Given returns the ids that the last entry assigns, including those of
// reservations.
func TestGiven(t *testing.T) {
	l := begin(t)
	given := func() string { return fmt.Sprint(l.m.Given()) }
	l.entry(give(1, 1, 1), give(1, 2, 1))
	if got := given(); got != "[container_1780000000000_0001_01_000001 container_1780000000000_0001_01_000002]" {
		t.Errorf("Given() = %s, want containers 1 and 2", got)
	}
	if l.entry(); len(l.m.Given()) != 0 {
		t.Errorf("Given() after an empty entry = %s, want none", given())
	}
	l = begin(t)
	l.full()
	l.entry(&event.EpochRaised{Epoch: 1, ClusterTimestamp: 1780000000001})
	if got := given(); got != "[container_e01_1780000000000_0002_01_000001]" {
		t.Errorf("after the epoch was raised: %s", got)
	}
}
