package workload

import (
	"fmt"
	"slices"
	"time"

	"rmd/scheduler/input"
	"rmd/workload/agent"
	"rmd/workload/report"
	"rmd/workload/trace"
	"rmd/yarn"
)

const (
	nodeHTTPPort = 8042
	NodeVersion  = "simulated"
	defaultRack  = "/default-rack"
)

// node is one simulated NodeManager.
type node struct {
	w      *world
	place  int // index in world.nodes; determines its phase
	id     yarn.NodeID
	rack   string
	total  yarn.Resource
	up     bool // registered
	down   bool // its process does not run
	calls  bool // a call is in flight
	timer  *timer
	prompt *timer

	manager agent.NodeManager[*process]
}

// process is one container on a node.
type process struct {
	size report.Resource
	am   bool
	end  *timer
}

func newNode(w *world, spec trace.Node) *node {
	n := &node{w: w, place: len(w.nodes), id: yarn.NodeID{Host: spec.Name, Port: w.cfg.Port}, rack: spec.Rack}
	if n.rack == "" {
		n.rack = defaultRack
	}
	n.total, _ = sizeOf(spec.MemoryMB, spec.VCores, spec.GPUs, w.cfg.Kinds)
	return n
}

// beat registers the node, or sends a heartbeat with the new statuses. It does nothing while a call
// is in flight; newer statuses follow after the answer.
func (n *node) beat() {
	if n.calls || n.down {
		return
	}
	n.calls = true
	if !n.up {
		n.register()
		return
	}
	said := n.manager.Report()
	call(n.w, &input.NodeHeartbeat{ID: n.id, Statuses: said}, func(r *input.NodeHeartbeatReply, err error) {
		n.calls = false
		switch {
		case err != nil:
			n.manager.Unreported(said)
			n.w.pace.nodeIdle(n)
		case r.Resync || (r.Refusal != nil && r.Refusal.Reason == input.NoSuchNode):
			n.w.counts.resyncs++
			n.up = false
			n.manager.Unreported(said)
			n.beat()
		case r.Refusal != nil:
			n.w.refused(fmt.Errorf("heartbeat of %s: %w", n.id, r.Refusal))
			n.took(said)
			n.idle()
		default:
			n.took(said)
			n.obey(r)
			n.idle()
		}
	})
}

// idle follows every answer, and schedules the next call.
func (n *node) idle() {
	n.w.pace.nodeIdle(n)
	if news := n.manager.Pending(); len(news) > 0 {
		freed := slices.ContainsFunc(news, func(s input.ContainerStatus) bool { return s.State == yarn.ContainerCompleted })
		n.w.pace.nodeNews(n, freed)
	}
}

// register registers the node with its running containers and the ended ones that are not reported
// yet.
func (n *node) register() {
	said := n.manager.Report()
	in := &input.RegisterNode{ID: n.id, HTTPPort: nodeHTTPPort, Rack: n.rack, Total: n.total, Version: NodeVersion,
		Containers: n.manager.Registration(said)}
	call(n.w, in, func(r *input.RegisterNodeReply, err error) {
		n.calls = false
		switch {
		case err != nil:
			n.manager.Unreported(said)
			n.w.pace.nodeIdle(n)
			return
		case r.Refusal != nil:
			n.manager.Unreported(said)
			n.w.nodeRefused(n, r.Refusal)
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

// took records that the cluster has received the statuses, and wakes the AMs of completed
// containers.
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

// launch starts an AM's container. The cluster repeats the order until the node has reported the
// container; the node starts it once.
func (n *node) launch(l input.Launch) {
	if !n.run(l.Container, measure(l.Size, n.w.cfg.Kinds), true) {
		return
	}
	n.w.pace.happened(false)
	n.w.launched(n, l.Container)
}

// run starts a container. It returns false if the node has or had the container.
func (n *node) run(id yarn.ContainerID, size report.Resource, am bool) bool {
	if n.down || !n.manager.Start(id, &process{size: size, am: am}) {
		return false
	}
	if am {
		n.w.meter.use(size, 1)
	}
	n.reports(false)
	return true
}

// exit ends a container and reports it.
func (n *node) exit(id yarn.ContainerID, code int32, why string) {
	if p, ok := n.manager.Exit(id, code, why); ok {
		n.exited(id, p)
	}
}

// exited tells the application and the meter that a container has ended.
func (n *node) exited(id yarn.ContainerID, p *process) {
	n.w.loop.cancel(p.end)
	if p.am {
		n.w.meter.use(p.size, -1)
	}
	n.reports(true)
	switch a := n.w.apps[id.App]; {
	case a == nil:
	case p.am:
		a.amEnded(id)
	default:
		a.taskEnded(id)
	}
}

// kill executes an order to end a container. If the node does not have the container, it reports it
// as completed once more.
func (n *node) kill(id yarn.ContainerID) {
	before := len(n.manager.Pending())
	if p, ran := n.manager.Kill(id); ran {
		n.exited(id, p)
	} else if len(n.manager.Pending()) > before {
		n.reports(true)
	}
}

// reports records that there is one more status to report.
func (n *node) reports(urgent bool) {
	n.w.news++
	n.w.pace.nodeNews(n, urgent)
}

// shutdown ends the node, like a decommissioned one. It reports nothing any more. In a live run it
// starts again like a process under systemd, so that it serves when its drain is undone.
func (n *node) shutdown() {
	n.w.log.Info("node told to shut down", "node", n.id.String())
	n.stop()
	if !n.w.exact {
		n.w.loop.after(restartAfter, n.start)
	}
}

// restartAfter is the time after which a node starts again that was told to shut down.
const restartAfter = 5 * time.Second

// start starts a node that has stopped, without containers.
func (n *node) start() {
	if n.down {
		n.down = false
		n.beat()
	}
}

// stop ends the node and its containers, and reports nothing.
func (n *node) stop() {
	n.down, n.up = true, false
	for _, id := range n.manager.Running() {
		n.exit(id, yarn.ExitAborted, "node shut down")
	}
	n.w.news -= len(n.manager.Report())
	n.w.loop.cancel(n.timer)
	n.w.loop.cancel(n.prompt)
}

// drop ends a container that the cluster already counts as ended. The kill order may not have
// arrived yet.
func (n *node) drop(id yarn.ContainerID) {
	n.exit(id, yarn.ExitAborted, "ended by the ResourceManager")
}
