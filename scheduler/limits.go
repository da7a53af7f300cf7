package scheduler

import (
	"rmd/fsm/state"
	"rmd/scheduler/views"
	"rmd/yarn"
)

// A pass hands the limits of queues and users down from root. Whether a maximum has room for one more
// container, or for a whole gang, is one question: views.FullQueue. Accept asks it once more before a
// decision is carried out, a gang for all its members, an explanation to name the queue, and a round
// of preemption for what its containers leave.

// Limits has the limits that a pass gives to a queue, and results for this queue.
type Limits struct {
	limit         yarn.Resource // the most that this queue may use
	headroom      yarn.Resource // limit − used; may be negative
	blocked       yarn.Resource // headroom of children that were blocked in this pass
	needUnreserve yarn.Resource // reservations that the application must give up first
}

// Headroom returns how much more the queue may use.
func (l *Limits) Headroom() yarn.Resource { return l.headroom }

// limitOn checks a decision against the user limit and the maxima of the leaf and its ancestors. It
// returns NoReason if they allow it.
func (p *pass) limitOn(d *decision, released *state.Reservation) Reason {
	a, calc := p.State.Apps.Get(d.app), p.Config.Calculator
	leaf := p.LeafOf(a)
	used := views.Without(*p.UserUsed(a.UserSlot), released)
	if calc.Compare(p.State.Meta.Cluster, used, p.UserLimit(leaf, a.UserSlot)) > 0 {
		return UserLimit
	}
	full := p.FullQueue(leaf, d.size, func(i int32) yarn.Resource {
		if d.state == stateAllocated {
			return p.UsedNow(i, released)
		}
		return views.Without(*p.Used(i), released)
	})
	if full >= 0 {
		return QueueMaxCapacity
	}
	return NoReason
}

// withinHeadroom reports whether a container fits into the headroom of the queue plus the
// application's reservations.
func (p *pass) withinHeadroom(a *state.App, k *state.Ask, l *Limits) bool {
	room := l.headroom
	if p.Config.ContinueLooking {
		room = room.Add(p.ReservedIn(a))
	}
	return p.Config.Calculator.FitsIn(k.Size, room)
}

// limitToFree returns the limit because of which an application must give up a reservation: the one
// of the queue, if it lacks anything, otherwise the one of the user.
func limitToFree(queue, user yarn.Resource, calc yarn.Calculator) Reason {
	if calc.AnyAboveZero(queue) || !calc.AnyAboveZero(user) {
		return QueueMaxCapacity
	}
	return UserLimit
}

// handDown returns the limits that a pass gives to a queue if no sibling keeps room from it. stopped
// says that the limit of the queue or of an ancestor ends the pass there. a is the application that
// the pass looks at in a leaf.
func (v *pass) handDown(i int32, a *state.App) (l Limits, stopped bool) {
	l.limit = v.At.Total
	if parent := v.Queues[i].Parent; parent >= 0 {
		above, stopped := v.handDown(parent, a)
		if stopped {
			return above, true
		}
		l.limit = v.ChildLimit(parent, i, above.limit, above.blocked)
	}
	unreservable := v.Unreservable(i)
	if v.Config.Queues[i].Leaf {
		unreservable = v.ReservedIn(a)
	}
	ok, headroom := v.QueueLimit(i, l.limit, unreservable)
	l.headroom = headroom
	return l, !ok
}

// ReachedMaximum returns the first queue, from a leaf up, whose maximum has no room for a size, and
// the reason; NoReason if there is none.
func ReachedMaximum(v *views.View, leaf int32, size yarn.Resource) (queue int32, why Reason) {
	queue = v.FullQueue(leaf, size, func(i int32) yarn.Resource { return v.UsedNow(i, nil) })
	switch {
	case queue < 0:
		return queue, NoReason
	case v.MayUseAllNodes(queue) && v.Config.Calculator.FitsIn(v.UsedNow(queue, nil).Sub(v.ReservedOf(queue)).Add(size),
		*v.Maximum(queue)):
		return queue, ReservedElsewhere
	case queue == leaf:
		return queue, QueueMaxCapacity
	default:
		return queue, ParentMaxCapacity
	}
}

// gangLimit returns which limit, of the user or of a queue, prevents all members of a gang from
// starting together, regardless of the free room on nodes. It returns NoReason if none does.
func (v *pass) gangLimit(d *gangDemand) Reason {
	if !v.gangFitsUser(d) {
		return UserLimit
	}
	if v.TakesKept(d.leaf, d.size, v.s.now) {
		return GuaranteeKept
	}
	for i := d.leaf; i >= 0; i = v.Queues[i].Parent {
		if !v.MayUseAllNodes(i) && !v.gangFitsIn(i, d) {
			return QueueMaxCapacity
		}
	}
	return NoReason
}
