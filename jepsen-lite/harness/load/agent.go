package load

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"rmd/jepsen-lite/history"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// Size of every node.
const (
	nodeMB     = 8192
	nodeVCores = 8
)

// agent is a simulated NodeManager. It speaks as the load's other parts do, or
// Hadoop's wire.
type agent struct {
	l    *Load
	ask  func(input.Input) (input.Reply, error)
	end  func() // of its connection; may be nil
	id   yarn.NodeID
	rng  *rand.Rand
	hist *history.Client

	mu      sync.Mutex
	running map[yarn.ContainerID]time.Time // when each ends by itself
	ended   map[yarn.ContainerID]int32     // not reported yet
}

func (l *Load) newAgent(i int) *agent {
	id := yarn.NodeID{Host: fmt.Sprintf("n%d", i+1), Port: 45454}
	a := &agent{l: l, ask: l.ask, id: id, rng: l.random(uint64(i)), hist: l.rec.Client("node " + id.Host),
		running: map[yarn.ContainerID]time.Time{}, ended: map[yarn.ContainerID]int32{}}
	if len(l.cfg.Trackers) > 0 && i < l.cfg.NodeManagers {
		n := l.newNodeManager(id, i)
		a.ask, a.end = n.ask, n.hangUp
	}
	return a
}

// register brings the node in, with what it runs.
func (a *agent) register(ctx context.Context) error {
	in := &input.RegisterNode{ID: a.id, HTTPPort: 8042, Rack: "/r" + a.id.Host[len(a.id.Host)-1:], Total: yarn.NewResource(nodeMB, nodeVCores), Version: "chaos"}
	a.mu.Lock()
	for id := range a.running {
		in.Containers = append(in.Containers, input.ContainerStatus{Container: id, State: yarn.ContainerRunning})
	}
	for id, exit := range a.ended {
		in.Containers = append(in.Containers, input.ContainerStatus{Container: id, State: yarn.ContainerCompleted, ExitStatus: exit})
	}
	a.mu.Unlock()
	slices.SortFunc(in.Containers, func(x, y input.ContainerStatus) int { return compareIDs(x.Container, y.Container) })
	a.hist.Invoke(history.NodeAdd, history.Value{Node: a.id.String(), Text: "registers"})
	reply, err := a.ask(in)
	if err != nil {
		a.hist.Info(err.Error())
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return err
	}
	if f := reply.Refused(); f != nil {
		a.hist.Fail(string(f.Reason))
		return f
	}
	a.hist.OK(history.Value{})
	r := reply.(*input.RegisterNodeReply)
	a.reported(in.Containers)
	a.obey(r.Kill)
	return nil
}

func compareIDs(a, b yarn.ContainerID) int {
	switch {
	case a.App.Seq != b.App.Seq:
		return int(int64(a.App.Seq) - int64(b.App.Seq))
	case a.Number < b.Number:
		return -1
	case a.Number > b.Number:
		return 1
	}
	return 0
}

// run is the node's life.
func (a *agent) run() {
	if a.end != nil {
		defer a.end()
	}
	for rest(a.l.ctx, jitter(a.rng, a.l.cfg.Beat)) {
		if resync := a.beat(); resync {
			for a.register(a.l.ctx) != nil && rest(a.l.ctx, a.l.cfg.Beat) {
			}
		}
	}
}

// start takes a container that its master brings. It ends by itself.
func (a *agent) start(id yarn.ContainerID, life time.Duration) {
	a.l.rec.Note(&history.Order{Node: a.id.String(), Kind: history.StartContainer, Container: id.String(), App: id.App.String()})
	a.mu.Lock()
	defer a.mu.Unlock()
	a.running[id] = time.Now().Add(life)
}

// turn moves the containers whose time has come and returns what is new.
func (a *agent) turn() []input.ContainerStatus {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	var out []input.ContainerStatus
	for id, end := range a.running {
		if now.After(end) {
			delete(a.running, id)
			a.ended[id] = 0
		}
	}
	for id, exit := range a.ended {
		out = append(out, input.ContainerStatus{Container: id, State: yarn.ContainerCompleted, ExitStatus: exit})
	}
	slices.SortFunc(out, func(x, y input.ContainerStatus) int { return compareIDs(x.Container, y.Container) })
	return out
}

// beat is one heartbeat; true asks for a registration.
func (a *agent) beat() (resync bool) {
	in := &input.NodeHeartbeat{ID: a.id, Statuses: a.turn()}
	if len(in.Statuses) > 0 {
		a.hist.Invoke(history.Complete, history.Value{Node: a.id.String(), Containers: containersOf(in.Statuses)})
	}
	reply, err := a.ask(in)
	if err != nil {
		a.hist.Info(err.Error())
		return false // the next one says it again
	}
	if f := reply.Refused(); f != nil {
		a.hist.Fail(string(f.Reason))
		return f.Reason == input.NoSuchNode
	}
	r := reply.(*input.NodeHeartbeatReply)
	if r.Resync {
		a.hist.Fail("RESYNC")
		return true
	}
	a.hist.OK(history.Value{})
	a.reported(in.Statuses)
	a.obey(r.Kill)
	return false
}

// reported forgets what the cluster has taken.
func (a *agent) reported(statuses []input.ContainerStatus) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range statuses {
		if s.State == yarn.ContainerCompleted {
			delete(a.ended, s.Container)
		}
	}
}

// killed is the exit status of a container that the cluster ended.
const killed = -105

// obey ends containers, and says at the next beat that they have ended.
func (a *agent) obey(kill []yarn.ContainerID) {
	for _, id := range kill {
		a.l.rec.Note(&history.Order{Node: a.id.String(), Kind: history.StopContainer, Container: id.String(), App: id.App.String()})
		a.mu.Lock()
		delete(a.running, id)
		a.ended[id] = killed
		a.mu.Unlock()
	}
}

func containersOf(statuses []input.ContainerStatus) []string {
	out := make([]string, 0, len(statuses))
	for _, s := range statuses {
		out = append(out, s.Container.String())
	}
	return out
}
