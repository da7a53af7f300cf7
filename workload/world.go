package workload

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/scheduler/input"
	"rmd/workload/report"
	"rmd/workload/submit"
	"rmd/workload/trace"
	"rmd/yarn"
)

// errReply means that the submitter returned a reply of the wrong type.
var errReply = errors.New("reply does not belong to its input")

// executor makes calls, on goroutines or one at a time. done runs on the loop after work.
type executor interface {
	start(work func(), done func())
}

// pace decides when nodes and applications make calls.
type pace interface {
	nodeIdle(n *node)              // no call is in flight
	nodeNews(n *node, urgent bool) // there are statuses to report; urgent: a container has ended
	appIdle(a *app)                // no call is in flight and there is nothing to send
	appNews(a *app)                // one of its containers was reported as ended
	happened(freed bool)           // the cluster has changed; freed: there is more room
}

// world is all nodes and applications and their state. The loop's goroutine owns it.
type world struct {
	cfg  Config
	ctx  context.Context // context of the calls
	log  hclog.Logger
	loop *loop
	exec executor
	pace pace

	exact   bool    // every call must succeed the first time
	speed   float64 // virtual time divided by loop time
	nodes   []*node
	byID    map[yarn.NodeID]*node
	racks   map[string]string // by host
	apps    map[yarn.ApplicationID]*app
	live    []*app // ordered by age
	orphans map[yarn.ApplicationID]orphan

	nextJob func() (trace.Job, bool)
	stop    func()
	pulled  int  // jobs taken from the source
	entered int  // applications created, including those of others
	drained bool // the source has no more jobs
	held    bool // jobs wait until an application ends

	demand    int    // applications that wait for the scheduler
	news      int    // statuses that the cluster has not received yet
	delivered uint64 // containers that AMs and nodes received
	answered  int64  // answered calls
	counts    counts
	meter     *meter
	err       error // the error that ends the run
	wrong     error // the first inconsistency
}

// orphan is a launched AM whose application is unknown so far.
type orphan struct {
	node      *node
	container yarn.ContainerID
}

func newWorld(ctx context.Context, cfg Config, speed float64) *world {
	w := &world{cfg: cfg, ctx: ctx, log: cfg.Logger, loop: new(loop), speed: speed,
		byID: map[yarn.NodeID]*node{}, racks: map[string]string{}, apps: map[yarn.ApplicationID]*app{},
		orphans: map[yarn.ApplicationID]orphan{}}
	if w.log == nil {
		w.log = hclog.NewNullLogger()
	}
	w.log = w.log.Named("workload")
	for _, spec := range cfg.Nodes {
		n := newNode(w, spec)
		w.nodes = append(w.nodes, n)
		w.byID[n.id] = n
		w.racks[spec.Name] = n.rack
	}
	w.meter = newMeter(Largest(cfg.Nodes), cfg.MaxMeasured, int64(cfg.SampleEvery))
	if cfg.Jobs != nil {
		w.nextJob, w.stop = iter.Pull(cfg.Jobs)
	} else {
		w.nextJob, w.stop = func() (trace.Job, bool) { return trace.Job{}, false }, func() {}
	}
	return w
}

// Largest returns the size of the node with the largest dominant share of all nodes, the first of
// several. It determines which containers are large.
func Largest(nodes []trace.Node) (largest report.Resource) {
	var capacity report.Resource
	for _, n := range nodes {
		capacity.MemoryMB += n.MemoryMB
		capacity.VCores += n.VCores
		capacity.GPUs += n.GPUs
	}
	for _, n := range nodes {
		if r := (report.Resource{MemoryMB: n.MemoryMB, VCores: n.VCores, GPUs: n.GPUs}); r.DominantShare(
			capacity) > largest.DominantShare(capacity) {
			largest = r
		}
	}
	return largest
}

// registerNodes lets all nodes make their first call.
func (w *world) registerNodes() {
	for _, n := range w.nodes {
		n.beat()
	}
}

// pull takes the next job and schedules its submission. If there are too many live applications, it
// waits until one ends.
func (w *world) pull() {
	if w.drained {
		return
	}
	if w.held = len(w.live) >= w.cfg.MaxApps; w.held {
		return
	}
	job, ok := w.nextJob()
	if !ok || (w.cfg.Limit > 0 && w.pulled >= w.cfg.Limit) {
		w.drained = true
		return
	}
	w.pulled++
	w.loop.at(w.scaled(job.Submit), false, func() {
		w.counts.lastSubmit = max(w.counts.lastSubmit, job.Submit.Milliseconds())
		w.enter(newApp(w, job))
		w.pull()
	})
}

