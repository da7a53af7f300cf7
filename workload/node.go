package workload

import (
	"fmt"

	"rmd/scheduler/input"
	"rmd/workload/report"
	"rmd/workload/trace"
	"rmd/yarn"
)

const (
	nodeHTTPPort = 8042
	NodeVersion  = "simulated"
	defaultRack  = "/default-rack"
	// goneMax is how many ended containers a node remembers, so that a late order for one is not taken again.
	goneMax = 1024
)

// node is one simulated NodeManager.
type node struct {
	w      *world
	place  int // in world.nodes, for the stagger
	id     yarn.NodeID
	rack   string
	total  yarn.Resource
	up     bool // registered
	down   bool // told to shut down: it does not come back
	calls  bool // a call is under way
	timer  *timer
	prompt *timer

	processes map[yarn.ContainerID]*process
	news      []input.ContainerStatus // not taken by the cluster yet
	gone      map[yarn.ContainerID]struct{}
	goneRing  []yarn.ContainerID
	goneNext  int
}

// process is one container on a node.
type process struct {
	size report.Resource
	am   bool
	end  *timer
}

func newNode(w *world, spec trace.Node) *node {
	n := &node{w: w, place: len(w.nodes), id: yarn.NodeID{Host: spec.Name, Port: w.cfg.Port}, rack: spec.Rack,
		processes: map[yarn.ContainerID]*process{}, gone: map[yarn.ContainerID]struct{}{}}
	if n.rack == "" {
		n.rack = defaultRack
	}
	n.total, _ = sizeOf(spec.MemoryMB, spec.VCores, spec.GPUs, w.cfg.Kinds)
	return n
}

// beat is the node's turn: it registers, or says what is new. While a call is under way it does nothing; whatever is
// new is said after its answer.
func (n *node) beat() {
	if n.calls || n.down {
		return
	}
	n.calls = true
	if !n.up {
		n.register()
		return
	}
	said := n.news
	n.news = nil
	call(n.w, &input.NodeHeartbeat{ID: n.id, Statuses: said}, func(r *input.NodeHeartbeatReply, err error) {
		n.calls = false
		switch {
		case err != nil:
			n.news = append(said, n.news...)
			n.w.pace.nodeIdle(n)
		case r.Resync || (r.Fault != nil && r.Fault.Reason == input.NoSuchNode):
			n.w.counts.resyncs++
			n.up = false
			n.news = append(said, n.news...)
			n.beat()
		case r.Fault != nil:
			n.w.refused(fmt.Errorf("heartbeat of %s: %w", n.id, r.Fault))
			n.took(said)
			n.idle()
		default:
			n.took(said)
			n.obey(r)
			n.idle()
		}
	})
}

// idle ends a turn.
func (n *node) idle() {
	n.w.pace.nodeIdle(n)
	if len(n.news) > 0 {
		n.w.pace.nodeNews(n, n.freed())
	}
}

// freed says whether some news is that a container ended.
func (n *node) freed() bool {
	for i := range n.news {
		if n.news[i].State == yarn.ContainerCompleted {
			return true
		}
	}
	return false
}

// register brings the node in with all that it runs and all that ended untold.
func (n *node) register() {
	in := &input.RegisterNode{ID: n.id, HTTPPort: nodeHTTPPort, Rack: n.rack, Total: n.total, Version: NodeVersion}
	said := n.news
	n.news = nil
	for _, s := range said {
		if s.State == yarn.ContainerCompleted {
			in.Containers = append(in.Containers, s)
		}
	}
	for _, id := range sortedContainers(n.processes) {
		in.Containers = append(in.Containers, input.ContainerStatus{Container: id, State: yarn.ContainerRunning})
	}
	call(n.w, in, func(r *input.RegisterNodeReply, err error) {
		n.calls = false
		switch {
		case err != nil:
			n.news = append(said, n.news...)
			n.w.pace.nodeIdle(n)
			return
		case r.Fault != nil:
			n.news = append(said, n.news...)
			n.w.nodeRefused(n, r.Fault)
			return
		}
		n.up = true
		n.w.pace.happened(false)
		n.took(said)
		for _, id := range r.Kill {
			n.kill(id)
		}
		n.idle()
	})
}

