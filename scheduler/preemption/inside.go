package preemption

import (
	"slices"

	"rmd/fsm/state"
	"rmd/scheduler/entitlement"
	"rmd/scheduler/views"
	"rmd/yarn"
)

// insideLeaf is a leaf whose applications take from each other. Package preempt computes how much
// each must give, as YARN does. Containers are chosen in the same way as between queues. While a
// round has an insideLeaf, its nodes and offers contain only containers of applications that must
// give.
type insideLeaf struct {
	*leafApps
	leaf   int32
	index  map[state.AppSlot]int // index in apps, by application
	shares []entitlement.AppShare
	uses   []yarn.Resource // by user: usage after all chosen containers have ended and all reservations are fulfilled
	gains  int             // index of the application that takes; −1: none
}

// askAll counts a standing set as ended until it is judged; with sign −1 it undoes this.
func (r *round) askAll(set *standingSet, sign int64) {
	for _, v := range r.victimsOf(set.victims) {
		r.ask(v.leaf, v.size, sign)
	}
}

// chooseInsideLeaves judges the standing sets inside leaves, and chooses further ones. Each round
// begins at another leaf, because the work of a round is bounded.
func (r *round) chooseInsideLeaves() {
	if !r.set.Intra.Enabled && len(r.standsInside) == 0 {
		return
	}
	sets := make([][]standingSet, len(r.leaves)) // by leaf
	for _, set := range r.standsInside {
		leaf := r.s.LeafOf(r.s.State.Apps.Get(r.reservationOf(&set).App))
		sets[leaf] = append(sets[leaf], set)
	}
	apps := appsOfLeaves(r.s.Views)
	first := r.beginAt(len(r.leaves))
	for i := range r.leaves {
		leaf := int32((first + i) % len(r.leaves))
		if !r.set.Intra.Enabled || !r.leaves[leaf].inside || !usesEnough(&r.s, leaf, r.set) {
			for k := range sets[leaf] {
				r.askAll(&sets[leaf][k], -1)
				r.withdraw(sets[leaf][k], yarn.WithdrawNotEntitled)
			}
			continue
		}
		if len(sets[leaf]) > 0 || !r.spent() {
			r.chooseInside(leaf, apps[leaf], sets[leaf])
		}
	}
}

func (r *round) reservationOf(set *standingSet) *state.Reservation {
	return r.s.State.Reservations.Get(r.s.State.Reservations.Find(set.number))
}

func (r *round) chooseInside(leaf int32, apps []state.AppSlot, sets []standingSet) {
	in := r.insideOf(leaf, apps, sets)
	here := *r
	here.inside, here.kill = in, nil
	for i := range sets {
		here.askAll(&sets[i], -1)
		in.aim(here.reservationOf(&sets[i]).App)
		here.judgeOne(sets[i])
	}
	here.offerInside()
	for _, app := range in.apps {
		if here.spent() {
			break
		}
		if in.aim(app); r.s.Apps[app].Activated && r.s.Config.Calculator.AnyAboveZero(in.shares[in.gains].Lacks) {
			here.chooseForAppInside(r, app)
		}
	}
	r.kill = append(r.kill, here.kill...)
	r.scans, r.sets, r.guesses = here.scans, here.sets, here.guesses
}

// insideOf computes what the applications of a leaf owe each other. It leaves out the reservations
// for which warned containers make room, because those containers have not ended yet.
func (r *round) insideOf(leaf int32, apps []state.AppSlot, sets []standingSet) *insideLeaf {
	awaited := func(app state.AppSlot) (sum yarn.Resource) {
		for i := range sets {
			if res := r.reservationOf(&sets[i]); res.App == app {
				sum = sum.Add(res.Size)
			}
		}
		return sum
	}
	in := &insideLeaf{leaf: leaf, index: map[state.AppSlot]int{}, gains: -1}
	in.leafApps = leafOf(&r.s, leaf, apps, yarn.ComponentMax(r.leaves[leaf].take, yarn.Resource{}), r.endsOf, awaited)
	in.shares = in.AppShares(r.set, *r.budget)
	for i, app := range in.apps {
		in.index[app] = i
	}
	for i := range in.Users {
		in.uses = append(in.uses, in.Users[i].Used)
	}
	return in
}

