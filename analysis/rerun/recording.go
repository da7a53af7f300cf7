package rerun

import (
	"slices"
	"time"

	"rmd/fsm/event"
	"rmd/workload/trace"
	"rmd/yarn"
)

// Limits of the simulated workload. The newest entries, applications and containers are used.
const (
	maxEntries    = 50_000
	maxContainers = 20_000
	maxOfAsk      = 5_000
)

// recording builds a workload from events.
type recording struct {
	gpu        int // index of the resource type for GPUs; −1: none
	began, now int64
	apps       map[uint32]*recorded
	order      []*recorded
	held       map[uint64]container // by number of the reservation
}

// container is the container that a reservation becomes.
type container struct {
	app    uint32
	number uint64
	key    yarn.SchedulerKey
}

// recorded is one application of the recording.
type recorded struct {
	job       trace.Job
	submitted int64
	unmanaged bool
	asks      map[yarn.SchedulerKey]*ask
	keys      []yarn.SchedulerKey // in the order of their first asks
	running   map[uint64]running  // by container number
}

// ask is the demand under one key.
type ask struct {
	first int64
	size  yarn.Resource
	left  int64 // number of containers still wanted
	ran   []time.Duration
}

type running struct {
	key   yarn.SchedulerKey
	since int64
}

func newRecording(gpu int) *recording {
	return &recording{gpu: gpu, apps: map[uint32]*recorded{}, held: map[uint64]container{}}
}

// add processes one event.
func (r *recording) add(e event.Event) {
	switch e := e.(type) {
	case *event.TimeAdvanced:
		if r.now = e.NowMillis; r.began == 0 {
			r.began = r.now
		}
	case *event.ApplicationSubmitted:
		a := &recorded{submitted: r.now, unmanaged: e.Unmanaged, asks: map[yarn.SchedulerKey]*ask{},
			running: map[uint64]running{},
			job:     trace.Job{Name: e.Name, User: e.User, Queue: e.Queue, Priority: int(e.Priority)}}
		r.apps[e.App] = a
		r.order = append(r.order, a)
	case *event.AskChanged:
		r.asked(e)
	case *event.ContainerAllocated:
		if !e.AM {
			r.started(container{e.App, e.Number, e.Key})
		}
	case *event.ContainerLent:
		if !e.AM {
			r.started(container{e.App, e.Number, e.Key})
		}
	case *event.ReservationMade:
		if !e.AM {
			r.held[e.Reservation] = container{e.App, e.Number, e.Key}
		}
	case *event.ReservationFulfilled:
		if c, ok := r.held[e.Reservation]; ok {
			delete(r.held, e.Reservation)
			r.started(c)
		}
	case *event.ReservationCancelled:
		delete(r.held, e.Reservation)
	case *event.ContainerReleased:
		r.ended(e.Container, false)
	case *event.ContainerCompleted:
		r.ended(e.Container, e.Restore)
	case *event.ApplicationEnded:
		r.finished(e.App)
	}
}

func (r *recording) asked(e *event.AskChanged) {
	a := r.apps[e.App]
	if a == nil || e.Name != yarn.Any || !a.unmanaged && e.Key.Priority == yarn.AMPriority {
		return // an application from before the recording, an ask for a place, or the ask for the AM's container
	}
	k := a.asks[e.Key]
	if k == nil {
		k = &ask{first: r.now}
		a.asks[e.Key] = k
		a.keys = append(a.keys, e.Key)
	}
	k.left = e.Count
	if !e.Size.IsZero() {
		k.size = e.Size
	}
}

func (r *recording) started(c container) {
	a := r.apps[c.app]
	if a == nil || a.asks[c.key] == nil {
		return
	}
	a.asks[c.key].left--
	a.running[c.number] = running{c.key, r.now}
}

// ended ends a container. again says that the application asks for another one instead, because it
// never received this one.
func (r *recording) ended(c event.ContainerRef, again bool) {
	a := r.apps[c.App]
	if a == nil {
		return
	}
	if run, ok := a.running[c.Number]; ok {
		delete(a.running, c.Number)
		k := a.asks[run.key]
		if again {
			k.left++
			return
		}
		k.ran = append(k.ran, time.Duration(max(r.now-run.since, 1))*time.Millisecond)
	}
}

// finished ends an application. Its open demand is dropped.
func (r *recording) finished(app uint32) {
	if a := r.apps[app]; a != nil {
		for _, k := range a.asks { // the order does not matter
			k.left = 0
		}
	}
}

// trace returns the recorded workload: the newest applications within the limits. cut says that
// some were left out.
func (r *recording) trace() (t *trace.Trace, containers int, cut bool) {
	t = &trace.Trace{Format: trace.FormatRMD}
	for _, a := range slices.Backward(r.order) {
		job, n, short := r.jobOf(a)
		if cut = cut || short; n == 0 {
			continue
		}
		if containers+n > maxContainers {
			return inOrder(t), containers, true
		}
		containers += n
		t.Jobs = append(t.Jobs, job)
	}
	return inOrder(t), containers, cut
}

// jobOf returns an application as a job, and its number of containers. short says that it asked for
// more than the limit.
func (r *recording) jobOf(a *recorded) (job trace.Job, n int, short bool) {
	job = a.job
	job.Submit = time.Duration(a.submitted-r.began) * time.Millisecond
	still := map[yarn.SchedulerKey][]time.Duration{}
	for _, number := range sortedKeys(a.running) {
		run := a.running[number]
		still[run.key] = append(still[run.key], time.Duration(max(r.now-run.since, 1))*time.Millisecond)
	}
	for _, key := range a.keys {
		k := a.asks[key]
		ran := append(slices.Clone(k.ran), still[key]...)
		usual := mean(ran, time.Duration(max(r.now-k.first, 1))*time.Millisecond)
		for range min(k.left, maxOfAsk) {
			ran = append(ran, usual)
		}
		if len(ran) > maxOfAsk || k.left > maxOfAsk {
			ran, short = ran[:min(len(ran), maxOfAsk)], true
		}
		if len(ran) == 0 {
			continue
		}
		n += len(ran)
		g := trace.TaskGroup{Count: len(ran), MemoryMB: k.size[yarn.Memory], VCores: max(k.size[yarn.VCores], 1),
			Duration: mean(ran, 0), Durations: ran,
			Priority: int(key.Priority), Delay: time.Duration(k.first-a.submitted) * time.Millisecond, After: -1}
		if r.gpu >= 0 {
			g.GPUs = k.size[r.gpu]
		}
		job.Tasks = append(job.Tasks, g)
	}
	return job, n, short
}

func sortedKeys(m map[uint64]running) []uint64 {
	out := make([]uint64, 0, len(m))
	for k := range m { // sorted below
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

func mean(list []time.Duration, none time.Duration) time.Duration {
	if len(list) == 0 {
		return none
	}
	var sum time.Duration
	for _, d := range list {
		sum += d
	}
	return max(sum/time.Duration(len(list)), time.Millisecond)
}

// inOrder sorts the jobs by submission and moves the first one to time 0.
func inOrder(t *trace.Trace) *trace.Trace {
	slices.Reverse(t.Jobs)
	for i := len(t.Jobs) - 1; i >= 0; i-- {
		t.Jobs[i].Submit -= t.Jobs[0].Submit
	}
	return t
}
