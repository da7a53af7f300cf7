package sim

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"rmd/cluster"
	"rmd/fsm/event"
	"rmd/internal/failpoint"
	"rmd/internal/sleep"
	"rmd/jepsen-lite/sim/load"
	"rmd/jepsen-lite/sim/yield"
	"rmd/scheduler/input"
)

// Faults with a leader that hears from its followers and makes no progress. Raft's own timers do not
// end its leadership.

// hangs are the failpoints at which a leader may hang: in the sequencer before and after it proposes
// a batch, in raft's main loop, and in the state machine.
var hangs = []failpoint.Name{failpoint.BatchClosed, failpoint.BatchProposed, failpoint.BatchApplied,
	failpoint.EntriesStored, failpoint.EntryApplied}

// greyMax is how long writes may stop because of such a leader: until it steps down, until another
// one leads, and until a caller has given up the first replica that it called.
func greyMax() time.Duration { return cluster.DefaultConfig().HungGiveUp + leaderTime + callTimeout }

// hangLeader makes the leader hang at a failpoint, or stops the reader of its log. Writes must go on
// (L5).
func (d *driver) hangLeader() {
	if n := d.rng.Intn(len(hangs) + 2); n < len(hangs) {
		d.hangAt(hangs[n])
	} else {
		d.breakLog(n == len(hangs))
	}
	d.w.heal()
}

// breakLog stalls the reader of the leader's log, or ends it, and fills the pipe. Then it kills a
// follower, about which the leader logs.
func (d *driver) breakLog(stalled bool) {
	w, old := d.w, d.readyLeader()
	if old == nil {
		return
	}
	l, up := old.currentProcess()
	if !up {
		return
	}
	d.note("nobody reads the log of %s (its reader stalls: %v)", old.id, stalled)
	l.log.Set(stalled, !stalled)
	w.addThaws(func() { l.log.Set(false, false) })
	go l.log.Fill()
	ms := w.members()
	if i := slices.IndexFunc(ms, func(r *replica) bool { return r != old }); i >= 0 && len(ms) > 2 {
		ms[i].crash()
	}
	time.Sleep(10 * election)
	if d.writesGoOn(fmt.Sprintf("nobody reads the log of %s", old.id)) {
		w.check.Achieved("log not read")
	}
}

// hangAt makes the leader hang at a failpoint until everything is healed, and waits until writes go
// on. Without healthy members it does nothing.
func (d *driver) hangAt(name failpoint.Name) {
	w, old := d.w, d.readyLeader()
	if old == nil {
		return
	}
	d.note("%s hangs where it reaches %s", old.id, name)
	until := make(chan struct{})
	w.addThaws(sync.OnceFunc(func() { close(until) }))
	hit := func(l *process, n failpoint.Name) {
		if n == name && l.r == old {
			<-until
		}
	}
	w.armed.Store(&hit)
	if d.writesGoOn(fmt.Sprintf("%s hangs at %s", old.id, name)) {
		w.check.Achieved("leader hung at " + string(name))
	}
}

// refuseEntry makes the leader propose an entry that only it can apply, since the followers run an
// older program. Writes must go on, under one of them (L5).
func (d *driver) refuseEntry() {
	w, old := d.w, d.readyLeader()
	if old == nil || d.raising || w.check.FeatureLevel() >= nextLevel {
		return
	}
	for _, r := range w.members() {
		if r != old && r.locked(func(r *replica) bool { return r.level >= nextLevel }) {
			return // with it the entry might find a majority
		}
	}
	d.restartAs(old, nextLevel)
	l := d.w.handTo(old)
	if l == nil {
		return
	}
	d.note("%s proposes an entry that the others refuse", old.id)
	newer := (&event.Batch{Level: nextLevel, Sequence: ^uint64(0)}).Encode()
	given := make(chan struct{}) // up by the leader
	go func() {
		defer close(given)
		l.owner.MarkGoroutine()
		_, _, _ = l.cluster.Propose(newer).Wait()
	}()
	// A write that comes before the entry proves nothing. The next fault may take the disk of one of the
	// others, and would then leave no majority that can store what a majority has.
	select {
	case <-given:
	case <-time.After(greyMax()):
	}
	if d.writesGoOn(fmt.Sprintf("the others refuse an entry of %s", old.id)) {
		w.check.Achieved("entry refused")
	}
}

// readyLeader ends all faults and returns a leader that has led for some time, with members in step.
// It returns nil if there is none soon. A leader that has just stepped down and leads again is more
// patient.
func (d *driver) readyLeader() *replica {
	d.w.heal()
	if d.w.await(leaderTime) == nil || d.w.healthyMembers() == nil || !d.w.caughtUp() {
		return nil
	}
	r := d.w.leading()
	for end := time.Now().Add(2 * cluster.DefaultConfig().HungGiveUp); time.Now().Before(end); time.Sleep(
		100 * time.Millisecond) {
		if d.w.leading() != r {
			return nil
		}
	}
	return r
}

// writesGoOn reports whether a write at one of the members succeeds within greyMax. If not, that is a
// violation. It asks the leader first. Delays that are longer than an election timeout end meanwhile:
// with them no leader may be elected in time, whatever the product does.
func (d *driver) writesGoOn(why string) bool {
	defer d.w.yield.With(yield.Off)()
	c := load.NewCaller(d.w, "grey", d.rng).StartAt(max(slices.Index(d.w.members(), d.w.leading()), 0))
	ctx, cancel := context.WithTimeout(d.w.ctx, greyMax())
	defer cancel()
	for ; sleep.For(ctx, election/5); c.At++ {
		if _, ok := c.Try(ctx, input.Request{Input: &input.Audit{Who: c.Name, Action: "write"}}); ok {
			return true
		}
	}
	if d.w.ctx.Err() == nil {
		d.w.check.Fail("L5: no write succeeds within %s although %s", greyMax(), why)
	}
	return false
}
