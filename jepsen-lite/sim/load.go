package sim

import (
	"context"
	"fmt"
	"math/rand"
	"sync"
	"time"

	"rmd/internal/sleep"
	"rmd/jepsen-lite/sim/checker"
	"rmd/jepsen-lite/sim/settings"
	"rmd/scheduler/input"
	workload "rmd/workload/agent"
	"rmd/yarn"
)

// load has the simulated nodes, AMs and clients of one run.
type load struct {
	cluster Cluster
	check   *checker.Checker
	opt     settings.Cluster
	ctx     context.Context
	cancel  context.CancelFunc
	wg      sync.WaitGroup
	nodes   []*agent
	rng     *rand.Rand

	mu      sync.Mutex
	masters map[yarn.AttemptID]*master
	jobs    map[string]job // by application name
	calm    bool           // no new work is started
	clients int            // clients that are still working
}

// job is what the AM of an application asks for.
type job struct {
	unmanaged bool
	groups    []workload.Group
	seed      int64
}

// newLoad returns a load that has not begun.
func newLoad(c Cluster, check *checker.Checker, opt settings.Cluster, seed int64) *load {
	l := &load{cluster: c, check: check, opt: opt, rng: rand.New(rand.NewSource(seed)), masters: map[yarn.AttemptID]*master{}, jobs: map[string]job{}}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

// caller returns a new client.
func (l *load) caller(name string) *caller {
	l.mu.Lock()
	defer l.mu.Unlock()
	return newCaller(l.cluster, name, rand.New(rand.NewSource(l.rng.Int63()))).startAt(l.rng.Intn(64))
}

// loadSize has the numbers of simulated nodes and clients.
type loadSize struct{ nodes, clients, readers int }

// begin starts nodes and clients.
func (l *load) begin(of loadSize) {
	for i := range of.nodes {
		host := fmt.Sprintf("n%d", i+1)
		n := &agent{l: l, c: l.caller(host), id: yarn.NodeID{Host: host, Port: 45454}, total: yarn.NewResource(8192, 8)}
		l.nodes = append(l.nodes, n)
		l.wg.Go(n.run)
	}
	for i := range of.readers {
		c := l.caller(fmt.Sprintf("reader%d", i+1))
		l.wg.Go(func() { l.reader(c) })
	}
	l.clients = of.clients
	for i := range of.clients {
		c := l.caller(fmt.Sprintf("client%d", i+1))
		l.wg.Go(func() { l.client(c) })
	}
}

// stopDemand stops new work. Work in progress continues.
func (l *load) stopDemand() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calm = true
	for _, n := range l.nodes {
		n.awake()
	}
}

func (l *load) demandStopped() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.calm
}

func (l *load) clientsLeft() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.clients
}

// stop stops all nodes, AMs and clients.
func (l *load) stop() {
	l.cancel()
	l.wg.Wait()
}

// backlogMax limits the applications that run or wait. More would only make the calm longer.
const backlogMax = 30

// lifetime is the maximum lifetime of some applications. Many of them end earlier.
const lifetime = 20 * time.Second

// client submits applications one after another, changes priorities and kills.
func (l *load) client(c *caller) {
	defer func() {
		l.mu.Lock()
		l.clients--
		l.mu.Unlock()
	}()
	for n := 1; !l.demandStopped(); n++ {
		if l.check.Running() > backlogMax {
			n--
			if !sleep.For(l.ctx, time.Second) {
				return
			}
			continue
		}
		name := fmt.Sprintf("%s-%d", c.name, n)
		j := l.draw(c.rng)
		l.mu.Lock()
		l.jobs[name] = j
		l.mu.Unlock()
		user := "u" + c.name[6:]
		q := l.opt.Destination(c.rng, user)
		in := &input.SubmitApplication{Name: name, User: user, Queue: q, Unmanaged: j.unmanaged, AM: yarn.NewResource(512, 1), MaxAttempts: 2}
		in.Tags = append(j.gang(n), l.opt.LifetimeTag(n)...)
		if n%5 == 0 {
			in.LifetimeMillis = lifetime.Milliseconds()
		}
		if n%2 == 0 { // as Hadoop's clients do
			reply, ok := c.call(l.ctx, input.Request{Input: &input.NewApplication{}})
			if !ok {
				return
			}
			in.ID = reply.(*input.NewApplicationReply).ID
		}
		req := c.keyed(in)
		reply, ok := c.call(l.ctx, req)
		if !ok {
			return
		}
		switch f := reply.Refused(); {
		case f == nil:
		case f.Reason == input.NeverFits && in.Tags != nil:
			continue // too few nodes are left for its gang
		default:
			l.check.Fail("submission of %s is refused: %v", name, f)
			return
		}
		id := reply.(*input.SubmitApplicationReply).ID
		if c.rng.Intn(6) == 0 && !l.repeat(c, req, *in, id) {
			return
		}
		if j.unmanaged {
			l.startMaster(name, yarn.AttemptID{App: id, Attempt: 1}, nil)
		}
		if !l.attend(c, id) {
			return
		}
	}
}

