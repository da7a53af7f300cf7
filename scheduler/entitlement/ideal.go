package entitlement

import (
	"cmp"
	"container/heap"
	"math"

	"rmd/yarn"
)

// calculation is the state of one call of Entitlements.
type calculation struct {
	*Partition
	mode   Mode
	budget yarn.Resource
	shares []Share
	nodes  []node
}

// node has the intermediate results for a queue.
type node struct {
	children []int32
	pending  yarn.Resource // of all leaves below the queue
	offered  yarn.Resource // pending, less reservations unless mode.Reserved
	takeable yarn.Resource // used above guarantees, without what is untouchable
	capacity number        // AbsCapacity
	wants    yarn.Resource // used and offered
	most     yarn.Resource // the larger one of its use and its guarantee
}

// newCalculation sums up, for each queue, what its leaves want and what may be taken from them.
func newCalculation(p *Partition, budget yarn.Resource, m Mode) *calculation {
	c := &calculation{Partition: p, mode: m, budget: budget, shares: make([]Share, len(p.Queues)),
		nodes: make([]node, len(p.Queues))}
	for i := len(p.Queues) - 1; i >= 0; i-- {
		q, n := &p.Queues[i], &c.nodes[i]
		n.pending, n.offered = n.pending.Add(q.Pending), n.offered.Add(q.PendingLessReserved)
		c.splitExtra(i)
		if q.Parent >= 0 {
			above := &c.nodes[q.Parent]
			above.pending, above.offered = above.pending.Add(n.pending), above.offered.Add(n.offered)
			above.takeable = above.takeable.Add(n.takeable)
		}
	}
	for i := range p.Queues {
		c.nodes[i].capacity = decimal(p.Queues[i].AbsCapacity, float)
		if m.Reserved {
			c.nodes[i].offered = c.nodes[i].pending
		}
		if up := p.Queues[i].Parent; up >= 0 {
			c.nodes[up].children = append(c.nodes[up].children, int32(i))
		}
	}
	return c
}

// splitExtra divides the use of a queue above its guarantee into a part that may be taken and an
// untouchable one. It must have run for the children of a parent.
func (c *calculation) splitExtra(i int) {
	q, n, share := &c.Queues[i], &c.nodes[i], &c.shares[i]
	extra := q.Used.Sub(q.Guaranteed)
	if c.compare(c.Total, extra, yarn.Resource{}) < 0 {
		extra = yarn.Resource{}
	}
	switch {
	case q.Leaf && q.Disabled:
		share.Untouchable = extra
	case q.Leaf:
		n.takeable = extra
	case c.compare(c.Total, n.takeable, extra) < 0:
		share.Untouchable = extra.Sub(n.takeable)
	default:
		n.takeable = c.min(c.Total, n.takeable, extra)
	}
}

// distribute divides the ideal resource of a parent among its children.
func (c *calculation) distribute(parent int32) {
	total, children := c.shares[parent].Ideal, c.nodes[parent].children
	var guaranteed, rest []int32
	for _, i := range children {
		if c.above(total, c.Queues[i].Guaranteed) {
			guaranteed = append(guaranteed, i)
		} else {
			rest = append(rest, i)
		}
	}
	left := c.fill(total, total, guaranteed, false)
	if c.above(total, left) {
		c.fill(total, left, rest, true)
	}
	scale := c.scale(total, children)
	for _, i := range children {
		c.shares[i].Excess = c.excess(total, i, scale)
	}
}

