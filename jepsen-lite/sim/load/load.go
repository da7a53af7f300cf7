// Package load has the simulated nodes, AMs and clients of a run.
//
//	l := load.New(cluster, checker, settings, seed)
//	l.Begin(load.Size{Nodes: 4, Clients: 4, Readers: load.Readers})
//	l.StopDemand() // what runs goes on
//	l.Stop()
//
// Begin with load.go: what clients do. caller.go has the client that all of them are, and Cluster, which
// they ask; reader.go only reads. node.go has NodeManagers and master.go AMs, both on package
// workload/agent. The package knows no replicas.
package load

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

// Load has the simulated nodes, AMs and clients of one run.
type Load struct {
	cluster Cluster
	check   *checker.Checker
	opt     settings.Cluster
	ctx     context.Context
	cancel  context.CancelFunc
	wg      sync.WaitGroup
	Nodes   []*Node
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

// New returns a load that has not begun.
func New(c Cluster, check *checker.Checker, opt settings.Cluster, seed int64) *Load {
	l := &Load{cluster: c, check: check, opt: opt, rng: rand.New(rand.NewSource(seed)),
		masters: map[yarn.AttemptID]*master{}, jobs: map[string]job{}}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

// Caller returns a new client.
func (l *Load) Caller(name string) *Caller {
	l.mu.Lock()
	defer l.mu.Unlock()
	return NewCaller(l.cluster, name, rand.New(rand.NewSource(l.rng.Int63()))).StartAt(l.rng.Intn(64))
}

// Size has the numbers of simulated nodes and clients.
type Size struct{ Nodes, Clients, Readers int }

// Begin starts nodes and clients.
func (l *Load) Begin(of Size) {
	for i := range of.Nodes {
		host := fmt.Sprintf("n%d", i+1)
		n := &Node{l: l, c: l.Caller(host), Id: yarn.NodeID{Host: host, Port: 45454}, total: yarn.NewResource(8192, 8)}
		l.Nodes = append(l.Nodes, n)
		l.wg.Go(n.run)
	}
	for i := range of.Readers {
		c := l.Caller(fmt.Sprintf("reader%d", i+1))
		l.wg.Go(func() { l.reader(c) })
	}
	l.clients = of.Clients
	for i := range of.Clients {
		c := l.Caller(fmt.Sprintf("client%d", i+1))
		l.wg.Go(func() { l.client(c) })
	}
}

// StopDemand stops new work. Work in progress continues.
func (l *Load) StopDemand() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calm = true
	for _, n := range l.Nodes {
		n.awake()
	}
}

// DemandStopped reports whether new work has stopped.
func (l *Load) DemandStopped() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.calm
}

// ClientsLeft returns how many clients are still working.
func (l *Load) ClientsLeft() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.clients
}

// Stop stops all nodes, AMs and clients.
func (l *Load) Stop() {
	l.cancel()
	l.wg.Wait()
}

// backlogMax limits the applications that run or wait. More would only make the calm longer.
const backlogMax = 30

// lifetime is the maximum lifetime of some applications. Many of them end earlier.
const lifetime = 20 * time.Second

// turn is how long most clients submit to the same queue if containers do not end by themselves.
const turn = 15 * time.Second

// client submits applications one after another, changes priorities and kills.
func (l *Load) client(c *Caller) {
	defer func() {
		l.mu.Lock()
		l.clients--
		l.mu.Unlock()
	}()
	for n := 1; !l.DemandStopped(); n++ {
		if l.check.Running() > backlogMax {
			n--
			if !sleep.For(l.ctx, time.Second) {
				return
			}
			continue
		}
		name := fmt.Sprintf("%s-%d", c.Name, n)
		j := l.draw(c.Rng)
		l.mu.Lock()
		l.jobs[name] = j
		l.mu.Unlock()
		user := "u" + c.Name[6:]
		q := l.opt.Destination(c.Rng, user)
		if l.opt.Endless && n%4 != 0 { // in turns, each queue borrows what the others soon want
			q = l.opt.Queues[int(l.check.Age()/turn)%len(l.opt.Queues)].Name
		}
		in := &input.SubmitApplication{Name: name, User: user, Queue: q, Unmanaged: j.unmanaged, AM: yarn.NewResource(512, 1),
			MaxAttempts: 2}
		in.Tags = append(j.gang(n), l.opt.LifetimeTag(n)...)
		switch {
		case n%5 == 0:
			in.LifetimeMillis = lifetime.Milliseconds()
		case l.opt.Endless:
			in.LifetimeMillis = 2 * lifetime.Milliseconds()
		}
		if n%2 == 0 { // as Hadoop's clients do
			reply, ok := c.Call(l.ctx, input.Request{Input: &input.NewApplication{}})
			if !ok {
				return
			}
			in.ID = reply.(*input.NewApplicationReply).ID
		}
		req := c.Keyed(in)
		reply, ok := c.Call(l.ctx, req)
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
		if c.Rng.Intn(6) == 0 && !l.repeat(c, req, *in, id) {
			return
		}
		if j.unmanaged {
			l.StartMaster(name, yarn.AttemptID{App: id, Attempt: 1}, nil)
		}
		if !l.attend(c, id) {
			return
		}
	}
}

