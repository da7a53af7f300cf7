package logsim

import (
	"strconv"
	"strings"

	"rmd/scheduler/input"
	workload "rmd/workload/agent"
	"rmd/yarn"
)

// phase is a phase in the life of an AM.
type phase uint8

const (
	registering phase = iota
	running
	finishing
)

// master is a simulated AM. It asks for the containers of its groups, runs the containers that it
// receives, and finishes when all have run.
type master struct {
	w    *world
	id   yarn.AttemptID
	job  *job
	on   *agent // nil when unmanaged
	own  yarn.ContainerID
	busy bool
	dead bool
	at   phase
	// rollbacksSeen is the number of restores from a backup to which it has reacted.
	rollbacksSeen int

	am          *workload.ApplicationMaster
	versions    map[yarn.ContainerID]int32 // the versions of containers whose size has changed
	counted     bool                       // its calls carry the number of the last response
	leaderships int                        // Counts.Leaderships at the last answer
	again       bool                       // it has registered again since the last answer
	last        *input.Allocate            // the last call, for repetition
}

// startMaster starts the AM of an application. The context of the launch names its job.
func (w *world) startMaster(l input.Launch, on *agent) *master {
	n, err := strconv.Atoi(strings.TrimPrefix(string(l.Context), "job "))
	if err != nil || n < 0 || n >= len(w.jobs) {
		w.check.fail("S11", "an order to launch %s carries the context %q", l.Container, l.Context)
		return nil
	}
	return w.begin(w.jobs[n], yarn.AttemptID{App: l.Container.App, Attempt: l.Container.Attempt}, on, l.Container)
}

func (w *world) begin(j *job, id yarn.AttemptID, on *agent, own yarn.ContainerID) *master {
	m := &master{w: w, id: id, job: j, on: on, own: own, rollbacksSeen: w.counts.Rollbacks,
		am: workload.NewApplicationMaster(id, w.groupsOf(j)), versions: map[yarn.ContainerID]int32{},
		counted: w.rng.IntN(4) > 0}
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
		m.on.exit(m.own, 1) // the AM's process fails
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

// startOver registers again after a restore from a backup. The cluster may have lost some of the
// containers that the AM holds, so the AM forgets all of them.
func (m *master) startOver() {
	m.rollbacksSeen, m.at = m.w.counts.Rollbacks, registering
	m.am.Forget()
}

// remove removes the AM from the parties.
func (m *master) remove() {
	for i, o := range m.w.masters {
		if o == m {
			m.w.masters = append(m.w.masters[:i], m.w.masters[i+1:]...)
			break
		}
	}
	m.w.enroll()
}

// allocate sends the AM's heartbeat.
func (m *master) allocate() {
	w := m.w
	if w.opt.has(LoadRestarts) && !w.recovering {
		switch w.rng.IntN(40) {
		case 0: // its process restarts and has lost the response number
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

// groupsOf returns the requests of a job's AM.
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
	default: // FinishAttempt
		m.dead = true
		if m.on != nil {
			m.on.exit(m.own, yarn.ExitSuccess)
		}
	}
}

// refused handles a refusal. The AM ends if its attempt has ended. It reports a violation if the
// leader had no reason to refuse.
func (m *master) refused(in input.Input, f *input.Refusal) {
	if m.w.check.attemptEnded(m.id) {
		m.dead = true
		if m.on != nil {
			m.on.exit(m.own, yarn.ExitKilledByRM)
		} else {
			m.succeed()
		}
		return
	}
	if f.Reason == input.InvalidLabel || f.Reason == input.NoSuchLabel {
		m.am.Relabel(yarn.NoLabel) // its queue may not use the label, or the label was removed
		return
	}
	if f.Reason == input.InvalidAsk && strings.Contains(f.What, "no running node has more") {
		return // no node is large enough at the moment; the AM asks again
	}
	if m.w.counts.Rollbacks > 0 {
		// After a restore, the leader does not know what the AM received since the backup. The AM
		// registers again when the leader asks for it.
		if f.Reason == input.WrongResponse {
			m.at = registering
		}
		return
	}
	if a, ok := in.(*input.Allocate); ok && a.FromAM && f.Reason == input.WrongResponse &&
		m.w.counts.Leaderships-m.leaderships >= 2 {
		// Known and counted: one leader saw only a late copy of the AM's call. The next leader
		// knows the response number of that copy only, so the AM registers again.
		m.w.counts.Resyncs++
		m.at = registering
		return
	}
	if a, ok := in.(*input.Allocate); ok && a.FromAM && f.Reason == input.WrongResponse && m.again && a.Response == 0 {
		// Known and counted: a late copy of the first call before the AM's second registration
		// arrived before its first call after it. Both have the response number 0, so the AM
		// registers again.
		m.w.counts.Resyncs++
		m.at = registering
		return
	}
	if a, ok := in.(*input.Allocate); ok && a.Response == m.am.Response() && f.Reason != input.NotRegistered {
		m.w.check.fail("S12", "allocate %d of %s, which runs, is refused: %v", a.Response, m.id, f)
	}
}

// succeed starts the AM of the next attempt of an unmanaged application, as its client does.
func (m *master) succeed() {
	if next := m.w.check.attemptOf(m.id.App); next > m.id.Attempt {
		m.w.begin(m.job, yarn.AttemptID{App: m.id.App, Attempt: next}, nil, yarn.ContainerID{})
	}
}

// registered asks for all containers of the job, also after a repeated registration.
func (m *master) registered() {
	m.again = m.again || m.last != nil
	m.at, m.last = running, nil
	m.am.Registered()
}

// pulled handles an answer. The answer to an old call is old as well, with one exception: the
// leader writes no idle answer to the log, so a repetition of that call is new to it.
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

// granted starts a container. At random it releases the container at once, or never starts it.
func (m *master) granted(g input.Granted) {
	switch w := m.w; m.am.Granted(g) {
	case workload.Unasked:
		w.check.fail("S12", "%s is granted %s under the key %v, which it never asked for", m.id, g.Container, g.Key)
	case workload.Taken:
		switch n := w.rng.IntN(16); {
		case n == 0 && !w.recovering:
			m.am.Release(g.Container)
		case n == 1 && !w.recovering: // never started, so it expires
		default:
			most := int64(8000)
			if w.opt.has(LoadPreempt) { // long enough to occupy the share of another queue
				most = 30_000
			}
			w.agentOf(g.Node.Host).start(g.Container, 100+w.rng.Int64N(most))
		}
	}
}