// repeat sends a call again with its key: the same call must get the same answer, and another call
// must be refused (S5).
func (l *load) repeat(c *caller, req input.Request, in input.SubmitApplication, id yarn.ApplicationID) bool {
	reply, ok := c.call(l.ctx, req)
	if !ok {
		return false
	}
	if r, same := reply.(*input.SubmitApplicationReply); reply.Refused() != nil || !same || r.ID != id {
		l.check.Fail("S5: the submission of %s under the same key is answered %+v, it was %s", in.Name, reply, id)
	}
	in.Name += "-other"
	req.Input, req.BodyHash = &in, req.BodyHash+1
	if reply, ok = c.call(l.ctx, req); ok && reply.Refused() == nil {
		l.check.Fail("S5: another submission under the key of %s is taken", in.Name)
	}
	return ok
}

// attend does what a client does with a running application. It returns false if the load has
// stopped.
func (l *load) attend(c *caller, id yarn.ApplicationID) bool {
	if !sleep.For(l.ctx, time.Duration(1000+c.rng.Intn(5000))*time.Millisecond) {
		return false
	}
	if c.rng.Intn(3) == 0 {
		if _, ok := c.call(l.ctx, c.keyed(&input.SetPriority{ID: id, Priority: int32(c.rng.Intn(5))})); !ok {
			return false
		}
	}
	if !sleep.For(l.ctx, time.Duration(1000+c.rng.Intn(5000))*time.Millisecond) {
		return false
	}
	if l.opt.Preempt && c.rng.Intn(5) == 0 {
		to := l.opt.Queues[c.rng.Intn(len(l.opt.Queues))].Name
		if _, ok := c.call(l.ctx, c.keyed(&input.MoveApplication{ID: id, Queue: to})); !ok {
			return false
		}
	}
	if c.rng.Intn(5) == 0 {
		if _, ok := c.call(l.ctx, input.Request{Input: &input.KillApplication{ID: id, User: c.name}}); !ok {
			return false
		}
	}
	return true
}

// draw returns a random job: a few keys with small sizes, and sometimes one that fits only an empty
// node, which leads to reservations.
func (l *load) draw(rng *rand.Rand) job {
	j := job{unmanaged: rng.Intn(2) == 0, seed: rng.Int63()}
	for p := range 1 + rng.Intn(3) {
		g := workload.Group{Priority: int32(1 + p), Count: int64(1 + rng.Intn(5)), Size: yarn.NewResource(int64(1+rng.Intn(3))*1024, 1)}
		if rng.Intn(3) == 0 {
			g.Count, g.Size = int64(1+rng.Intn(2)), yarn.NewResource(int64(4+rng.Intn(4))*1024, int64(1+rng.Intn(4)))
		}
		if rng.Intn(3) == 0 {
			g.Host, g.Rack = fmt.Sprintf("n%d", 1+rng.Intn(4)), "/rack"
		}
		if rng.Intn(4) == 0 {
			g.Label = settings.Labels[rng.Intn(len(settings.Labels))].Name
		}
		j.groups = append(j.groups, g)
	}
	return j
}

// gang returns the gang tag of every third job: the containers of its first group are a gang until
// its timeout.
func (j *job) gang(n int) []string {
	if j.seed%3 != 0 { // does not use rng, so that the rest of the seed is the same as without gangs
		return nil
	}
	shape := [...]string{"", ",rack=one", ",per-node=1"}[n%3]
	return []string{fmt.Sprintf("%spriority=%d,count=%d%s,timeout=%d,then=ordinary", yarn.GangTag, j.groups[0].Priority, j.groups[0].Count, shape, 3+n%20)}
}

// add adds an unmanaged application that a caller submits under a name.
func (l *load) add(name string, groups ...workload.Group) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.jobs[name] = job{unmanaged: true, groups: groups}
}

// startMaster starts an application's AM. node is the node of its container.
func (l *load) startMaster(name string, id yarn.AttemptID, node *agent) {
	l.mu.Lock()
	j, known := l.jobs[name]
	_, runs := l.masters[id]
	if !known || runs {
		l.mu.Unlock()
		return
	}
	m := &master{l: l, id: id, am: workload.NewApplicationMaster(id, j.groups), node: node}
	l.masters[id] = m
	l.mu.Unlock()
	m.c = l.caller("am-" + name)
	m.ctx, m.cancel = context.WithCancel(l.ctx)
	l.wg.Go(m.run)
}

// nameOf returns the name of an application by its id, from the ledger. A real AM gets it in its
// launch context.
func (l *load) nameOf(id yarn.ApplicationID) string {
	a, _ := l.check.App(id.Seq)
	return a.Name
}

func (l *load) agent(id yarn.NodeID) *agent {
	for _, n := range l.nodes {
		if n.id == id {
			return n
		}
	}
	return nil
}

// describe reports what the AMs of an application and the nodes believe.
func (l *load) describe(seq uint32) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := ""
	for id, m := range l.masters {
		if id.App.Seq == seq {
			out += fmt.Sprintf("AM of attempt %d (over %v): response %d, %d left, waits for %v, holds %v; ", id.Attempt, m.ctx.Err() != nil, m.am.Response(), m.am.Left(), m.am.Waiting(), m.am.Held())
		}
	}
	for _, n := range l.nodes {
		n.mu.Lock()
		for _, id := range n.manager.Running() {
			if id.App.Seq == seq {
				out += fmt.Sprintf("%s runs %s; ", n.id, id)
			}
		}
		for _, s := range n.manager.Pending() {
			if s.Container.App.Seq == seq {
				out += fmt.Sprintf("%s is to report %s as %s; ", n.id, s.Container, s.State)
			}
		}
		n.mu.Unlock()
	}
	return out
}
