package logsim

import (
	"strconv"
	"strings"

	"rmd/scheduler/input"
	workload "rmd/workload/agent"
	"rmd/yarn"
)

// phase is how far an AM is.
type phase uint8

const (
	registering phase = iota
	running
	finishing
)

// master is a simulated AM: it asks for its groups, runs what it is given and
// finishes when all has run.
type master struct {
	w    *world
	id   yarn.AttemptID
	job  *job
	on   *agent // nil when unmanaged
	own  yarn.ContainerID
	busy bool
	dead bool
	at   phase
	// rollbacksSeen is how many restores from a backup it has reacted to.
	rollbacksSeen int

	am          *workload.ApplicationMaster
	versions    map[yarn.ContainerID]int32 // of the sizes of containers that were changed
	counted     bool                       // it names the number of the last answer that it had
	leaderships int                        // begun when it had that
	again       bool                       // it has registered again since it was answered last
	last        *input.Allocate            // the call before, to be repeated
}

// startMaster starts the AM of an application whose launch names its job.
func (w *world) startMaster(l input.Launch, on *agent) *master {
	n, err := strconv.Atoi(strings.TrimPrefix(string(l.Context), "job "))
	if err != nil || n < 0 || n >= len(w.jobs) {
		w.check.fail("S11", "an order to launch %s carries the context %q", l.Container, l.Context)
		return nil
	}
	return w.begin(w.jobs[n], yarn.AttemptID{App: l.Container.App, Attempt: l.Container.Attempt}, on, l.Container)
}

func (w *world) begin(j *job, id yarn.AttemptID, on *agent, own yarn.ContainerID) *master {
	m := &master{w: w, id: id, job: j, on: on, own: own, rollbacksSeen: w.counts.Rollbacks, am: workload.NewApplicationMaster(id, w.groupsOf(j)), versions: map[yarn.ContainerID]int32{}, counted: w.rng.IntN(4) > 0}
	w.masters = append(w.masters, m)
	w.enroll()
	return m
}

// act implements party.
func (m *master) act() {
	w := m.w
	if m.busy {
		return
	}
	if m.dead {
		m.remove()
		return
	}
	if m.rollbacksSeen != w.counts.Rollbacks {
		m.startOver()
	}
	if !w.recovering && w.rng.IntN(400) == 0 && m.on != nil {
		m.on.exit(m.own, 1) // it fails
		return
	}
	m.busy = true
	switch m.at {
	case registering:
		w.wire.send(m, input.Request{Input: &input.RegisterAttempt{Attempt: m.id, Host: "am", RPCPort: 1}})
	case finishing:
		w.wire.send(m, input.Request{Input: &input.FinishAttempt{Attempt: m.id, Final: yarn.FinalSucceeded}})
	default:
		m.allocate()
	}
}

// startOver is what an AM does when the cluster has forgotten some of what it was
// told: it counts on nothing that it holds.
func (m *master) startOver() {
	m.rollbacksSeen, m.at = m.w.counts.Rollbacks, registering
	m.am.Forget()
}

// remove takes the AM out of the world.
func (m *master) remove() {
	for i, o := range m.w.masters {
		if o == m {
			m.w.masters = append(m.w.masters[:i], m.w.masters[i+1:]...)
			break
		}
	}
	m.w.enroll()
}

// allocate is the AM's heartbeat.
func (m *master) allocate() {
	w := m.w
	if w.opt.has(LoadRestarts) && !w.recovering {
		switch w.rng.IntN(40) {
		case 0: // its process restarts: it knows nothing of responses
			m.at, m.busy = registering, false
			return
		case 1:
			if m.last != nil {
				w.wire.send(m, input.Request{Input: m.last})
				return
			}
		}
	}
	in := m.am.Allocate()
	in.Progress, in.FromAM, in.Updates = uint32(w.rng.IntN(10_000)), m.counted, m.updates()
	if w.rng.IntN(4) > 0 {
		in.Progress = 0
	}
	if !w.recovering && w.rng.IntN(50) == 0 {
		in.BlacklistAdd = []string{w.agents[w.rng.IntN(len(w.agents))].id.Host}
	} else if w.rng.IntN(50) == 0 || w.recovering {
		in.BlacklistRemove = []string{w.agents[w.rng.IntN(len(w.agents))].id.Host}
	}
	m.last = in
	w.wire.send(m, input.Request{Input: in})
}

