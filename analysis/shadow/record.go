package shadow

import (
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/fsm/state/change"
	"rmd/yarn"
)

// record has the asks of applications and the run times of their containers, from the cluster's
// events.
type record struct {
	jobs       map[uint32]*job
	running    map[event.ContainerRef]place
	containers int   // number of remembered containers of all jobs
	ops        int   // number of asks of all jobs that the shadow's AMs have not made yet
	apart      bool  // the shadow has diverged and so needs the AMs' asks
	last       place // the container that ended last
}

// place identifies one of an application's containers under a key.
type place struct {
	key   yarn.SchedulerKey
	index int
}

// job is an application in the cluster and in the shadow.
type job struct {
	seq        uint32
	unmanaged  bool
	amStarted  int64 // when its AM's container was allocated
	registered int64 // when its AM registered, 0 if it has not
	ended      int   // number of containers that ended by themselves
	lastEnd    int64
	keys       map[yarn.SchedulerKey]*runs
	ops        []op // asks of its AM that the shadow's AM has not made yet
	over       appOutcome
	overAt     int64
	forgotten  bool

	own shadowApp
}

// appOutcome says how an application ended in the cluster.
type appOutcome uint8

const (
	overNot    appOutcome = iota
	overDone              // its AM unregistered
	overKilled            // it was killed or failed
)

// op is one ask or other change that an AM made.
type op struct {
	after int64 // milliseconds after the AM registered
	ended int   // number of containers that had ended by then
	ask   event.AskChanged
	delta int64
	label string
	black *event.BlacklistChanged
}

// runs has the containers of an application under a key, in the order of their starts. If a
// container is killed, the container that replaces it gets its place.
type runs struct {
	list   []run
	vacant []int
	redo   int64 // number of killed containers for which the AM has not asked again
}

type run struct{ from, to int64 } // to is 0 while the container runs

func newRecord(st *state.State, o Options) *record {
	r := &record{jobs: map[uint32]*job{}, running: map[event.ContainerRef]place{}}
	st.Apps.Each(func(_ state.AppSlot, a *state.App) bool {
		if !a.State.Ended() {
			r.known(st, a)
		}
		return true
	})
	return r
}

// known adds an application that is older than the shadow.
func (r *record) known(st *state.State, a *state.App) {
	j := r.job(a.ID.Seq, a.Unmanaged)
	if a.AttemptState == state.AttemptRegistered || a.AttemptState == state.AttemptFinishing {
		j.registered = max(a.LaunchedMillis, a.AttemptMillis, 1)
	}
	var live []*state.Container
	for _, c := range st.Containers.Of(a) { // the newest first
		if c.State.Live() {
			live = append(live, c)
		}
	}
	for i := len(live) - 1; i >= 0; i-- {
		r.started(st.Apps.Ref(live[i]), live[i].Key, live[i].AM, live[i].AllocatedMillis)
	}
}

func (r *record) job(seq uint32, unmanaged bool) *job {
	j := &job{seq: seq, unmanaged: unmanaged, keys: map[yarn.SchedulerKey]*runs{}}
	j.own.keys = map[yarn.SchedulerKey]*ownKey{}
	r.jobs[seq] = j
	return j
}

// drop removes an application that has ended on both sides.
func (r *record) drop(j *job) {
	for _, k := range j.keys { // the order does not matter: they are summed
		r.containers -= len(k.list)
	}
	r.ops -= len(j.ops)
	delete(r.jobs, j.seq)
}

func (j *job) runsOf(key yarn.SchedulerKey) *runs {
	k := j.keys[key]
	if k == nil {
		k = &runs{}
		j.keys[key] = k
	}
	return k
}

// add records an event that the cluster's state has just applied.
func (r *record) add(st *state.State, e event.Event) {
	changes := st.Changes()
	for i := range changes {
		r.follow(st, &changes[i], e)
	}
}

// follow records a change that an event has made.
func (r *record) follow(st *state.State, c *change.Change, e event.Event) {
	now, app := st.Meta.NowMillis, c.Ref.App
	switch c.Kind {
	case change.AppPhase:
		r.followApp(now, st, c)
	case change.AttemptPhase:
		r.followAttempt(now, c)
	case change.AskChanged:
		if ask, ok := e.(*event.AskChanged); ok { // not for the increase of a container
			r.asked(st, c, ask)
		}
	case change.AskRelabelled:
		r.relabelled(st, c)
	case change.BlacklistChanged:
		if j := r.jobs[app]; j != nil && j.registered != 0 {
			r.does(st, j, op{black: e.(*event.BlacklistChanged)})
		}
	case change.ContainerStarted:
		r.started(c.Ref, c.Key, c.AM, now)
	case change.ContainerEnded:
		r.ended(now, c)
	}
}

