package preemption

import (
	"math"

	"rmd/fsm/state"
	"rmd/scheduler"
)

// waitWorth is how many times the cost of the wait a set may lose. It is above 1 because running
// containers grow older while an ask waits.
const waitWorth = 4

// Bounds on the nodes for which a round estimates when they have room: for one ask, and in all.
const (
	nodesGuessed = 64
	guessesOfAll = 4096
)

// waitLeft caches the last result of round.left.
type waitLeft struct {
	ask   state.AskSlot
	now   int64
	left  int64
	known bool
}

// worth reports whether a set that loses this much work may end for one container of an ask. The
// set may lose the work that the container does in the configured time. It may lose more if the leaf
// has waited for its guarantee, and if the application has waited long: waitWorth times the cost of
// the wait so far, but no more than the expected rest of the wait, because that is all that the set
// saves.
func (r *round) worth(w beneficiary, cost uint64) bool {
	if r.set.MaxLostMillis < 0 {
		return true
	}
	size := r.s.State.Asks.Get(w.ask).Size
	given, waited := uint64(r.set.MaxLostMillis), waitWorth*uint64(max(r.waited(w), 0))
	switch {
	case cost <= r.cost(max(given, r.debtWorth(w)), size):
		return true
	case cost > r.cost(satAdd(given, waited), size):
		return false
	}
	return cost <= r.cost(satAdd(given, uint64(r.left(w))), size)
}

// mostMillis returns the largest loss that worth allows, as the time in which a container of the
// ask does as much work.
func (r *round) mostMillis(w beneficiary) int64 {
	return int64(min(max(r.debtWorth(w), satAdd(uint64(r.set.MaxLostMillis),
		min(waitWorth*uint64(max(r.waited(w), 0)), uint64(r.left(w))))), math.MaxInt64))
}

// waited returns the time since an application got its newest container or, without containers,
// since its submission.
func (r *round) waited(w beneficiary) int64 {
	a := r.s.State.Apps.Get(w.app)
	for _, newest := range r.s.State.Containers.Of(a) {
		return r.now - newest.AllocatedMillis
	}
	return r.now - a.SubmittedMillis
}

// left returns how long an ask is expected to wait without preemption, until a node that it has
// reserved or may use has room. The result is very large if no expected end makes room, and 0 if
// the round has used up its estimates.
func (r *round) left(w beneficiary) int64 {
	if g := &r.guess; g.known && g.ask == w.ask && g.now == r.now {
		return g.left
	}
	st, first := r.s.State, int64(scheduler.Never)
	k, a := st.Asks.Get(w.ask), st.Apps.Get(w.app)
	for _, res := range st.Reservations.Of(a) {
		if res.Key == k.Key && res.IncreaseOf == k.IncreaseOf {
			first = min(first, r.roomAt(k, res.Node))
		}
	}
	if len(r.nodes) > 0 {
		begin := r.beginAt(len(r.nodes))
		for i, seen := 0, 0; i < len(r.nodes) && seen < nodesGuessed; i++ {
			o := &r.nodes[(begin+i)%len(r.nodes)]
			if !o.taken && (o.reservation == 0 || r.mayDrop(o, w)) && r.usable(o, w) {
				first = min(first, r.roomAt(k, o.node))
				seen++
			}
		}
	}
	r.guess = waitLeft{ask: w.ask, now: r.now, left: max(first-r.now, 0), known: true}
	return r.guess.left
}

// roomAt returns the time at which a node is expected to have room for an ask.
func (r *round) roomAt(k *state.Ask, node state.NodeSlot) int64 {
	if r.guesses--; r.guesses < 0 {
		return r.now
	}
	return r.sched.RoomExpectedAt(k, node, r.now)
}