// withoutReserved subtracts from the queues the reservations whose warned containers were chosen
// for certain causes. Inside a leaf, the result is the usage after those containers have ended.
func withoutReserved(v *views.View, queues []entitlement.Queue, of func(yarn.PreemptionCause) bool) {
	var seen []uint64
	v.State.Preemptions.Each(func(slot state.ContainerSlot, w *state.Preemption) bool {
		if w.Reservation == 0 || !of(w.Cause) || v.State.Nodes.Get(v.State.Containers.Get(slot).Node).Label != v.At.Label ||
			slices.Contains(seen, w.Reservation) {
			return true
		}
		seen = append(seen, w.Reservation)
		res := v.State.Reservations.Get(v.State.Reservations.Find(w.Reservation))
		for i := v.LeafOf(v.State.Apps.Get(res.App)); i >= 0; i = queues[i].Parent {
			q := &queues[i]
			q.Used, q.Reserved = q.Used.Sub(res.Size), q.Reserved.Sub(res.Size)
		}
		return true
	})
}

// endsOf returns the size of an application's containers on nodes of the partition that were warned
// for other queues.
func (r *round) endsOf(app state.AppSlot) (sum yarn.Resource) {
	st := r.s.State
	if st.Preemptions.Len() == 0 {
		return sum
	}
	for slot, c := range st.Containers.Of(st.Apps.Get(app)) {
		if st.Preemptions.Has(slot) && !st.Preemptions.Get(slot).Cause.InsideQueue() &&
			st.Nodes.Get(c.Node).Label == r.s.At.Label {
			sum = sum.Add(c.Size)
		}
	}
	return sum
}

// aim selects the application that takes.
func (in *insideLeaf) aim(app state.AppSlot) {
	in.gains = -1
	if i, ok := in.index[app]; ok {
		in.gains = i
	}
}

// offerInside collects the containers of the applications that must give, by node. It leaves out
// AMs.
func (r *round) offerInside() {
	st := r.s.State
	r.nodes, r.offers = []offeringNode{}, nil
	for i, app := range r.inside.apps {
		if !r.s.Config.Calculator.AnyAboveZero(r.inside.shares[i].ToTake) {
			continue
		}
		for slot, c := range st.Containers.Of(st.Apps.Get(app)) {
			n := st.Nodes.Get(c.Node)
			if r.mayChoose(slot, c) && !c.AM && n.Label == r.s.At.Label && n.TakesContainers() && len(r.offers) < offersOfAll {
				r.offers = append(r.offers, r.victimOf(slot))
			}
		}
	}
	nodeOf := func(v victim) state.NodeSlot { return st.Containers.Get(v.container).Node }
	slices.SortStableFunc(r.offers, func(a, b victim) int { return int(nodeOf(a)) - int(nodeOf(b)) })
	for i := range r.offers {
		if n := len(r.nodes); n == 0 || r.nodes[n-1].node != nodeOf(r.offers[i]) {
			r.addNode(nodeOf(r.offers[i]), i)
		}
		o := &r.nodes[len(r.nodes)-1]
		o.end = i + 1
		o.potential, o.cheapest = o.potential.Add(r.offers[i].size), min(o.cheapest, r.offers[i].work)
	}
}

// addNode adds a node whose offers begin at index first. A reserved node counts as taken, because
// no reservation is cancelled for an application of the same leaf.
func (r *round) addNode(node state.NodeSlot, first int) {
	r.nodes = append(r.nodes, offeringNode{node: node, first: first, end: first, room: r.s.RoomOn(node),
		cheapest: 1<<64 - 1,
		taken:    r.s.State.Nodes.Get(node).Reservation != 0})
}

