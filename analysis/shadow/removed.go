package shadow

import (
	"cmp"
	"slices"

	"rmd/api"
)

// mostGone is how many removed queues are kept separately. Submissions may create queues, which are
// removed when they are idle, so their number has no limit.
const mostGone = 1000

// removedQueues returns the number of measured queues that the configuration no longer has.
func (m *meter) removedQueues() int { return len(m.queues) - m.leaves }

// has reports whether the configuration has a queue now.
func (m *meter) has(path string) bool { t := m.queues[path]; return t != nil && t.seen == m.at }

// fold merges the queues that were removed on both sides, the earliest first, if there are too
// many.
func (s *Shadow) fold() {
	if max(s.realMeter.removedQueues(), s.ownMeter.removedQueues()) <= mostGone {
		return
	}
	last := map[string]int64{} // when either side last had a queue that both have lost
	for _, m := range []*meter{s.realMeter, s.ownMeter} {
		for path, t := range m.queues { // the order does not matter: the later time is kept
			if !s.realMeter.has(path) && !s.ownMeter.has(path) && path != api.ShadowRemoved {
				last[path] = max(last[path], t.seen)
			}
		}
	}
	paths := sorted(last)
	slices.SortStableFunc(paths, func(a, b string) int { return cmp.Compare(last[a], last[b]) })
	for _, path := range paths[:max(len(paths)-mostGone/2, 0)] {
		s.realMeter.fold(path)
		s.ownMeter.fold(path)
		delete(s.series.paths, path)
	}
}

// fold merges a queue into api.ShadowRemoved.
func (m *meter) fold(path string) {
	if t := m.queues[path]; t != nil {
		m.queue(api.ShadowRemoved).merge(t)
		delete(m.queues, path)
	}
}

// merge adds the measurements of another queue.
func (t *totals) merge(o *totals) {
	t.waits.merge(&o.waits)
	t.ams.merge(&o.ams)
	t.owedWaits.merge(&o.owedWaits)
	t.preempted += o.preempted
	t.cost.warned, t.cost.withdrawn = t.cost.warned+o.cost.warned, t.cost.withdrawn+o.cost.withdrawn
	t.cost.killed, t.cost.ams = t.cost.killed+o.cost.killed, t.cost.ams+o.cost.ams
	t.cost.lost, t.cost.lostMillis = t.cost.lost.Add(o.cost.lost), t.cost.lostMillis+o.cost.lostMillis
	t.used, t.wanted, t.guaranteed = t.used+o.used, t.wanted+o.wanted, t.guaranteed+o.guaranteed
	t.owed, t.owedMillis = t.owed+o.owed, t.owedMillis+o.owedMillis
}
