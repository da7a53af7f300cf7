package preemption

import (
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler"
	"rmd/scheduler/views"
	"rmd/yarn"
)

// A leaf whose asks come in bursts would lose room to others after each burst, and containers would end
// for the next. So what a leaf has used since it had to wait for its guarantee is kept for it for a
// while: others may not borrow it (views.View.TakesKept).

// followKept records what is kept for each leaf: the most that it has used of its guarantee, since it
// had to wait for it. If it has used less for KeepMillis, nothing is kept, or, while it waits again,
// what it uses.
func (r *round) followKept() {
	if r.s.State.Meta.Level < (*event.GuaranteeKept)(nil).Since() {
		return
	}
	if r.set.KeepMillis == 0 {
		EndKept(r.sched)
		return
	}
	for i := range r.leaves {
		slot := r.s.Queues[i].Slot
		_, owed := r.s.State.Debts.To(slot, r.s.At.Label)
		kept, keeps := r.s.State.Kept.For(slot, r.s.At.Label)
		if owed || keeps {
			r.keepFor(int32(i), kept, owed)
		}
	}
}

// keepsAgain is the part of KeepMillis after which a round records again that a leaf uses as much as is
// kept for it.
const keepsAgain = 4

func (r *round) keepFor(leaf int32, kept state.Kept, owed bool) {
	uses := yarn.ComponentMin(*r.s.Used(leaf), r.s.At.Tree.Capacities[leaf].EffMin)
	most, since := yarn.ComponentMax(kept.Size, uses), r.now-kept.ReachedMillis
	switch {
	case most != kept.Size, most == uses && since >= r.set.KeepMillis/keepsAgain:
	case since < r.set.KeepMillis:
		return
	case owed:
		most = uses
	default:
		most = yarn.Resource{}
	}
	if most != kept.Size || !most.IsZero() {
		keep(r.sched, leaf, r.s.At, most)
	}
}

func keep(s *scheduler.Scheduler, leaf int32, p *views.Partition, size yarn.Resource) {
	s.Emit(&event.GuaranteeKept{Path: s.Config.Queues[leaf].Path, Label: s.State.Labels.Name(p.Label), Size: size})
}

// EndKept ends all that is kept, because no round follows it.
func EndKept(s *scheduler.Scheduler) {
	if s.State.Kept.Len() == 0 {
		return
	}
	for _, p := range s.Partitions {
		for i := range s.Queues {
			if _, keeps := s.State.Kept.For(s.Queues[i].Slot, p.Label); keeps {
				keep(s, int32(i), p, yarn.Resource{})
			}
		}
	}
}
