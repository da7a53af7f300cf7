package capacity

import "rmd/yarn"

// MaxApplications returns how many applications leaf i may have: running, pending and non-runnable
// ones together. treeOf returns the tree of a label ("" for the nodes without one), or nil if the
// cluster does not know the label.
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
		most = max(most, 1) // the queue was created for one application
	}
	return most
}

// largestOfLabels returns the largest share that a leaf has of the nodes of a label. If the share
// depends on the nodes, and no label of the leaf has a node yet, it is the whole, so that clients
// need not wait for the first node.
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

// MaxApplicationsPerUser returns how many applications one user may have in leaf i.
func (c *Config) MaxApplicationsPerUser(i int, treeOf func(label string) *Tree) int64 {
	q, most := &c.Queues[i], c.MaxApplications(i, treeOf)
	if q.UserLimitOff {
		return most
	}
	part := ShareOf(percentOf(q.MinUserLimitPercent)).Mul(ShareOf(q.UserLimitFactor))
	return min(most, part.MulFloor(most))
}

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
