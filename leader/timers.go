package leader

import (
	"time"

	"rmd/fsm/state"
	"rmd/fsm/state/change"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// maxTicksAtOnce limits the time that a late tick counts, in tick intervals. If the process stood
// still, the senders of heartbeats in the queue must not have expired.
const maxTicksAtOnce = 2

// timers are the timers of a leadership: when each node and attempt was heard from last, and what
// is due. They run in the leadership's own time. Only tick advances it, so it stands still when the
// process does. Deadlines in the state are no timers: the planner says which have passed.
type timers struct {
	now       int64 // the leadership's own time, in milliseconds
	expiry    Expiry
	nodes     wheel
	attempts  wheel
	inactive  wheel // nodes that have left, since then
	due       []due
	silence   silence
	unstarted unstarted
	deadlines []input.Input // due by deadlines in the state, at the latest tick
	round     int64         // when the next round of preemption is due
	roundDue  bool          // an input.PreemptionRound is due
	manage    int64         // when the leaves of managed parents are checked next
	manageDue bool          // an input.ManageQueues is due
}

// due is a timer that has run out.
type due struct {
	of  timed
	key uint64
}

// timed is the kind of object that a timer is for.
type timed uint8

const (
	ofAttempt timed = iota
	ofNode
	ofInactiveNode
)

// arm gives every node a full interval. The next tick gives one to every attempt.
func (t *timers) arm(st *state.State, e Expiry) {
	*t = timers{now: t.now, expiry: e, nodes: newWheel(t.now), attempts: newWheel(t.now), inactive: newWheel(t.now),
		round: t.now + e.PreemptionMillis, manage: t.now + e.ManageMillis, silence: t.silence}
	st.Nodes.Each(func(slot state.NodeSlot, n *state.Node) bool {
		if n.Heard() {
			t.nodes.add(uint64(slot), t.now, e.NodeMillis)
		}
		t.followInactive(slot, n)
		return true
	})
	t.silence.limit = e.SilentMillis
}

// advance advances the time.
func (t *timers) advance(elapsed, interval time.Duration) {
	t.now += min(elapsed, maxTicksAtOnce*interval).Milliseconds()
}

// started reports whether an application's attempt has an AM that must send heartbeats. Its AM has
// registered (and may have finished since), or has a container, or is unmanaged and may register.
// An attempt that waits for room for its AM has not started, even if it keeps containers of the
// attempt before it.
func started(a *state.App) bool {
	switch a.AttemptState {
	case state.AttemptRegistered, state.AttemptFinishing:
		return true
	case state.AttemptActive:
		return a.MasterNumber != 0 || a.Unmanaged
	}
	return false
}

func attemptKey(a *state.App) uint64 { return uint64(a.ID.Seq)<<32 | uint64(a.Attempt) }

// follow starts the timers that a change requires. tick starts those of attempts that no change here
// has started: an AM gets its container by an allocation, a reservation or a takeover.
func (t *timers) follow(st *state.State, c *change.Change) {
	switch c.Kind {
	case change.NodeRegistered:
		t.nodes.add(uint64(c.Node), t.now, t.expiry.NodeMillis)
		t.silence.touch(st, c.Node)
	case change.NodePhase:
		t.silence.follow(c.Node, st.Nodes.Get(c.Node))
		t.followInactive(c.Node, st.Nodes.Get(c.Node))
	case change.MasterLaunched:
		t.startAttempt(st, c.Ref.App)
	case change.AttemptPhase:
		// then its container has one interval to end
		if c.Attempt == state.AttemptRegistered || c.Attempt == state.AttemptFinishing {
			t.startAttempt(st, c.Ref.App)
		}
	}
}

func (t *timers) startAttempt(st *state.State, seq uint32) {
	if slot := st.Apps.Find(seq); slot != 0 && started(st.Apps.Get(slot)) {
		t.attempts.add(attemptKey(st.Apps.Get(slot)), t.now, t.expiry.AttemptMillis)
	}
}

// followInactive starts the time after which an inactive node is forgotten.
func (t *timers) followInactive(node state.NodeSlot, n *state.Node) {
	if !n.Heard() && t.expiry.UntrackedMillis > 0 {
		t.inactive.add(uint64(node), t.now, t.expiry.UntrackedMillis)
	}
}

// touch records that a node or an attempt is alive.
func (t *timers) touch(st *state.State, in input.Input) {
	sign := input.SignOf(in)
	if sign.Node != (yarn.NodeID{}) {
		t.touchNode(st, st.Nodes.Find(sign.Node))
	}
	for _, n := range sign.Slots {
		t.touchNode(st, n)
	}
	if sign.Attempt != (yarn.AttemptID{}) {
		t.touchAttempt(st, sign.Attempt)
	}
}

func (t *timers) touchNode(st *state.State, node state.NodeSlot) {
	t.nodes.touch(uint64(node), t.now)
	t.silence.touch(st, node)
}

// touchAttempt records that an AM is alive. An AM that has unregistered has one interval to end,
// whatever it still sends.
func (t *timers) touchAttempt(st *state.State, id yarn.AttemptID) {
	if slot := st.Apps.Find(id.App.Seq); slot != 0 && st.Apps.Get(slot).AttemptState == state.AttemptFinishing {
		return
	}
	t.attempts.touch(uint64(id.App.Seq)<<32|uint64(id.Attempt), t.now)
}

// next returns the next input that is due, or nil. It skips timers whose object no longer expires.
// An expired object gets another interval, because its expiry may be refused for now.
func (t *timers) next(st *state.State) input.Input {
	if len(t.deadlines) > 0 {
		return t.takeDeadline()
	}
	for len(t.due) > 0 {
		d := t.due[0]
		t.due = t.due[1:]
		if in := t.expire(st, d); in != nil {
			return in
		}
	}
	t.due = nil
	if in := t.silence.take(st); in != nil {
		return in
	}
	if t.roundDue {
		t.roundDue = false
		return &input.PreemptionRound{}
	}
	if t.manageDue {
		t.manageDue = false
		return &input.ManageQueues{}
	}
	return t.unstarted.take()
}

// takeDeadline returns the first input that a deadline has made due. A round of preemption begins a
// new interval until the next one.
func (t *timers) takeDeadline() input.Input {
	in := t.deadlines[0]
	t.deadlines = t.deadlines[1:]
	if _, ok := in.(*input.PreemptionRound); ok {
		t.roundDue, t.round = false, t.now+t.expiry.PreemptionMillis
	}
	return in
}

func inactive(st *state.State, node state.NodeSlot) bool {
	return st.Nodes.Has(node) && !st.Nodes.Get(node).Heard()
}

func (t *timers) expire(st *state.State, d due) input.Input {
	switch d.of {
	case ofNode:
		if slot := state.NodeSlot(d.key); st.Nodes.Has(slot) && st.Nodes.Get(slot).Heard() &&
			t.nodes.silent(d.key, t.now, t.expiry.NodeMillis) {
			t.nodes.touch(d.key, t.now)
			return &input.ExpireNode{ID: st.Nodes.Get(slot).ID}
		}
		return nil
	case ofInactiveNode:
		if slot := state.NodeSlot(d.key); inactive(st, slot) && t.inactive.silent(d.key, t.now, t.expiry.UntrackedMillis) {
			t.inactive.touch(d.key, t.now)
			return &input.ForgetNode{ID: st.Nodes.Get(slot).ID, Untracked: true}
		}
		return nil
	}
	slot := st.Apps.Find(uint32(d.key >> 32))
	if slot == 0 {
		return nil
	}
	a := st.Apps.Get(slot)
	if attemptKey(a) == d.key && started(a) && t.attempts.silent(d.key, t.now, t.expiry.AttemptMillis) {
		t.attempts.touch(d.key, t.now)
		return &input.ExpireAttempt{Attempt: a.AttemptID()}
	}
	return nil
}

// tick advances the time and collects what is due. listens says that the leadership takes inputs.
func (t *timers) tick(st *state.State, cfg CoreConfig, nowMillis int64, elapsed time.Duration, listens bool) {
	t.advance(elapsed, cfg.TickInterval)
	if e := cfg.Expiry(st); e != t.expiry {
		t.arm(st, e) // deadlines under the old intervals are useless
	}
	t.silence.look(st, nowMillis, elapsed, cfg.TickInterval, listens)
	t.nodes.collect(t.now, t.expiry.NodeMillis, func(key uint64) bool {
		return st.Nodes.Has(state.NodeSlot(key)) && st.Nodes.Get(state.NodeSlot(key)).Heard()
	}, func(key uint64) { t.due = append(t.due, due{ofNode, key}) })
	st.Apps.Each(func(_ state.AppSlot, a *state.App) bool {
		if started(a) {
			t.attempts.ensure(attemptKey(a), t.now, t.expiry.AttemptMillis)
		}
		return true
	})
	t.attempts.collect(t.now, t.expiry.AttemptMillis, func(key uint64) bool {
		slot := st.Apps.Find(uint32(key >> 32))
		return slot != 0 && attemptKey(st.Apps.Get(slot)) == key && started(st.Apps.Get(slot))
	}, func(key uint64) { t.due = append(t.due, due{ofAttempt, key}) })
	if t.expiry.UntrackedMillis > 0 {
		t.inactive.collect(t.now, t.expiry.UntrackedMillis,
			func(key uint64) bool { return inactive(st, state.NodeSlot(key)) },
			func(key uint64) { t.due = append(t.due, due{ofInactiveNode, key}) })
	}
	t.unstarted.look(st, t.now, t.expiry.ContainerMillis, cfg.TickInterval.Milliseconds())
	if t.expiry.PreemptionMillis != 0 && t.now >= t.round {
		t.roundDue, t.round = true, t.now+t.expiry.PreemptionMillis
	}
	if t.expiry.ManageMillis != 0 && t.now >= t.manage && st.DynamicQueues.Len() > 0 {
		t.manageDue, t.manage = true, t.now+t.expiry.ManageMillis
	}
}