// repeat sends a call again with its key: the same call must get the same answer, and another call
// must be refused (S5).
func (l *Load) repeat(c *Caller, req input.Request, in input.SubmitApplication, id yarn.ApplicationID) bool {
	reply, ok := c.Call(l.ctx, req)
	if !ok {
		return false
	}
	if r, same := reply.(*input.SubmitApplicationReply); reply.Refused() != nil || !same || r.ID != id {
		l.check.Fail("S5: the submission of %s under the same key is answered %+v, it was %s", in.Name, reply, id)
	}
	in.Name += "-other"
	req.Input, req.BodyHash = &in, req.BodyHash+1
	if reply, ok = c.Call(l.ctx, req); ok && reply.Refused() == nil {
		l.check.Fail("S5: another submission under the key of %s is taken", in.Name)
	}
	return ok
}

// attend does what a client does with a running application. It returns false if the load has
// stopped.
func (l *Load) attend(c *Caller, id yarn.ApplicationID) bool {
	if !sleep.For(l.ctx, time.Duration(1000+c.Rng.Intn(5000))*time.Millisecond) {
		return false
	}
	if c.Rng.Intn(3) == 0 {
		if _, ok := c.Call(l.ctx, c.Keyed(&input.SetPriority{ID: id, Priority: int32(c.Rng.Intn(5))})); !ok {
			return false
		}
	}
	if !sleep.For(l.ctx, time.Duration(1000+c.Rng.Intn(5000))*time.Millisecond) {
		return false
	}
	if l.opt.Preempt && c.Rng.Intn(5) == 0 {
		to := l.opt.Queues[c.Rng.Intn(len(l.opt.Queues))].Name
		if _, ok := c.Call(l.ctx, c.Keyed(&input.MoveApplication{ID: id, Queue: to})); !ok {
			return false
		}
	}
	if c.Rng.Intn(5) == 0 {
		if _, ok := c.Call(l.ctx, input.Request{Input: &input.KillApplication{ID: id, User: c.Name}}); !ok {
			return false
		}
	}
	return true
}

// draw returns a random job: a few keys with small sizes, and sometimes one that fits only an empty
// node, which leads to reservations.
func (l *Load) draw(rng *rand.Rand) job {
	j := job{unmanaged: rng.Intn(2) == 0, seed: rng.Int63()}
	for p := range 1 + rng.Intn(3) {
		g := workload.Group{Priority: int32(1 + p), Count: int64(1 + rng.Intn(5)),
			Size: yarn.NewResource(int64(1+rng.Intn(3))*1024, 1)}
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
	return []string{fmt.Sprintf("%spriority=%d,count=%d%s,timeout=%d,then=ordinary", yarn.GangTag, j.groups[0].Priority,
		j.groups[0].Count, shape, 3+n%20)}
}

// Add adds an unmanaged application that a caller submits under a name.
func (l *Load) Add(name string, groups ...workload.Group) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.jobs[name] = job{unmanaged: true, groups: groups}
}

// StartMaster starts an application's AM. node is the node of its container.
func (l *Load) StartMaster(name string, id yarn.AttemptID, node *Node) {
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
	m.c = l.Caller("am-" + name)
	m.ctx, m.cancel = context.WithCancel(l.ctx)
	l.wg.Go(m.run)
}

// nameOf returns the name of an application by its id, from the ledger. A real AM gets it in its
// launch context.
func (l *Load) nameOf(id yarn.ApplicationID) string {
	a, _ := l.check.App(id.Seq)
	return a.Name
}

func (l *Load) node(id yarn.NodeID) *Node {
	for _, n := range l.Nodes {
		if n.Id == id {
			return n
		}
	}
	return nil
}

// Describe reports what the AMs of an application and the nodes believe.
func (l *Load) Describe(seq uint32) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := ""
	for id, m := range l.masters {
		if id.App.Seq == seq {
			out += fmt.Sprintf("AM of attempt %d (over %v): response %d, %d left, waits for %v, holds %v; ", id.Attempt,
				m.ctx.Err() != nil, m.am.Response(), m.am.Left(), m.am.Waiting(), m.am.Held())
		}
	}
	for _, n := range l.Nodes {
		n.mu.Lock()
		for _, id := range n.manager.Running() {
			if id.App.Seq == seq {
				out += fmt.Sprintf("%s runs %s; ", n.Id, id)
			}
		}
		for _, s := range n.manager.Pending() {
			if s.Container.App.Seq == seq {
				out += fmt.Sprintf("%s is to report %s as %s; ", n.Id, s.Container, s.State)
			}
		}
		n.mu.Unlock()
	}
	return out
}
