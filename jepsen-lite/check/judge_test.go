package check

import (
	"slices"
	"testing"
	"time"

	"rmd/fsm/event"
	"rmd/jepsen-lite/history"
	"rmd/yarn"
)

type value = history.Value

func granted(id, node string) []history.Grant {
	return []history.Grant{{Container: id, Node: node, MemoryMB: 1024}}
}

func completed(id string) []history.Completion { return []history.Completion{{Container: id}} }

// work is a correct run, with a retry, an unknown outcome, a repeated answer and a refusal.
func work() *run {
	r := cluster()
	r.at(2).call(history.Info, history.Submit, value{Name: "job", Key: "c1/1", Queue: "root.a"}, value{})
	r.at(3).ok(history.Submit, value{Name: "job", Key: "c1/1", Queue: "root.a"}, value{App: app1, Index: 4})
	r.at(4).ok(history.Submit, value{Name: "job", Key: "c1/1", Queue: "root.a"}, value{App: app1, Index: 4})
	r.at(4).call(history.Fail, history.Submit, value{Name: "other", Key: "c1/1", Queue: "root.a"},
		value{Code: "key-taken"})
	r.at(5).ok(history.Allocate, value{Attempt: am1}, value{Response: 1, Index: 6, Granted: granted(con1, node1)})
	// a repetition
	r.at(5).ok(history.Allocate, value{Attempt: am1}, value{Response: 1, Index: 6, Granted: granted(con1, node1)})
	r.add(&history.Order{Node: node1, Kind: history.StartContainer, Container: con1, Replica: "r1"})
	r.at(6).entry(containerDone(1)).ok(history.Complete, value{Node: node1, Containers: []string{con1}}, value{})
	r.at(7).ok(history.Allocate, value{Attempt: am1, Response: 1},
		value{Response: 2, Index: 7, Completed: completed(con1)})
	r.at(8).ok(history.ReadApp, value{App: app1}, value{State: "RUNNING", Index: 7})
	r.at(8).ok(history.ReadApp, value{App: app1, Stale: true, Session: "s"}, value{State: "RUNNING", Index: 5})
	r.at(9).entry(&event.AttemptEnded{App: 1, Final: yarn.FinalKilled},
		&event.ApplicationEnded{App: 1, State: yarn.AppKilled})
	r.ok(history.Kill, value{App: app1}, value{Index: 8})
	r.at(10).ok(history.ReadApp, value{App: app1}, value{State: "KILLED", Index: 8})
	// an older state with an honest index
	r.at(10).ok(history.ReadApp, value{App: app1, Stale: true, Session: "s"}, value{State: "RUNNING", Index: 6})
	r.add(&history.Order{Node: node1, Kind: history.CleanUp, App: app1})
	r.at(11).add(&history.Mark{Name: history.Final}).at(12).ok(history.List, value{}, value{Names: []string{app1}})
	return r
}

func TestWorkInvariantsHold(t *testing.T) {
	for _, opt := range []Options{DefaultOptions(timeout), exact()} {
		v := work().judge(t, opt)
		for _, id := range []string{"S4", "S5", "S6", "S7", "S9", "S10", "S11", "S12", "S13", "audit"} {
			checkHolds(t, v, id)
		}
		for id, why := range map[string]string{"S8": "the history has no data for it",
			"L1": "the history has no recovery phase"} {
			if f := v.Find(id); f.Status != Skipped || f.Why != why {
				t.Errorf("%s: %+v, want it %s because %q", id, f, Skipped, why)
			}
		}
	}
}

