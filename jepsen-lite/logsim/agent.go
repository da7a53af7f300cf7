package logsim

import (
	"fmt"

	"rmd/internal/boolint"
	"rmd/scheduler/input"
	workload "rmd/workload/agent"
	"rmd/yarn"
)

// agent is a simulated NodeManager.
type agent struct {
	w       *world
	id      yarn.NodeID
	rack    string
	own     yarn.Resource // the resources of its machine
	dialed  bool
	number  yarn.NodeSlot // the node number from its registration; 0 before that
	up      bool          // registered, as far as it knows
	busy    bool
	silent  uint64 // it sends nothing before this round
	resyncs int    // how often it had to register again since all faults ended

	session  uint64 // the heartbeat session; 0: the next heartbeat begins one
	sessions bool   // its heartbeats carry a session, so that late ones are recognized
	response int32

	manager workload.NodeManager[process]
	clean   []yarn.ApplicationID
	signals []yarn.ContainerID
	sizes   []input.ContainerSize // containers that have grown here; the next heartbeat reports them
	sized   []input.SizeOrder     // the size orders in the last answer
}

// process is a running container on a node.
type process struct {
	am  *master
	end int64 // when it ends by itself, on the world's clock in ms; 0: never
}

const resyncsMax = 60 // more than any node needs in the recovery phase

func newAgent(w *world, i int) *agent {
	a := &agent{w: w, id: yarn.NodeID{Host: fmt.Sprintf("h%d", i), Port: 45454}, rack: fmt.Sprintf("/r%d", i/3),
		dialed: w.rng.IntN(2) == 0}
	a.own = w.size(8).Add(yarn.NewResource(4096, 6))
	if w.opt.has(LoadTight) {
		a.own = yarn.NewResource(8192, 8)
	}
	if w.opt.Kinds == 3 {
		a.own[2] = int64(w.rng.IntN(5))
	}
	a.sessions = w.rng.IntN(2) == 0
	return a
}

// size draws a resource of at most `most` GiB and `most` vcores.
func (w *world) size(most int64) yarn.Resource {
	r := yarn.NewResource(1024*(1+w.rng.Int64N(most)), 1+w.rng.Int64N(most))
	if w.opt.Kinds == 3 {
		r[2] = w.rng.Int64N(3)
	}
	return r
}

// act implements party. The node registers or sends a heartbeat.
func (a *agent) act() {
	w := a.w
	if a.busy || w.rounds < a.silent {
		return
	}
	if !w.recovering && w.opt.has(LoadChurn) && w.rng.IntN(60) == 0 {
		a.injectFault()
		return
	}
	for _, id := range a.manager.Running() {
		if p, _ := a.manager.Process(id); p.end > 0 && p.end <= w.now {
			a.exit(id, a.exitCode())
		}
	}
	a.busy = true
	switch {
	case !a.up:
		a.register()
	case len(a.manager.Pending()) == 0 && len(a.clean)+len(a.signals)+len(a.sizes)+len(a.sized) == 0 && w.rng.IntN(3) == 0:
		w.wire.send(a, input.Request{Input: &input.NodesHeard{Nodes: []yarn.NodeSlot{a.number}}})
	default:
		a.beat()
	}
}

func (a *agent) exitCode() int32 {
	if !a.w.recovering && a.w.rng.IntN(12) == 0 {
		return 1
	}
	return yarn.ExitSuccess
}

// injectFault draws one of the faults that nodes have.
func (a *agent) injectFault() {
	w := a.w
	switch w.rng.IntN(5) {
	case 0: // silent, perhaps for longer than the expiry interval
		a.silent = w.rounds + uint64(w.rng.IntN(900))
	case 1: // its machine restarts
		a.loseAll()
		a.up = false
	case 2: // the NodeManager restarts and keeps its containers
		a.up = false
	case 3:
		a.busy, a.up = true, false
		a.loseAll()
		w.wire.send(a, input.Request{Input: &input.UnregisterNode{ID: a.id, HeartbeatSession: a.session}})
	case 4:
		a.busy = true
		a.report(&input.NodeHeartbeat{ID: a.id, Unhealthy: true, Report: "disks"})
	}
}

// loseAll ends all containers and reports none of these ends.
func (a *agent) loseAll() {
	for _, p := range a.manager.Restart() { // the order of the map does not matter
		p.stop()
	}
}

func (a *agent) register() {
	in := &input.RegisterNode{ID: a.id, HTTPPort: 8042, Rack: a.rack, Total: a.own, Version: "logsim",
		NodeManager: a.dialed}
	in.Containers = a.manager.Registration(a.manager.Report())
	if a.w.rng.IntN(4) == 0 {
		for _, j := range a.w.jobs[max(0, len(a.w.jobs)-3):] {
			in.Running = append(in.Running, j.id)
		}
	}
	if a.sessions {
		in.HeartbeatSession, in.PrevSession = a.w.newSession(), a.prevSession()
	}
	a.session = 0
	a.w.wire.send(a, input.Request{Input: in})
}

