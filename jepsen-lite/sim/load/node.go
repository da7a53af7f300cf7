package load

import (
	"sync"
	"sync/atomic"
	"time"

	"rmd/internal/sleep"
	"rmd/scheduler/input"
	workload "rmd/workload/agent"
	"rmd/yarn"
)

// Node is a simulated NodeManager.
type Node struct {
	l     *Load
	c     *Caller
	Id    yarn.NodeID
	total yarn.Resource

	number  yarn.NodeSlot // assigned at registration; 0 before
	retired atomic.Bool   // while an operator drains the node
	drains  atomic.Int32  // number of drains that operators have begun

	mu      sync.Mutex
	manager workload.NodeManager[*container]
	asleep  time.Time // the node sends nothing until then
}

// container is a process in a container of a node: an AM, or a task that a timer ends.
type container struct {
	am    *master
	timer *time.Timer
}

// run registers the node and sends its heartbeats.
func (n *Node) run() {
	defer n.killAll()
	up := false
	for n.l.ctx.Err() == nil {
		switch {
		case n.sleeps():
		case !up:
			up = n.register()
		default:
			up = n.beat()
		}
		if !sleep.For(n.l.ctx, time.Duration(700+n.c.Rng.Intn(600))*time.Millisecond) {
			return
		}
	}
}

func (n *Node) sleeps() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return time.Now().Before(n.asleep)
}

// Retire says that an operator begins to drain the node. It returns false if one does so already.
func (n *Node) Retire() bool {
	if !n.retired.CompareAndSwap(false, true) {
		return false
	}
	n.drains.Add(1)
	return true
}

// Serve says that the operator has taken the node back.
func (n *Node) Serve() { n.retired.Store(false) }

// Sleep makes the node silent for a while.
func (n *Node) Sleep(d time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asleep = time.Now().Add(d)
}

func (n *Node) awake() { n.Sleep(0) }

// register reports all running containers, and all ended containers that were not reported yet.
func (n *Node) register() bool {
	in := &input.RegisterNode{ID: n.Id, HTTPPort: 8042, Rack: "/rack", Total: n.total, Version: "virtual"}
	n.mu.Lock()
	in.Containers = n.manager.Registration(n.manager.Report())
	n.mu.Unlock()
	// A whole drain may begin and end between this call and its refusal.
	retired, drains := n.retired.Load(), n.drains.Load()
	reply, ok := n.c.Call(n.l.ctx, input.Request{Input: in})
	if !ok {
		return false
	}
	if f := reply.Refused(); f != nil && f.Reason == input.NotAllowed && (retired || n.drains.Load() != drains) {
		return false
	} else if f != nil {
		n.l.check.Fail("registration of %s is refused: %v", n.Id, f)
		return false
	}
	r := reply.(*input.RegisterNodeReply)
	n.number = r.Number
	for _, id := range r.Kill {
		n.kill(id)
	}
	return true
}

// beat sends one heartbeat and repeats it until a replica answers. One heartbeat in four reports
// all containers. One in three of those without news arrives in a batch of idle heartbeats.
func (n *Node) beat() bool {
	in := &input.NodeHeartbeat{ID: n.Id, Full: n.c.Rng.Intn(4) == 0}
	n.mu.Lock()
	if in.Statuses = n.manager.Report(); in.Full {
		in.Statuses = append(in.Statuses, n.manager.All()...)
	}
	n.mu.Unlock()
	if len(in.Statuses) == 0 && n.c.Rng.Intn(3) == 0 {
		_, ok := n.c.Call(n.l.ctx, input.Request{Input: &input.NodesHeard{Nodes: []yarn.NodeSlot{n.number}}})
		return ok
	}
	reply, ok := n.c.Call(n.l.ctx, input.Request{Input: in})
	if !ok || reply.Refused() != nil {
		return ok
	}
	r := reply.(*input.NodeHeartbeatReply)
	if r.Resync {
		n.mu.Lock()
		n.manager.Unreported(in.Statuses)
		n.mu.Unlock()
		return false
	}
	for _, l := range r.Launch {
		n.launch(l)
	}
	for _, id := range r.Kill {
		n.kill(id)
	}
	return true
}

// launch starts an AM's container unless it runs already.
func (n *Node) launch(o input.Launch) {
	n.mu.Lock()
	fresh := n.manager.Start(o.Container, &container{})
	n.mu.Unlock()
	if !fresh {
		return
	}
	id := yarn.AttemptID{App: o.Container.App, Attempt: o.Container.Attempt}
	n.l.StartMaster(n.l.nameOf(id.App), id, n)
	n.l.mu.Lock()
	m := n.l.masters[id]
	n.l.mu.Unlock()
	n.mu.Lock()
	defer n.mu.Unlock()
	if p, runs := n.manager.Process(o.Container); runs {
		p.am = m
	}
}

// start starts a task's container, which ends after d.
func (n *Node) start(id yarn.ContainerID, d time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if p := new(container); n.manager.Start(id, p) {
		p.timer = time.AfterFunc(d, func() { n.exit(id, yarn.ExitSuccess) })
	}
}

// exit ends a container.
func (n *Node) exit(id yarn.ContainerID, code int32) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if p, ran := n.manager.Exit(id, code, ""); ran {
		p.stop()
	}
}

// finished ends the container of an AM that has unregistered.
func (n *Node) finished(m *master) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, id := range n.manager.Running() {
		if p, _ := n.manager.Process(id); p.am == m {
			n.manager.Exit(id, yarn.ExitSuccess, "")
			p.stop()
		}
	}
}

// stop stops the process in a container.
func (p *container) stop() {
	if p.timer != nil {
		p.timer.Stop()
	}
	if p.am != nil {
		p.am.cancel()
	}
}

// kill obeys an order to kill a container. If the container does not run, its end is reported
// again.
func (n *Node) kill(id yarn.ContainerID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if p, ran := n.manager.Kill(id); ran {
		p.stop()
	}
}

func (n *Node) killAll() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, id := range n.manager.Running() {
		if p, _ := n.manager.Process(id); p.timer != nil {
			p.timer.Stop()
		}
	}
}