// fill offers left, a part of total, to the queues in rounds, and returns what no queue accepted.
// Each round serves the neediest queues (needyQueues.compare). With evenly all queues get equal
// offers, regardless of their guarantees.
func (c *calculation) fill(total, left yarn.Resource, queues []int32, evenly bool) yarn.Resource {
	needy := &needyQueues{c: c, weights: weights{evenly: evenly}}
	for _, i := range queues {
		q, n := &c.Queues[i], &c.nodes[i]
		n.wants, n.most = q.Used.Add(n.offered), c.max(total, q.Used, q.Guaranteed)
		c.shares[i].Ideal = c.initialIdeal(total, i)
		left = left.Sub(c.shares[i].Ideal)
		if c.compare(total, c.shares[i].Ideal, q.Used.Add(n.pending)) < 0 {
			c.shares[i].Needy = true
			needy.add(total, i)
		}
	}
	for len(needy.queues) > 0 && c.above(total, left) {
		weights := c.weigh(needy)
		round := left
		for _, i := range needy.popNeediest() {
			if !c.Calculator.AnyAboveZero(left) {
				break
			}
			offered := yarn.ComponentMin(weights.part(c, i, round), left)
			accepted := c.accept(total, i, offered)
			if c.above(total, accepted) {
				needy.add(total, i)
			}
			left = left.Sub(accepted)
		}
	}
	return left
}

// initialIdeal is the ideal of a queue before any offer: its use, but at most the sum of its
// guarantee and what is untouchable.
func (c *calculation) initialIdeal(total yarn.Resource, i int32) yarn.Resource {
	q := &c.Queues[i]
	if c.compare(total, q.Used, q.Guaranteed) <= 0 {
		return q.Used
	}
	return yarn.ComponentMin(q.Guaranteed, q.Used).Add(c.shares[i].Untouchable)
}

// accept adds the part of an offer that a queue can use to the queue's ideal, and returns that
// part.
func (c *calculation) accept(total yarn.Resource, i int32, offered yarn.Resource) yarn.Resource {
	q, n, ideal := &c.Queues[i], &c.nodes[i], &c.shares[i].Ideal
	room := yarn.ComponentMax(q.Max.Sub(*ideal), yarn.Resource{})
	accepted := yarn.ComponentMin(room, c.min(total, offered, n.wants.Sub(*ideal)))
	// Without mode.Balance the ideal of a leaf does not exceed both its guarantee and its use. A
	// parent's may, since some of its leaves can be below their guarantees.
	if q.Leaf && !c.mode.Balance {
		accepted = c.min(total, accepted, c.max(total, n.most.Sub(*ideal), yarn.Resource{}))
	}
	accepted = yarn.ComponentMin(yarn.ComponentMax(accepted, yarn.Resource{}), offered)
	*ideal = ideal.Add(accepted)
	return accepted
}

// scale returns the fraction of the queues' excess that the budget of a round allows.
func (c *calculation) scale(total yarn.Resource, queues []int32) number {
	var needed yarn.Resource
	for _, i := range queues {
		if used, ideal := c.Queues[i].Used, c.shares[i].Ideal; c.compare(total, used, ideal) > 0 {
			needed = needed.Add(used.Sub(ideal))
		}
	}
	if c.compare(total, needed, c.budget) > 0 {
		return c.divide(total, c.budget, needed)
	}
	return integer(1)
}

// excess is what a queue uses above what it may keep. A queue within its guarantee keeps what it
// uses and wants, because its ideal may leave out what it has reserved.
func (c *calculation) excess(total yarn.Resource, i int32, scale number) yarn.Resource {
	q := &c.Queues[i]
	used := q.Used.Sub(q.Killable)
	keep := c.max(total, c.min(total, q.Used.Add(c.nodes[i].pending), q.Guaranteed), c.shares[i].Ideal)
	if c.compare(total, used, keep) <= 0 {
		return yarn.Resource{}
	}
	return multiply(used.Sub(keep), scale)
}

// mayGive reports whether something may be taken from a queue: it is a leaf that uses more than its
// guarantee and what is ignored beyond it.
func (c *calculation) mayGive(i int, s *Settings) bool {
	q := &c.Queues[i]
	tolerated := multiply(q.Guaranteed, integer(1).plus(decimal(s.MaxIgnoredOverCapacity, double), double))
	return q.Leaf && !q.Disabled && c.compare(c.Cluster, q.Used, tolerated) > 0
}

// toTake is what must be taken from a leaf in this round.
func (c *calculation) toTake(i int, s *Settings) yarn.Resource {
	excess := c.shares[i].Excess
	if !c.shares[i].MayGive {
		return yarn.Resource{}
	}
	if c.mode.Reserved || !c.above(c.Cluster, excess) {
		return excess
	}
	factor := decimal(s.NaturalTermination, double)
	if !c.Calculator.Dominant {
		return memoryAlone(halfUp(excess[yarn.Memory], factor))
	}
	for k := range excess[:c.Calculator.Kinds] {
		excess[k] = integer(excess[k]).times(factor, double).round(float).ceil()
	}
	return excess
}

