package shadow

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"rmd/analysis/forecast"
	"rmd/analysis/runner"
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/fsm/state/change"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// divergedRun runs the shadow after its first different decision.
type divergedRun struct {
	*runner.Runner
	record *record
	meter  *meter
	random *rand.Rand

	beat    int64 // time of the next heartbeats of all nodes
	idle    bool  // the last heartbeats had no effect, and nothing has changed since
	round   int64 // time of the next round of preemption
	running map[event.ContainerRef]*ownRun
	dirty   map[uint32]bool // applications whose AMs must be run
	left    uint64          // inputs and events that the shadow refused

	known, guessed uint64 // numbers of ended containers whose run time was known, and estimated
}

// shadowApp is the state of an application in the shadow.
type shadowApp struct {
	started    bool // it was submitted in the shadow
	amStarted  int64
	am         event.ContainerRef
	registered int64
	ended      int
	lastEnd    int64
	live       int
	keys       map[yarn.SchedulerKey]*ownKey
	asks       []op // asks to send now
}

// ownKey is what an application asks for under one key in the shadow.
type ownKey struct {
	left   int64 // containers that it wants and that have not started
	next   int   // index of the next container, if vacant is empty
	vacant []int
	last   event.AskChanged // the last ask for any host
	label  string
	// running has the running containers by index.
	running map[int]event.ContainerRef
}

// ownRun is a container that runs in the shadow.
type ownRun struct {
	job   *job
	place place
	from  int64
	end   int64 // time of its current timer
	sure  bool  // its run time is known
}

const beatMillis = 1000

func newDivergedRun(own *runner.Runner, r *record, m *meter, random *rand.Rand) *divergedRun {
	r.apart = true
	c := &divergedRun{Runner: own, record: r, meter: m, random: random, beat: own.Now, round: own.Now,
		running: map[event.ContainerRef]*ownRun{},
		dirty:   map[uint32]bool{}}
	c.After = c.planned
	st := c.State()
	for _, seq := range sorted(r.jobs) {
		c.adopt(st, r.jobs[seq])
	}
	refs := make([]event.ContainerRef, 0, len(r.running))
	for ref := range r.running { // the order does not matter: they are sorted
		refs = append(refs, ref)
	}
	slices.SortFunc(refs, runner.CompareRefs)
	for _, ref := range refs {
		j, at := r.jobs[ref.App], r.running[ref]
		if j != nil {
			j.own.live++
			c.runs(ref, &ownRun{job: j, place: at, from: j.keys[at.key].list[at.index].from})
		}
	}
	return c
}

// adopt copies what an application has in the cluster. Until now both sides were equal.
func (c *divergedRun) adopt(st *state.State, j *job) {
	j.own.started = true
	j.own.amStarted, j.own.registered, j.own.ended, j.own.lastEnd = j.amStarted, j.registered, j.ended, j.lastEnd
	slot := st.Apps.Find(j.seq)
	if slot == 0 {
		return
	}
	a := st.Apps.Get(slot)
	j.own.am = event.ContainerRef{App: j.seq, Attempt: a.Attempt, Number: a.MasterNumber}
	for _, k := range st.Asks.Of(a) {
		if k.AM || k.IncreaseOf != 0 {
			continue
		}
		o := j.own.key(k.Key)
		o.left = k.Count
		o.last = event.AskChanged{App: j.seq, Key: k.Key, Name: yarn.Any, Size: k.Size, Relax: k.Relax}
	}
	for key, k := range j.keys { // the order does not matter: each is set separately
		o := j.own.key(key)
		o.next, o.vacant = len(k.list), slices.Clone(k.vacant)
	}
	c.dirty[j.seq] = true
}

func (o *shadowApp) key(k yarn.SchedulerKey) *ownKey {
	if o.keys[k] == nil {
		o.keys[k] = &ownKey{running: map[int]event.ContainerRef{}}
	}
	return o.keys[k]
}

