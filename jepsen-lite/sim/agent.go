package sim

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"rmd/scheduler/input"
	"rmd/yarn"
)

// agent is a simulated NodeManager.
type agent struct {
	l     *load
	c     *caller
	id    yarn.NodeID
	total yarn.Resource

	number uint32 // its own, once it has registered

	mu      sync.Mutex
	running map[yarn.ContainerID]*process
	news    []input.ContainerStatus
	gone    map[yarn.ContainerID]bool
	asleep  time.Time // says nothing until then
}

// process is a container on a node.
type process struct {
	am   *master
	life *time.Timer
}

// run registers and sends heartbeats.
func (n *agent) run() {
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
		if !pause(n.l.ctx, time.Duration(700+n.c.rng.Intn(600))*time.Millisecond) {
			return
		}
	}
}

func (n *agent) sleeps() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return time.Now().Before(n.asleep)
}

// sleep makes the node silent for a while.
func (n *agent) sleep(d time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asleep = time.Now().Add(d)
}

func (n *agent) awake() { n.sleep(0) }

// register tells of all that runs and of what ended untold.
func (n *agent) register() bool {
	said := n.take()
	in := &input.RegisterNode{ID: n.id, HTTPPort: 8042, Rack: "/rack", Total: n.total, Version: "virtual"}
	for _, s := range said {
		if s.State == yarn.ContainerCompleted {
			in.Containers = append(in.Containers, s)
		}
	}
	n.mu.Lock()
	var ids []yarn.ContainerID
	for id := range n.running {
		ids = append(ids, id)
	}
	n.mu.Unlock()
	slices.SortFunc(ids, func(a, b yarn.ContainerID) int { return int(int64(refOf(a).Number) - int64(refOf(b).Number)) })
	for _, id := range ids {
		in.Containers = append(in.Containers, input.ContainerStatus{Container: id, State: yarn.ContainerRunning})
	}
	reply, ok := n.c.call(n.l.ctx, input.Request{Input: in})
	if !ok {
		return false
	}
	if f := reply.Refused(); f != nil {
		n.l.w.check.fail("registration of %s is refused: %v", n.id, f)
		return false
	}
	r := reply.(*input.RegisterNodeReply)
	n.number = r.Number
	for _, id := range r.Kill {
		n.kill(id)
	}
	return true
}

// beat is one heartbeat, repeated until it is answered. Some tell all there is;
// of those that have nothing to tell, some come as a batch of idle ones.
func (n *agent) beat() bool {
	in := &input.NodeHeartbeat{ID: n.id, Full: n.c.rng.Intn(4) == 0}
	in.Statuses = n.say(in.Full)
	if len(in.Statuses) == 0 && n.c.rng.Intn(3) == 0 {
		_, ok := n.c.call(n.l.ctx, input.Request{Input: &input.NodesHeard{Nodes: []uint32{n.number}}})
		return ok
	}
	reply, ok := n.c.call(n.l.ctx, input.Request{Input: in})
	if !ok || reply.Refused() != nil {
		return ok
	}
	r := reply.(*input.NodeHeartbeatReply)
	if r.Resync {
		n.mu.Lock()
		n.news = append(in.Statuses, n.news...)
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

func (n *agent) take() []input.ContainerStatus { return n.say(false) }

// say is what is new, or all there is.
func (n *agent) say(all bool) []input.ContainerStatus {
	n.mu.Lock()
	defer n.mu.Unlock()
	said := n.news
	n.news = nil
	if all {
		for _, id := range slices.SortedFunc(maps.Keys(n.running), func(a, b yarn.ContainerID) int { return strings.Compare(a.String(), b.String()) }) {
			said = append(said, input.ContainerStatus{Container: id, State: yarn.ContainerRunning})
		}
	}
	return said
}

// launch starts an AM's container, once.
func (n *agent) launch(o input.Launch) {
	n.mu.Lock()
	if n.gone[o.Container] || n.running[o.Container] != nil {
		n.mu.Unlock()
		return
	}
	n.running[o.Container] = &process{}
	n.news = append(n.news, input.ContainerStatus{Container: o.Container, State: yarn.ContainerRunning})
	n.mu.Unlock()
	id := yarn.AttemptID{App: o.Container.App, Attempt: o.Container.Attempt}
	n.l.startMaster(n.l.nameOf(id.App), id, n)
	n.l.mu.Lock()
	m := n.l.masters[id]
	n.l.mu.Unlock()
	n.mu.Lock()
	defer n.mu.Unlock()
	if p := n.running[o.Container]; p != nil {
		p.am = m
	}
}

// start runs a task's container for a time.
func (n *agent) start(id yarn.ContainerID, d time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.gone[id] || n.running[id] != nil {
		return
	}
	n.running[id] = &process{life: time.AfterFunc(d, func() { n.exit(id, yarn.ExitSuccess) })}
	n.news = append(n.news, input.ContainerStatus{Container: id, State: yarn.ContainerRunning})
}

// exit ends a container.
func (n *agent) exit(id yarn.ContainerID, code int32) {
	n.mu.Lock()
	defer n.mu.Unlock()
	p := n.running[id]
	if p == nil {
		return
	}
	delete(n.running, id)
	n.gone[id] = true
	if p.life != nil {
		p.life.Stop()
	}
	if p.am != nil {
		p.am.cancel()
	}
	n.news = append(n.news, input.ContainerStatus{Container: id, State: yarn.ContainerCompleted, ExitStatus: code})
}

// kill obeys an order; a container that is not here is told as ended again.
func (n *agent) kill(id yarn.ContainerID) {
	n.exit(id, yarn.ExitKilledByRM)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.gone[id] && slices.ContainsFunc(n.news, func(s input.ContainerStatus) bool { return s.Container == id }) {
		return
	}
	n.gone[id] = true
	n.news = append(n.news, input.ContainerStatus{Container: id, State: yarn.ContainerCompleted, ExitStatus: yarn.ExitAborted})
}

func (n *agent) killAll() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, p := range n.running {
		if p.life != nil {
			p.life.Stop()
		}
	}
}
