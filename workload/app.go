package workload

import (
	"fmt"
	"time"

	"rmd/scheduler/input"
	"rmd/workload/report"
	"rmd/workload/trace"
	"rmd/yarn"
)

// phase is the phase of an application's life.
type phase uint8

const (
	phaseSubmitting  phase = iota
	phaseWaiting           // waiting for its AM's container
	phaseRegistering       // its AM runs
	phaseRunning
	phaseFinishing
	phaseLost // its AM is gone; another attempt may follow
	phaseEnded
)

const (
	appType     = "SIMULATED"
	maxAttempts = 2
	defaultUser = "workload"
	// probeEvery is the number of refused registrations after which an unmanaged application checks
	// whether it still exists.
	probeEvery = 10
)

// app is one simulated application with its ApplicationMaster. It has at most one call in flight.
type app struct {
	w        *world
	ordinal  int // 1 for the first
	job      trace.Job
	stranger bool // not submitted by this workload

	phase   phase
	id      yarn.ApplicationID
	queue   string // as the cluster reports it
	attempt yarn.AttemptID
	am      yarn.ContainerID
	node    *node // where the AM runs; nil: nowhere
	life    int   // counts lost attempts; answers to calls of an earlier life are ignored

	response int32
	groups   []group
	left     int // containers not completed, in all groups
	held     map[yarn.ContainerID]*holding
	releases []yarn.ContainerID
	repeat   *input.Allocate // a call without an answer
	final    yarn.FinalStatus
	why      string
	probes   int

	calls     bool // a call is in flight
	again     bool // there is more to do after the call
	timer     *timer
	demanding bool
}

// holding is a container that was allocated to an application.
type holding struct {
	group   int
	slot    slot
	node    *node // nil: not a simulated node
	own     bool  // ended by the application, because its node is not simulated
	ended   bool  // no longer in use
	counted bool  // the cluster has reported its end
	endedAt int64 // virtual milliseconds
}

func newApp(w *world, job trace.Job) *app {
	w.entered++
	a := &app{w: w, ordinal: w.entered, job: job, held: map[yarn.ContainerID]*holding{}, final: yarn.FinalSucceeded}
	a.groups = make([]group, len(job.Tasks))
	for i := range job.Tasks {
		t := &job.Tasks[i]
		g := &a.groups[i]
		g.spec, g.left = t, max(t.Count, 0)
		g.key = yarn.SchedulerKey{Priority: int32(t.Priority), AllocationID: int64(i + 1)}
		g.size, _ = sizeOf(t.MemoryMB, t.VCores, t.GPUs, w.cfg.Kinds)
		g.shown = measure(g.size, w.cfg.Kinds)
		a.left += g.left
	}
	return a
}

// step makes the next call of the application, which depends on its phase.
func (a *app) step() {
	if a.calls {
		a.again = true
		return
	}
	a.again = false
	a.w.loop.cancel(a.timer)
	switch a.phase {
	case phaseSubmitting:
		a.submit()
	case phaseRegistering:
		if a.probes > 0 && a.probes%probeEvery == 0 {
			a.probe()
			return
		}
		a.register()
	case phaseRunning:
		if a.repeat == nil && a.left == 0 && len(a.releases) == 0 {
			a.finish()
			return
		}
		a.allocate()
	case phaseFinishing:
		a.finish()
	case phaseLost:
		a.probe()
	}
}

// tags returns a tag that declares the lifetime of the longest container, if Config.Declare is set.
func (a *app) tags() []string {
	if !a.w.cfg.Declare {
		return nil
	}
	var longest time.Duration
	for i := range a.job.Tasks {
		t := &a.job.Tasks[i]
		for _, d := range append(t.Durations, t.Duration) {
			longest = max(longest, d)
		}
	}
	seconds := (longest.Milliseconds() + a.w.cfg.StartMillis + 999) / 1000
	if seconds < 1 || seconds > yarn.MaxLifetimeSeconds {
		return nil
	}
	return []string{fmt.Sprintf("%sseconds=%d", yarn.LifetimeTag, seconds)}
}

