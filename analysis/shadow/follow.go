package shadow

import (
	"reflect"
	"slices"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler"
	"rmd/scheduler/input"
	"rmd/scheduler/planner"
	"rmd/yarn"
)

// candidate makes decisions in the shadow in one of the ways that may have led to the cluster's
// events.
type candidate func() []event.Event

// follow handles the next events of an entry while the shadow is in step, and returns how many it
// handled. The shadow makes the cluster's decisions itself, and applies all other events unchanged.
// If a decision differs, follow makes the shadow diverge and returns 0.
func (s *Shadow) follow(events []event.Event) (int, error) {
	rounds := false           // a round may have made the decision, too
	var otherwise []candidate // other candidates than a pass on the node
	switch e := events[0].(type) {
	case *event.QueuesConfigured:
		return 1, nil // the shadow keeps its own configuration
	case *event.AttemptActivated:
		slot := s.own.State().Apps.Find(e.App)
		if slot == 0 || s.own.State().Apps.Get(slot).Unmanaged { // no limit applies to an unmanaged AM
			return s.take(e)
		}
		leaf := s.own.Scheduler().LeafOf(s.own.State().Apps.Get(slot))
		return s.decide(events, s.pass(func(sched *scheduler.Scheduler) { sched.Activate(leaf) }))
	case *event.GuaranteeOwed, *event.GuaranteeKept:
		return s.decide(events, s.round)
	case *event.PreemptionAsked:
		if e.Cause != yarn.PreemptLease {
			return s.decide(events, s.round)
		}
		otherwise = []candidate{s.pass((*scheduler.Scheduler).EndLeases)}
	case *event.PreemptionWithdrawn:
		candidates := []candidate{s.round}
		if node, _ := s.nodeOf(events); node != 0 { // a pass there gives up the reservation for which they were warned
			candidates = append(candidates, s.passes(node)...)
		}
		return s.decide(events, candidates...)
	case *event.ContainerReleased, *event.ContainerCompleted:
		if s.preempts(e) {
			return s.decide(events, s.round)
		}
	case *event.ReservationCancelled:
		switch e.Cause {
		case yarn.CancelPreempted:
			return s.decide(events, s.round)
		case yarn.CancelResizeEnded:
			if len(events) > 1 && s.preempts(events[1]) { // the container that was to grow ends
				return s.decide(events, s.round)
			}
		case yarn.CancelGangStarted, yarn.CancelGangLate:
			return s.decide(events, s.gangs(s.holder(e.Reservation), true)...)
		}
		rounds = true
	case *event.ReservationMade, *event.ResizeReserved:
		rounds = true
	case *event.GangStarted:
		return s.decide(events, s.gangs(s.own.State().Apps.Find(e.App), true)...)
	case *event.GangReserved:
		return s.decide(events, s.gangs(s.own.State().Apps.Find(e.App), false)...)
	}
	node, gave := s.nodeOf(events)
	if node == 0 {
		return s.take(events[0])
	}
	candidates := s.passes(node)
	if gave != 0 {
		candidates = append(candidates, s.passes(gave)...) // the reservation has moved from there
	}
	if candidates = append(candidates, otherwise...); rounds && s.own.Config().Preemption.Enabled {
		candidates = slices.Insert(candidates, 0, s.round) // first, since rounds make more of these decisions
	}
	return s.decide(events, candidates...)
}

// passes returns the candidates of the passes on a node.
func (s *Shadow) passes(node state.NodeSlot) []candidate {
	return []candidate{s.pass(func(sched *scheduler.Scheduler) {
		sched.HeartbeatPass(node)
	}), s.pass(func(sched *scheduler.Scheduler) { sched.EagerPass(node) }),
		s.pass(func(sched *scheduler.Scheduler) { sched.PreferringPass(node) })}
}