// took notes that the cluster has these statuses, and wakes the AMs whose containers ended.
func (n *node) took(said []input.ContainerStatus) {
	n.w.news -= len(said)
	for _, s := range said {
		if s.State != yarn.ContainerCompleted {
			continue
		}
		n.w.pace.happened(true)
		if a := n.w.apps[s.Container.App]; a != nil {
			n.w.pace.appNews(a)
		}
	}
}

func (n *node) obey(r *input.NodeHeartbeatReply) {
	for _, l := range r.Launch {
		n.launch(l)
	}
	for _, id := range r.Kill {
		n.kill(id)
	}
	if r.Shutdown {
		n.shutdown()
	}
}

// launch starts an AM's container. The order is repeated until the node has reported the container, and taken once.
func (n *node) launch(l input.Launch) {
	if !n.start(l.Container, measure(l.Size, n.w.cfg.Kinds), true) {
		return
	}
	n.w.pace.happened(false)
	n.w.launched(n, l.Container)
}

// start begins a container; false when the node has, or had, it already.
func (n *node) start(id yarn.ContainerID, size report.Resource, am bool) bool {
	if _, ended := n.gone[id]; ended || n.processes[id] != nil || n.down {
		return false
	}
	n.processes[id] = &process{size: size, am: am}
	if am {
		n.w.meter.use(size, 1)
	}
	n.tell(input.ContainerStatus{Container: id, State: yarn.ContainerRunning}, false)
	return true
}

// exit ends a container and reports it.
func (n *node) exit(id yarn.ContainerID, code int32, why string) {
	p := n.processes[id]
	if p == nil {
		return
	}
	delete(n.processes, id)
	n.w.loop.cancel(p.end)
	n.forget(id)
	if p.am {
		n.w.meter.use(p.size, -1)
	}
	n.tell(input.ContainerStatus{Container: id, State: yarn.ContainerCompleted, ExitStatus: code, Diagnostics: why}, true)
	switch a := n.w.apps[id.App]; {
	case a == nil:
	case p.am:
		a.amEnded(id)
	default:
		a.taskEnded(id)
	}
}

// kill obeys an order to end a container. One that the node does not have is reported as ended, once more.
func (n *node) kill(id yarn.ContainerID) {
	if n.processes[id] != nil {
		n.exit(id, yarn.ExitKilledByRM, "killed by order of the ResourceManager")
		return
	}
	for _, s := range n.news {
		if s.Container == id && s.State == yarn.ContainerCompleted {
			return
		}
	}
	n.forget(id)
	n.tell(input.ContainerStatus{Container: id, State: yarn.ContainerCompleted, ExitStatus: yarn.ExitAborted}, true)
}

func (n *node) tell(s input.ContainerStatus, urgent bool) {
	n.news = append(n.news, s)
	n.w.news++
	n.w.pace.nodeNews(n, urgent)
}

// forget remembers that a container has ended, instead of the oldest such.
func (n *node) forget(id yarn.ContainerID) {
	if _, known := n.gone[id]; known {
		return
	}
	if len(n.goneRing) < goneMax {
		n.goneRing = append(n.goneRing, id)
	} else {
		delete(n.gone, n.goneRing[n.goneNext])
		n.goneRing[n.goneNext] = id
		n.goneNext = (n.goneNext + 1) % goneMax
	}
	n.gone[id] = struct{}{}
}

// shutdown ends the node for good, as one that was decommissioned: nobody is left to report anything.
func (n *node) shutdown() {
	n.down, n.up = true, false
	n.w.log.Info("node told to shut down", "node", n.id.String())
	for _, id := range sortedContainers(n.processes) {
		n.exit(id, yarn.ExitAborted, "node shut down")
	}
	n.w.news -= len(n.news)
	n.news = nil
	n.w.loop.cancel(n.timer)
	n.w.loop.cancel(n.prompt)
}

// drop ends a container that the cluster has counted as ended: a kill order may not have come yet.
func (n *node) drop(id yarn.ContainerID) {
	if n.processes[id] != nil {
		n.exit(id, yarn.ExitAborted, "ended by the ResourceManager")
	}
}