// answered follows every answer. It makes the next call at once if there is more to do, otherwise
// when pace says so.
func (a *app) answered() {
	defer a.account()
	if a.phase == phaseEnded {
		return
	}
	if a.again || (a.phase == phaseRunning && a.repeat == nil && (a.left == 0 || len(a.releases) > 0 || a.dirty())) {
		a.step()
		return
	}
	a.w.pace.appIdle(a)
}

func (a *app) dirty() bool {
	for i := range a.groups {
		if a.groups[i].dirty {
			return true
		}
	}
	return false
}

// outstanding returns the number of containers that were requested and not allocated.
func (a *app) outstanding() int {
	n := 0
	for i := range a.groups {
		n += len(a.groups[i].waiting)
	}
	return n
}

// account updates the world's count of applications that wait for the scheduler.
func (a *app) account() {
	was := a.demanding
	switch a.phase {
	case phaseWaiting, phaseRegistering, phaseLost:
		a.demanding = true
	case phaseRunning:
		a.demanding = a.outstanding() > 0
	default:
		a.demanding = false
	}
	if a.demanding && !was {
		a.w.demand++
	} else if was && !a.demanding {
		a.w.demand--
	}
}

func (a *app) submit() {
	for i := range a.job.Tasks {
		if t := a.job.Tasks[i]; t.GPUs > 0 && a.w.cfg.Kinds.Index(yarn.GPUName) < 0 {
			a.reject(fmt.Errorf("%s asks for GPUs, which the cluster does not count", a.job.Name))
			return
		}
	}
	if a.job.User == "" {
		a.job.User = defaultUser
	}
	in := &input.SubmitApplication{Name: a.job.Name, User: a.job.User, Queue: a.job.Queue, Type: appType,
		Priority: int32(a.job.Priority), PrioritySet: a.job.Priority != 0, AM: a.w.cfg.AMSize,
		Unmanaged: !a.w.cfg.AM, MaxAttempts: maxAttempts, Tags: a.tags()}
	a.calls = true
	call(a.w, in, func(r *input.SubmitApplicationReply, err error) {
		a.calls = false
		switch {
		case err != nil:
			a.answered()
			return
		case r.Refusal != nil:
			a.reject(fmt.Errorf("submission of %s: %w", a.job.Name, r.Refusal))
			return
		}
		a.w.counts.submitted++
		a.w.pace.happened(false)
		a.id, a.queue, a.phase = r.ID, r.Queue, phaseWaiting
		a.w.apps[a.id] = a
		if !a.w.cfg.AM {
			a.attempt = yarn.AttemptID{App: a.id, Attempt: 1}
			a.phase, a.again = phaseRegistering, true
		}
		if o, ok := a.w.orphans[a.id]; ok {
			delete(a.w.orphans, a.id)
			a.launched(o.node, o.container)
		}
		a.answered()
	})
}

// reject ends an application whose submission was refused.
func (a *app) reject(err error) {
	a.w.counts.refused++
	a.w.refused(err)
	a.phase = phaseEnded
	a.account()
	a.w.leave(a)
}

// launched begins an attempt after its AM's container was started on n.
func (a *app) launched(n *node, container yarn.ContainerID) {
	if a.phase == phaseEnded || container.Attempt <= a.attempt.Attempt {
		return
	}
	if a.attempt.Attempt > 0 {
		a.restart()
	}
	a.attempt = yarn.AttemptID{App: a.id, Attempt: container.Attempt}
	a.am, a.node = container, n
	a.phase, a.probes = phaseRegistering, 0
	a.step()
	a.account()
}

// restart drops the state of the previous attempt. Its containers are lost and requested again.
func (a *app) restart() {
	a.life++
	a.w.counts.restarts++
	a.response, a.repeat, a.releases = 0, nil, nil
	for _, id := range sortedContainers(a.held) {
		a.lost(id)
	}
	clear(a.held)
	for i := range a.groups {
		a.groups[i].names = nil
	}
}

func (a *app) register() {
	life := a.life
	in := &input.RegisterAttempt{Attempt: a.attempt}
	if a.node != nil {
		in.Host = a.node.id.Host
	}
	a.calls = true
	call(a.w, in, func(r *input.RegisterAttemptReply, err error) {
		a.calls = false
		if life != a.life || a.phase != phaseRegistering {
			a.answered()
			return
		}
		if err == nil && (r.Refusal == nil || r.Refusal.Reason == input.AlreadyDone) {
			a.phase, a.response, a.probes, a.queue = phaseRunning, 0, 0, r.Queue
			a.w.counts.registered++
			a.w.pace.happened(false)
			a.reopen()
			a.open()
			a.again = true
		} else if err == nil && attemptEnded(r.Refusal) {
			a.notCurrent()
		}
		a.answered()
	})
}

