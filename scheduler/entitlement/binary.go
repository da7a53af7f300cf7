package entitlement

import (
	"math"
	"math/bits"
)

// number is a floating-point number m·2^e, as Java computes with it. The zero value is 0. Each
// operation takes the number of significant bits to which Java rounds its result, half to even.
// Exponents stay far from the limits of Java's types.
type number struct {
	m int64
	e int
}

// The significant bits of Java's types float and double.
const (
	float  = 24
	double = 53
)

// integer returns v without rounding.
func integer(v int64) number { return number{m: v} }

// rounded returns (hi·2^64 + lo)·2^e, rounded to keep bits. If the caller has dropped nonzero bits
// below lo, it must set the last bit of lo, and the number must have at least two bits more than
// keep.
func rounded(negative bool, hi, lo uint64, e, keep int) number {
	size := bits.Len64(lo)
	if hi != 0 {
		size = 64 + bits.Len64(hi)
	}
	if cut := size - keep; cut > 0 {
		var half, below bool
		_, lo, half, below = cutOff(hi, lo, cut)
		if half && (below || lo&1 == 1) {
			lo++
		}
		e += cut
	}
	if negative {
		return number{-int64(lo), e}
	}
	return number{int64(lo), e}
}

// cutOff removes the last n bits. half is the first of them, and below reports whether any bit
// after it is set.
func cutOff(hi, lo uint64, n int) (newHi, newLo uint64, half, below bool) {
	if n > 64 {
		newHi, newLo, half, below = cutOff(0, hi, n-64)
		return newHi, newLo, half, below || lo != 0
	}
	last := lo << (64 - n)
	return hi >> n, lo>>n | hi<<(64-n), last>>63 == 1, last<<1 != 0
}

func magnitude(v int64) uint64 {
	if v < 0 {
		return -uint64(v)
	}
	return uint64(v)
}

func (x number) round(keep int) number { return rounded(x.m < 0, 0, magnitude(x.m), x.e, keep) }

func (x number) times(y number, keep int) number {
	hi, lo := bits.Mul64(magnitude(x.m), magnitude(y.m))
	return rounded((x.m < 0) != (y.m < 0), hi, lo, x.e+y.e, keep)
}

// over returns x/y. y must not be 0.
func (x number) over(y number, keep int) number {
	if x.m == 0 {
		return number{}
	}
	a, b := magnitude(x.m), magnitude(y.m)
	up, down := bits.LeadingZeros64(a), bits.LeadingZeros64(b)
	a, b = a<<up, b<<down
	q, rest := bits.Div64(a>>1, a<<63, b)
	if rest != 0 {
		q |= 1
	}
	return rounded((x.m < 0) != (y.m < 0), 0, q, x.e-up-63-y.e+down, keep)
}

func (x number) plus(y number, keep int) number {
	if y.m == 0 || x.m != 0 && x.e < y.e {
		x, y = y, x
	}
	if x.m == 0 {
		return y.round(keep)
	}
	shift := x.e - y.e
	if bits.Len64(magnitude(x.m))+shift > 126 {
		return x.round(keep) // y is too small to change the rounded sum
	}
	hi, lo := shifted(magnitude(x.m), shift)
	small := magnitude(y.m)
	if (x.m < 0) == (y.m < 0) {
		lo, carry := bits.Add64(lo, small, 0)
		return rounded(x.m < 0, hi+carry, lo, y.e, keep)
	}
	if hi == 0 && lo < small {
		return rounded(y.m < 0, 0, small-lo, y.e, keep)
	}
	lo, borrow := bits.Sub64(lo, small, 0)
	return rounded(x.m < 0, hi-borrow, lo, y.e, keep)
}

func shifted(v uint64, n int) (hi, lo uint64) {
	if n >= 64 {
		return v << (n - 64), 0
	}
	return v >> (64 - n), v << n
}

// compare compares numbers that are not negative.
func (x number) compare(y number) int {
	if x.m == 0 || y.m == 0 {
		return compare(x.m, y.m)
	}
	a, b := bits.LeadingZeros64(uint64(x.m)), bits.LeadingZeros64(uint64(y.m))
	if d := compare(int64(x.e-a), int64(y.e-b)); d != 0 {
		return d
	}
	return compare(x.m<<(a-1), y.m<<(b-1))
}

// order returns a key whose order is that of compare. x must not be negative and must have at most
// 32 significant bits.
func (x number) order() uint64 {
	if x.m == 0 {
		return 0
	}
	size := bits.Len64(uint64(x.m))
	return uint64(x.e+size+1<<20)<<32 | uint64(x.m)<<(64-size)>>32
}

func compare(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// floor returns the largest integer that is not above x, or the limit of int64 if x is too large.
func (x number) floor() int64 {
	switch {
	case x.e <= 0:
		return x.m >> min(-x.e, 63)
	case bits.Len64(magnitude(x.m))+x.e > 62:
		if x.m < 0 {
			return math.MinInt64
		}
		return math.MaxInt64
	}
	return x.m << x.e
}

func (x number) ceil() int64 { return -number{-x.m, x.e}.floor() }

// truncate rounds towards zero, as a cast does in Java.
func (x number) truncate() int64 {
	if x.m < 0 {
		return x.ceil()
	}
	return x.floor()
}
