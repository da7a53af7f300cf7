package yarn

import (
	"math/bits"
	"slices"
)

// Calculator compares and rounds resources by one of YARN's two rules. The default calculator
// considers only memory, the dominant one every kind. Kinds is the number of kinds known to the
// cluster (2 … MaxKinds).
//
// Source: Hadoop 3.4.2, DefaultResourceCalculator and DominantResourceCalculator, with exact
// integers.
type Calculator struct {
	Dominant bool
	Kinds    int
}

// shareOne is 1.0 in the fixed-point shares used for ordering (2^32 parts).
const shareOne = 1 << 32

// Share returns floor(a·2^32 / b), or 0 if a or b is not positive. It saturates instead of
// overflowing.
func Share(a, b int64) uint64 {
	if b <= 0 || a <= 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(a), shareOne)
	if hi >= uint64(b) {
		return 1<<64 - 1
	}
	q, _ := bits.Div64(hi, lo, uint64(b))
	return q
}

// CompareProducts compares a·b with c·d exactly. Operands must not be negative.
func CompareProducts(a, b, c, d int64) int {
	h1, l1 := bits.Mul64(uint64(a), uint64(b))
	h2, l2 := bits.Mul64(uint64(c), uint64(d))
	switch {
	case h1 != h2:
		if h1 < h2 {
			return -1
		}
		return 1
	case l1 < l2:
		return -1
	case l1 > l2:
		return 1
	}
	return 0
}

// Compare compares a and b: by memory, or by their shares of total, sorted from the largest. Kinds
// whose total is zero do not count. If all totals are zero, a resource is larger if it is larger in
// some kind and smaller in none.
func (c Calculator) Compare(total, a, b Resource) int {
	if !c.Dominant {
		return compareInt(a[Memory], b[Memory])
	}
	if a == b {
		return 0
	}
	var kinds int
	for i := 0; i < c.Kinds; i++ {
		if total[i] > 0 {
			kinds++
		}
	}
	if kinds == 0 {
		return compareDominated(a, b)
	}
	return c.compareShares(total, a, b)
}

func compareDominated(a, b Resource) int {
	var less, more bool
	for i := range a {
		less = less || a[i] < b[i]
		more = more || a[i] > b[i]
	}
	switch {
	case more && !less:
		return 1
	case less && !more:
		return -1
	}
	return 0
}

// compareShares compares the shares of a and b, each sorted from the largest. It compares fractions
// value/total, without a division.
func (c Calculator) compareShares(total, a, b Resource) int {
	var ia, ib [MaxKinds]int
	na := c.sortShares(total, a, &ia)
	c.sortShares(total, b, &ib)
	for k := 0; k < na; k++ {
		i, j := ia[k], ib[k]
		if d := compareFraction(a[i], total[i], b[j], total[j]); d != 0 {
			return d
		}
	}
	return 0
}

func (c Calculator) sortShares(total, r Resource, order *[MaxKinds]int) int {
	n := 0
	for i := 0; i < c.Kinds; i++ {
		if total[i] <= 0 {
			continue
		}
		k := n
		for k > 0 && compareFraction(r[i], total[i], r[order[k-1]], total[order[k-1]]) > 0 {
			order[k] = order[k-1]
			k--
		}
		order[k] = i
		n++
	}
	return n
}

// compareFraction compares a/b with c/d for positive b and d.
func compareFraction(a, b, c, d int64) int {
	if (a < 0) != (c < 0) {
		return compareInt(a, c)
	}
	if a < 0 {
		return CompareProducts(-c, b, -a, d)
	}
	return CompareProducts(a, d, c, b)
}