// notCurrent handles the answer that the attempt is not the current one. The cluster replaces an
// AM's container. An unmanaged attempt may have to wait until its queue admits it.
func (a *app) notCurrent() {
	switch {
	case !a.unmanaged():
		a.lose()
	case a.phase == phaseRegistering:
		a.probes++
	default:
		a.restart()
		a.attempt.Attempt++
		a.phase, a.probes = phaseRegistering, probeEvery
	}
}

func (a *app) unmanaged() bool { return !a.w.cfg.AM && !a.stranger }

// finish unregisters the AM. Then the AM's container ends.
func (a *app) finish() {
	life := a.life
	a.phase = phaseFinishing
	a.calls = true
	in := &input.FinishAttempt{Attempt: a.attempt, Final: a.final, Diagnostics: a.why}
	call(a.w, in, func(r *input.Done, err error) {
		a.calls = false
		switch {
		case err == nil && r.Refusal == nil:
			// The node may have ended the AM's container before this answer arrived.
			a.end(in.Final == yarn.FinalSucceeded)
		case life != a.life || a.phase != phaseFinishing || err != nil:
			a.answered()
		case r.Refusal != nil && !attemptEnded(r.Refusal):
			a.w.refused(fmt.Errorf("finish of %s: %w", a.attempt, r.Refusal))
			fallthrough
		default:
			a.end(a.final == yarn.FinalSucceeded)
		}
	})
}

// attemptEnded reports whether a refusal means that the attempt has ended in the cluster.
func attemptEnded(f *input.Refusal) bool {
	switch f.Reason {
	case input.NoSuchApplication, input.NoSuchAttempt, input.AlreadyEnded:
		return true
	}
	return false
}

// amEnded is called by the AM's node when a container of an AM has ended.
func (a *app) amEnded(container yarn.ContainerID) {
	if container == a.am && a.phase != phaseEnded {
		a.node = nil
		a.lose()
		a.w.loop.addReady(func() { a.step(); a.account() })
	}
}

// lose records that the application has no AM until another attempt starts.
func (a *app) lose() {
	if a.phase == phaseEnded {
		return
	}
	a.life++
	a.phase = phaseLost
	a.account()
}

// probe checks whether the application still exists, because a user may have killed it. It moves
// the application to its current queue. That changes nothing, and is refused if the application
// does not exist.
func (a *app) probe() {
	life := a.life
	a.calls = true
	call(a.w, &input.MoveApplication{ID: a.id, Queue: a.queue}, func(r *input.Done, err error) {
		a.calls = false
		if life == a.life && (a.phase == phaseLost || a.phase == phaseRegistering) && err == nil {
			if f := r.Refusal; f != nil && (f.Reason == input.NoSuchApplication || f.Reason == input.AlreadyEnded) {
				a.end(false)
			}
			a.probes++
		}
		a.answered()
	})
}

// end ends the application in any phase.
func (a *app) end(well bool) {
	if a.phase == phaseEnded {
		return
	}
	a.phase = phaseEnded
	switch {
	case a.stranger:
	case well:
		a.w.counts.finished++
	default:
		a.w.counts.failed++
	}
	for _, id := range sortedContainers(a.held) {
		a.closeHolding(id)
	}
	a.w.counts.waiting -= a.outstanding()
	a.w.loop.cancel(a.timer)
	a.account()
	a.w.leave(a)
	a.w.pace.happened(false)
	if a.node != nil {
		a.node.exit(a.am, yarn.ExitSuccess, "")
	}
}

// shown returns the name of a slot's container in the report.
func (a *app) shown(group int, s slot) string {
	if s.tries == 0 {
		return fmt.Sprintf("%d/%d/%d", a.ordinal, group, s.n)
	}
	return fmt.Sprintf("%d/%d/%d#%d", a.ordinal, group, s.n, s.tries)
}

func (a *app) size(h *holding) report.Resource { return a.groups[h.group].shown }
