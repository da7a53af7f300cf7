package record

import (
	"iter"

	"rmd/internal/codec"
	"rmd/yarn"
)

// QueueTotals are counters of a queue and of all queues that have ever been below it, since it was
// created. They never fall.
type QueueTotals struct {
	// Allocated counts the allocated containers by their locality. The first entry counts
	// containers that were taken over from another ResourceManager.
	Allocated [yarn.OffSwitch + 1]uint64
	Released  uint64    // containers that have ended
	Preempted Preempted // what was lost by preemption
	// Gone counts applications that ended in the queue and left it: they were forgotten, or the
	// queue below was removed. Unmanaged is the part of Gone that had no AM container.
	Gone, Unmanaged EndedApps
}

// EndedApps counts ended applications by their final state.
type EndedApps [yarn.AppStates - yarn.AppFinished]uint64

// Of returns the number of applications that ended in a state.
func (e *EndedApps) Of(s yarn.ApplicationState) uint64 { return e[s-yarn.AppFinished] }

// Sum returns the number of applications.
func (e *EndedApps) Sum() uint64 { return sum(e[:]) }

// Containers returns the number of containers that were ever allocated.
func (t *QueueTotals) Containers() uint64 { return sum(t.Allocated[:]) }

func sum(counts []uint64) (n uint64) {
	for _, k := range counts {
		n += k
	}
	return n
}

func (t *QueueTotals) code(c *codec.Coder) {
	for _, counts := range [][]uint64{t.Allocated[:], t.Gone[:], t.Unmanaged[:]} {
		for i := range counts {
			c.U64(&counts[i])
		}
	}
	c.U64(&t.Released)
	t.Preempted.Code(c)
}

// Totals yields the counters of a queue and of those above it, to change them.
func (qs *Queues) Totals(queue QueueSlot) iter.Seq[*QueueTotals] {
	return func(yield func(*QueueTotals) bool) {
		for queue != 0 {
			q := qs.Mut(queue)
			if !yield(&q.Totals) {
				return
			}
			queue = q.Parent
		}
	}
}

// TallyAllocated counts a container that was allocated. The locality is 0 if it was taken over.
func (qs *Queues) TallyAllocated(m *Meta, a *App, l yarn.Locality) {
	m.Allocated++
	for t := range qs.Totals(a.Queue) {
		t.Allocated[l]++
	}
}

// TallyGone counts an ended application that leaves a queue. The queue is 0 if the application was
// counted when its queue was removed.
func (qs *Queues) TallyGone(queue QueueSlot, a *App) {
	for t := range qs.Totals(queue) {
		t.Gone[a.State-yarn.AppFinished]++
		if a.Unmanaged {
			t.Unmanaged[a.State-yarn.AppFinished]++
		}
	}
}
