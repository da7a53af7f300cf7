package scheduler

import (
	"rmd/fsm/state"
	"rmd/scheduler/views"
	"rmd/yarn"
)

// A Trial says why passes do not serve one ask. It runs the functions of a pass and drops what they
// decide, so an explanation is the refusal that the pass itself gives. It changes nothing.
//
// A pass refuses an ask for reasons of its own (Refusal), or because it serves something else first
// (Before).
type Trial struct {
	s         *Scheduler
	app       state.AppSlot
	ask       state.AskSlot
	heartbeat bool
	limits    map[state.LabelSlot]trialLimits // by label of the node, without loans
}

// trialLimits are the limits that a pass gives to the leaf of the ask.
type trialLimits struct {
	Limits
	refusal Reason // of the limit that ends the pass before it looks at the ask
}

// NewTrial returns a Trial of an ask. With heartbeat, the passes are those for heartbeats of nodes,
// which count the offers that an ask has missed.
func (s *Scheduler) NewTrial(app state.AppSlot, ask state.AskSlot, heartbeat bool) *Trial {
	s.RefreshCapacities()
	return &Trial{s: s, app: app, ask: ask, heartbeat: heartbeat, limits: map[state.LabelSlot]trialLimits{}}
}

// with calls f with a pass on a node that emits nothing.
func (t *Trial) with(node state.NodeSlot, f func(p *pass) Reason) Reason {
	s := t.s
	return s.question(func() Reason {
		n := s.State.Nodes.Get(node)
		p := s.passOn(n)
		p.trial, p.counting, p.Lending, p.Loan = true, t.heartbeat, n.Label != s.State.Asks.Get(t.ask).Label, t.loanOf(n)
		return f(&p)
	})
}

// question calls f, which asks a pass, at the time of the state.
func (s *Scheduler) question(f func() Reason) Reason {
	now, compared := s.now, s.gangsCompared
	s.now, s.gangsCompared = max(s.now, s.State.Meta.NowMillis), 0
	why := f()
	s.now, s.gangsCompared = now, compared
	return why
}

// loanOf returns what a pass on a node lends. The pass cancels a reservation that its ask does not want
// any more, and lends nothing then.
func (t *Trial) loanOf(n *state.Node) views.Loan {
	s := t.s
	if n.Reservation == 0 {
		return views.Loan{}
	}
	r := s.State.Reservations.Get(n.Reservation)
	if !s.wanted(s.State.AskFor(s.State.Apps.Get(r.App), r.Key, r.IncreaseOf), r.Node) {
		return views.Loan{}
	}
	return s.loanOf(r.Node)
}

// Refusal returns why a pass on a node does not serve the ask, even if nothing else comes first, or
// NoReason if it does. The node must be one that the ask may use (MayUse).
func (t *Trial) Refusal(node state.NodeSlot) Reason {
	return t.with(node, func(p *pass) Reason { return t.refusal(p, node) })
}

func (t *Trial) refusal(p *pass, node state.NodeSlot) Reason {
	s := t.s
	a, k, n := s.State.Apps.Get(t.app), s.State.Asks.Get(t.ask), s.State.Nodes.Get(node)
	if n.Label != k.Label && !s.lendsTo(n, k) {
		return OtherLabel // a container is to grow on a node that has got another label
	}
	fulfills := false
	if n.Reservation != 0 {
		r := s.State.Reservations.Get(n.Reservation)
		fulfills = r.App == t.app && r.Key == k.Key && r.IncreaseOf == k.IncreaseOf
		switch {
		case fulfills || p.Loan.Lends() && p.mayLease(a, k, n):
		case r.App == t.app:
			return BehindOtherAsk
		default:
			return NodeReservedByOther
		}
	}
	switch {
	case a.Blacklisted(n):
		return Blacklisted
	case !s.Config.Calculator.FitsIn(k.Size, n.Total):
		return NodeTooSmall
	case !fulfills && !s.HasRoom(n): // passes skip it
		return NodeTooSmallFree
	case !s.Config.Calculator.FitsIn(k.Size, n.Unallocated()):
		return s.whyTooFull(a, k, n)
	case s.State.Gangs.HoldsBack(k):
		return NoReason // the gang decides; see WhyGangWaits
	case fulfills:
		return t.decided(p, p.place(t.app, t.ask, node, &Limits{}, true))
	}
	if why := t.decided(p, p.offerKey(t.app, t.ask, node, &Limits{headroom: p.At.Total.Times(2)})); why == LocalityDelay ||
		why == OwnPartitionFirst || why == HoldsReservations {
		return why // whatever the limits are
	}
	l := t.limitsIn(p)
	if l.refusal != NoReason {
		return l.refusal
	}
	d := p.offerKey(t.app, t.ask, node, &l.Limits)
	if d.state == stateAllocated && !p.accept(&d) && !t.servedFirst(p, node) {
		return t.limit(&p.View, p.limitOn(&d, p.releasedBy(&d)))
	}
	return t.decided(p, d)
}

// whyTooFull returns what keeps an ask from a node that is too full for it: a limit on reservations, or
// nothing but the room.
func (s *rules) whyTooFull(a *state.App, k *state.Ask, n *state.Node) Reason {
	if n.Reservation == 0 && !s.State.Gangs.HoldsBack(k) && s.needsMore(a, k) {
		if why := s.WhyNotReserve(a, k, n); why != NoReason {
			return why
		}
	}
	return NodeTooSmallFree
}

// decided returns why a decision of a pass is no allocation, or NoReason if it is one.
func (t *Trial) decided(p *pass, d decision) Reason {
	switch d.state {
	case stateAllocated:
		return NoReason
	case stateReserved:
		return NodeTooSmallFree
	}
	return t.limit(&p.View, d.why)
}

