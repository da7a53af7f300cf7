package capacity

import "rmd/yarn"

// MaxApplications returns how many applications leaf i may hold, running, pending and not runnable
// together. treeOf finds what the queues have of the nodes of a label ("" of those without one); nil
// if the cluster does not know the label.
//
// Source: Hadoop 3.4.2, AbstractLeafQueue.updateMaximumApplications.
func (c *Config) MaxApplications(i int, treeOf func(label string) *Tree) int64 {
	q := &c.Queues[i]
	if q.MaximumApplications >= 0 {
		return q.MaximumApplications
	}
	most := c.MaximumApplications
	if c.GlobalQueueMaxApplications > 0 {
		most = min(most, c.GlobalQueueMaxApplications)
		if q.Capacity.Unit != UnitAbsolute {
			return most
		}
	}
	most = c.largestOfLabels(i, treeOf).MulFloor(most)
	if q.Creation == Flexible {
		most = max(most, 1) // for the application that it was created for
	}
	return most
}

// largestOfLabels is the largest share that a leaf has of the nodes of a label. A share that follows
// from the nodes is the whole while no label of the leaf has one: clients need not wait for the first.
func (c *Config) largestOfLabels(i int, treeOf func(label string) *Tree) Share {
	q, t := &c.Queues[i], treeOf("")
	most, anyNode := t.Capacities[i].AbsCapacity, !t.Cluster.IsZero()
	for _, l := range q.Labels {
		most = largerShare(most, l.abs)
		if t := treeOf(l.Label); t != nil {
			most, anyNode = largerShare(most, t.Capacities[i].AbsCapacity), anyNode || !t.Cluster.IsZero()
		}
	}
	if fromNodes := q.Capacity.Unit == UnitAbsolute || !c.LegacyQueueMode; fromNodes && !anyNode {
		return Whole
	}
	return most
}

func largerShare(a, b Share) Share {
	if a.Cmp(b) < 0 {
		return b
	}
	return a
}

// MaxApplicationsPerUser returns how many of them one user may have.
func (c *Config) MaxApplicationsPerUser(i int, treeOf func(label string) *Tree) int64 {
	q, most := &c.Queues[i], c.MaxApplications(i, treeOf)
	if q.UserLimitOff {
		return most
	}
	part := ShareOf(percentOf(q.MinUserLimitPercent)).Mul(ShareOf(q.UserLimitFactor))
	return min(most, part.MulFloor(most))
}

// AMUsable is the resource the AM limit is a part of: the queue's current limit
// when the guarantee fits in it, else the guarantee.
func AMUsable(calc yarn.Calculator, currentLimit, effMin yarn.Resource) yarn.Resource {
	if calc.FitsIn(effMin, currentLimit) {
		return currentLimit
	}
	return effMin
}

// AMLimit is how much the AMs of a leaf's active applications may take.
func AMLimit(calc yarn.Calculator, usable yarn.Resource, percent yarn.Fraction, minAlloc yarn.Resource) yarn.Resource {
	return calc.MultiplyNormalizeUp(usable, percent, minAlloc)
}

// UserAMLimitInput is what the AM limit of one user depends on.
type UserAMLimitInput struct {
	Calculator      yarn.Calculator
	Total           yarn.Resource // of the cluster, whatever the label
	EffMin          yarn.Resource
	AMLimit         yarn.Resource // of the queue
	MinAlloc        yarn.Resource
	AMPercent       yarn.Fraction
	MinUserLimit    yarn.Fraction // percent
	UserLimitFactor yarn.Fraction
	UserLimitOff    bool
	Weight          yarn.Fraction
	ActiveUsers     int64 // with unmet demand, or with pending applications only
}

// UserAMLimit is how much the AMs of one user's active applications may take.
func UserAMLimit(in UserAMLimitInput) yarn.Resource {
	part := ShareOf(in.AMPercent)
	if !in.UserLimitOff {
		user := ShareOf(percentOf(in.MinUserLimit))
		if even := NewShare(1, max(in.ActiveUsers, 1)); user.Cmp(even) < 0 {
			user = even
		}
		if user = user.Mul(ShareOf(in.Weight)); user.Cmp(Whole) > 0 {
			user = Whole
		}
		part = part.Mul(user).Mul(ShareOf(in.UserLimitFactor))
	}
	limit := in.Calculator.MultiplyNormalizeUp(in.EffMin, part.Fraction(), in.MinAlloc)
	return in.Calculator.Min(in.Total, limit, in.AMLimit)
}

// QueueLimitInput is what the queue check of a pass depends on.
type QueueLimitInput struct {
	Calculator      yarn.Calculator
	Total           yarn.Resource // of the cluster, whatever the label: in YARN the calculator compares by that
	Label           yarn.Resource // of the nodes of the label; the limit when the pass ignores exclusivity
	EffMax          yarn.Resource
	Limit           yarn.Resource // handed down by the parent
	Used            yarn.Resource // less what is killable, for a parent
	Unreservable    yarn.Resource // what could be unreserved: an application's, or a parent's whole reserved amount
	ContinueLooking bool
	IgnoreExclusive bool // the pass ignores partition exclusivity
}

// QueueLimit says whether a queue may take more, and its headroom now, which
// may be negative. Only present use is looked at: equality blocks.
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

// ChildLimitInput is what a parent's limit for a child depends on.
type ChildLimitInput struct {
	Calculator yarn.Calculator
	Total      yarn.Resource // of the cluster, whatever the label
	Limit      yarn.Resource // the parent's own, handed down to it
	EffMax     yarn.Resource // the parent's
	Blocked    yarn.Resource // headroom of earlier children that are blocked in this pass
	Used       yarn.Resource // the parent's
	Killable   yarn.Resource // the parent's
	ChildUsed  yarn.Resource
	MinAlloc   yarn.Resource
}

// ChildLimit is the limit a parent hands down to a child: what the parent may
// still take, with what the child has.
func ChildLimit(in ChildLimitInput) yarn.Resource {
	limit := in.Calculator.Min(in.Total, in.Limit, in.EffMax)
	limit = limit.Sub(in.Blocked).Sub(in.Used).Add(in.Killable).Add(in.ChildUsed)
	return in.Calculator.RoundDown(limit, in.MinAlloc)
}

// HeadroomInput is what the headroom told to an AM depends on.
type HeadroomInput struct {
	Calculator yarn.Calculator
	Total      yarn.Resource // label resource
	UserLimit  yarn.Resource
	UserUsed   yarn.Resource
	QueueLimit yarn.Resource // the current limit on the default label, else EffMax
	QueueUsed  yarn.Resource
	RootUsed   yarn.Resource
	MinAlloc   yarn.Resource
}

// Headroom is what an application may still get: within its user's limit, its
// queue's limit and the free part of the cluster. Reserved resource counts as
// used.
func Headroom(in HeadroomInput) yarn.Resource {
	var none yarn.Resource
	user := yarn.ComponentMax(in.UserLimit.Sub(in.UserUsed), none)
	queue := yarn.ComponentMax(in.QueueLimit.Sub(in.QueueUsed), none)
	room := in.Calculator.RoundDown(yarn.ComponentMin(user, queue), in.MinAlloc)
	return in.Calculator.Min(in.Total, in.Total.Sub(in.RootUsed), room)
}