// enter adds an application and lets it make its first call.
func (w *world) enter(a *app) {
	w.live = append(w.live, a)
	a.step()
	a.account()
}

// leave removes an ended application.
func (w *world) leave(a *app) {
	if w.apps[a.id] == a {
		delete(w.apps, a.id)
	}
	if i, ok := w.find(a.ordinal); ok {
		w.live = slices.Delete(w.live, i, i+1)
	}
	if w.held {
		w.loop.addReady(w.pull)
	}
}

// find returns the index of an application in live, or the index at which to insert it.
func (w *world) find(ordinal int) (int, bool) {
	return slices.BinarySearchFunc(w.live, ordinal, func(a *app, o int) int { return a.ordinal - o })
}

// finished reports whether all jobs are done and all statuses are reported.
func (w *world) finished() bool {
	return w.cfg.Jobs != nil && w.drained && len(w.live) == 0 && w.news == 0
}

// scaled converts virtual time to loop time.
func (w *world) scaled(d time.Duration) int64 {
	if w.speed == 1 {
		return int64(d)
	}
	return int64(float64(d) / w.speed)
}

// millis returns the virtual time in milliseconds.
func (w *world) millis() int64 { return w.virtual().Milliseconds() }

func (w *world) virtual() time.Duration {
	if w.speed == 1 {
		return time.Duration(w.loop.now)
	}
	return time.Duration(float64(w.loop.now) * w.speed)
}

// fail ends the run.
func (w *world) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// cannotBe records an inconsistency, which is a fault of this package or of the cluster.
func (w *world) cannotBe(err error) {
	if err == nil {
		return
	}
	w.log.Error("inconsistency", "error", err)
	if w.wrong == nil {
		w.wrong = err
	}
}

// call makes one call. done runs on the loop.
func call[R input.Reply](w *world, in input.Input, done func(R, error)) {
	var reply input.Reply
	var err error
	w.exec.start(func() { reply, err = w.cfg.Submitter.Do(w.ctx, in) }, func() {
		got, ok := reply.(R)
		if err == nil && !ok {
			err = fmt.Errorf("%w: %T for %T", errReply, reply, in)
		}
		w.called(err)
		done(got, err)
	})
}

// called records the result of a call. An error ends an exact run. ErrRejected ends a run without
// any successful call so far.
func (w *world) called(err error) {
	if err == nil {
		w.answered++
		return
	}
	if w.ctx.Err() != nil {
		return // the run is ending
	}
	w.counts.errors++
	w.counts.lastError = err
	if w.exact || (w.answered == 0 && errors.Is(err, submit.ErrRejected)) {
		w.fail(err)
	}
}

// refused records a refusal of the cluster.
func (w *world) refused(err error) {
	w.counts.lastRefusal = err
	w.log.Debug("refused", "error", err)
}

// nodeRefused records a refused registration. The node tries again with its next heartbeat; an
// exact run ends.
func (w *world) nodeRefused(n *node, f *input.Refusal) {
	err := fmt.Errorf("registration of %s: %w", n.id, f)
	w.refused(err)
	if w.exact {
		w.fail(err)
	}
	w.pace.nodeIdle(n)
}

// launched gives an AM's container to its application. If the application is unknown, the answer to
// its submission may still arrive, or another client has submitted it. In the latter case the
// workload adopts the application after a while, and its AM succeeds.
func (w *world) launched(n *node, container yarn.ContainerID) {
	w.delivered++
	if a := w.apps[container.App]; a != nil {
		a.launched(n, container)
		return
	}
	w.orphans[container.App] = orphan{n, container}
	w.loop.after(strangerAfter, func() {
		o, still := w.orphans[container.App]
		if !still || o.container != container {
			return
		}
		delete(w.orphans, container.App)
		if _, runs := n.manager.Process(container); runs {
			w.adopt(container.App, o)
		}
	})
}

// strangerAfter is the time after which the workload adopts an application that it has not
// submitted.
const strangerAfter = 10 * time.Second

func (w *world) adopt(id yarn.ApplicationID, o orphan) {
	a := newApp(w, trace.Job{Name: "stranger"})
	a.stranger, a.id, a.phase = true, id, phaseWaiting
	w.apps[id] = a
	w.live = append(w.live, a)
	a.launched(o.node, o.container)
}
