package state

import (
	"rmd/fsm/state/largest"
	"rmd/yarn"
)

// MaximumAllocation returns the largest container that may be asked for if configured is the largest
// of the configuration: it has of no kind more than the largest running node. While no node runs it
// is the configured one, because nodes that are still to come decide.
//
// Source: Hadoop 3.4.2, ClusterNodeTracker.getMaxAllowedAllocation.
func (t *Nodes) MaximumAllocation(configured yarn.Resource) yarn.Resource {
	if t.largest.Count == 0 {
		return configured
	}
	return yarn.ComponentMin(configured, t.largest.Most)
}

// noteSize updates the largest node after a node's state or total has changed. running and total are
// those from before.
func (t *Nodes) noteSize(n *Node, running bool, total yarn.Resource) {
	if running && !t.largest.Remove(total) {
		t.largest = t.findLargest()
		return
	}
	if n.State == yarn.NodeRunning {
		t.largest.Add(n.Total)
	}
}

// findLargest computes the largest node from all nodes.
func (t *Nodes) findLargest() (l largest.Set) {
	t.Each(func(_ NodeSlot, n *Node) bool {
		if n.State == yarn.NodeRunning {
			l.Add(n.Total)
		}
		return true
	})
	return l
}
