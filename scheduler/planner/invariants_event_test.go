package planner

import (
	"math/big"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/scheduler/capacity/limits"
	"rmd/yarn"
)

// walk applies the events of one input, one by one, to the state before the input, and checks each
// event against the state just before it.
type walk struct {
	m   *machine
	st  *state.State
	pre *state.State // the state before an exchange's cancellation, else st
	// gave is the reservation that the event before has given up; nil: none.
	gave *state.Reservation
}

func (w *walk) step(e event.Event) {
	m, st := w.m, w.st
	exchanged := false
	var cancelled *state.Reservation
	switch e := e.(type) {
	case *event.ContainerAllocated:
		w.allocated(e)
	case *event.ContainerLent:
		w.lent(e)
	case *event.ReservationMade:
		w.reserved(e)
	case *event.GangReserved:
		w.heard(e.Node, "a gang's reservation")
	case *event.PreemptionAsked:
		w.heard(st.Containers.Get(st.Container(e.Container)).Node, "a warning")
	case *event.ContainerIncreased:
		w.increased(e)
	case *event.ResizeReserved:
		w.reservedToGrow(e)
	case *event.ReservationFulfilled:
		w.fulfilled(e)
	case *event.ReservationCancelled:
		exchanged = e.Cause == yarn.CancelExchanged
		was := *st.Reservations.Get(st.Reservations.Find(e.Reservation))
		cancelled = &was
		delete(m.promised, e.Reservation)
	case *event.ApplicationSubmitted:
		w.submitted(e)
	case *event.AttemptStarted:
		w.started(e)
	case *event.ApplicationMoved:
		w.moved(e)
	case *event.AskMissesUpdated:
		w.labels().missed(st.Asks.Get(st.Asks.Find(st.Apps.Get(st.Apps.Find(e.App)), e.Key)), e.Missed)
	}
	w.gave = nil
	if exchanged {
		w.pre, w.gave = st.Fork(), cancelled
	}
	if err := st.Apply(e); err != nil {
		m.fail("an event does not follow: %v", err)
	}
	if !exchanged {
		w.pre = st
	}
	if cancelled != nil && cancelled.IncreaseOf == 0 {
		w.countsAgain(st.Apps.Get(cancelled.App).ID.Seq, cancelled.Key)
	}
	if made, ok := e.(*event.ReservationMade); ok {
		w.countsAgain(made.App, made.Key)
	}
	if e, ok := e.(*event.AttemptActivated); ok {
		w.labels().activated(st.Apps.Get(st.Apps.Find(e.App)))
	}
}

// heard is invariant 40: a silent node gets nothing, and nothing is preempted for it.
func (w *walk) heard(node state.NodeSlot, what string) {
	if n := w.st.Nodes.Get(node); n.Silent() {
		w.m.fail("40: %s on %s, which is silent", what, n.ID)
	}
}

// labels returns the checks of what may be granted in a partition.
func (w *walk) labels() *labelWalk {
	return &labelWalk{fail: w.m.fail, st: w.st, pre: w.pre, cfg: w.m.p.Config(), asked: w.asked}
}

// countsAgain is invariant 14: the re-reservation count of a key restarts at 0 when a reservation
// is made or cancelled.
func (w *walk) countsAgain(app uint32, key yarn.SchedulerKey) {
	a := w.st.Apps.Get(w.st.Apps.Find(app))
	if k := w.st.Asks.Find(a, key); k != 0 && w.st.Asks.Get(k).ReReservations != 0 {
		w.m.fail("14: key %v of %s goes on with %d re-reservations", key, a.ID, w.st.Asks.Get(k).ReReservations)
	}
}

// moved is invariant 29 for a runnable application that moves to another leaf.
func (w *walk) moved(e *event.ApplicationMoved) {
	a := w.st.Apps.Get(w.st.Apps.Find(e.App))
	for q := w.st.Queues.Find(e.Queue); q != 0 && a.Runnable(); q = w.st.Queues.Get(q).Parent {
		for up := a.Queue; up != 0; up = w.st.Queues.Get(up).Parent {
			if up == q {
				return // The application counts there already.
			}
		}
		if most := w.m.p.Config().Queues[must(w.m.p.Config().Lookup(w.st.Queues.Get(q).Path))].MaxParallelApps; most >= 0 &&
			int64(w.st.Queues.Get(q).Runnable) >= most {
			w.m.fail("29: %s runs %d applications and gets one more", w.st.Queues.Get(q).Path, w.st.Queues.Get(q).Runnable)
		}
	}
}