// gangs returns how a gang may start, cancel its reservations or make new ones: by a pass on a node
// that the gang has reserved, or by a pass on any other node.
func (s *Shadow) gangs(app state.AppSlot, start bool) (candidates []candidate) {
	st := s.own.State()
	if app == 0 || !st.Gangs.Has(app) {
		return nil
	}
	for _, r := range st.GangReservations(app) {
		node := r.Node
		candidates = append(candidates, s.pass(func(sched *scheduler.Scheduler) { sched.HeartbeatPass(node) }))
		break // the other nodes would lead to the same decision
	}
	return append(candidates, s.pass(func(sched *scheduler.Scheduler) { sched.GangPass(app, start) }))
}

// holder returns the application of a reservation, or 0 if there is none.
func (s *Shadow) holder(reservation uint64) state.AppSlot {
	st := s.own.State()
	if slot := st.Reservations.Find(reservation); slot != 0 {
		return st.Reservations.Get(slot).App
	}
	return 0
}

// pass returns a candidate that uses only the scheduler.
func (s *Shadow) pass(f func(*scheduler.Scheduler)) candidate {
	return func() []event.Event {
		sched := s.own.Scheduler()
		sched.Begin(s.Now())
		f(sched)
		return sched.Events()
	}
}

// round is the candidate that runs a round of preemption.
func (s *Shadow) round() []event.Event {
	_, events := s.own.Plan(s.Now(), input.Request{Input: &input.PreemptionRound{}})
	return events
}

// preempts reports whether an event is the end of a container that a round of preemption has decided.
func (s *Shadow) preempts(e event.Event) bool {
	if released, ok := e.(*event.ContainerReleased); ok {
		return released.ExitStatus == yarn.ExitPreempted && !s.recalled(released.Container)
	}
	completed, ok := e.(*event.ContainerCompleted)
	return ok && completed.ExitStatus == yarn.ExitPreempted && s.isRunning(completed.Container) &&
		!s.recalled(completed.Container)
}

// isRunning reports whether a container still runs in the shadow.
func (s *Shadow) isRunning(ref event.ContainerRef) bool {
	slot := s.own.State().Container(ref)
	return slot != 0 && s.own.State().Containers.Get(slot).State.Live()
}

// recalled reports whether a container is being ended because its lease of a reserved node ends.
func (s *Shadow) recalled(ref event.ContainerRef) bool {
	st := s.own.State()
	slot := st.Container(ref)
	return slot != 0 && st.Preemptions.Has(slot) && st.Preemptions.Get(slot).Cause == yarn.PreemptLease
}

// take applies an event unchanged. If the shadow's state refuses it, the shadow diverges.
func (s *Shadow) take(e event.Event) (int, error) {
	if err := s.own.Scheduler().Apply(e); err != nil {
		return 0, s.diverge(s.own.State(), event.Describe(e), err.Error())
	}
	s.ownMeter.add(s.own.State(), s.own.State().Changes())
	return 1, nil
}

// decide tries the candidates until one makes the same decisions as the next events. If none does, the
// shadow diverges.
func (s *Shadow) decide(events []event.Event, candidates ...candidate) (int, error) {
	before := s.own.State().Fork()
	said := ""
	for _, decide := range candidates {
		decided := decide()
		if n := len(decided); n > 0 && n <= len(events) && equal(decided, events[:n]) {
			s.decided += uint64(n)
			s.ownMeter.add(s.own.State(), s.own.Changes())
			return n, nil
		}
		if said == "" {
			said = firstDifference(decided, events)
		}
		if err := s.restore(before); err != nil {
			return 0, err
		}
		before = before.Fork()
	}
	switch events[0].(type) {
	case *event.AskCountersUpdated, *event.AskMissesUpdated, // a pass on another node granted nothing
		*event.PreemptionWithdrawn: // the reservation has ended
		return s.take(events[0])
	case *event.ReservationMade:
		if s.own.Scheduler().ReservesEarliest() { // the pass may have been on another node
			return s.take(events[0])
		}
	}
	return 0, s.diverge(before, event.Describe(events[0]), said)
}

func equal(a, b []event.Event) bool {
	return slices.EqualFunc(a, b, func(x, y event.Event) bool { return reflect.DeepEqual(x, y) })
}

