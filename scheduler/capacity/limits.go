package capacity

import (
	"rmd/scheduler/capacity/amount"
	"rmd/scheduler/capacity/share"
)

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
		if q.Capacity.Unit != amount.Absolute {
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
func (c *Config) largestOfLabels(i int, treeOf func(label string) *Tree) share.Share {
	q, t := &c.Queues[i], treeOf("")
	most, anyNode := t.Capacities[i].AbsCapacity, !t.Cluster.IsZero()
	for _, l := range q.Labels {
		most = largerShare(most, l.abs)
		if t := treeOf(l.Label); t != nil {
			most, anyNode = largerShare(most, t.Capacities[i].AbsCapacity), anyNode || !t.Cluster.IsZero()
		}
	}
	if fromNodes := q.Capacity.Unit == amount.Absolute || !c.LegacyQueueMode; fromNodes && !anyNode {
		return share.Whole
	}
	return most
}

func largerShare(a, b share.Share) share.Share {
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
	part := share.Of(share.OfPercent(q.MinUserLimitPercent)).Mul(share.Of(q.UserLimitFactor))
	return min(most, part.MulFloor(most))
}
