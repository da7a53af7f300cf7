package logsim

import (
	"rmd/fsm/state"
	"rmd/scheduler"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// The expiry intervals of the simulation, in milliseconds.
const (
	nodeExpiry      = 10_000
	attemptExpiry   = 30_000
	containerExpiry = 20_000
	epochMillis     = 1_780_000_000_000
)

// clock is the office's liveness timers, in the world's time: who was heard of when.
// The maps are looked up by key and never ranged over.
type clock struct {
	nodes    map[uint32]int64 // by slot
	attempts map[yarn.AttemptID]int64
	granted  map[yarn.ContainerID]int64
}

// arm gives everybody a full interval.
func (k *clock) arm(*office) {
	*k = clock{nodes: map[uint32]int64{}, attempts: map[yarn.AttemptID]int64{}, granted: map[yarn.ContainerID]int64{}}
}

// touch notes that somebody was heard of.
func (k *clock) touch(o *office, in input.Input) {
	st, now := o.planner.State(), o.w.now
	switch in := in.(type) {
	case *input.NodeHeartbeat:
		k.nodes[st.Node(in.ID)] = now
	case *input.RegisterNode:
		k.nodes[st.Node(in.ID)] = now
	case *input.NodesHeard:
		for _, n := range in.Nodes {
			k.nodes[n] = now
		}
	case *input.Allocate:
		k.attempts[in.Attempt] = now
	case *input.RegisterAttempt:
		k.attempts[in.Attempt] = now
	}
}

// look plans what time alone makes due. Who is met for the first time has a full
// interval from now.
func (k *clock) look(o *office) {
	st, now := o.planner.State(), o.w.now
	var due []input.Input
	st.Nodes.Each(func(slot uint32, n *state.Node) bool {
		if n.Heard() && past(k.nodes, slot, now, nodeExpiry) {
			due = append(due, &input.ExpireNode{ID: n.ID})
		}
		return true
	})
	st.Apps.Each(func(_ uint32, a *state.App) bool {
		started := a.AttemptState == state.AttemptRegistered || a.AttemptState == state.AttemptFinishing ||
			(a.AttemptState == state.AttemptActive && (a.Live > 0 || a.LaunchedMillis > 0 || a.Unmanaged))
		if started && past(k.attempts, a.AttemptID(), now, attemptExpiry) {
			due = append(due, &input.ExpireAttempt{Attempt: a.AttemptID()})
		}
		return true
	})
	var unused []yarn.ContainerID
	st.Containers.Each(func(_ uint32, c *state.Container) bool {
		if c.Unused() && past(k.granted, st.ContainerID(c), now, containerExpiry) {
			unused = append(unused, st.ContainerID(c))
		}
		return true
	})
	if len(unused) > 0 {
		due = append(due, &input.ExpireContainers{Containers: unused})
	}
	due = append(due, o.dial()...)
	if o.w.rng.IntN(8) == 0 || scheduler.KeysDue(st, o.stamp) {
		due = append(due, &input.Tick{Entropy: o.w.entropy()})
	}
	for _, in := range due {
		o.step(nil, input.Request{Input: in})
	}
}

// dial starts the AMs on nodes that are Hadoop's: the leader calls those, from the
// committed state, and reports what came of it.
func (o *office) dial() []input.Input {
	w := o.w
	st, _ := o.r.m.Fork()
	var out []input.Input
	st.Containers.Each(func(_ uint32, c *state.Container) bool {
		a, n := st.Apps.Get(c.App), st.Nodes.Get(c.Node)
		if !c.AM || c.Launched || !c.State.Live() || !n.Dialed || a.LaunchedMillis != 0 || a.Attempt != c.Attempt {
			return true
		}
		to := w.agentOf(n.ID.Host)
		if id := a.AttemptID(); w.rounds < to.silent || !w.calm && w.rng.IntN(30) == 0 {
			out = append(out, &input.AttemptLaunchFailed{Attempt: id, Container: c.Number, NodeFault: w.rng.IntN(2) == 0, Diagnostics: "no answer"})
		} else {
			to.launch(input.Launch{Container: st.ContainerID(c), Size: c.Size, User: st.NameOf(a.User), Context: []byte(a.Details().Context)})
			out = append(out, &input.AttemptLaunched{Attempt: id, Container: c.Number})
		}
		return true
	})
	return out
}

// past says whether an interval has gone by since a key was heard of, and gives it
// another one then.
func past[K comparable](m map[K]int64, key K, now, interval int64) bool {
	at, ok := m[key]
	if !ok || now-at >= interval {
		m[key] = now
	}
	return ok && now-at >= interval
}
