package load

import (
	"context"
	"strings"
	"time"

	"rmd/internal/sleep"
	"rmd/scheduler/input"
	workload "rmd/workload/agent"
	"rmd/yarn"
)

// master is a simulated AM. It asks for its groups, runs the containers that it gets, and finishes
// when all have run.
type master struct {
	l      *Load
	c      *Caller
	id     yarn.AttemptID
	am     *workload.ApplicationMaster
	node   *Node // nil if unmanaged
	ctx    context.Context
	cancel context.CancelFunc

	since int  // number of leaderships at the start of the call that was answered last
	again bool // it had to register again

	unlabelled bool // it asks for nodes without a label
}

func (m *master) run() {
	defer m.cancel()
	defer m.succeed()
	if !m.register() {
		return
	}
	for !m.am.Done() {
		if !m.allocate() || !sleep.For(m.ctx, time.Duration(200+m.c.Rng.Intn(600))*time.Millisecond) {
			return
		}
	}
	reply, ok := m.c.Call(m.ctx, input.Request{Input: &input.FinishAttempt{Attempt: m.id, Final: yarn.FinalSucceeded}})
	if ok && reply.Refused() != nil && !m.attemptEnded() {
		m.l.check.Fail("the end of %s is refused: %v", m.id, reply.Refused())
	}
	if ok && reply.Refused() == nil && m.node != nil {
		m.node.finished(m)
	}
}

// succeed starts the next attempt of an unmanaged application, as its client does.
func (m *master) succeed() {
	var name string
	next := yarn.AttemptID{App: m.id.App}
	if a, ok := m.l.check.App(m.id.App.Seq); ok && !a.State.Ended() {
		name, next.Attempt = a.Name, a.Attempt
	}
	if m.node == nil && m.ctx.Err() == nil && next.Attempt > m.id.Attempt {
		m.l.StartMaster(name, next, nil)
	}
}

// register repeats the call until the AM is registered. It returns false if the attempt is over.
func (m *master) register() bool {
	for {
		reply,
			ok := m.c.Call(m.ctx, input.Request{Input: &input.RegisterAttempt{Attempt: m.id, Host: "am",
			Entropy: m.l.check.Entropy(m.id)}})
		switch {
		case !ok:
			return false
		case reply.Refused() == nil:
			m.am.Registered()
			return true
		case m.attemptEnded():
			return false
		case !sleep.For(m.ctx, 500*time.Millisecond):
			return false
		}
	}
}

// attemptEnded reports whether the attempt has ended, according to the ledger. A real AM learns
// this from its client or node.
func (m *master) attemptEnded() bool {
	a, ok := m.l.check.App(m.id.App.Seq)
	return ok && (a.State.Ended() || a.Attempt != m.id.Attempt)
}

// allocate sends the AM's heartbeat. It returns false if the attempt is over.
func (m *master) allocate() bool {
	if m.l.DemandStopped() && !m.unlabelled { // no node has a label any more
		m.unlabel()
	}
	in := m.am.Allocate()
	in.FromAM = true
	since := m.l.check.Terms()
	reply, ok := m.c.Call(m.ctx, input.Request{Input: in})
	if !ok {
		return false
	}
	if f := reply.Refused(); f != nil {
		if f.Reason == input.NoSuchLabel { // not yet
			m.unlabel()
			return true
		}
		// no node is large enough at the moment
		if f.Reason == input.InvalidAsk && strings.Contains(f.What, "no running node has more") {
			return true
		}
		if m.l.check.RegistersAgain(in, f, m.since) {
			m.again = true
			return m.register()
		}
		if !m.attemptEnded() {
			m.l.check.Fail("allocate %d of %s is refused: %v", in.Response, m.id, f)
		}
		return false
	}
	m.since = since
	r := reply.(*input.AllocateReply)
	m.am.Answered(in, r)
	for _, g := range r.Granted {
		m.granted(g)
	}
	for _, s := range r.Completed {
		m.completed(s)
	}
	return true
}

func (m *master) unlabel() {
	m.unlabelled = true
	m.am.Relabel(yarn.NoLabel)
}

// endless is how long containers run that only the end of their application or preemption ends.
const endless = time.Hour

// granted runs a container. Some containers are released at once and asked for again.
func (m *master) granted(g input.Granted) {
	if m.am.Granted(g) != workload.Taken {
		return // the checker checks repeated answers
	}
	if m.c.Rng.Intn(8) == 0 && !m.l.DemandStopped() {
		m.am.Release(g.Container)
		return
	}
	if n := m.l.node(g.Node); n != nil {
		most := 6000
		if m.l.opt.Preempt { // long enough to block others
			most = 40_000
		}
		runs := time.Duration(500+m.c.Rng.Intn(most)) * time.Millisecond
		if m.l.opt.Endless && g.Container.Number%3 != 0 {
			runs = endless
		}
		n.start(g.Container, runs)
	}
}

func (m *master) completed(s input.ContainerStatus) {
	if !m.am.Completed(s) && s.ExitStatus != yarn.ExitSuccess && !m.again {
		m.l.check.Fail("S12: %s is told of the end of %s, whose grant it never heard of: %+v", m.id, s.Container, s)
	}
}