// limit returns which queue's limit it is, if the reason is a limit of queues.
func (t *Trial) limit(v *views.View, why Reason) Reason {
	if why != QueueMaxCapacity {
		return why
	}
	_, why = ReachedMaximum(v, v.LeafOf(v.State.Apps.Get(t.app)), v.State.Asks.Get(t.ask).Size)
	if why == NoReason {
		return ParentMaxCapacity // by the rounding to minimum allocations, or by the order of resources by share
	}
	return why
}

// Limit returns the limit of a queue or user that refuses the ask on the nodes of its own label
// whatever room they have, or NoReason.
func (t *Trial) Limit() (why Reason) {
	a, k := t.s.State.Apps.Get(t.app), t.s.State.Asks.Get(t.ask)
	v := pass{View: t.s.In(k.Label, false), s: t.s}
	l := t.limitsIn(&v)
	if why = l.refusal; why == NoReason && !v.withinHeadroom(a, k, &l.Limits) {
		why = t.limit(&v.View, QueueMaxCapacity)
	}
	if why == NoReason && v.ReservedIn(a).IsZero() { // else it may give up a reservation
		why = t.limit(&v.View, v.limitOn(&decision{state: stateAllocated, app: t.app, size: k.Size}, nil))
	}
	return why
}

// limitsIn returns the limits of the ask on the nodes of a pass.
func (t *Trial) limitsIn(v *pass) *trialLimits {
	l, known := t.limits[v.At.Label]
	if known && !v.Loan.Lends() {
		return &l
	}
	a := v.State.Apps.Get(t.app)
	leaf := v.LeafOf(a)
	within, stopped := v.handDown(leaf, a)
	l = trialLimits{Limits: within}
	var ok bool
	if ok, l.needUnreserve = v.UserCheck(leaf, a); stopped {
		l.refusal = t.limit(&v.View, QueueMaxCapacity)
	} else if !ok {
		l.refusal = UserLimit
	}
	if !v.Loan.Lends() {
		t.limits[v.At.Label] = l
	}
	return &l
}

// MayReturn reports whether a node does not serve, but may do so again: it drains, or is lost or
// unhealthy. How large it will be then is not known: a drain has lowered its total.
func MayReturn(n *state.Node) bool {
	return !n.Serving() && n.State != yarn.NodeDecommissioned && n.State != yarn.NodeShutdown
}

// NeverWithin reports whether a size exceeds the maximum of a leaf or of an ancestor on the nodes of a
// label even when the queues are empty. It returns false if nodes may return, because the maximum may
// be larger then.
func (s *rules) NeverWithin(leaf int32, label state.LabelSlot, size yarn.Resource) bool {
	returns := false
	s.State.Nodes.Each(func(_ state.NodeSlot, n *state.Node) bool {
		returns = n.Label == label && MayReturn(n)
		return !returns
	})
	v := s.In(label, false)
	return !returns && v.FullQueue(leaf, size, views.Nothing) >= 0
}

// Before returns what a pass serves before the ask on a node on which Refusal is NoReason: another
// ask of the application, another application of the queue, or another queue. It returns NextPass if
// the pass serves the ask, and NoReason if the pass on this node cannot say.
func (t *Trial) Before(node state.NodeSlot) Reason {
	return t.with(node, func(p *pass) Reason { return t.before(p, node) })
}

func (t *Trial) before(p *pass, node state.NodeSlot) Reason {
	s := t.s
	n := s.State.Nodes.Get(node)
	if n.Reservation != 0 && !p.Loan.Lends() { // it is its own
		if r := s.State.Reservations.Get(n.Reservation); r.Members != 0 && !p.heldSuffice(r) {
			return NoReason
		}
		return NextPass
	}
	if !s.HasRoom(n) {
		return NoReason
	}
	leaf, l := s.LeafOf(s.State.Apps.Get(t.app)), t.limitsIn(p)
	own := l.Limits
	if d := p.offer(t.app, node, &own); !t.isMine(&d) {
		return BehindOtherAsk
	}
	own = Limits{limit: l.limit}
	if d := p.assignLeaf(leaf, node, &own).decided; !t.isMine(d) && !t.servedFirst(p, node) {
		return BehindFIFO
	}
	if p.Lending {
		labelled := *p
		labelled.Lending = false
		if first := labelled.decide(node); first != nil {
			return t.behind(first)
		}
	}
	if d := p.decide(node); !t.isMine(d) {
		return t.behind(d)
	}
	return NextPass
}

// isMine reports whether a decision serves the ask.
func (t *Trial) isMine(d *decision) bool {
	return d != nil && d.app == t.app && d.ask == t.ask && d.state == stateAllocated
}

// servedFirst reports whether a pass on a node serves the ask before anything else. Sometimes it does
// so only because a blocked sibling keeps room: the limit that the pass hands down is then so low that
// the application gives up a reservation, and without this the maximum of a queue would be exceeded.
func (t *Trial) servedFirst(p *pass, node state.NodeSlot) bool { return t.isMine(p.decide(node)) }

// behind says what comes before the ask if a pass serves something else first, or nothing, because a
// queue keeps the room.
func (t *Trial) behind(first *decision) Reason {
	s := t.s
	switch {
	case first == nil || s.LeafOf(s.State.Apps.Get(first.app)) != s.LeafOf(s.State.Apps.Get(t.app)):
		return BehindQueue
	case first.app != t.app:
		return BehindFIFO
	}
	return BehindOtherAsk
}
