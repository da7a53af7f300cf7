package check

import (
	"testing"

	"rmd/fsm/event"
	"rmd/jepsen-lite/history"
	"rmd/yarn"
)

// recovery is the cluster of steadyRun, in which r2 leads, with a partition that is healed at
// second 20. During the partition r2 stays the leader and accepts a write.
func recovery() *run {
	r := steadyRun().at(12).add(&history.Fault{Kind: "partition", When: history.Begin, ID: 1, On: []string{"r3"}})
	for _, id := range []string{"r1", "r2"} {
		r.at(13).apply(id, 7, 2, 107)
	}
	r.at(20).add(&history.Fault{Kind: "partition", When: history.End, ID: 1, On: []string{"r3"}}).add(
		&history.Mark{Name: history.Recovery})
	r.at(22).apply("r3", 7, 2, 107)
	return r.at(24).ok(history.Submit, value{Name: "after", Key: "c2/1"}, value{App: app1})
}

func TestRecoveryInvariantsHold(t *testing.T) {
	v := recovery().event("r1", history.Stop, 0).event("r2", history.Stop, 0).event("r3", history.Stop,
		0).judge(t, exact())
	for _, id := range []string{"L1", "L2", "L4"} {
		checkHolds(t, v, id)
	}
	if f := v.Find("L2"); f.Figure != "max 2.0 s" || f.Max != 2*second || f.Checked != 3 {
		t.Errorf("L2: %+v, want 3 checked, max 2.0 s", f)
	}
	v = steadyRun().at(20).add(&history.Mark{Name: history.Recovery}).event("r2", history.Follow, 2).at(23).event("r3",
		history.Lead, 3).
		at(24).ok(history.Submit, value{}, value{App: app1}).judge(t, exact())
	checkHolds(t, v, "L1")
}

func TestRecoveryViolations(t *testing.T) {
	tests := []struct {
		name, id, text string
		do             func() *run
	}{
		{"nobody leads", "L1", "no replica leads", func() *run {
			return steadyRun().at(19).event("r2", history.Follow, 2).at(20).add(&history.Mark{Name: history.Recovery})
		}},
		{"a leader comes late", "L1", "the first leader appears 6s after", func() *run {
			return steadyRun().at(19).event("r2", history.Follow,
				2).at(20).add(&history.Mark{Name: history.Recovery}).at(26).event("r1", history.Lead, 3)
		}},
		{"a leader that takes no writes", "L1", "no write is acknowledged", func() *run {
			return steadyRun().at(20).add(&history.Mark{Name: history.Recovery}).at(24).call(history.Info, history.Submit,
				value{}, value{})
		}},
		{"a replica stays behind", "L2", "r3 is at index 6 at the end, but index 7 was applied before the recovery phase",
			func() *run {
				r := steadyRun().at(13).apply("r1", 7, 2, 107).apply("r2", 7, 2, 107)
				return r.at(20).add(&history.Mark{Name: history.Recovery}).at(90).add(&history.Mark{Name: history.Over})
			}},
		{"a new member stays behind", "L2", "r4 is at index 0 at the end", func() *run {
			r := steadyRun().at(13).start("r4", 1, 0, 0, "d4").members("r2", 7, "r1", "r2", "r3", "r4")
			return r.at(20).add(&history.Mark{Name: history.Recovery}).at(90).add(&history.Mark{Name: history.Over})
		}},
		{"a snapshot for ever", "L4", "1600 snapshots were installed", func() *run {
			r := recovery()
			for range 1600 {
				r.event("r3", history.Install, 0)
			}
			return r
		}},
		{"elections for ever", "L4", "elections were started after the recovery phase began", func() *run {
			r := recovery().at(30)
			for i := range uint64(60) {
				r.event("r3", history.Campaign, 3+i)
			}
			return r
		}},
		{"a client for ever", "L4", "calls repeated one request", func() *run {
			r := recovery().at(15)
			for range 1001 {
				r.call(history.Info, history.Submit, value{Key: "c9/1"}, value{})
			}
			return r
		}},
		{"a slow disk stops all", "L5", "no write was acknowledged for 30s; the limit is 15s", func() *run {
			r := recovery().at(30).add(&history.Fault{Kind: "short-hang", Disk: true, When: history.Begin, ID: 2,
				On: []string{"r2"}})
			return r.at(60).ok(history.Submit, value{}, value{App: app1})
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { breaks(t, tt.do().judge(t, exact()), tt.id, tt.text) })
	}
}

// TestSlowDisk checks that L5 measures how long a hung disk delays writes while there is no other
// fault.
func TestSlowDisk(t *testing.T) {
	hung := func(id int) *history.Fault {
		return &history.Fault{Kind: "short-hang", Disk: true, When: history.Begin, ID: id, On: []string{"r2"}}
	}
	healed := &history.Fault{Kind: "short-hang", When: history.End, ID: 2, On: []string{"r2"}}
	r := recovery().at(30).add(hung(2)).at(34).ok(history.Submit, value{}, value{App: app1}).at(35).add(healed)
	v := r.judge(t, exact())
	checkHolds(t, v, "L5")
	if f := v.Find("L5"); f.Max != 4*second {
		t.Errorf("L5: %+v, want a maximum of 4 s", f)
	}
	r = recovery().at(29).add(&history.Fault{Kind: "crash", When: history.Begin, ID: 7, On: []string{"r1"}}).at(30).add(
		hung(2)).at(90).ok(history.Submit, value{}, value{App: app1})
	if f := r.judge(t, exact()).Find("L5"); f.Status != Skipped {
		t.Errorf("with another fault beside it: %+v", f)
	}
	lost := &history.Fault{Kind: "lost-disk", When: history.Begin, ID: 2, On: []string{"r2"}}
	r = recovery().at(30).add(lost).at(90).ok(history.Submit, value{}, value{App: app1})
	if f := r.judge(t, exact()).Find("L5"); f.Status != Skipped {
		t.Errorf("with a fault that is not one of a disk: %+v", f)
	}
}

// TestStuck checks L3 in the state at the end of the log, when the cluster makes no more decisions.
func TestStuck(t *testing.T) {
	large := yarn.NewResource(8192, 1)
	base := func() *run {
		r := cluster().at(3)
		r.entry(&event.AskChanged{App: 1, Key: key, Name: yarn.Any, Count: 0})
		r.entry(&event.ApplicationSubmitted{App: 2, Name: "b", Queue: "root.a"}, &event.AttemptStarted{App: 2, Attempt: 1},
			&event.AttemptActivated{App: 2},
			&event.AskChanged{App: 2, Key: key, Name: yarn.Any, Count: 1, Size: large})
		return r.entry(&event.ReservationMade{Reservation: 1, App: 2, Number: 1, Key: key, Node: 1})
	}
	over := func(r *run) *run {
		return r.at(5).add(&history.Mark{Name: history.Recovery}).at(30).add(&history.Mark{Name: history.Over})
	}
	checkHolds(t, over(base()).judge(t, exact()), "L3")
	breaks(t, over(base().entry(containerDone(1))).judge(t, exact()), "L3", "r1 waits on n1:45454 for 8192MB 1vc")
	opt := exact()
	opt.WorkEnds = true
	breaks(t, over(base()).judge(t, opt), "L3", "is RUNNING at the end")
	if f := base().at(5).add(&history.Mark{Name: history.Recovery}).judge(t, exact()).Find("L3"); f.Status != Skipped {
		t.Errorf("decisions were made to the end: %+v", f)
	}
}