// chooseForAppInside finds sets for the asks of an application. It skips an ask for which a node
// has free room that the application may use, because the next passes allocate there. whole is the
// round with all nodes.
func (r *round) chooseForAppInside(whole *round, app state.AppSlot) {
	st := r.s.State
	a := st.Apps.Get(app)
	for slot, k := range st.Asks.Of(a) {
		if k.Count == 0 || k.Label != r.s.At.Label || st.Gangs.HoldsBack(k) || !r.mayGain(r.inside.leaf, k.Size) {
			continue
		}
		if r.spent() {
			return
		}
		w := beneficiary{leaf: r.inside.leaf, app: app, ask: slot}
		if ok, _ := r.s.UserCheck(w.leaf, a); ok && r.withinMaxima(w.leaf, k.Size) && whole.roomFor(w) {
			continue
		}
		r.chooseForReservations(w)
		r.chooseForAsk(w)
	}
}

// roomFor reports whether a node has room for an ask.
func (r *round) roomFor(w beneficiary) bool {
	r.lookAtNodes()
	size := r.s.State.Asks.Get(w.ask).Size
	return slices.ContainsFunc(r.nodes, func(o offeringNode) bool {
		return !o.taken && o.reservation == 0 && r.covers(o.room, size) && r.usable(&o, w)
	})
}

// mayGain reports whether the application that takes lacks at least this size.
func (in *insideLeaf) mayGain(calc yarn.Calculator, size yarn.Resource) bool {
	return in.gains >= 0 && calc.FitsIn(size, in.shares[in.gains].Lacks)
}

// mayLose reports whether the application that takes may take all these containers. The last
// container of an application may exceed what the application must give. With userlimit_first,
// every user stays above its limit.
func (in *insideLeaf) mayLose(s *views.Views, set []victim) bool {
	intra := &s.Config.Preemption.Intra
	calc := s.Config.Calculator
	for _, v := range set {
		i, known := in.index[s.State.Containers.Get(v.container).App]
		if !known || in.gains < 0 || !in.MayTake(in.gains, i, intra.Order) {
			return false
		}
		var app, user yarn.Resource // the other losses of the same application and user
		for _, w := range set {
			k := in.index[s.State.Containers.Get(w.container).App]
			if k == i && w.container != v.container {
				app = app.Add(w.size)
			}
			if in.Apps[k].User == in.Apps[i].User {
				user = user.Add(w.size)
			}
		}
		left, last := in.shares[i].ToTake.Sub(app), calc.AnyAboveZero
		if intra.ConservativeDRF {
			last = calc.AllAboveZero
		}
		if !last(left) {
			return false
		}
		u := in.Apps[i].User
		if intra.Order == entitlement.UserLimitFirst &&
			calc.Compare(in.Cluster, in.uses[u].Sub(user), in.Users[u].Limit) <= 0 {
			return false
		}
	}
	return true
}

// lose records that a container is to end.
func (in *insideLeaf) lose(s *views.Views, v victim) {
	i := in.index[s.State.Containers.Get(v.container).App]
	u := &in.uses[in.Apps[i].User]
	in.shares[i].ToTake, *u = in.shares[i].ToTake.Sub(v.size), u.Sub(v.size)
}

// gain records that the application that takes gets a size. reserved is the part of it that is not
// reserved yet.
func (in *insideLeaf) gain(size, reserved yarn.Resource) {
	u := &in.uses[in.Apps[in.gains].User]
	in.shares[in.gains].Lacks, *u = in.shares[in.gains].Lacks.Sub(size), u.Add(reserved)
}

// withinUserLimit reports whether the user of the application that takes is within its limit after
// the set has ended.
func (in *insideLeaf) withinUserLimit(v *views.View, set []victim) bool {
	u := in.Apps[in.gains].User
	used := in.uses[u]
	for _, o := range set {
		if in.Apps[in.index[v.State.Containers.Get(o.container).App]].User == u {
			used = used.Sub(o.size)
		}
	}
	return v.Config.Calculator.Compare(in.Cluster, used, v.UserLimit(in.leaf, in.users[u])) <= 0
}

// cause returns the cause for the warnings of a set.
func (in *insideLeaf) cause(s *views.Views, set []victim) yarn.PreemptionCause {
	for _, v := range set {
		if in.Apps[in.index[s.State.Containers.Get(v.container).App]].Priority >= in.Apps[in.gains].Priority {
			return yarn.PreemptUserLimit
		}
	}
	return yarn.PreemptPriority
}
