package yarn

import (
	"math/big"
	"math/bits"
)

// Ratio is an exact quotient of two products of non-negative numbers, as one
// dominant share over another is. The zero value is 0.
type Ratio struct{ num, den uint128 }

type uint128 struct{ hi, lo uint64 }

// NewRatio returns a·b / (c·d); 0 when a number is negative or the divisor 0.
func NewRatio(a, b, c, d int64) Ratio {
	if a <= 0 || b <= 0 || c <= 0 || d <= 0 {
		return Ratio{}
	}
	var r Ratio
	r.num.hi, r.num.lo = bits.Mul64(uint64(a), uint64(b))
	r.den.hi, r.den.lo = bits.Mul64(uint64(c), uint64(d))
	return r
}

func (r Ratio) isZero() bool { return r.den == uint128{} }

// Cmp compares two ratios by their cross products.
func (r Ratio) Cmp(o Ratio) int {
	switch {
	case r.isZero() && o.isZero():
		return 0
	case r.isZero():
		return -1
	case o.isZero():
		return 1
	}
	a, b := r.num.mul(o.den), o.num.mul(r.den)
	for i := range a {
		if a[i] != b[i] {
			if a[i] < b[i] {
				return -1
			}
			return 1
		}
	}
	return 0
}

// BelowOne says whether the ratio is less than 1.
func (r Ratio) BelowOne() bool {
	return r.isZero() || r.num.hi < r.den.hi || (r.num.hi == r.den.hi && r.num.lo < r.den.lo)
}

// Fixed returns the ratio in parts of 2^32, rounded down and saturated.
func (r Ratio) Fixed() uint64 {
	if r.isZero() {
		return 0
	}
	n := new(big.Int).Lsh(r.num.big(), 32)
	if n.Div(n, r.den.big()); !n.IsUint64() {
		return 1<<64 - 1
	}
	return n.Uint64()
}

func (a uint128) big() *big.Int {
	n := new(big.Int).SetUint64(a.hi)
	return n.Lsh(n, 64).Or(n, new(big.Int).SetUint64(a.lo))
}

// mul returns the product, the highest word first.
func (a uint128) mul(b uint128) [4]uint64 {
	hh, hl := bits.Mul64(a.hi, b.hi)
	xh, xl := bits.Mul64(a.hi, b.lo)
	yh, yl := bits.Mul64(a.lo, b.hi)
	lh, ll := bits.Mul64(a.lo, b.lo)
	mid, c1 := bits.Add64(lh, xl, 0)
	mid, c2 := bits.Add64(mid, yl, 0)
	high, c3 := bits.Add64(hl, xh, c1)
	high, c4 := bits.Add64(high, yh, c2)
	return [4]uint64{hh + c3 + c4, high, mid, ll}
}