func TestWorkViolations(t *testing.T) {
	tests := []struct {
		name, id, text string
		do             func(r *run)
	}{
		{"an acked submission is not there", "S4", "the log has no application_1780000000000_0002", func(r *run) {
			r.ok(history.Submit, value{Name: "lost"}, value{App: "application_1780000000000_0002"})
		}},
		{"an acked grant is not there", "S4", "the log has no " + con2, func(r *run) {
			r.ok(history.Allocate, value{Attempt: am1}, value{Response: 3, Granted: granted(con2, node1)})
		}},
		{"an acked grant is elsewhere", "S4", "is on n1:45454 in the log", func(r *run) {
			r.index--
			r.h.Entries = r.h.Entries[:len(r.h.Entries)-1] // so the application still runs
			r.h.Ops = r.h.Ops[:10]
			r.h.Orders, r.h.Marks = nil, nil
			r.entry(allocated(2, 1)).ok(history.Allocate, value{Attempt: am1}, value{Response: 3, Granted: granted(con2, node2)})
		}},
		{"a move that is not", "S4", "was never in root.b",
			func(r *run) { r.at(8).ok(history.Move, value{App: app1, Queue: "root.b"}, value{}).notRead() }},
		{"a priority that is not", "S4", "never had priority 7",
			func(r *run) { r.ok(history.Prioritize, value{App: app1, Text: "9"}, value{Text: "7"}) }},
		{"a cancellation that is not", "S4", "the log has no r3",
			func(r *run) { r.ok(history.CancelReservation, value{Reservation: "r3"}, value{}) }},
		{"a release that is not", "S4", "is still alive", func(r *run) {
			r.h.Entries = r.h.Entries[:6]
			r.h.Ops, r.h.Orders, r.h.Marks = nil, nil, nil
			r.ok(history.Release, value{Attempt: am1, Containers: []string{con1}}, value{})
		}},
		{"an answer before its entry", "S4", "no replica applied its entry", func(r *run) {
			r.at(20).ok(history.Submit, value{Name: "early"}, value{App: "application_1780000000000_0002"})
			r.at(21).entry(&event.ApplicationSubmitted{App: 2, Name: "early", Queue: "root.a"})
		}},
		{"a final list without it", "S4", "does not name " + app1,
			func(r *run) { r.ok(history.List, value{}, value{Names: []string{"application_7_0001"}}) }},
		{"one request, two applications", "S5", "request c1/9 created", func(r *run) {
			r.submitTwice("c1/9", "c1/9")
		}},
		{"a retry under another key that is another request", "S5", "was submitted once but created 2 times", func(r *run) {
			r.entry(&event.ApplicationSubmitted{App: 2, Name: "twin", Queue: "root.a"},
				&event.ApplicationSubmitted{App: 3, Name: "twin", Queue: "root.a"})
			r.call(history.Info, history.Submit, value{Name: "twin"}, value{})
		}},
		{"other content under one key", "S5", "accepted again with different content", func(r *run) {
			r.ok(history.Submit, value{Name: "job", Queue: "root.b", Key: "c1/1"}, value{App: app1})
		}},
		{"a refusal that happened", "S5", "was refused but is in the log", func(r *run) {
			r.entry(&event.ApplicationSubmitted{App: 2, Name: "no", Queue: "root.a"}).call(history.Fail, history.Submit,
				value{Name: "no"}, value{Code: "QUEUE_FULL"})
		}},
		{"half a request", "S5", "is incomplete: in the log true, in the idempotency table false", func(r *run) {
			r.entry(&event.ApplicationSubmitted{App: 2, Name: "half", Queue: "root.a"}).call(history.Info, history.Submit,
				value{Name: "half", Key: "c1/5"}, value{})
		}},
		{"one container for two AMs", "S6", con1 + " was granted twice", func(r *run) {
			r.ok(history.Allocate, value{Attempt: "appattempt_1780000000000_0001_000002"},
				value{Response: 1, Granted: granted(con1, node1)})
		}},
		{"one container on two nodes", "S6", "was started on n1:45454 and on n2:45454", func(r *run) {
			r.h.Entries = nil
			r.add(&history.Order{Node: node2, Kind: history.StartContainer, Container: con1})
		}},
		{"an order that no entry carries", "S11", "start container_1780000000000_0001_01_000009, which no entry allocates",
			func(r *run) {
				r.add(&history.Order{Node: node1, Kind: history.StartContainer,
					Container: "container_1780000000000_0001_01_000009"})
			}},
		{"an order before its entry", "S11", "before any replica applies its entry 9", func(r *run) {
			r.at(20).add(&history.Order{Node: node1, Kind: history.Token, Key: 3}).at(21).entry(&event.MasterKeyCreated{ID: 3})
		}},
		{"a clean-up of what goes on", "S11", "which is SUBMITTED", func(r *run) {
			r.entry(&event.ApplicationSubmitted{App: 2, Name: "x", Queue: "root.a"}).add(
				&history.Order{Node: node1, Kind: history.CleanUp, App: "application_1780000000000_0002"})
		}},
		{"an end told twice", "S12", "response 2 reports the end of ", func(r *run) {
			r.ok(history.Allocate, value{Attempt: am1, Response: 2}, value{Response: 3, Completed: completed(con1)})
		}},
		{"an end that was not", "S12", "which the log does not have", func(r *run) {
			r.ok(history.Allocate, value{Attempt: am1, Response: 2}, value{Response: 3, Completed: completed(con2)})
		}},
		{"a read of the past", "S13", "no order of what came before explains read-app", func(r *run) {
			r.ok(history.ReadApp, value{App: app1}, value{State: "RUNNING"})
		}},
		{"a read of an old index", "S13", "has index 7, but an earlier answer had index 8", func(r *run) {
			r.at(20).ok(history.ReadNode, value{Node: node1}, value{State: "RUNNING", Index: 7})
		}},
		{"a session that goes back", "S13", "session s goes back from index 6 to 5", func(r *run) {
			r.at(20).ok(history.ReadApp, value{App: app1, Stale: true, Session: "s"}, value{State: "RUNNING", Index: 5})
		}},
		{"an index that lies", "S13", "at its index 8 the log makes it KILLED", func(r *run) {
			r.at(20).ok(history.ReadApp, value{App: app1, Stale: true, Session: "s"}, value{State: "RUNNING", Index: 8})
		}},
		{"an index of the future", "S13", "no replica had applied more than 8", func(r *run) {
			r.at(20).ok(history.ReadApp, value{App: app1, Stale: true}, value{State: "KILLED", Index: 80})
		}},
		{"the log over-commits", "S7", "is put on n1:45454", func(r *run) {
			r.entry(&event.ApplicationSubmitted{App: 2, Name: "b", Queue: "root.a"}, &event.AttemptStarted{App: 2, Attempt: 1},
				&event.AttemptActivated{App: 2},
				&event.AskChanged{App: 2, Key: key, Name: yarn.Any, Count: 2, Size: yarn.NewResource(8000, 1)})
			for n := uint64(1); n <= 2; n++ {
				r.entry(&event.ContainerAllocated{App: 2, Number: n, Key: key, Node: 1, Locality: yarn.OffSwitch})
			}
		}},
		{"a replica's sums", "S9", "on r2 at index 6 queue/root.a/used is 0MB 0vc, the log makes it 1024MB 1vc",
			func(r *run) {
				r.add(&history.Dump{Replica: "r2", Index: 6,
					Fields: []history.Field{{Name: "queue/root.a/used", Value: "0MB 0vc"}}})
			}},
		{"damage that was applied", "S16", "bit-flip on r1 was applied: entry 7", func(r *run) {
			r.add(&history.Fault{Kind: "bit-flip", When: history.Begin, ID: 1, On: []string{"r1"}}).
				add(&history.Fault{Kind: "bit-flip", When: history.End, ID: 1, On: []string{"r1"}, Outcome: history.Applied,
					Text: "entry 7"})
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := work().at(15)
			tt.do(r)
			v := r.judge(t, exact())
			breaks(t, v, tt.id, tt.text)
			if len(v.Failed()[0].Chain) == 0 {
				t.Error("without a chain of events")
			}
		})
	}
}

