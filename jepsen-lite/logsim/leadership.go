package logsim

import (
	"rmd/fsm/event"
	"rmd/leader"
	"rmd/scheduler"
	"rmd/scheduler/input"
)

// office is one leadership, by the rules of package leader: events of an input are
// in one batch, a reply leaves when everything it rests on is applied here.
type office struct {
	w    *world
	r    *replica
	term uint64

	planner  *scheduler.Planner
	stamp    int64
	applied  uint64
	sequence uint64

	writer   event.Writer
	open     *batch
	inflight []*batch // oldest first
	clock    clock
	ghost    int // rounds it still believes to lead after it does not; 0 while it does
}

// batch is the events of one entry and the calls that wait for it.
type batch struct {
	parked  []parked
	decides bool
	entry   []byte
	digest  uint64
}

type parked struct {
	c *call
	r input.Reply
}

// takeOffice is barrier, fork, planner, timers.
func (w *world) takeOffice(r *replica) {
	r.catchUp(1 << 30)
	if w.check.broken() {
		return
	}
	st, index, sequence := r.m.Planning(w.log.term)
	p, err := scheduler.New(st, scheduler.Options{Eager: w.opt.Eager})
	if err != nil {
		w.check.fail("S1", "no planner can be made from the state at %d: %v", index, err)
		return
	}
	w.off = &office{w: w, r: r, term: w.log.term, planner: p, stamp: st.Meta.NowMillis, applied: index, sequence: sequence, open: &batch{}}
	w.off.clock.arm(w.off)
	w.counts.Offices++
	w.trace.number(w.log.term<<8 | uint64(r.id))
}

// full says that the open batch takes no more events.
func (o *office) full() bool { return o.writer.Count() >= o.w.opt.BatchEvents }

// step plans one input, appends its events to the open batch and parks its reply.
func (o *office) step(c *call, req input.Request) {
	w := o.w
	o.stamp = o.r.time.Millis(max(o.stamp, o.planner.State().Meta.NowMillis))
	var twin *scheduler.Planner
	if w.rng.IntN(512) == 0 {
		twin = o.twin()
	}
	reply, events := o.planner.Plan(o.stamp, req)
	w.steps++
	for _, e := range events {
		o.writer.Append(e)
	}
	if twin != nil {
		o.compare(twin, req, reply, events)
	}
	o.clock.touch(o, req.Input)
	o.open.decides = o.open.decides || leader.NeedsCommit(req.Input, reply, events)
	if c == nil {
		return
	}
	if b := o.restsOn(); b != nil {
		b.parked = append(b.parked, parked{c, reply})
		return
	}
	w.release(c, reply, o)
}

// restsOn is the newest batch not applied yet that decides anything.
func (o *office) restsOn() *batch {
	if o.open.decides {
		return o.open
	}
	for i := len(o.inflight) - 1; i >= 0; i-- {
		if o.inflight[i].decides {
			return o.inflight[i]
		}
	}
	return nil
}

// propose hands the open batch to the log when that has room.
func (o *office) propose() {
	if o.ghost > 0 || o.writer.Count() == 0 || len(o.inflight) >= o.w.opt.InFlight {
		return
	}
	b, st := o.open, o.planner.State()
	b.entry, b.digest = o.writer.Finish(st.Meta.Level, o.sequence), st.Digest()
	o.sequence++
	o.inflight = append(o.inflight, b)
	o.open = &batch{}
}

// commit lets the log take the oldest batch in flight.
func (o *office) commit() {
	if len(o.inflight) == 0 {
		return
	}
	b := o.inflight[0]
	index := o.w.log.append(o.term, b.entry)
	o.r.catchUp(1 << 30)
	if o.w.check.broken() {
		return
	}
	o.inflight = o.inflight[1:]
	o.settle(b, index)
}

// settle compares what was planned with what the log led to, and releases.
func (o *office) settle(b *batch, index uint64) {
	got, ok := o.r.m.Entry(index)
	switch {
	case !ok:
		o.w.check.fail("S1", "the leader does not know what its entry %d led to", index)
		return
	case got.Skipped:
		o.w.check.fail("S1", "a batch of term %d planned right after its predecessor was skipped at %d", o.term, index)
		return
	case got.Digest != b.digest:
		o.w.check.fail("S1", "planning state and committed state differ after %d: planned %016x, is %016x", index, b.digest, got.Digest)
		return
	}
	o.applied = index
	for _, p := range b.parked {
		o.w.release(p.c, p.r, o)
	}
}

// refuse has the log refuse the oldest batch and, when there is a second, take
// that one: the fence must skip it. The office is left, nobody had an effect.
func (o *office) refuse() {
	if len(o.inflight) == 0 {
		return
	}
	w := o.w
	w.hand(o.inflight[0].parked)
	if len(o.inflight) > 1 {
		index := w.log.append(o.term, o.inflight[1].entry)
		w.check.expectSkip(index)
		o.r.catchUp(1 << 30)
		w.hand(o.inflight[1].parked)
	}
	w.hand(o.open.parked)
	w.off = nil
	w.noLeader = 1 + w.rng.IntN(5)
	w.same = o.r // it leads on in the same term
}

// depose ends a leadership: a prefix of what is in flight survives, under the term
// in which it was proposed. All who wait know nothing.
func (o *office) depose() {
	w := o.w
	keep := w.rng.IntN(len(o.inflight) + 1)
	for i, b := range o.inflight {
		switch {
		case i < keep:
			w.log.append(o.term, b.entry)
			w.counts.Survived++
		case i == keep && w.opt.enabled(FaultLate) && w.rng.IntN(2) == 0:
			w.log.late = append(w.log.late, lateEntry{b.entry, w.rounds + uint64(w.rng.IntN(400))})
		default:
			w.counts.Dropped++
		}
		w.hand(b.parked)
	}
	w.hand(o.open.parked)
	for _, b := range o.inflight {
		b.parked = nil
	}
	o.open.parked = nil
	w.off, w.same = nil, nil
	w.log.term++
	w.noLeader = 1 + w.rng.IntN(40)
	if w.opt.enabled(FaultGhost) && w.rng.IntN(2) == 0 {
		o.ghost = 1 + w.rng.IntN(60)
		w.ghost = o
	}
}
