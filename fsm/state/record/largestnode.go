package record

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
	if t.Largest.Count == 0 {
		return configured
	}
	return yarn.ComponentMin(configured, t.Largest.Most)
}

// NoteSize updates the largest node after a node's state or total has changed. running and total are
// those from before.
func (t *Nodes) NoteSize(n *Node, running bool, total yarn.Resource) {
	if running && !t.Largest.Remove(total) {
		t.Largest = t.FindLargest()
		return
	}
	if n.State == yarn.NodeRunning {
		t.Largest.Add(n.Total)
	}
}

// FindLargest computes the largest node from all nodes.
func (t *Nodes) FindLargest() (l largest.Set) {
	t.Each(func(_ NodeSlot, n *Node) bool {
		if n.State == yarn.NodeRunning {
			l.Add(n.Total)
		}
		return true
	})
	return l
}