// weights are the parts in which an offer is divided among the needy queues.
type weights struct {
	evenly     bool
	count      int
	guaranteed yarn.Resource
	capacities int                // number of queues whose capacity is above 0
	tiny       [yarn.MaxKinds]int // number of those whose guarantee is rounded down to 0, by kind
	capacity   number             // sum of the absolute capacities; set only if byCapacity
}

// add adds a queue, and remove removes it.
func (w *weights) add(q *Queue) {
	w.guaranteed = w.guaranteed.Add(q.Guaranteed)
	w.change(q, 1)
}

func (w *weights) remove(q *Queue) {
	w.guaranteed = w.guaranteed.Sub(q.Guaranteed)
	w.change(q, -1)
}

func (w *weights) change(q *Queue, by int) {
	w.count += by
	if q.AbsCapacity.IsZero() {
		return
	}
	w.capacities += by
	for k, v := range q.Guaranteed {
		if v == 0 {
			w.tiny[k] += by
		}
	}
}

// byCapacity reports whether the weights of a kind are in proportion to capacities instead of
// guarantees. They are if a guarantee is 0 only because it was rounded down.
func (w *weights) byCapacity(k int) bool { return !w.evenly && w.tiny[k] > 0 && w.guaranteed[k] != 0 }

// weigh returns the weights of the needy queues, with the sum of capacities if a kind needs it.
func (c *calculation) weigh(needy *needyQueues) weights {
	w := needy.weights
	for k := range c.Calculator.Kinds {
		if w.byCapacity(k) {
			for _, q := range needy.queues {
				w.capacity = w.capacity.plus(c.nodes[q.index].capacity, float)
			}
			break
		}
	}
	return w
}

// of returns the weight of a queue for a kind. The weights of all queues sum up to 1.
func (w *weights) of(q *Queue, capacity number, k int) number {
	switch {
	case w.byCapacity(k):
		return capacity.over(w.capacity, float)
	case w.evenly || w.capacities == 0 || w.guaranteed[k] == 0:
		return integer(1).over(integer(int64(w.count)), float)
	}
	return integer(q.Guaranteed[k]).round(float).over(integer(w.guaranteed[k]).round(float), float)
}

// part returns a queue's part of an offer.
func (w *weights) part(c *calculation, i int32, offer yarn.Resource) yarn.Resource {
	q, capacity := &c.Queues[i], c.nodes[i].capacity
	if !c.Calculator.Dominant {
		return memoryAlone(halfUp(offer[yarn.Memory], w.of(q, capacity, yarn.Memory)))
	}
	for k := range offer[:c.Calculator.Kinds] {
		offer[k] = integer(offer[k]).times(w.of(q, capacity, k), double).ceil()
	}
	return offer
}

// needyQueues are the queues that want more, the neediest first. It is a binary heap like Java's
// PriorityQueue, because the heap decides the order of equally needy queues.
type needyQueues struct {
	c       *calculation
	queues  []needyQueue
	popped  []int32 // scratch space of popNeediest
	weights weights // of the queues in the heap
}

// needyQueue is a queue and what decides how needy it is.
type needyQueue struct {
	filled   uint64 // number.order of Ideal divided by Guaranteed
	index    int32
	priority int32
}

func (h *needyQueues) Len() int           { return len(h.queues) }
func (h *needyQueues) Less(i, j int) bool { return h.queues[i].compare(h.queues[j]) < 0 }
func (h *needyQueues) Swap(i, j int)      { h.queues[i], h.queues[j] = h.queues[j], h.queues[i] }

// Push and Pop move no values, because a value in an interface needs an allocation. add and
// popNeediest do that themselves.
func (h *needyQueues) Push(any) {}
func (h *needyQueues) Pop() any { h.queues = h.queues[:len(h.queues)-1]; return nil }

