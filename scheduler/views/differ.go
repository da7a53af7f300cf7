package views

import (
	"fmt"
	"slices"

	"rmd/fsm/state"
	"rmd/scheduler/nodeindex"
)

// Stale reports whether the effective capacities are outdated.
func (s *Views) Stale() bool { return s.stale }

// Differ compares what two views have derived from the same state, for tests. It returns the first
// difference, or "".
func (s *Views) Differ(rebuilt *Views) string {
	q := rebuilt
	for i := range s.Queues {
		a, b := &s.Queues[i], &q.Queues[i]
		switch {
		case a.Slot != b.Slot || a.Parent != b.Parent || !slices.Equal(a.Pending, b.Pending):
			return fmt.Sprintf("queue %d lists %v, rebuilt %v", i, a.Pending, b.Pending)
		case a.queueSums != b.queueSums:
			return fmt.Sprintf("queue %d sums %+v, rebuilt %+v", i, a.queueSums, b.queueSums)
		}
	}
	if len(s.Partitions) != len(q.Partitions) {
		return fmt.Sprintf("%d partitions, rebuilt %d", len(s.Partitions), len(q.Partitions))
	}
	for k := range s.Partitions {
		if differs := s.Partitions[k].differs(q.Partitions[k]); differs != "" {
			return fmt.Sprintf("partition %d: %s", k, differs)
		}
		v := q.On(q.Partitions[k])
		if cached := s.Partitions[k].awaiting; cached != nil && !slices.Equal(cached, v.sumAwaiting()) {
			return fmt.Sprintf("partition %d: reservations of %v wait for warned containers, rebuilt %v", k, cached,
				v.sumAwaiting())
		}
	}
	for name := state.NameSlot(1); name < s.State.Names.Cap(); name++ {
		if s.RunnableOf(name) != q.RunnableOf(name) {
			return fmt.Sprintf("%s runs %d, rebuilt %d", s.State.Names.Text(name), s.RunnableOf(name), q.RunnableOf(name))
		}
	}
	return s.indexesDiffer(rebuilt)
}

// indexesDiffer compares the indexes of free nodes that s has used.
func (s *Views) indexesDiffer(rebuilt *Views) string {
	for i, p := range s.Partitions {
		for _, lent := range []bool{false, true} {
			used := p.nodes
			if lent {
				used = p.lent
			}
			for order, x := range used {
				if x == nil {
					continue
				}
				a, b := s.FreeNodes(p, lent, order), rebuilt.FreeNodes(rebuilt.Partitions[i], lent, order)
				if at := slices.Collect(a.Walk(nodeindex.All)); !slices.Equal(at, slices.Collect(b.Walk(nodeindex.All))) {
					return fmt.Sprintf("partition %d, lent %v: order %d walks %v, rebuilt %v", i, lent, order, at,
						slices.Collect(b.Walk(nodeindex.All)))
				}
			}
		}
	}
	return ""
}

// differs compares what two views have derived for a partition.
func (p *Partition) differs(q *Partition) string {
	for i := range p.Queues {
		a, b := &p.Queues[i], &q.Queues[i]
		switch {
		case a.listed != b.listed || a.borrows != b.borrows || !slices.Equal(a.borrowers, b.borrowers) || (i > 0 && a.Key != b.Key): // root has no siblings, so its key does not matter
			return fmt.Sprintf("queue %d %+v, rebuilt %+v", i, a.Key, b.Key)
		case p.Label != 0 && p.Uses[i] != q.Uses[i]:
			return fmt.Sprintf("queue %d has use %d, rebuilt %d", i, p.Uses[i], q.Uses[i])
		case !slices.Equal(a.children, b.children) || !slices.Equal(a.Active, b.Active):
			return fmt.Sprintf("queue %d lists %v %v, rebuilt %v %v", i, a.children, a.Active, b.children, b.Active)
		case a.dominantUsed != b.dominantUsed:
			return fmt.Sprintf("queue %d sums %v, rebuilt %v", i, a.dominantUsed, b.dominantUsed)
		}
	}
	for slot := range q.Users {
		if p.Users[slot] != q.Users[slot] {
			return fmt.Sprintf("user %d adds %+v, rebuilt %+v", slot, p.Users[slot], q.Users[slot])
		}
	}
	return ""
}