func (r *record) followApp(now int64, st *state.State, c *change.Change) {
	if !c.AppState.Ended() {
		r.job(c.Ref.App, st.Apps.Get(c.App).Unmanaged)
		return
	}
	how := overKilled
	if c.AppState == yarn.AppFinished {
		how = overDone
	}
	r.finished(now, c.Ref.App, how)
	if j := r.jobs[c.Ref.App]; j != nil && !r.apart {
		r.drop(j)
	}
}

func (r *record) followAttempt(now int64, c *change.Change) {
	switch c.Attempt {
	case state.AttemptRegistered:
		if j := r.jobs[c.Ref.App]; j != nil && j.registered == 0 {
			j.registered = now
		}
	case state.AttemptFinishing:
		r.finished(now, c.Ref.App, overDone)
	}
}

// relabelled records the label of the last ask under a key.
func (r *record) relabelled(st *state.State, c *change.Change) {
	j := r.jobs[c.Ref.App]
	if j == nil {
		return
	}
	for i := len(j.ops) - 1; i >= 0; i-- {
		if o := &j.ops[i]; o.ask.Key == c.Key && o.ask.Name == yarn.Any {
			o.label = st.Labels.Name(st.Asks.Get(c.Ask).Label)
			return
		}
	}
}

// killed reports whether a container has ended for another reason than that its work is done.
func killed(c *change.Change) bool {
	switch c.Exit {
	case yarn.ExitPreempted, yarn.ExitKilledByRM:
		return true
	case yarn.ExitAborted: // its AM has released it or its node is lost
		return c.Left && c.Launched
	}
	return false
}

// asked records an ask. Asks that replace killed containers are no new demand: the shadow's AM
// makes its own.
func (r *record) asked(st *state.State, c *change.Change, e *event.AskChanged) {
	j := r.jobs[c.Ref.App]
	if j == nil || st.Apps.Get(c.App).AttemptState != state.AttemptRegistered {
		return // the ask for the AM
	}
	delta := c.More
	if c.Any && delta > 0 {
		k := j.runsOf(c.Key)
		again := min(delta, k.redo)
		k.redo -= again
		delta -= again
	}
	r.does(st, j, op{ask: *e, delta: delta})
}

// does records what an AM does, so that the shadow's AM does the same.
func (r *record) does(st *state.State, j *job, o op) {
	if r.apart {
		o.after, o.ended = st.Meta.NowMillis-j.registered, j.ended
		j.ops = append(j.ops, o)
		r.ops++
	}
}

// countOf returns how many containers an application asks for under a key at a place.
func countOf(st *state.State, app uint32, key yarn.SchedulerKey, name string) int64 {
	slot := st.Apps.Find(app)
	if slot == 0 {
		return 0
	}
	ask := st.Asks.Find(st.Apps.Get(slot), key)
	if ask == 0 {
		return 0
	}
	k := st.Asks.Get(ask)
	if name == yarn.Any {
		return k.Count
	}
	if l := st.Location(k, st.Names.Find(name)); l != 0 {
		return st.Locations.Get(l).Count
	}
	return 0
}

func (r *record) started(ref event.ContainerRef, key yarn.SchedulerKey, am bool, now int64) {
	j := r.jobs[ref.App]
	if j == nil {
		return
	}
	if am {
		j.amStarted = now
		return
	}
	k := j.runsOf(key)
	i := len(k.list)
	if n := len(k.vacant); n > 0 {
		i, k.vacant = k.vacant[0], k.vacant[1:]
		k.list[i] = run{from: now}
	} else {
		k.list = append(k.list, run{from: now})
		r.containers++
	}
	r.running[ref] = place{key, i}
}

func (r *record) ended(now int64, c *change.Change) {
	r.last = place{index: -1}
	p, ok := r.running[c.Ref]
	if !ok {
		return
	}
	delete(r.running, c.Ref)
	j := r.jobs[c.Ref.App]
	if j == nil {
		return
	}
	k := j.keys[p.key]
	if killed(c) || c.Restored {
		k.vacant = append(k.vacant, p.index)
		if !c.Restored {
			k.redo++
		}
		return
	}
	k.list[p.index].to = max(now, k.list[p.index].from+1)
	r.last = p
	j.ended++
	j.lastEnd = now
}

func (r *record) finished(now int64, app uint32, how appOutcome) {
	if j := r.jobs[app]; j != nil && j.over == overNot {
		j.over, j.overAt = how, now
	}
}
