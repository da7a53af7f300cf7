package views

import (
	"rmd/fsm/state"
	"rmd/yarn"
)

// TakesKept reports whether a leaf would borrow, with a container of a size, what is kept for the
// guarantees of other leaves at a time in Unix milliseconds. Room that is reserved already, or lent by
// a reservation, is not borrowed.
func (v *View) TakesKept(leaf int32, size yarn.Resource, now int64) bool {
	if v.State.Kept.Len() == 0 || v.Loan.Lends() {
		return false
	}
	kept, left := v.KeptFrom(leaf, size, now, nil), v.At.Total.Sub(*v.Used(0)).Sub(size)
	for kind := range kept {
		if kept[kind] > 0 && size[kind] > 0 && left[kind] < kept[kind] {
			return true
		}
	}
	return false
}

// KeptFrom returns the room that a leaf may not use for a container of a size because it is kept for
// other leaves. If of is not nil, it is called with each of these.
func (v *View) KeptFrom(leaf int32, size yarn.Resource, now int64, of func(leaf int32)) (kept yarn.Resource) {
	v.eachKept(now, func(i int32, room yarn.Resource) {
		if i == leaf || !v.borrows(leaf, i, size) {
			return
		}
		if kept = kept.Add(room); of != nil {
			of(i)
		}
	})
	return kept
}

// Kept returns the free room that is kept for all leaves at a time in Unix milliseconds.
func (v *View) Kept(now int64) (kept yarn.Resource) {
	v.eachKept(now, func(_ int32, room yarn.Resource) { kept = kept.Add(room) })
	return yarn.ComponentMin(kept, yarn.ComponentMax(v.At.Total.Sub(*v.Used(0)), yarn.Resource{}))
}

// eachKept calls f with each leaf for which room is kept, and the room. What no round has ended in time
// is not kept any more.
func (v *View) eachKept(now int64, f func(leaf int32, room yarn.Resource)) {
	v.State.Kept.Each(func(slot state.QueueSlot, list *state.Keeps) bool {
		for _, k := range *list {
			if k.Label != v.At.Label || now-k.ReachedMillis >= v.Config.Preemption.KeepMillis {
				continue
			}
			i := v.indexOf[slot]
			if room := v.Unused(i, k.Size); !room.IsZero() {
				f(i, room)
			}
		}
		return true
	})
}

// Unused returns the part of a size kept for a leaf that the leaf does not use. No more than its guarantee
// is kept for it.
func (v *View) Unused(leaf int32, kept yarn.Resource) yarn.Resource {
	within := yarn.ComponentMin(kept, v.At.Tree.Capacities[leaf].EffMin)
	return yarn.ComponentMax(within.Sub(*v.Used(leaf)), yarn.Resource{})
}

// borrows reports whether a leaf, with a container of a size, borrows from another one: below the queue
// that is above both, the queue that the leaf is in uses more than its guarantee.
func (v *View) borrows(leaf, from int32, size yarn.Resource) bool {
	for i := leaf; ; i = v.Queues[i].Parent {
		if parent := v.Queues[i].Parent; parent < 0 || v.Holds(parent, from) {
			return !v.Config.Calculator.FitsIn(v.Used(i).Add(size), v.At.Tree.Capacities[i].EffMin)
		}
	}
}
