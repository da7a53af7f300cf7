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

// errReply says that the submitter gave a reply of another type than the input's.
var errReply = errors.New("reply does not belong to its input")

// executor makes calls: on goroutines, or one at a time. done runs on the loop, after work.
type executor interface {
	start(work func(), done func())
}

// pace decides when nodes and applications have their turns.
type pace interface {
	nodeIdle(n *node)              // no call under way
	nodeNews(n *node, urgent bool) // something to report; urgent when room was freed
	appIdle(a *app)                // no call under way and nothing to say
	appNews(a *app)                // a container of it was reported ended
	happened(freed bool)           // something changed in the cluster; freed: there is room where there was none
}

// world is every node and application and what is known of them. It belongs to the loop's goroutine.
type world struct {
	cfg  Config
	ctx  context.Context // of the calls
	log  hclog.Logger
	loop *loop
	exec executor
	pace pace

	exact   bool    // nothing may be left out or tried later
	speed   float64 // virtual time in loop time
	nodes   []*node
	byID    map[yarn.NodeID]*node
	racks   map[string]string // of hosts
	apps    map[yarn.ApplicationID]*app
	live    []*app // by age
	orphans map[yarn.ApplicationID]orphan

	nextJob func() (trace.Job, bool)
	stop    func()
	pulled  int  // jobs taken
	entered int  // applications made of them, and others'
	drained bool // no more jobs
	held    bool // jobs wait until an application ends

	demand    int    // applications that wait for something from the scheduler
	news      int    // statuses that the cluster has not taken yet
	delivered uint64 // containers that we were told of
	answered  int64  // calls
	counts    counts
	meter     *meter
	err       error // what ends the run
	wrong     error // the first thing that cannot be
}

// orphan is the launch of an AM whose application is not known (yet).
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
	var largest, capacity report.Resource
	for _, spec := range cfg.Nodes {
		n := newNode(w, spec)
		w.nodes = append(w.nodes, n)
		w.byID[n.id] = n
		w.racks[spec.Name] = n.rack
		capacity = plus(capacity, n.total, cfg.Kinds)
	}
	for _, n := range w.nodes {
		if r := measure(n.total, cfg.Kinds); r.DominantShare(capacity) > largest.DominantShare(capacity) {
			largest = r
		}
	}
	w.meter = newMeter(largest, cfg.MaxMeasured, int64(cfg.SampleEvery))
	if cfg.Jobs != nil {
		w.nextJob, w.stop = iter.Pull(cfg.Jobs)
	} else {
		w.nextJob, w.stop = func() (trace.Job, bool) { return trace.Job{}, false }, func() {}
	}
	return w
}

// begin registers the nodes and takes the first job.
func (w *world) begin() {
	for _, n := range w.nodes {
		n.beat()
	}
	w.pull()
}

// pull takes the next job and sets its submission; too many applications alive make it wait.
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

// enter adds an application and lets it speak.
func (w *world) enter(a *app) {
	w.live = append(w.live, a)
	a.step()
	a.account()
}

// leave drops an application that is over.
func (w *world) leave(a *app) {
	if w.apps[a.id] == a {
		delete(w.apps, a.id)
	}
	if i, ok := w.find(a.ordinal); ok {
		w.live = slices.Delete(w.live, i, i+1)
	}
	if w.held {
		w.loop.soon(w.pull)
	}
}

// find gives the place of an application in live, or where it would be.
func (w *world) find(ordinal int) (int, bool) {
	return slices.BinarySearchFunc(w.live, ordinal, func(a *app, o int) int { return a.ordinal - o })
}

// over says whether all jobs have run and all nodes have said so.
func (w *world) over() bool {
	return w.cfg.Jobs != nil && w.drained && len(w.live) == 0 && w.news == 0
}

// scaled is virtual time in loop time.
func (w *world) scaled(d time.Duration) int64 {
	if w.speed == 1 {
		return int64(d)
	}
	return int64(float64(d) / w.speed)
}

// millis is the virtual time in milliseconds.
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

// cannotBe notes what would be a fault of this package or of the cluster.
func (w *world) cannotBe(err error) {
	if err == nil {
		return
	}
	w.log.Error("inconsistency", "error", err)
	if w.wrong == nil {
		w.wrong = err
	}
}

// call makes one call; done runs on the loop.
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

// called notes how a call went. An error ends a run that must be exact, and one that nobody has ever answered.
func (w *world) called(err error) {
	if err == nil {
		w.answered++
		return
	}
	if w.ctx.Err() != nil {
		return // we are ending
	}
	w.counts.errors++
	w.counts.lastError = err
	if w.exact || (w.answered == 0 && errors.Is(err, submit.ErrRejected)) {
		w.fail(err)
	}
}

// refused notes what the cluster would not do.
func (w *world) refused(err error) {
	w.counts.lastRefusal = err
	w.log.Debug("refused", "error", err)
}

// nodeRefused notes a node that may not register. It tries again with its next heartbeat; an exact run ends.
func (w *world) nodeRefused(n *node, f *input.Fault) {
	err := fmt.Errorf("registration of %s: %w", n.id, f)
	w.refused(err)
	if w.exact {
		w.fail(err)
	}
	w.pace.nodeIdle(n)
}

// launched gives an AM's container to its application. One that is not known may be answered to us any moment, or be
// somebody else's: such an application gets an AM that ends well after a while.
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

// strangerAfter is how long the AM of somebody else's application runs.
const strangerAfter = 10 * time.Second

func (w *world) adopt(id yarn.ApplicationID, o orphan) {
	a := newApp(w, trace.Job{Name: "stranger"})
	a.stranger, a.id, a.phase = true, id, phaseWaiting
	w.apps[id] = a
	w.live = append(w.live, a)
	a.launched(o.node, o.container)
}
