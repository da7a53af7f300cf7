package load

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"rmd/jepsen-lite/history"
	"rmd/scheduler/input"
	workload "rmd/workload/agent"
	"rmd/yarn"
)

// The resources of every node.
const (
	nodeMB     = 8192
	nodeVCores = 8
)

// agent is a simulated NodeManager. It submits inputs like the other parts of the load, or speaks
// Hadoop's protocol.
type agent struct {
	l    *Load
	ask  func(input.Input) (input.Reply, error)
	end  func() // closes its connection; may be nil
	id   yarn.NodeID
	rng  *rand.Rand
	hist *history.Client

	mu      sync.Mutex
	manager workload.NodeManager[time.Time] // the value is when the container ends by itself
}

func (l *Load) newAgent(i int) *agent {
	id := yarn.NodeID{Host: fmt.Sprintf("n%d", i+1), Port: 45454}
	a := &agent{l: l, ask: l.ask, id: id, rng: l.random(uint64(i)), hist: l.rec.Client("node " + id.Host)}
	if len(l.cfg.Trackers) > 0 && i < l.cfg.NodeManagers {
		n := l.newNodeManager(id, i)
		a.ask, a.end = n.ask, n.hangUp
	}
	return a
}

// register registers the node with its containers.
func (a *agent) register(ctx context.Context) error {
	in := &input.RegisterNode{ID: a.id, HTTPPort: 8042, Rack: "/r" + a.id.Host[len(a.id.Host)-1:],
		Total: yarn.NewResource(nodeMB, nodeVCores), Version: "chaos"}
	said := a.report()
	a.mu.Lock()
	in.Containers = a.manager.Registration(said)
	a.mu.Unlock()
	a.hist.Invoke(history.NodeAdd, history.Value{Node: a.id.String(), Text: "registers"})
	reply, err := a.ask(in)
	if err != nil {
		a.hist.Info(err.Error())
		a.unreported(said)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return err
	}
	if f := reply.Refused(); f != nil {
		a.hist.Fail(string(f.Reason))
		a.unreported(said)
		return f
	}
	a.hist.OK(history.Value{})
	r := reply.(*input.RegisterNodeReply)
	a.obey(r.Kill)
	return nil
}

// run sends heartbeats until the load ends.
func (a *agent) run() {
	if a.end != nil {
		defer a.end()
	}
	for sleep(a.l.ctx, jitter(a.rng, a.l.cfg.Beat)) {
		if resync := a.beat(); resync {
			for a.register(a.l.ctx) != nil && sleep(a.l.ctx, a.l.cfg.Beat) {
			}
		}
	}
}

// start starts a container for an AM. The container ends by itself after life.
func (a *agent) start(id yarn.ContainerID, life time.Duration) {
	a.l.rec.Note(&history.Order{Node: a.id.String(), Kind: history.StartContainer, Container: id.String(),
		App: id.App.String()})
	a.mu.Lock()
	defer a.mu.Unlock()
	a.manager.Start(id, time.Now().Add(life))
}

// report ends the containers whose time has come and returns the statuses that are not reported
// yet.
func (a *agent) report() []input.ContainerStatus {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	for _, id := range a.manager.Running() {
		if end, _ := a.manager.Process(id); now.After(end) {
			a.manager.Exit(id, yarn.ExitSuccess, "")
		}
	}
	return a.manager.Report()
}

// unreported keeps statuses for the next report.
func (a *agent) unreported(said []input.ContainerStatus) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.manager.Unreported(said)
}

// beat sends one heartbeat. It returns true if the node must register again.
func (a *agent) beat() (resync bool) {
	in := &input.NodeHeartbeat{ID: a.id, Statuses: a.report()}
	if ended := endedOf(in.Statuses); len(ended) > 0 {
		a.hist.Invoke(history.Complete, history.Value{Node: a.id.String(), Containers: ended})
	}
	reply, err := a.ask(in)
	if err != nil {
		a.hist.Info(err.Error())
		a.unreported(in.Statuses) // the next heartbeat reports them again
		return false
	}
	if f := reply.Refused(); f != nil {
		a.hist.Fail(string(f.Reason))
		a.unreported(in.Statuses)
		return f.Reason == input.NoSuchNode
	}
	r := reply.(*input.NodeHeartbeatReply)
	if r.Resync {
		a.hist.Fail("RESYNC")
		a.unreported(in.Statuses)
		return true
	}
	a.hist.OK(history.Value{})
	a.obey(r.Kill)
	return false
}

// obey ends containers. The next heartbeat reports their ends.
func (a *agent) obey(kill []yarn.ContainerID) {
	for _, id := range kill {
		a.l.rec.Note(&history.Order{Node: a.id.String(), Kind: history.StopContainer, Container: id.String(),
			App: id.App.String()})
		a.mu.Lock()
		a.manager.Kill(id)
		a.mu.Unlock()
	}
}

// endedOf returns the containers whose end is reported.
func endedOf(statuses []input.ContainerStatus) []string {
	var out []string
	for _, s := range statuses {
		if s.State == yarn.ContainerCompleted {
			out = append(out, s.Container.String())
		}
	}
	return out
}