// newSession returns a session number that was not used before.
func (w *world) newSession() uint64 {
	w.sessions++
	return w.sessions
}

// prevSession returns the node's heartbeat session as a random replica has it, or 0.
func (a *agent) prevSession() uint64 {
	r := a.w.rs[a.w.rng.IntN(len(a.w.rs))]
	st, _ := r.m.Fork()
	if slot := st.Nodes.Find(a.id); slot != 0 {
		return st.Nodes.Get(slot).HeartbeatSession
	}
	return 0
}

// removed returns the highest number in the node's list of containers to forget, as a random
// replica has it. 0 means that the replica does not know the node.
func (a *agent) removed() uint64 {
	st, _ := a.w.rs[a.w.rng.IntN(len(a.w.rs))].m.Fork()
	slot := st.Nodes.Find(a.id)
	if slot == 0 {
		return 0
	}
	first, list := st.Removals(slot)
	return first + uint64(len(list)) - 1
}

// report sends a heartbeat. It is the next one of the current session, or the first of a new
// session.
func (a *agent) report(in *input.NodeHeartbeat) {
	if a.sessions {
		if a.session == 0 {
			a.session, a.response = a.w.newSession(), 0
			in.PrevSession = a.prevSession()
		}
		in.HeartbeatSession, in.Response = a.session, a.response
	}
	a.w.wire.send(a, input.Request{Input: in})
}

func (a *agent) beat() {
	in := &input.NodeHeartbeat{ID: a.id, Full: a.w.rng.IntN(6) == 0, Statuses: a.manager.Report(), CleanupsAcked: a.clean,
		SignalsAcked: a.signals, Sizes: a.sizes, SizesAcked: a.sized, RemovalsAcked: a.removed(),
		KeepAlive: a.w.service.collecting()}
	a.clean, a.signals, a.sizes, a.sized = nil, nil, nil, nil
	if in.Full {
		in.Statuses = append(in.Statuses, a.manager.All()...)
	}
	a.report(in)
}

// answered implements party.
func (a *agent) answered(in input.Input, r input.Reply) {
	a.busy = false
	switch r := r.(type) {
	case *input.RegisterNodeReply:
		a.up = r.Refused() == nil
		a.number = r.Number
		for _, id := range r.Kill {
			a.kill(id)
		}
	case *input.NodeHeartbeatReply:
		a.response++
		if r.Late { // the replica was not up to date: the node begins a new session
			a.session = 0
			a.manager.Unreported(in.(*input.NodeHeartbeat).Statuses)
			return
		}
		if r.Resync || r.Shutdown {
			if a.resyncs += boolint.Of[int](a.w.recovering); a.resyncs > resyncsMax {
				a.w.check.fail("L4", "%s was told to register again %d times since all faults ended", a.id, a.resyncs)
			}
			a.manager.Unreported(in.(*input.NodeHeartbeat).Statuses)
			a.up = false
			return
		}
		for _, l := range r.Launch {
			a.launch(l)
		}
		for _, id := range r.Kill {
			a.kill(id)
		}
		a.clean, a.sized = r.CleanUp, r.Resize
		for _, s := range r.Signals {
			a.signals = append(a.signals, s.Container)
		}
	}
}

// launch starts the container of an AM, at most once. If the container ended in a restart of the
// machine before its start was reported, launch reports it as ended. Otherwise the leader would
// repeat the order for ever.
func (a *agent) launch(l input.Launch) {
	_, runs := a.manager.Process(l.Container)
	switch {
	case runs:
	case a.manager.Ended(l.Container):
		a.manager.Deny(l.Container)
	default:
		a.manager.Start(l.Container, process{am: a.w.startMaster(l, a)})
	}
}

// start runs a task's container for d milliseconds.
func (a *agent) start(id yarn.ContainerID, d int64) { a.manager.Start(id, process{end: a.w.now + d}) }

// exit ends a container.
func (a *agent) exit(id yarn.ContainerID, code int32) {
	if p, ran := a.manager.Exit(id, code, ""); ran {
		p.stop()
	}
}

// kill ends a container by an order of the leader.
func (a *agent) kill(id yarn.ContainerID) {
	if p, ran := a.manager.Kill(id); ran {
		p.stop()
	}
}

// stop ends the AM that runs in a container.
func (p process) stop() {
	if p.am != nil {
		p.am.dead = true
	}
}