// groupsOf is what a job's AM asks for.
func (w *world) groupsOf(j *job) []workload.Group {
	var out []workload.Group
	for i, g := range j.groups {
		of := workload.Group{Priority: int32(i + 1), Count: g.count, Size: g.size, Host: g.host, Label: g.label}
		if g.host != "" {
			of.Rack = w.agentOf(g.host).rack
		}
		out = append(out, of)
	}
	return out
}

func (w *world) agentOf(host string) *agent {
	for _, a := range w.agents {
		if a.id.Host == host {
			return a
		}
	}
	return w.agents[0]
}

// answered implements party.
func (m *master) answered(in input.Input, r input.Reply) {
	m.busy = false
	if m.dead {
		return
	}
	if f := r.Refused(); f != nil {
		m.refused(in, f)
		return
	}
	switch r := r.(type) {
	case *input.RegisterAttemptReply:
		m.registered()
	case *input.AllocateReply:
		m.pulled(in.(*input.Allocate), r)
	default: // finished
		m.dead = true
		if m.on != nil {
			m.on.exit(m.own, yarn.ExitSuccess)
		}
	}
}

// refused judges a refusal: one of an attempt that is over ends its AM.
func (m *master) refused(in input.Input, f *input.Fault) {
	if m.w.check.over(m.id) {
		m.dead = true
		if m.on != nil {
			m.on.exit(m.own, yarn.ExitKilledByRM)
		} else {
			m.succeed()
		}
		return
	}
	if f.Reason == input.InvalidLabel || f.Reason == input.NoSuchLabel {
		m.am.Relabel(yarn.NoLabel) // its queue may not use them, or they are gone
		return
	}
	if m.w.counts.Rollbacks > 0 {
		// What it was told since the backup is not known any more: it starts over when it is told to.
		if f.Reason == input.WrongResponse {
			m.at = registering
		}
		return
	}
	if a, ok := in.(*input.Allocate); ok && a.FromAM && f.Reason == input.WrongResponse && m.w.counts.Leaderships-m.leaderships >= 2 {
		// A late copy of its call was all that one leader saw of it, and the next one knows of nothing
		// but that: known, counted. It registers again.
		m.w.counts.Resyncs++
		m.at = registering
		return
	}
	if a, ok := in.(*input.Allocate); ok && a.FromAM && f.Reason == input.WrongResponse && m.again && a.Response == 0 {
		// A late copy of the first call of before it registered again came before its first call since:
		// both have the number 0. It registers again: known, counted.
		m.w.counts.Resyncs++
		m.at = registering
		return
	}
	if a, ok := in.(*input.Allocate); ok && a.Response == m.am.Response() && f.Reason != input.NotRegistered {
		m.w.check.fail("S12", "allocate %d of %s, which runs, is refused: %v", a.Response, m.id, f)
	}
}

// succeed starts the next attempt of an unmanaged application, as its client does.
func (m *master) succeed() {
	if next := m.w.check.attemptOf(m.id.App); next > m.id.Attempt {
		m.w.begin(m.job, yarn.AttemptID{App: m.id.App, Attempt: next}, nil, yarn.ContainerID{})
	}
}

// registered begins, or starts over: everything is asked for again.
func (m *master) registered() {
	m.again = m.again || m.last != nil
	m.at, m.last = running, nil
	m.am.Registered()
}

// pulled takes in an answer. One to an old call is old as well, unless the answer
// then was idle: that was not written, so the call was new to the leader.
func (m *master) pulled(in *input.Allocate, r *input.AllocateReply) {
	if in.Response == m.am.Response() {
		m.leaderships, m.again = m.w.counts.Leaderships, false
	}
	if !m.am.Answered(in, r) {
		return
	}
	for _, g := range r.Granted {
		m.granted(g)
	}
	for _, z := range r.Resized {
		m.resized(z)
	}
	for _, s := range r.Completed {
		m.am.Completed(s)
	}
	if m.am.Done() {
		m.at = finishing
	}
}

// granted runs a container; now and then it is given back at once, or not started.
func (m *master) granted(g input.Granted) {
	switch w := m.w; m.am.Granted(g) {
	case workload.Unasked:
		w.check.fail("S12", "%s is granted %s under the key %v, which it never asked for", m.id, g.Container, g.Key)
	case workload.Taken:
		switch n := w.rng.IntN(16); {
		case n == 0 && !w.recovering:
			m.am.Release(g.Container)
		case n == 1 && !w.recovering: // never started: it expires
		default:
			most := int64(8000)
			if w.opt.has(LoadPreempt) { // long enough to be in another's way
				most = 30_000
			}
			w.agentOf(g.Node.Host).start(g.Container, 100+w.rng.Int64N(most))
		}
	}
}