// placed checks what allocations and reservations have in common: invariants 5, 7, 17, 24 and 25.
func (w *walk) placed(app uint32, key yarn.SchedulerKey, node state.NodeSlot, what string) (*state.App, *state.Ask,
	*state.Node) {
	st := w.st
	a := st.Apps.Get(st.Apps.Find(app))
	return w.placedFor(a, st.Asks.Get(st.Asks.Find(a, key)), node, what)
}

func (w *walk) placedFor(a *state.App, k *state.Ask, node state.NodeSlot, what string) (*state.App, *state.Ask,
	*state.Node) {
	m, n := w.m, w.st.Nodes.Get(node)
	switch {
	case n.Reservation != 0:
		m.fail("5: %s for %s on %s, which is reserved", what, a.ID, n.ID)
	case n.Silent():
		m.fail("40: %s on %s, which is silent", what, n.ID)
	case n.State != yarn.NodeRunning:
		m.fail("7: %s on %s, which is %s", what, n.ID, n.State)
	case a.Blacklisted(n):
		m.fail("17: %s on %s, which %s blacklists", what, n.ID, a.ID)
	}
	w.labels().granted(k, n)
	return a, k, n
}

func (w *walk) allocated(e *event.ContainerAllocated) {
	m, calc := w.m, w.m.p.Config().Calculator
	a, k, n := w.placed(e.App, e.Key, e.Node, "an allocation")
	if !calc.FitsIn(n.Allocated.Add(k.Size), n.Total) {
		m.fail("3: %v on %s, which has %v of %v allocated", k.Size, n.ID, n.Allocated, n.Total)
	}
	w.number(event.ContainerRef{App: e.App, Attempt: a.Attempt, Number: e.Number})
	w.locality(k, n, e.Locality)
}

// locality checks relaxLocality: a strict ask is served only at the places that it names.
func (w *walk) locality(k *state.Ask, n *state.Node, at yarn.Locality) {
	host, rack := w.st.Location(k, n.Host), w.st.Location(k, n.RackID)
	ok := k.Relax && (rack == 0 || w.st.Locations.Get(rack).Relax)
	switch at {
	case yarn.NodeLocal:
		ok = host != 0
	case yarn.RackLocal:
		ok = rack != 0 && w.st.Locations.Get(rack).Relax
	}
	if !ok {
		w.m.fail("11: granted %s on %s, which its ask does not allow", at, n.ID)
	}
}

// number is invariant 12: no container number is given twice.
func (w *walk) number(ref event.ContainerRef) {
	if w.m.seen[ref] {
		w.m.fail("12: container %+v is given out twice", ref)
	}
	w.m.seen[ref] = true
}

func (w *walk) reserved(e *event.ReservationMade) {
	m, calc := w.m, w.m.p.Config().Calculator
	a, k, n := w.placed(e.App, e.Key, e.Node, "a reservation")
	switch {
	case !calc.FitsIn(k.Size, n.Total):
		m.fail("6: r%d is larger than %s", e.Reservation, n.ID)
	case calc.FitsIn(k.Size, n.Unallocated()):
		m.fail("6: r%d would fit what is free on %s", e.Reservation, n.ID)
	case m.round: // A round may reserve a full node for victims, and may give up a reservation for a node where less work is lost.
	case calc.AvailableContainers(n.Unallocated(), m.p.Config().MinAlloc) < 1:
		m.fail("6: r%d is made on %s, which is full", e.Reservation, n.ID)
	case w.pre != w.st && !w.moves(e):
		m.fail("10.5 (d): a reservation was given up for r%d", e.Reservation)
	case int64(k.Reservations) >= k.Count+slowStarvation(m.p.Config(), a, k, w.st):
		m.fail("13: r%d is one too many: %d held, %d asked, %d re-reservations", e.Reservation, k.Reservations, k.Count,
			k.ReReservations)
	}
	ref := event.ContainerRef{App: e.App, Attempt: a.Attempt, Number: e.Number}
	w.number(ref)
	m.promised[e.Reservation] = ref
}