// notRead removes the reads, so that only one invariant is violated.
func (r *run) notRead() {
	r.h.Ops = slices.DeleteFunc(r.h.Ops, func(o *history.Op) bool { return o.F == history.ReadApp || o.F == history.Kill })
}

// submitTwice adds two submissions that got two ids. In the log each has its own name.
func (r *run) submitTwice(a, b string) {
	r.entry(&event.ApplicationSubmitted{App: 2, Name: "p", Queue: "root.a"},
		&event.ApplicationSubmitted{App: 3, Name: "q", Queue: "root.a"},
		&event.RequestRecorded{Key: a})
	r.ok(history.Submit, value{Key: a, Queue: "root.a"}, value{App: "application_1780000000000_0002"})
	r.ok(history.Submit, value{Key: b, Queue: "root.a"}, value{App: "application_1780000000000_0003"})
}

// TestUndeliveredContainerEnd checks that an AM that continues to call must receive the end of
// every container.
func TestUndeliveredContainerEnd(t *testing.T) {
	r := cluster().at(5)
	r.ok(history.Allocate, value{Attempt: am1}, value{Response: 1, Index: 6, Granted: granted(con1, node1)})
	r.at(6).entry(containerDone(1))
	r.at(7).ok(history.Allocate, value{Attempt: am1}, value{Response: 2, Index: 6}) // from a replica that is behind
	if v := r.judge(t, exact()); v.Find("S12").Status == Failed {
		t.Errorf("the entry is not in what was answered from: %s", v.Find("S12").Text)
	}
	r.at(8).ok(history.Allocate, value{Attempt: am1}, value{Response: 3, Index: 7}) // before the end, in the same entry
	checkHolds(t, r.judge(t, exact()), "S6")
	r.at(9).entry(&event.ResponseRecorded{App: 1, Response: 4}).ok(history.Allocate, value{Attempt: am1},
		value{Response: 4, Index: 8})
	breaks(t, r.judge(t, exact()), "S12", con1+" ended at index 7, but no answer to "+am1+
		" reports it, up to the last one with index 8")
}

