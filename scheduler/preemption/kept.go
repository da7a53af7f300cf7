package preemption

import (
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler"
	"rmd/scheduler/views"
	"rmd/yarn"
)

// A leaf whose asks come in bursts would lose room to others after each burst, and containers would end
// for the next. So what a leaf has used of its guarantee, since containers ended for it, is kept for it
// for a while: others may not borrow it (views.View.TakesKept).
//
// Kept room stands idle until the leaf asks again. As for skis, that are rented until the rents exceed
// what a pair costs, a leaf may let stand idle no more than idleWorth times the work that was lost for it.

// idleWorth is how many times the work that was lost for a leaf may stand idle for it. It is above 1
// because a container that ends loses more than its work, and because the leaf had to wait. It is the
// factor of waitWorth: a wait may cost the others as much.
const idleWorth = 4

// followKept records what is kept for each leaf: the most that it has used of its guarantee since
// containers ended for it.
func (r *round) followKept() {
	if r.s.State.Meta.Level < (*event.GuaranteeKept)(nil).Since() {
		return
	}
	if r.set.KeepMillis == 0 {
		EndKept(r.sched)
		return
	}
	for i := range r.leaves {
		r.keepFor(int32(i))
	}
}

// keepsAgain is the part of KeepMillis after which a round records again that a leaf uses as much as is
// kept for it.
const keepsAgain = 4

// keepFor keeps what a leaf has used, until it has used less for KeepMillis or has let too much stand
// idle. What may still stand idle counts again when containers end for it the next time.
func (r *round) keepFor(leaf int32) {
	slot := r.s.Queues[leaf].Slot
	kept, _ := r.s.State.Kept.For(slot, r.s.At.Label)
	_, owed := r.s.State.Debts.To(slot, r.s.At.Label)
	earned := r.leaves[leaf].keepsIdle
	if kept.Size.IsZero() && earned == 0 && !owed {
		return
	}
	uses := yarn.ComponentMin(*r.s.Used(leaf), r.s.At.Tree.Capacities[leaf].EffMin)
	next := event.GuaranteeKept{Size: yarn.ComponentMax(kept.Size, uses), ReachedMillis: kept.ReachedMillis}
	if next.Size == uses {
		next.ReachedMillis = r.now
	}
	idle := r.idleFor(leaf, kept.Size)
	next.IdleLeft = satAdd(kept.IdleLeft-min(kept.IdleLeft, idle), earned)
	if next.IdleLeft == 0 || r.now-next.ReachedMillis >= r.set.KeepMillis {
		next.Size = yarn.Resource{}
	}
	if next.Size != kept.Size || next.IdleLeft != kept.IdleLeft ||
		!next.Size.IsZero() && next.ReachedMillis-kept.ReachedMillis >= r.set.KeepMillis/keepsAgain {
		keep(r.sched, leaf, r.s.At, next)
	}
}

// idleFor returns how much stands idle for a leaf until the next round, if another one waits.
func (r *round) idleFor(leaf int32, kept yarn.Resource) uint64 {
	waits := r.s.Queue(0).Pending.Sub(r.s.Queue(leaf).Pending)
	if !r.s.Config.Calculator.AnyAboveZero(waits) {
		return 0
	}
	free := yarn.ComponentMax(r.s.At.Total.Sub(*r.s.Used(0)), yarn.Resource{})
	return r.cost(uint64(r.set.IntervalMillis), yarn.ComponentMin(r.s.Unused(leaf, kept), free))
}

// lostFor records that a container ends for the guarantee of a leaf.
func (r *round) lostFor(leaf int32, victim *state.Container) {
	lost := idleWorth * uint64(max(r.now-victim.AllocatedMillis, 0))
	r.leaves[leaf].keepsIdle = satAdd(r.leaves[leaf].keepsIdle, r.cost(lost, victim.Size))
}

// keep records what is kept for a leaf.
func keep(s *scheduler.Scheduler, leaf int32, p *views.Partition, kept event.GuaranteeKept) {
	kept.Path, kept.Label = s.Config.Queues[leaf].Path, s.State.Labels.Name(p.Label)
	s.Emit(&kept)
}

// EndKept ends all that is kept, because no round follows it.
func EndKept(s *scheduler.Scheduler) {
	if s.State.Kept.Len() == 0 {
		return
	}
	for _, p := range s.Partitions {
		for i := range s.Queues {
			if _, keeps := s.State.Kept.For(s.Queues[i].Slot, p.Label); keeps {
				keep(s, int32(i), p, event.GuaranteeKept{})
			}
		}
	}
}
