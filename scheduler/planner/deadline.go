package planner

import (
	"slices"

	"rmd/scheduler/input"
	"rmd/scheduler/planner/due"
)

// deadline is a kind of work that becomes due by time alone.
type deadline struct {
	kind string
	// at returns when the earliest deadline of this kind passes, in Unix milliseconds; 0 if the
	// work is due at once, never if there is none.
	at func(p *Planner) int64
	// meet does the work that is due now. It is nil if another input than input.Tick does it.
	meet func(p *Planner, in *input.Tick)
	// other returns that input.
	other func() input.Input
}

// deadlines lists every time in the state after which something must happen even if nothing else
// does, in the order in which a Tick does the work. The timers of a leader follow from this table.
// Times that only decide what a pass or a round of preemption chooses are not in it: heartbeats and
// rounds come anyway.
var deadlines = []deadline{
	{kind: "node above the largest size",
		at:   func(p *Planner) int64 { return p.nodes.HugeAt() },
		meet: func(p *Planner, _ *input.Tick) { p.nodes.ShrinkHuge() }},
	{kind: "drain of a node",
		at:   func(p *Planner) int64 { return p.nodes.DrainsAt() },
		meet: func(p *Planner, _ *input.Tick) { p.nodes.EndDrains() }},
	{kind: "replaced node",
		at:   func(p *Planner) int64 { return p.nodes.ReplacedAt() },
		meet: func(p *Planner, _ *input.Tick) { p.nodes.ForgetReplaced() }},
	{kind: "lifetime of an application",
		at:   func(p *Planner) int64 { return due.Earliest(&p.st.Apps, lifetimeEnd) },
		meet: func(p *Planner, _ *input.Tick) { p.apps.lifetimesDue() }},
	{kind: "timeout of a gang",
		at:   func(p *Planner) int64 { return due.Earliest(&p.st.Gangs, gangTimeout) },
		meet: func(p *Planner, _ *input.Tick) { p.gangs.due() }},
	// Before the keys: when a token ends, its key may be replaced.
	{kind: "delegation token",
		at:   func(p *Planner) int64 { return p.tokens().DelegationsAt() },
		meet: func(p *Planner, _ *input.Tick) { p.tokens().EndDelegations() }},
	{kind: "master key",
		at:   func(p *Planner) int64 { return p.tokens().KeysAt() },
		meet: func(p *Planner, in *input.Tick) { p.tokens().RollKeys(in.Entropy) }},
	{kind: "token of applications",
		at:   func(p *Planner) int64 { return p.st.AppTokens.FirstMillis() },
		meet: func(p *Planner, _ *input.Tick) { renewals(p.sched, p.ends).Due() }},
	{kind: "application that may start",
		at:   func(p *Planner) int64 { return p.apps.startsAt() },
		meet: func(p *Planner, _ *input.Tick) { p.apps.startWaiting() }},
	{kind: "join token",
		at:   func(p *Planner) int64 { return p.tokens().JoinsAt() },
		meet: func(p *Planner, _ *input.Tick) { p.tokens().EndJoins() }},
	{kind: "idempotency key",
		at:   func(p *Planner) int64 { return p.requests.at() },
		meet: func(p *Planner, _ *input.Tick) { p.requests.due() }},
	{kind: "warning of preemption",
		at:    func(p *Planner) int64 { return p.preemptions.warningsAt() },
		other: newRound},
	{kind: "guarantee of a queue",
		at:    func(p *Planner) int64 { return p.preemptions.guaranteesAt() },
		other: newRound},
	{kind: "lease of reserved room",
		at:    func(p *Planner) int64 { return p.sched.FirstLeaseEnd() },
		other: newRound},
	{kind: "idle dynamic queue",
		at:    func(p *Planner) int64 { return p.dynamic.idleAt() },
		other: func() input.Input { return new(input.RemoveIdleQueues) }},
}

func newRound() input.Input { return new(input.PreemptionRound) }

// Due returns the inputs that deadlines in the state have made due at a time, each kind once. It
// changes nothing. Once they are planned, Due returns nothing until the next deadline, except for a
// Tick that lacked the entropy for a new key.
func (p *Planner) Due(nowMillis int64) []input.Input {
	if p.Config() == nil {
		return nil
	}
	var tick, others []input.Input
	now := max(nowMillis, p.st.Meta.NowMillis)
	for i := range deadlines {
		d := &deadlines[i]
		switch due := d.at(p) <= now; {
		case !due:
		case d.meet != nil:
			tick = []input.Input{new(input.Tick)}
		default:
			others = appendKind(others, d.other())
		}
	}
	return append(tick, others...)
}

// appendKind appends an input to a list unless the list has one of its kind.
func appendKind(list []input.Input, in input.Input) []input.Input {
	if slices.ContainsFunc(list, func(have input.Input) bool { return have.Kind() == in.Kind() }) {
		return list
	}
	return append(list, in)
}

// tick does what is due because time has passed.
func (p *Planner) tick(in *input.Tick) input.Reply {
	for i := range deadlines {
		if d := &deadlines[i]; d.meet != nil && d.at(p) <= p.sched.Now() {
			d.meet(p, in)
		}
	}
	return in.NewReply()
}