func compareInt(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// Min returns a or b, whichever compares smaller; a on a tie.
func (c Calculator) Min(total, a, b Resource) Resource {
	if c.Compare(total, a, b) <= 0 {
		return a
	}
	return b
}

// Max returns a or b, whichever compares larger; a on a tie.
func (c Calculator) Max(total, a, b Resource) Resource {
	if c.Compare(total, a, b) >= 0 {
		return a
	}
	return b
}

// FitsIn reports whether small fits in big, in memory or in every kind.
func (c Calculator) FitsIn(small, big Resource) bool {
	if !c.Dominant {
		return small[Memory] <= big[Memory]
	}
	return small.Within(big)
}

// Holds reports whether free has enough of each kind of which size needs any, as YARN asks before it
// proposes a container. Of other kinds free may be negative: FitsIn, which YARN asks before it commits
// the proposal, is false then.
//
// Source: Hadoop 3.4.2, ResourceCalculator.computeAvailableContainers.
func (c Calculator) Holds(free, size Resource) bool {
	if c.Dominant {
		for i := range size {
			if size[i] == 0 {
				free[i] = max(free[i], 0)
			}
		}
	}
	return c.FitsIn(size, free)
}

// AnyAboveZero reports whether memory, or any kind, is above zero.
func (c Calculator) AnyAboveZero(r Resource) bool {
	if !c.Dominant {
		return r[Memory] > 0
	}
	for i := 0; i < c.Kinds; i++ {
		if r[i] > 0 {
			return true
		}
	}
	return false
}

// AllAboveZero reports whether memory, or every kind, is above zero.
func (c Calculator) AllAboveZero(r Resource) bool {
	kinds := r[:1]
	if c.Dominant {
		kinds = r[:c.Kinds]
	}
	return !slices.ContainsFunc(kinds, func(v int64) bool { return v <= 0 })
}

// AvailableContainers returns how many containers of size req fit in avail, or 0 if req is empty.
func (c Calculator) AvailableContainers(avail, req Resource) int64 {
	if !c.Dominant {
		if req[Memory] <= 0 || avail[Memory] < 0 {
			return 0
		}
		return avail[Memory] / req[Memory]
	}
	n := int64(-1)
	for i := 0; i < c.Kinds; i++ {
		if req[i] <= 0 {
			continue
		}
		if avail[i] < 0 {
			return 0
		}
		if k := avail[i] / req[i]; n < 0 || k < n {
			n = k
		}
	}
	return max(n, 0)
}

// HasRoom reports whether a node with these free resources can take a container: the smallest one
// fits, and no resource is over-committed. If the total of a node was lowered below its use, the
// node gets no container, even if the ask does not need that resource.
func (c Calculator) HasRoom(free, least Resource) bool {
	return c.AvailableContainers(free, least) > 0 && c.FitsIn(Resource{}, free)
}

// Divide returns a/b exactly: the ratio of the memory, or of the largest share of a in total to the
// largest share of b.
func (c Calculator) Divide(total, a, b Resource) Ratio {
	i, j := c.dominant(total, a), c.dominant(total, b)
	if i == j {
		return NewRatio(a[i], 1, b[i], 1)
	}
	return NewRatio(a[i], total[j], total[i], b[j])
}

// DivideShare returns the result of Divide in units of 2^-32.
func (c Calculator) DivideShare(total, a, b Resource) uint64 { return c.Divide(total, a, b).Fixed() }

// dominant returns the kind in which r has the largest share of total.
func (c Calculator) dominant(total, r Resource) int {
	best := Memory
	for i := VCores; c.Dominant && i < c.Kinds; i++ {
		if total[i] > 0 && r[i] > 0 && (total[best] <= 0 || r[best] <= 0 ||
			CompareProducts(r[i], total[best], r[best], total[i]) > 0) {
			best = i
		}
	}
	return best
}

// scalar returns a result of the default calculator: the memory, and one vcore if there is memory.
func scalar(memory int64) Resource {
	r := Resource{Memory: memory}
	if memory > 0 {
		r[VCores] = 1
	}
	return r
}

// each applies f to memory, or to every kind.
func (c Calculator) each(r Resource, f func(i int, v int64) int64) Resource {
	if !c.Dominant {
		return scalar(f(Memory, r[Memory]))
	}
	for i := 0; i < c.Kinds; i++ {
		r[i] = f(i, r[i])
	}
	return r
}

// RoundUp rounds up to a multiple of step. A step of 0 leaves the kind unchanged.
func (c Calculator) RoundUp(r, step Resource) Resource {
	return c.each(r, func(i int, v int64) int64 { return roundUp(v, step[i]) })
}

// RoundDown rounds toward 0 to a multiple of step, so that a limit below 0, which a blocked sibling
// leaves to a queue, grows. A step of 0 leaves the kind unchanged.
//
// Source: Hadoop 3.4.2, ResourceCalculator.roundDown.
func (c Calculator) RoundDown(r, step Resource) Resource {
	return c.each(r, func(i int, v int64) int64 { return roundDown(v, step[i]) })
}

// DivideCeil returns ceil(r/n).
func (c Calculator) DivideCeil(r Resource, n int64) Resource {
	return c.each(r, func(_ int, v int64) int64 { return ceilDiv(v, n) })
}

// DivideCeilFraction returns ceil(r / f). f is a weight.
func (c Calculator) DivideCeilFraction(r Resource, f Fraction) Resource {
	return c.each(r, func(_ int, v int64) int64 {
		return Fraction{Num: f.Den, Den: f.Num}.MulCeil(v)
	})
}

// MultiplyRoundDown returns floor(r·f) for every kind, with both calculators.
func (c Calculator) MultiplyRoundDown(r Resource, f Fraction) Resource {
	for i, v := range r {
		if v != 0 { // most kinds are not in use: save a division each
			r[i] = f.MulFloor(v)
		}
	}
	return r
}

// MultiplyNormalizeUp returns roundUp(r·f, step). The default calculator first rounds r·f half up,
// the dominant one rounds it up.
func (c Calculator) MultiplyNormalizeUp(r Resource, f Fraction, step Resource) Resource {
	if !c.Dominant {
		return scalar(roundUp(f.MulRound(r[Memory]), step[Memory]))
	}
	return c.each(r, func(i int, v int64) int64 { return roundUp(f.MulCeil(v), step[i]) })
}

// MultiplyNormalizeDown returns roundDown(floor(r·f), step).
func (c Calculator) MultiplyNormalizeDown(r Resource, f Fraction, step Resource) Resource {
	return c.each(r, func(i int, v int64) int64 { return roundDown(f.MulFloor(v), step[i]) })
}

// Normalize rounds the size of an ask up to a multiple of minimum, within minimum and maximum. In
// the Capacity Scheduler, the step is the minimum allocation.
func (c Calculator) Normalize(ask, minimum, maximum Resource) Resource {
	if !c.Dominant {
		return scalar(min(roundUp(max(ask[Memory], minimum[Memory]), minimum[Memory]), maximum[Memory]))
	}
	for i := 0; i < c.Kinds; i++ {
		ask[i] = min(roundUp(max(ask[i], minimum[i]), minimum[i]), maximum[i])
	}
	return ask
}

func roundUp(v, step int64) int64 {
	if step <= 0 {
		return v
	}
	return mul(ceilDiv(v, step), step)
}

func roundDown(v, step int64) int64 {
	if step <= 0 {
		return v
	}
	return v - v%step
}

func ceilDiv(v, n int64) int64 { return sub(0, floorDiv(sub(0, v), n)) }

func floorDiv(v, n int64) int64 {
	if n == 0 {
		return 0
	}
	q := v / n
	if v%n != 0 && (v < 0) != (n < 0) {
		q--
	}
	return q
}