// moves reports whether a reservation replaces the one that its ask has just given up, on a node
// that is expected to have room sooner.
func (w *walk) moves(e *event.ReservationMade) bool {
	return w.gave != nil && w.m.p.sched.ReservesEarliest() && w.gave.Key == e.Key && w.gave.App == w.st.Apps.Find(e.App) &&
		w.gave.Node != e.Node
}

// fulfilled is invariants 12 and 16: the container keeps its number, and no usage changes.
func (w *walk) fulfilled(e *event.ReservationFulfilled) {
	m := w.m
	r := w.st.Reservations.Get(w.st.Reservations.Find(e.Reservation))
	a, n := w.st.Apps.Get(r.App), w.st.Nodes.Get(r.Node)
	w.heard(r.Node, "a fulfillment")
	if !m.p.Config().Calculator.FitsIn(n.Allocated.Add(r.Size), n.Total) {
		m.fail("3: r%d fulfilled on %s, which has %v of %v allocated", e.Reservation, n.ID, n.Allocated, n.Total)
	}
	w.labels().mayUse(w.st.Asks.Get(w.st.AskFor(a, r.Key, r.IncreaseOf)), n)
	if r.IncreaseOf == 0 {
		w.locality(w.st.Asks.Get(w.st.Asks.Find(a, r.Key)), n, e.Locality)
	}
	after := w.st.Fork()
	if err := after.Apply(e); err != nil {
		m.fail("an event does not follow: %v", err)
	}
	if after.Container(m.promised[e.Reservation]) == 0 {
		m.fail("12: r%d did not become container %+v", e.Reservation, m.promised[e.Reservation])
	}
	delete(m.promised, e.Reservation)
	for label := range partitionsOf(w.st) {
		w.st.Queues.Each(func(slot state.QueueSlot, q *state.Queue) bool {
			if after.QueueUse(slot, label).Used != w.st.QueueUse(slot, label).Used {
				m.fail("16: fulfilling r%d changed the use of %s", e.Reservation, q.Path)
			}
			return true
		})
		w.st.Users.Each(func(slot state.UserSlot, _ *state.User) bool {
			if after.UserUse(slot, label).Used != w.st.UserUse(slot, label).Used {
				m.fail("16: fulfilling r%d changed the use of a user", e.Reservation)
			}
			return true
		})
	}
}

// submitted is invariants 30 and 31.
func (w *walk) submitted(e *event.ApplicationSubmitted) {
	m, st := w.m, w.st
	i := must(m.p.Config().Lookup(e.Queue))
	treeOf := func(label string) *capacity.Tree {
		id := st.Labels.Find(label)
		switch {
		case label == "":
			return m.p.Config().Compute(st.PartitionTotal(0))
		case id == 0:
			return nil
		}
		return m.p.Config().Partition(label).Compute(st.PartitionTotal(id))
	}
	var all, leaf, user int64
	st.Apps.Each(func(_ state.AppSlot, a *state.App) bool {
		if a.State.Ended() {
			return true
		}
		all++
		if st.Queues.Get(a.Queue).Path == e.Queue {
			leaf++
			if st.Names.Text(a.User) == e.User {
				user++
			}
		}
		return true
	})
	if all >= m.p.Config().MaximumApplications || leaf >= m.p.Config().MaxApplications(i, treeOf) ||
		user >= m.p.Config().MaxApplicationsPerUser(i, treeOf) {
		m.fail("31: submitted to %s, which has %d, %d of the user, %d in all", e.Queue, leaf, user, all)
	}
	for q := st.Queues.Find(e.Queue); q != 0; q = st.Queues.Get(q).Parent {
		if st.Queues.Get(q).State != yarn.QueueRunning {
			m.fail("30: submitted under %s, which is %s", st.Queues.Get(q).Path, st.Queues.Get(q).State)
		}
	}
}