// advance advances the run to a time.
func (c *divergedRun) advance(to int64) {
	for {
		c.poll()
		at := c.next()
		if at > to {
			break
		}
		c.meter.sample(at)
		c.Now = max(c.Now, at)
		if c.NextTimer() <= c.Now {
			c.fire(c.PopTimer())
			continue
		}
		c.tick()
	}
	c.Now = max(c.Now, to)
}

// next returns the time of the next action, or runner.Never.
func (c *divergedRun) next() int64 {
	at := c.NextTimer()
	if c.wants() {
		if !c.idle {
			at = min(at, c.beat)
		}
		if c.Config().Preemption.Enabled {
			at = min(at, c.round)
		}
	}
	return max(at, c.Now)
}

// wants reports whether a container waits or a preemption is in progress.
func (c *divergedRun) wants() bool {
	st := c.State()
	return !st.Queues.Get(st.Queues.Root()).Pending.IsZero() || st.Preemptions.Len() > 0
}

// tick sends the heartbeats of all nodes, or runs a round of preemption.
func (c *divergedRun) tick() {
	if set := &c.Config().Preemption; set.Enabled && c.round <= c.Now {
		c.round = c.Now + max(set.IntervalMillis, beatMillis)
		c.Plan(&input.PreemptionRound{})
	}
	if c.beat <= c.Now && !c.idle {
		c.beat = c.Now + beatMillis
		reply, events := c.Plan(&input.NodesHeard{Nodes: serving(c.Scheduler())})
		c.idle = len(events) == 0 || reply.Refused() != nil
	}
}

// fire handles a timer that has fired.
func (c *divergedRun) fire(t runner.Timer) {
	if t.Of.Number == 0 {
		c.dirty[t.Of.App] = true
		return
	}
	run := c.running[t.Of]
	if run == nil || run.end != t.At {
		return // the container has ended or has a later timer
	}
	if k := run.job.keys[run.place.key]; !run.sure && k != nil && run.place.index < len(k.list) {
		run.end = runner.Never // it still runs in the cluster, where its end will set the timer
		return
	}
	if run.sure {
		c.known++
	} else {
		c.guessed++
	}
	run.job.own.ended++
	run.job.own.lastEnd = c.Now
	c.forget(t.Of, run)
	c.complete(t.Of)
}

// forget removes a container from the running ones.
func (c *divergedRun) forget(ref event.ContainerRef, run *ownRun) {
	delete(c.running, ref)
	delete(run.job.own.key(run.place.key).running, run.place.index)
	run.job.own.live--
	c.dirty[ref.App] = true
}

// complete reports the end of a container to the planner.
func (c *divergedRun) complete(ref event.ContainerRef) {
	if in := runner.Completion(c.State(), ref); in != nil {
		c.Plan(in)
	}
}

// runs adds a running container and sets its end.
func (c *divergedRun) runs(ref event.ContainerRef, run *ownRun) {
	c.running[ref] = run
	run.job.own.key(run.place.key).running[run.place.index] = ref
	k := run.job.keys[run.place.key]
	if k != nil && run.place.index < len(k.list) && k.list[run.place.index].to != 0 {
		run.sure = true
		real := k.list[run.place.index]
		c.endAt(ref, run, run.from+real.to-real.from)
		return
	}
	c.endAt(ref, run, run.from+c.guess(run))
}

func (c *divergedRun) endAt(ref event.ContainerRef, run *ownRun, at int64) {
	run.end = max(at, c.Now)
	c.SetTimer(run.end, ref)
}

// guess estimates the run time of a container: that of another container of the same application
// and key, otherwise one from the history.
func (c *divergedRun) guess(run *ownRun) int64 {
	age := c.Now - run.from
	if k := run.job.keys[run.place.key]; k != nil {
		var lengths []int64
		for _, r := range k.list {
			if r.to != 0 && r.to-r.from > age {
				lengths = append(lengths, r.to-r.from)
			}
		}
		if len(lengths) > 0 {
			return lengths[c.random.IntN(len(lengths))]
		}
	}
	st := c.State()
	slot := st.Apps.Find(run.job.seq)
	if slot == 0 {
		return age
	}
	return forecast.Draw(c.random, st.LengthsOf(st.Apps.Get(slot)), age)
}

