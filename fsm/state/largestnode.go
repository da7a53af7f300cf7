package state

import "rmd/yarn"

// largestNode has, for each kind of resource, the most that a running node has, and how many running
// nodes have it. While a node keeps the maximum, no change of another one needs a look at all.
type largestNode struct {
	most    yarn.Resource
	nodes   [yarn.MaxKinds]int32
	running int32
}

// MaximumAllocation returns the largest container that may be asked for if configured is the largest
// of the configuration: it has of no kind more than the largest running node. While no node runs it
// is the configured one, because nodes that are still to come decide.
//
// Source: Hadoop 3.4.2, ClusterNodeTracker.getMaxAllowedAllocation.
func (t *Nodes) MaximumAllocation(configured yarn.Resource) yarn.Resource {
	if t.largest.running == 0 {
		return configured
	}
	return yarn.ComponentMin(configured, t.largest.most)
}

// noteSize updates the largest node after a node's state or total has changed. running and total are
// those from before.
func (t *Nodes) noteSize(n *Node, running bool, total yarn.Resource) {
	if running && !t.largest.remove(total) {
		t.largest = t.findLargest()
		return
	}
	if n.State == yarn.NodeRunning {
		t.largest.add(n.Total)
	}
}

// findLargest computes the largest node from all nodes.
func (t *Nodes) findLargest() (l largestNode) {
	t.Each(func(_ NodeSlot, n *Node) bool {
		if n.State == yarn.NodeRunning {
			l.add(n.Total)
		}
		return true
	})
	return l
}

func (l *largestNode) add(total yarn.Resource) {
	l.running++
	for k, v := range total {
		switch {
		case l.running == 1 || v > l.most[k]:
			l.most[k], l.nodes[k] = v, 1
		case v == l.most[k]:
			l.nodes[k]++
		}
	}
}

// remove reports whether the maxima of the other nodes are still known.
func (l *largestNode) remove(total yarn.Resource) (known bool) {
	l.running--
	known = true
	for k, v := range total {
		if v == l.most[k] {
			l.nodes[k]--
			known = known && l.nodes[k] > 0
		}
	}
	return known
}