func firstDifference(decided, events []event.Event) string {
	for i, e := range decided {
		if i >= len(events) || !reflect.DeepEqual(e, events[i]) {
			return event.Describe(e)
		}
	}
	return "nothing"
}

// nodeOf returns the node of the pass that begins with the events, or 0 if they name none. gave is
// the node of a reservation that the pass has given up, or 0.
func (s *Shadow) nodeOf(events []event.Event) (node, gave state.NodeSlot) {
	st := s.own.State()
	container := func(ref event.ContainerRef) state.NodeSlot {
		if slot := st.Container(ref); slot != 0 {
			return st.Containers.Get(slot).Node
		}
		return 0
	}
	for _, e := range events {
		switch e := e.(type) {
		case *event.ContainerAllocated:
			return e.Node, gave
		case *event.ContainerLent:
			return e.Node, gave
		case *event.ReservationMade:
			return e.Node, gave
		case *event.ReservationFulfilled:
			if slot := st.Reservations.Find(e.Reservation); slot != 0 {
				node = st.Reservations.Get(slot).Node
			}
			return node, gave
		case *event.PreemptionWithdrawn, *event.AskCountersUpdated, *event.AskMissesUpdated:
		case *event.ReservationCancelled:
			if e.Cause != yarn.CancelExchanged {
				return 0, 0
			}
			if slot := st.Reservations.Find(e.Reservation); slot != 0 {
				gave = st.Reservations.Get(slot).Node
			}
		case *event.ContainerIncreased:
			return container(e.Container), gave
		case *event.PreemptionAsked: // the warning at the end of a lease
			return container(e.Container), gave
		case *event.ResizeReserved:
			return container(e.Container), gave
		default: // no decision of a pass
			return 0, 0
		}
	}
	return 0, 0
}

// probeMillis is how often, in milliseconds of the log's time, the shadow checks whether it would
// decide something while the cluster decides nothing.
const probeMillis = 1000

// probe compares all decisions that the shadow's configuration would make at a time with those that
// the cluster's would make. If they differ, the shadow diverges from the state after the last
// entry. now may be later than the last entry.
func (s *Shadow) probe(now int64) error {
	if len(s.changes) == 0 || now < s.probed+probeMillis {
		return nil
	}
	s.probed = now
	round := s.roundDue(now)
	before := s.own.State().Fork()
	decided := decideAll(s.own, now, round)
	if len(decided) == 0 {
		return nil
	}
	cluster, err := planner.New(s.real.State.Fork(), planner.Options{Eager: s.o.Eager})
	if err != nil {
		return err
	}
	inForce := decideAll(cluster, now, round)
	if equal(decided, inForce) {
		return s.restore(before)
	}
	return s.diverge(before, firstDifference(inForce, decided), firstDifference(decided, inForce))
}

// roundDue reports whether a round of preemption is due, and if so, records it.
func (s *Shadow) roundDue(now int64) bool {
	set := &s.own.Config().Preemption
	if !set.Enabled || now < s.rounded+set.IntervalMillis {
		return false
	}
	s.rounded = now
	return true
}

// decideAll makes a planner activate applications, serve all nodes and, with round, run a round of
// preemption. It returns the decisions. It decides nothing if no container waits.
func decideAll(p *planner.Planner, now int64, round bool) (decided []event.Event) {
	sched := p.Scheduler()
	if sched.State.Queues.Get(sched.State.Queues.Root()).Pending.IsZero() {
		return nil
	}
	sched.Begin(now)
	sched.ActivateAll()
	for _, n := range serving(sched) {
		sched.EagerPass(n)
	}
	decided = slices.Clone(sched.Events())
	if round {
		_, events := p.Plan(now, input.Request{Input: &input.PreemptionRound{}})
		decided = append(decided, events...)
	}
	return decided
}

// serving returns the nodes that accept containers.
func serving(sched *scheduler.Scheduler) (nodes []state.NodeSlot) {
	sched.State.Nodes.Each(func(slot state.NodeSlot, n *state.Node) bool {
		if n.TakesContainers() {
			nodes = append(nodes, slot)
		}
		return true
	})
	return nodes
}