// started is invariant 29.
func (w *walk) started(e *event.AttemptStarted) {
	m, st := w.m, w.st
	if e.NonRunnable {
		return
	}
	a := st.Apps.Get(st.Apps.Find(e.App))
	for q := a.Queue; q != 0; q = st.Queues.Get(q).Parent {
		if most := m.p.Config().Queues[must(m.p.Config().Lookup(st.Queues.Get(q).Path))].MaxParallelApps; most >= 0 &&
			int64(st.Queues.Get(q).Runnable) >= most {
			m.fail("29: %s runs %d applications and starts one more", st.Queues.Get(q).Path, st.Queues.Get(q).Runnable)
		}
	}
	var mine int64
	st.Apps.Each(func(_ state.AppSlot, o *state.App) bool {
		if o.User == a.User && o.Runnable() {
			mine++
		}
		return true
	})
	if most := m.p.Config().MaxParallelAppsOf(st.Names.Text(a.User)); most >= 0 && mine >= most {
		m.fail("29: the user of %s runs %d applications and starts one more", a.ID, mine)
	}
}

// slowUserLimit computes the user limit of 8.3 from the records alone, for the partition of a
// label. lent: the partition's nodes are lent to asks without a label.
func slowUserLimit(st *state.State, cfg *capacity.Config, tree *capacity.Tree, a *state.App, label state.LabelSlot,
	lent bool) yarn.Resource {
	i := must(cfg.Lookup(st.Queues.Get(a.Queue).Path))
	q, e, calc := &cfg.Queues[i], &tree.Capacities[i], cfg.Calculator
	var dominant, activeUsed yarn.Resource
	weight := new(big.Rat)
	st.Users.Each(func(slot state.UserSlot, u *state.User) bool {
		if u.Queue != a.Queue {
			return true
		}
		dominant = dominant.Add(limits.DominantPart(calc, tree.Cluster, st.UserUse(slot, label).Used))
		var wants, activated bool
		st.Apps.Each(func(_ state.AppSlot, o *state.App) bool {
			if o.UserSlot == slot {
				wants, activated = wants || o.Outstanding > 0, activated || o.Activated() ||
					o.AttemptState == state.AttemptFinishing
			}
			return true
		})
		if wants && activated {
			activeUsed = activeUsed.Add(st.UserUse(slot, label).Used)
			weight.Add(weight, q.Weight(st.Names.Text(u.Name)).Rat())
		}
		return true
	})
	if weight.Sign() == 0 {
		weight.SetInt64(1)
	}
	limit := limits.UserLimit(limits.UserLimitInput{Calculator: calc, Label: tree.Cluster, MinAlloc: cfg.MinAlloc,
		EffMin: e.EffMin, EffMax: e.EffMax,
		DominantUsed: dominant, ActiveUsed: activeUsed,
		ActiveWeight: yarn.Fraction{Num: weight.Num().Int64(), Den: weight.Denom().Int64()},
		MinUserLimit: q.MinUserLimitPercent, UserLimitFactor: q.UserLimitFactor, UserLimitOff: q.UserLimitOff,
		IgnoreExclusive: lent})
	if w := q.Weight(st.Names.Text(a.User)); w != yarn.One {
		return limits.WeightedUserLimit(calc, limit, w, cfg.MinAlloc)
	}
	return limit
}

// slowStarvation computes S of 10.2 in rationals.
func slowStarvation(cfg *capacity.Config, a *state.App, k *state.Ask, st *state.State) int64 {
	if k.Reservations == 0 {
		return 0
	}
	most := cfg.Queues[must(cfg.Lookup(st.Queues.Get(a.Queue).Path))].MaxAlloc
	ratio := func(x yarn.Resource) *big.Rat {
		best := new(big.Rat)
		for i := 0; i < cfg.Calculator.Kinds && (cfg.Calculator.Dominant || i == 0); i++ {
			if most[i] > 0 {
				if r := big.NewRat(x[i], most[i]); r.Cmp(best) > 0 {
					best = r
				}
			}
		}
		return best
	}
	part := ratio(k.Size)
	if f := ratio(most.Sub(cfg.MinAlloc)); f.Cmp(part) < 0 {
		part = f
	}
	s := new(big.Rat).Sub(big.NewRat(1, 1), part)
	s.Mul(s, big.NewRat(int64(k.ReReservations), int64(k.Reservations)))
	return new(big.Int).Quo(s.Num(), s.Denom()).Int64()
}
