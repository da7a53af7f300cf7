package views

import (
	"math/bits"
	"slices"
	"sort"

	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/scheduler/capacity/order"
	"rmd/yarn"
)

// AppKey is the position of an application in its leaf: first by fair use (0 under fifo), then by
// priority, then by submission.
type AppKey struct {
	fair     uint64
	priority int32
	seq      uint32
}

// Less is YARN's order: fair use ascending, priority descending, submission ascending.
func (k AppKey) Less(o AppKey) bool {
	switch {
	case k.fair != o.fair:
		return k.fair < o.fair
	case k.priority != o.priority:
		return k.priority > o.priority
	}
	return k.seq < o.seq
}

// appKey returns the key of an application. Under the fair policy with size-based weight, the use
// is divided by log2(1 + demand), in 16.16 fixed point.
func (s *Views) appKey(a *state.App, q *capacity.Queue) AppKey {
	k := AppKey{priority: a.Priority, seq: a.ID.Seq}
	if q.LeafOrder != order.Fair || a.AttemptState == state.AttemptPending {
		return k
	}
	k.priority = 0
	k.fair = uint64(max(a.Used[yarn.Memory], 0)) << 16
	if q.SizeBasedWeight {
		demand := a.Used.Add(a.Pending)[yarn.Memory]
		if w := log2Fixed(uint64(max(demand, 0)) + 1); w > 0 {
			hi, lo := bits.Mul64(k.fair, 1<<16)
			if hi < w {
				k.fair, _ = bits.Div64(hi, lo, w)
			}
		}
	}
	return k
}

// log2Fixed returns floor(log2(v)·2^16) for v ≥ 1, by repeated squaring.
func log2Fixed(v uint64) uint64 {
	n := uint64(bits.Len64(v) - 1)
	m := v << (63 - n) // mantissa in [2^63, 2^64)
	out := n << 16
	for bit := uint64(1 << 15); bit > 0; bit >>= 1 {
		hi, _ := bits.Mul64(m, m)
		if hi>>63 != 0 {
			out |= bit
			m = hi
		} else {
			m = hi << 1
		}
	}
	return out
}

func (s *Views) findApp(list []state.AppSlot, slot state.AppSlot) int {
	k := s.Apps[slot].Key
	return sort.Search(len(list), func(i int) bool { return !s.Apps[list[i]].Key.Less(k) })
}

func (s *Views) insertApp(list []state.AppSlot, slot state.AppSlot) []state.AppSlot {
	i := s.findApp(list, slot)
	list = append(list, 0)
	copy(list[i+1:], list[i:])
	list[i] = slot
	return list
}

func (s *Views) removeApp(list []state.AppSlot, slot state.AppSlot) []state.AppSlot {
	i := s.findApp(list, slot)
	return append(list[:i], list[i+1:]...)
}

// childLess orders the children of a parent: those that may use the label first, then by YARN's
// order, then by the order of the configuration.
func (s *Views) childLess(p *Partition, a, b int32) bool {
	qa, qb := &p.Queues[a], &p.Queues[b]
	if qa.barred != qb.barred {
		return qb.barred
	}
	if d := order.Compare(s.Queues[a].order, &qa.Key, &qb.Key); d != 0 {
		return d < 0
	}
	return a < b
}

// findChild returns the index of a child in the list, or where to insert it. Most often the child
// is the first one, which has just been served.
func (s *Views) findChild(p *Partition, list []int32, i int32) int {
	if len(list) > 0 && list[0] == i {
		return 0
	}
	low, high := 0, len(list)
	for low < high {
		if mid := int(uint(low+high) / 2); s.childLess(p, list[mid], i) {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}

func (s *Views) insertChild(p *Partition, list []int32, i int32) []int32 {
	k := s.findChild(p, list, i)
	list = append(list, 0)
	copy(list[k+1:], list[k:])
	list[k] = i
	return list
}

// shortList is the most children among which it is cheaper to look for one by its number than by its key.
const shortList = 128

func (s *Views) removeChild(p *Partition, list []int32, i int32) []int32 {
	var k int
	if len(list) <= shortList {
		k = slices.Index(list, i)
	} else {
		k = s.findChild(p, list, i)
	}
	return append(list[:k], list[k+1:]...)
}

// Active returns the applications of a leaf that have asks, in serving order. The caller must not
// change the slice.
func (v *View) Active(leaf int32) []state.AppSlot {
	if v.Lending {
		return v.Partitions[0].Queues[leaf].Active
	}
	return v.At.Queues[leaf].Active
}

// Children returns the children of a queue that have asks, in serving order.
func (v *View) Children(i int32) []int32 {
	if v.Lending {
		return v.At.Queues[i].borrowers
	}
	return v.At.Queues[i].children
}

// Pending returns the applications of a leaf that wait for activation, in order. The caller must
// not change the slice.
func (s *Views) Pending(leaf int32) []state.AppSlot { return s.Queues[leaf].Pending }

// ActiveBefore returns the applications of the same leaf that are served before an application.
func (v *View) ActiveBefore(app state.AppSlot) []state.AppSlot {
	active := v.Active(v.Apps[app].Leaf)
	return active[:min(v.findApp(active, app), len(active))]
}

// QueuesBefore returns the queues to which a node is offered before a leaf, that is before the leaf
// itself or one of its ancestors. Those nearest to root come first.
func (v *View) QueuesBefore(leaf int32) []int32 {
	var out []int32
	for i := leaf; v.Queues[i].Parent >= 0; i = v.Queues[i].Parent {
		var before []int32
		for _, child := range v.Children(v.Queues[i].Parent) {
			if child == i {
				break
			}
			before = append(before, child)
		}
		out = append(before, out...)
	}
	return out
}

// ChildrenWanting returns the number of children of a queue that have asks.
func (v *View) ChildrenWanting(i int32) int { return len(v.Children(i)) }

// UseRatio returns how much of its guarantee a queue uses, in units of 2^-32. Queues are ordered by
// it.
func (v *View) UseRatio(i int32) uint64 { return v.At.Queues[i].Key.Used.Fixed() }
