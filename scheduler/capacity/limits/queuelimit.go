// Package limits has YARN's formulas for the limits of users, queues and ApplicationMasters. They take
// sums as arguments and know neither a configuration nor applications.
//
// Begin with queuelimit.go: what a queue may use, what its children may use, and the headroom that an
// AM receives. userlimit.go has the limit of a user.
package limits

import (
	"rmd/scheduler/capacity/share"
	"rmd/yarn"
)

// AMUsable returns the resource of which the AM limit is a fraction: the current limit of the
// queue, or its guarantee if that does not fit into the current limit.
func AMUsable(calc yarn.Calculator, currentLimit, effMin yarn.Resource) yarn.Resource {
	if calc.FitsIn(effMin, currentLimit) {
		return currentLimit
	}
	return effMin
}

// AMLimit returns the most resource that the AMs of a leaf's active applications may use.
func AMLimit(calc yarn.Calculator, usable yarn.Resource, percent yarn.Fraction, minAlloc yarn.Resource) yarn.Resource {
	return calc.MultiplyNormalizeUp(usable, percent, minAlloc)
}

// UserAMLimitInput has the arguments of UserAMLimit.
type UserAMLimitInput struct {
	Calculator      yarn.Calculator
	Total           yarn.Resource // of the cluster, for all labels
	EffMin          yarn.Resource
	AMLimit         yarn.Resource // of the queue
	MinAlloc        yarn.Resource
	AMPercent       yarn.Fraction
	MinUserLimit    yarn.Fraction // percent
	UserLimitFactor yarn.Fraction
	UserLimitOff    bool
	Weight          yarn.Fraction
	ActiveUsers     int64 // users that wait for containers, or that have only pending applications
}

// UserAMLimit returns the most resource that the AMs of one user's active applications may use.
func UserAMLimit(in UserAMLimitInput) yarn.Resource {
	part := share.Of(in.AMPercent)
	if !in.UserLimitOff {
		user := share.Of(share.OfPercent(in.MinUserLimit))
		if even := share.New(1, max(in.ActiveUsers, 1)); user.Cmp(even) < 0 {
			user = even
		}
		if user = user.Mul(share.Of(in.Weight)); user.Cmp(share.Whole) > 0 {
			user = share.Whole
		}
		part = part.Mul(user).Mul(share.Of(in.UserLimitFactor))
	}
	limit := in.Calculator.MultiplyNormalizeUp(in.EffMin, part.Fraction(), in.MinAlloc)
	return in.Calculator.Min(in.Total, limit, in.AMLimit)
}

// QueueLimitInput has the arguments of QueueLimit.
type QueueLimitInput struct {
	Calculator      yarn.Calculator
	Total           yarn.Resource // of the cluster, for all labels: YARN's calculator compares by it
	Label           yarn.Resource // of the nodes of the label; the limit if IgnoreExclusive
	EffMax          yarn.Resource
	Limit           yarn.Resource // ChildLimit of the parent
	Used            yarn.Resource // for a parent, without what is killable
	Unreservable    yarn.Resource // reservations: of the application for a leaf, all for a parent
	ContinueLooking bool
	IgnoreExclusive bool // the pass ignores partition exclusivity
}

// QueueLimit reports whether a queue may use more, and returns its headroom, which may be negative.
// Only the present use counts: a queue below its limit may use more even if it then exceeds the
// limit, and a queue at its limit may not.
func QueueLimit(in QueueLimitInput) (ok bool, headroom yarn.Resource) {
	limit := in.Label
	if !in.IgnoreExclusive {
		limit = in.Calculator.Min(in.Total, in.EffMax, in.Limit)
	}
	headroom = limit.Sub(in.Used)
	if in.Calculator.Compare(in.Total, in.Used, limit) < 0 {
		return true, headroom
	}
	if !in.ContinueLooking || !in.Calculator.AnyAboveZero(in.Unreservable) {
		return false, headroom
	}
	return in.Calculator.Compare(in.Total, in.Used.Sub(in.Unreservable), limit) < 0, headroom
}

// ChildLimitInput has the arguments of ChildLimit.
type ChildLimitInput struct {
	Calculator yarn.Calculator
	Total      yarn.Resource // of the cluster, for all labels
	Limit      yarn.Resource // the parent's own limit, from its parent
	EffMax     yarn.Resource // the parent's
	Blocked    yarn.Resource // headroom of the children that this pass has already found blocked
	Used       yarn.Resource // the parent's
	Killable   yarn.Resource // the parent's
	ChildUsed  yarn.Resource
	MinAlloc   yarn.Resource
}

// ChildLimit returns the limit that a parent passes to a child: what the child uses and what the
// parent may still use.
func ChildLimit(in ChildLimitInput) yarn.Resource {
	limit := in.Calculator.Min(in.Total, in.Limit, in.EffMax)
	limit = limit.Sub(in.Blocked).Sub(in.Used).Add(in.Killable).Add(in.ChildUsed)
	return in.Calculator.RoundDown(limit, in.MinAlloc)
}

// HeadroomInput has the arguments of Headroom.
type HeadroomInput struct {
	Calculator yarn.Calculator
	Total      yarn.Resource // of the nodes of the label
	UserLimit  yarn.Resource
	UserUsed   yarn.Resource
	QueueLimit yarn.Resource // the current limit for nodes without a label, EffMax for a label
	QueueUsed  yarn.Resource
	RootUsed   yarn.Resource
	MinAlloc   yarn.Resource
}

// Headroom returns the headroom that an AM receives: the resource that its application may still
// get, within the limit of its user, the limit of its queue and the free part of the cluster.
// Reserved resources count as used.
func Headroom(in HeadroomInput) yarn.Resource {
	var none yarn.Resource
	user := yarn.ComponentMax(in.UserLimit.Sub(in.UserUsed), none)
	queue := yarn.ComponentMax(in.QueueLimit.Sub(in.QueueUsed), none)
	room := in.Calculator.RoundDown(yarn.ComponentMin(user, queue), in.MinAlloc)
	return in.Calculator.Min(in.Total, in.Total.Sub(in.RootUsed), room)
}