// TestEndsRedeliveredAfterRegistration checks that an AM may receive ends again after it has
// registered again.
func TestEndsRedeliveredAfterRegistration(t *testing.T) {
	r := work().at(20).ok(history.RegisterAM, value{Attempt: am1}, value{})
	r.ok(history.Allocate, value{Attempt: am1}, value{Response: 1, Completed: completed(con1)})
	checkHolds(t, r.judge(t, DefaultOptions(timeout)), "S12")
}

// TestLogNotFollowed checks that invariants that need the log are skipped with a reason if the log
// is incomplete.
func TestLogNotFollowed(t *testing.T) {
	r := work()
	r.h.Entries = r.h.Entries[1:]
	v := r.judge(t, exact())
	if f := v.Find("S7"); f.Status != Skipped || f.Why == "" {
		t.Errorf("S7 of an incomplete log: %+v, want it %s with a reason", f, Skipped)
	}
	if v.Holds("S7") {
		t.Error("what was required was skipped, and the verdict holds")
	}
}

func TestOptions(t *testing.T) {
	for _, bad := range []func(o *Options){func(o *Options) { o.Search = 0 },
		func(o *Options) { o.Ceilings.Installs = -1 }} {
		o := DefaultOptions(timeout)
		bad(&o)
		if _, err := Judge(history.New(), o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
	if v, err := Judge(history.New(), DefaultOptions(timeout)); err != nil || !v.Holds() || v.Holds("S1") {
		t.Errorf("an empty history: %v %v", v, err)
	}
}

// TestMerge checks that Merge adds the verdicts of several runs.
func TestMerge(t *testing.T) {
	var all Verdict
	all.Merge(work().judge(t, exact()))
	one := all.Find("S4").Checked
	bad := work().at(20).ok(history.Submit, value{Name: "lost"}, value{App: "application_1780000000000_0002"})
	all.Merge(bad.judge(t, exact()))
	all.Merge(work().judge(t, exact()))
	if f := all.Find("S4"); f.Status != Failed || f.Checked != 3*one+1 || f.Violations != 1 || f.Text == "" {
		t.Errorf("S4 of three runs: %+v, want %s with %d checked, 1 violation and a text",
			f, Failed, 3*one+1)
	}
	if f := all.Find("S12"); f.Status != OK {
		t.Errorf("S12 of three runs: %+v, want %s", f, OK)
	}
}

// TestUndecidedFails checks that a search without a result does not pass.
func TestUndecidedFails(t *testing.T) {
	r := newRun().at(1).ok(history.Submit, value{Name: "job"}, value{App: app1})
	for i := range 2000 {
		r.at(2).call(history.Info, history.Move, value{App: app1, Queue: "root." + string(rune('a'+i%26))}, value{})
	}
	r.at(9).ok(history.ReadApp, value{App: app1}, value{State: "RUNNING", Queue: "root.zz"})
	opt := DefaultOptions(timeout)
	opt.Search = time.Millisecond
	v := r.judge(t, opt)
	if f := v.Find("S13"); f.Status != Undecided || f.Why == "" || v.Holds() {
		t.Errorf("S13 of a search that ended early: %+v, want %s with a reason, and the verdict not to hold",
			f, Undecided)
	}
}

// TestRestored checks that S4 and S7 are skipped after a restore: the state does not follow from
// the log alone, and acknowledged writes may be lost.
func TestRestored(t *testing.T) {
	r := work().at(20).ok(history.RestoreSnapshot, value{}, value{}).ok(history.Submit, value{Name: "lost"},
		value{App: "application_1780000000000_0002"})
	v := r.judge(t, exact())
	for _, id := range []string{"S4", "S7"} {
		if f := v.Find(id); f.Status != Skipped || f.Why == "" {
			t.Errorf("%s after a restore: %+v, want it %s with a reason", id, f, Skipped)
		}
	}
}