// satisfied is the key of a queue that has exactly its guarantee.
var satisfied = integer(1).order()

func (a needyQueue) compare(b needyQueue) int {
	if a.priority != b.priority && (a.filled < satisfied) == (b.filled < satisfied) {
		return cmp.Compare(b.priority, a.priority)
	}
	return cmp.Compare(a.filled, b.filled)
}

// add inserts a queue after its ideal has changed.
func (h *needyQueues) add(total yarn.Resource, i int32) {
	q, filled := &h.c.Queues[i], integer(math.MaxInt32) // a queue without a guarantee comes last
	if h.c.above(total, q.Guaranteed) {
		filled = h.c.divide(total, h.c.shares[i].Ideal, q.Guaranteed)
	}
	h.weights.add(q)
	h.queues = append(h.queues, needyQueue{filled.order(), i, q.Priority})
	heap.Push(h, nil)
}

// popNeediest removes and returns the neediest queue and those that are equally needy. The result
// is valid until the next call.
func (h *needyQueues) popNeediest() []int32 {
	h.popped = h.popped[:0]
	for last := h.queues[0]; len(h.queues) > 0 && last.compare(h.queues[0]) >= 0; {
		last = h.queues[0]
		heap.Pop(h)
		h.weights.remove(&h.c.Queues[last.index])
		h.popped = append(h.popped, last.index)
	}
	return h.popped
}

// above reports whether a is more than nothing.
func (c *calculation) above(total, a yarn.Resource) bool {
	return c.compare(total, a, yarn.Resource{}) > 0
}

func (c *calculation) min(total, a, b yarn.Resource) yarn.Resource {
	if c.compare(total, a, b) <= 0 {
		return a
	}
	return b
}

func (c *calculation) max(total, a, b yarn.Resource) yarn.Resource {
	if c.compare(total, a, b) >= 0 {
		return a
	}
	return b
}

// compare is Calculator.Compare, except that it includes kinds of which total is negative. YARN
// includes them too.
func (c *calculation) compare(total, a, b yarn.Resource) int {
	for k, v := range total {
		if v < 0 {
			total[k], a[k], b[k] = -v, -a[k], -b[k]
		}
	}
	return c.Calculator.Compare(total, a, b)
}

// divide returns a/b as YARN's calculators do: the quotient of the memory, or of the largest shares
// of total.
func (c *calculation) divide(total, a, b yarn.Resource) number {
	if !c.Calculator.Dominant {
		return integer(a[yarn.Memory]).round(float).over(integer(b[yarn.Memory]).round(float), float)
	}
	x, y := c.largest(total, a), c.largest(total, b)
	if y.m == 0 {
		return number{}
	}
	return x.over(y, double).round(float)
}

// largest returns the largest share of total that r has of a kind, at least 0.
func (c *calculation) largest(total, r yarn.Resource) (most number) {
	for k := range r[:c.Calculator.Kinds] {
		if total[k] == 0 {
			continue
		}
		if share := integer(r[k]).over(integer(total[k]), double); share.m > 0 && share.compare(most) > 0 {
			most = share
		}
	}
	return most
}

// decimal returns a configured number as Java reads it, rounded to keep bits.
func decimal(f yarn.Fraction, keep int) number {
	if f.Den == 0 {
		return number{}
	}
	return integer(f.Num).over(integer(f.Den), keep)
}

// multiply multiplies each component and rounds towards zero.
func multiply(r yarn.Resource, by number) yarn.Resource {
	for k, v := range r {
		r[k] = integer(v).times(by, double).truncate()
	}
	return r
}

// halfUp returns v·by, rounded half up if it is positive.
func halfUp(v int64, by number) int64 {
	return integer(v).times(by, double).plus(number{1, -1}, double).truncate()
}

// memoryAlone returns an amount of memory as the default calculator does, which adds one vcore
// unless the amount is 0.
//
// Source: Hadoop 3.4.2, Resources.createResource(long).
func memoryAlone(memory int64) yarn.Resource {
	r := yarn.Resource{yarn.Memory: memory}
	if memory > 0 {
		r[yarn.VCores] = 1
	}
	return r
}
