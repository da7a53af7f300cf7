package logsim

import (
	"errors"
	"time"

	"rmd/fsm/state"
	"rmd/leader"
	"rmd/scheduler/input"
	"rmd/scheduler/planner"
)

// leadership drives a leader.Core over the fake log, as the driver of package leader does over
// Raft's log.
type leadership struct {
	w    *world
	r    *replica
	term uint64

	core     *leader.Core[call]
	planner  *planner.Planner
	inflight [][]byte // entries proposed, oldest first
	waiting  []*call  // calls that are planned and not answered, oldest first
	ticked   int64    // the world's time at the latest tick
	// late counts the ticks at which something was overdue, by its description.
	late map[string]int
	// deposed is the number of rounds for which a deposed leader still believes that it leads. It
	// is 0 while it leads.
	deposed int
}

// The expiry intervals of the simulation, in milliseconds.
const (
	nodeExpiry      = 10_000
	attemptExpiry   = 30_000
	containerExpiry = 20_000
	silentNode      = 2_000
)

// core returns the limits and timers of a leadership.
func (w *world) core(p *planner.Planner) leader.CoreConfig {
	return leader.CoreConfig{
		Expiry: func(*state.State) leader.Expiry {
			e := leader.Expiry{NodeMillis: nodeExpiry, AttemptMillis: attemptExpiry, ContainerMillis: containerExpiry,
				SilentMillis: silentNode}
			if c := p.Config(); c != nil {
				e.ManageMillis = c.ManageMillis
			}
			if c := p.Config(); c != nil && c.Preemption.Enabled {
				e.PreemptionMillis = c.Preemption.IntervalMillis
			}
			return e
		},
		BatchEvents: w.opt.BatchEvents, BatchBytes: 64 << 10, MaxInFlight: w.opt.InFlight, TickInterval: time.Second,
	}
}

// beginLeadership applies the whole log, forks the state, and creates a planner and a core.
func (w *world) beginLeadership(r *replica) {
	r.catchUp(1 << 30)
	if w.check.broken() {
		return
	}
	st, index, sequence := r.m.Planning(w.log.term)
	p, err := planner.New(st, planner.Options{Eager: w.opt.Eager})
	if err != nil {
		w.check.fail("S1", "no planner can be made from the state at %d: %v", index, err)
		return
	}
	w.leads = &leadership{w: w, r: r, term: w.log.term, planner: p,
		core:   leader.NewCore[call](w.core(p), twinned{p, w}, leader.Start{State: st, Index: index, Sequence: sequence}),
		ticked: w.now}
	w.counts.Leaderships++
	w.trace.number(w.log.term<<8 | uint64(r.id))
}

// step plans one input. c is nil if no caller waits for the reply.
func (l *leadership) step(c *call, req input.Request) {
	if c != nil {
		l.waiting = append(l.waiting, c)
	}
	l.core.Step(l.now(), c, req)
	l.w.steps++
	var fault *leader.PlannerFault
	if errors.As(l.core.Err(), &fault) { // an event does not follow from its state
		l.w.check.fail("S7", "panic: %v\n%s", fault, fault.Stack)
		return
	}
	l.release()
}

// now returns the leader's time for the next input, in milliseconds.
func (l *leadership) now() int64 { return l.r.time.Millis(l.core.Stamp()) }

// tick gives the core the time that has passed. In every other run, a Tick is also planned at random
// when nothing is due; in the others, only deadlines make one.
func (l *leadership) tick() {
	l.late = l.w.check.deadlines(l.core.State(), l.late)
	random := l.w.rng.IntN(8) == 0 && l.w.opt.Seed%2 == 0
	l.core.Tick(l.now(), time.Duration(l.w.now-l.ticked)*time.Millisecond)
	l.ticked = l.w.now
	if random && !l.core.Full() {
		l.step(nil, input.Request{Input: &input.Tick{Entropy: l.w.entropy()}})
	}
	l.launchAMs()
}

// planDue plans the inputs that are due while there is room in the batches.
func (l *leadership) planDue() {
	for in := l.core.Due(); in != nil; in = l.core.Due() {
		if tick, ok := in.(*input.Tick); ok {
			tick.Entropy = l.w.entropy()
		}
		l.step(nil, input.Request{Input: in})
	}
}