// planned updates the run after the planner has planned an input.
func (c *divergedRun) planned(_ input.Input, reply input.Reply, events []event.Event) {
	if reply.Refused() != nil {
		c.left++
	}
	c.took(events, c.Changes())
}

// emit lets f make decisions without an input.
func (c *divergedRun) emit(f func()) {
	sched := c.Scheduler()
	sched.Begin(c.Now)
	f()
	sched.RunEagerPasses()
	c.took(sched.Events(), sched.Changes())
}

// took updates the run after decisions of the planner and what they have changed. Only the time
// and the replies to AMs have no effect on the next heartbeats.
func (c *divergedRun) took(events []event.Event, changes []change.Change) {
	st := c.State()
	c.idle = c.idle && !slices.ContainsFunc(events, func(e event.Event) bool {
		return e.Kind() != event.KindTimeAdvanced && e.Kind() != event.KindResponseRecorded
	})
	for i := range changes {
		c.meter.record(st, &changes[i])
		c.follow(&changes[i])
	}
}

func (c *divergedRun) follow(x *change.Change) {
	app := x.Ref.App
	switch x.Kind {
	case change.ContainerStarted:
		c.starts(x)
	case change.ContainerEnded:
		c.lost(x.Ref, x.Restored)
		if !x.Left {
			c.SetTimer(c.Now+beatMillis, event.ContainerRef{App: app})
		}
	case change.AttemptPhase:
		switch x.Attempt {
		case state.AttemptEnded:
			c.attemptEnded(app)
		case state.AttemptActive:
			c.dirty[app] = true
		}
	}
}

func (c *divergedRun) starts(x *change.Change) {
	j := c.record.jobs[x.Ref.App]
	if j == nil {
		return
	}
	c.dirty[j.seq] = true
	if x.AM {
		j.own.amStarted, j.own.am = c.Now, x.Ref
		return
	}
	k := j.own.key(x.Key)
	i := k.next
	if len(k.vacant) > 0 {
		i, k.vacant = k.vacant[0], k.vacant[1:]
	} else {
		k.next++
	}
	k.left = max(k.left-1, 0)
	j.own.live++
	c.runs(x.Ref, &ownRun{job: j, place: place{x.Key, i}, from: c.Now})
}

// lost handles a container that the shadow's planner has ended. The AM asks for another one, unless
// the planner restored the ask.
func (c *divergedRun) lost(ref event.ContainerRef, restored bool) {
	run := c.running[ref]
	if run == nil {
		return
	}
	c.forget(ref, run)
	k := run.job.own.key(run.place.key)
	k.vacant = append(k.vacant, run.place.index)
	k.left++
	if !restored {
		run.job.own.asks = append(run.job.own.asks, op{ask: k.last, label: k.label})
	}
}

// attemptEnded makes the next attempt ask for everything that is still missing.
func (c *divergedRun) attemptEnded(app uint32) {
	j := c.record.jobs[app]
	if j == nil {
		return
	}
	c.dirty[app] = true
	j.own.registered, j.own.amStarted, j.own.am = 0, 0, event.ContainerRef{}
	j.own.asks = nil
	for _, key := range sortedKeys(j.own.keys) {
		if k := j.own.keys[key]; k.left > 0 {
			j.own.asks = append(j.own.asks, op{ask: k.last, label: k.label})
		}
	}
}

func sortedKeys(m map[yarn.SchedulerKey]*ownKey) []yarn.SchedulerKey {
	out := make([]yarn.SchedulerKey, 0, len(m))
	for k := range m { // the order does not matter: they are sorted
		out = append(out, k)
	}
	slices.SortFunc(out, func(a, b yarn.SchedulerKey) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.AllocationID, b.AllocationID))
	})
	return out
}
