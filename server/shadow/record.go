package shadow

import (
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/yarn"
)

// record has the asks of applications and the run times of their containers, from the cluster's
// events.
type record struct {
	jobs       map[uint32]*job
	running    map[event.ContainerRef]place
	held       map[uint64]held // by reservation number
	containers int             // number of remembered containers of all jobs
	ops        int             // number of asks of all jobs that the shadow's AMs have not made yet
	apart      bool            // the shadow has diverged and so needs the AMs' asks
	last       place           // the container that ended last
}

// held is the container that a reservation will become.
type held struct {
	ref event.ContainerRef
	key yarn.SchedulerKey
	am  bool
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
	r := &record{jobs: map[uint32]*job{}, running: map[event.ContainerRef]place{}, held: map[uint64]held{}}
	st.Apps.Each(func(_ uint32, a *state.App) bool {
		if !a.State.Ended() {
			r.known(st, a)
		}
		return true
	})
	st.Reservations.Each(func(_ uint32, v *state.Reservation) bool {
		if a := st.Apps.Get(v.App); v.IncreaseOf == 0 && v.Members == 0 { // other reservations do not become containers
			r.held[v.Number] = held{event.ContainerRef{App: a.ID.Seq, Attempt: a.Attempt, Number: v.Container}, v.Key, v.AM}
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
	for _, c := range st.ContainersOf(a) { // the newest first
		if c.State.Live() {
			live = append(live, c)
		}
	}
	for i := len(live) - 1; i >= 0; i-- {
		r.started(held{st.Ref(live[i]), live[i].Key, live[i].AM}, live[i].AllocatedMillis)
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

// add records an event that the cluster's state has not applied yet.
func (r *record) add(st *state.State, e event.Event) {
	now := st.Meta.NowMillis
	switch e := e.(type) {
	case *event.ApplicationSubmitted:
		r.job(e.App, e.Unmanaged)
	case *event.AttemptRegistered:
		if j := r.jobs[e.App]; j != nil && j.registered == 0 {
			j.registered = now
		}
	case *event.AskChanged:
		r.asked(st, e)
	case *event.AskLabelled:
		if j := r.jobs[e.App]; j != nil {
			for i := len(j.ops) - 1; i >= 0; i-- {
				if o := &j.ops[i]; o.ask.Key == e.Key && o.ask.Name == yarn.Any {
					o.label = e.Label
					break
				}
			}
		}
	case *event.BlacklistChanged:
		if j := r.jobs[e.App]; j != nil && j.registered != 0 {
			r.does(st, j, op{black: e})
		}
	case *event.ContainerAllocated:
		r.started(held{r.refOf(st, e.App, e.Number), e.Key, e.AM}, now)
	case *event.ContainerLent:
		r.started(held{r.refOf(st, e.App, e.Number), e.Key, e.AM}, now)
	case *event.ReservationMade:
		r.held[e.Reservation] = held{r.refOf(st, e.App, e.Number), e.Key, e.AM}
	case *event.ReservationCancelled:
		delete(r.held, e.Reservation)
	case *event.ReservationFulfilled:
		if h, ok := r.held[e.Reservation]; ok {
			delete(r.held, e.Reservation)
			r.started(h, now)
		}
	case *event.ContainerReleased:
		r.ended(now, e.Container, killed(st, e.Container, e.ExitStatus, false), false)
	case *event.ContainerCompleted:
		r.ended(now, e.Container, killed(st, e.Container, e.ExitStatus, true), e.Restore)
	case *event.AttemptUnregistered:
		r.finished(now, e.App, overDone)
	case *event.ApplicationEnded:
		how := overKilled
		if e.State == yarn.AppFinished {
			how = overDone
		}
		r.finished(now, e.App, how)
		if j := r.jobs[e.App]; j != nil && !r.apart {
			r.drop(j)
		}
	}
}

func (r *record) refOf(st *state.State, app uint32, number uint64) event.ContainerRef {
	ref := event.ContainerRef{App: app, Number: number}
	if slot := st.App(app); slot != 0 {
		ref.Attempt = st.Apps.Get(slot).Attempt
	}
	return ref
}

// killed reports whether a container ends for another reason than that its work is done. completed
// distinguishes a completion from a release.
func killed(st *state.State, ref event.ContainerRef, exit int32, completed bool) bool {
	switch exit {
	case yarn.ExitPreempted, yarn.ExitKilledByRM:
		return true
	case yarn.ExitAborted: // its AM has released it or its node is lost
		slot := st.Container(ref)
		return completed && slot != 0 && st.Containers.Get(slot).Launched
	}
	return false
}

// asked records an ask. Asks that replace killed containers are no new demand: the shadow's AM
// makes its own.
func (r *record) asked(st *state.State, e *event.AskChanged) {
	j, slot := r.jobs[e.App], st.App(e.App)
	if j == nil || slot == 0 || st.Apps.Get(slot).AttemptState != state.AttemptRegistered {
		return // the ask for the AM
	}
	delta := e.Count - countOf(st, e.App, e.Key, e.Name)
	if e.Name == yarn.Any && delta > 0 {
		k := j.runsOf(e.Key)
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
	slot := st.App(app)
	if slot == 0 {
		return 0
	}
	ask := st.Ask(st.Apps.Get(slot), key)
	if ask == 0 {
		return 0
	}
	k := st.Asks.Get(ask)
	if name == yarn.Any {
		return k.Count
	}
	if l := st.Location(k, st.NameID(name)); l != 0 {
		return st.Locations.Get(l).Count
	}
	return 0
}

func (r *record) started(h held, now int64) {
	j := r.jobs[h.ref.App]
	if j == nil {
		return
	}
	if h.am {
		j.amStarted = now
		return
	}
	k := j.runsOf(h.key)
	i := len(k.list)
	if n := len(k.vacant); n > 0 {
		i, k.vacant = k.vacant[0], k.vacant[1:]
		k.list[i] = run{from: now}
	} else {
		k.list = append(k.list, run{from: now})
		r.containers++
	}
	r.running[h.ref] = place{h.key, i}
}

func (r *record) ended(now int64, ref event.ContainerRef, killed, restored bool) {
	r.last = place{index: -1}
	p, ok := r.running[ref]
	if !ok {
		return
	}
	delete(r.running, ref)
	j := r.jobs[ref.App]
	if j == nil {
		return
	}
	k := j.keys[p.key]
	if killed || restored {
		k.vacant = append(k.vacant, p.index)
		if !restored {
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