// release answers the calls whose replies the core has released, in the order in which their inputs
// were planned. It sends a call again if its input may have had no effect.
func (l *leadership) release() {
	for _, r := range l.core.Replies() {
		if len(l.waiting) == 0 || l.waiting[0] != r.Caller {
			l.w.check.fail("S4", "a reply overtakes those of inputs that were planned before: %+v, %v", r.Reply, r.Err)
			return
		}
		l.waiting = l.waiting[1:]
		if r.Err != nil {
			l.w.unanswered(r.Caller)
			continue
		}
		l.w.release(r.Caller, r.Reply, l)
	}
}

// giveUp ends all waiting calls without an answer. Their callers repeat them.
func (l *leadership) giveUp() {
	for _, c := range l.waiting {
		l.w.unanswered(c)
	}
	l.waiting = nil
}

// propose adds the open batch to the entries in flight if the core has one to propose.
func (l *leadership) propose() {
	if l.deposed > 0 {
		return
	}
	if p, ok := l.core.Propose(); ok {
		l.inflight = append(l.inflight, p.Entry)
	}
}

// oldest removes the oldest entry in flight and returns it.
func (l *leadership) oldest() []byte {
	entry := l.inflight[0]
	l.inflight = l.inflight[1:]
	return entry
}

// commit appends the oldest batch in flight to the log. It must be applied as planned.
func (l *leadership) commit() {
	if len(l.inflight) == 0 {
		return
	}
	if err := l.apply(l.w.log.append(l.term, l.oldest())); err != nil {
		l.w.check.fail("S1", "a batch of term %d that follows its predecessor: %v", l.term, err)
	}
}

// apply applies the entry at an index and gives the core the outcome of its oldest batch.
func (l *leadership) apply(index uint64) error {
	l.r.catchUp(1 << 30)
	if l.w.check.broken() {
		return nil
	}
	got, ok := l.r.m.Entry(index)
	if !ok {
		l.w.check.fail("S1", "the leader does not know what its entry %d led to", index)
		return nil
	}
	err := l.core.Committed(index, &leader.Outcome{Digest: got.Digest, Skipped: got.Skipped})
	l.release()
	return err
}

// refuse refuses the oldest batch in flight. If there is a second batch, it appends that one, and
// the fence must skip it. The leadership ends without an effect of either batch, and the replica
// leads again in the same term.
func (l *leadership) refuse() {
	if len(l.inflight) == 0 {
		return
	}
	w := l.w
	l.oldest()
	l.core.Aborted(leader.ErrNotLeader)
	l.release()
	if len(l.inflight) > 0 {
		index := w.log.append(l.term, l.oldest())
		w.check.expectSkip(index)
		if err := l.apply(index); err == nil && !w.check.broken() {
			w.check.fail("S1", "the leader takes its batch at %d for applied, whose predecessor was refused", index)
		}
	}
	l.stop()
	w.leads = nil
	w.noLeader = 1 + w.rng.IntN(5)
	w.same = l.r
}

// depose ends a leadership. A random prefix of the entries in flight is appended, in the term in
// which they were proposed. The waiting callers do not learn the outcome. With FaultStaleLeader,
// half of the deposed leaders do not know that they are deposed.
func (l *leadership) depose() {
	w := l.w
	keep := w.rng.IntN(len(l.inflight) + 1)
	for i, entry := range l.inflight {
		switch {
		case i < keep:
			w.log.append(l.term, entry)
			w.counts.Survived++
		case i == keep && w.opt.enabled(FaultLate) && w.rng.IntN(2) == 0:
			w.log.late = append(w.log.late, lateEntry{entry, w.rounds + uint64(w.rng.IntN(400))})
		default:
			w.counts.Dropped++
		}
	}
	if w.opt.enabled(FaultStaleLeader) && w.rng.IntN(2) == 0 {
		l.deposed = 1 + w.rng.IntN(60)
		w.stale = l
		l.giveUp()
	} else {
		l.stop()
	}
	w.leads, w.same = nil, nil
	w.log.term++
	w.noLeader = 1 + w.rng.IntN(40)
}

// stop ends the core. No call may stay unanswered.
func (l *leadership) stop() {
	l.core.Stop()
	l.release()
	if len(l.waiting) > 0 && !l.w.check.broken() {
		l.w.check.fail("S4", "the leadership of term %d has ended and leaves %d calls unanswered", l.term, len(l.waiting))
	}
}
