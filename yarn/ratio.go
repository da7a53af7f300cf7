package yarn

import (
	"cmp"
	"math/big"
	"math/bits"
	"slices"
)

// Ratio is an exact quotient of two products of non-negative numbers, such as one dominant share
// divided by another. The zero value is 0.
type Ratio struct{ num, den uint128 }

type uint128 struct{ hi, lo uint64 }

// NewRatio returns a·b / (c·d). It returns 0 if an argument is negative or c·d is 0.
func NewRatio(a, b, c, d int64) Ratio {
	if a <= 0 || b <= 0 || c <= 0 || d <= 0 {
		return Ratio{}
	}
	return Ratio{mul64(uint64(a), uint64(b)), mul64(uint64(c), uint64(d))}
}

func (r Ratio) isZero() bool { return r.den == uint128{} }

// Cmp compares two ratios exactly, by cross products.
func (r Ratio) Cmp(o Ratio) int {
	switch {
	case r.den == o.den: // common: siblings with equal guarantees
		return r.num.cmp(o.num)
	case r.isZero():
		return -1
	case o.isZero():
		return 1
	}
	if r.num.hi|r.den.hi|o.num.hi|o.den.hi == 0 { // common: one dominant kind
		return mul64(r.num.lo, o.den.lo).cmp(mul64(o.num.lo, r.den.lo))
	}
	a, b := r.num.mul(o.den), o.num.mul(r.den)
	return slices.Compare(a[:], b[:])
}

// BelowOne reports whether the ratio is less than 1.
func (r Ratio) BelowOne() bool {
	return r.isZero() || r.num.cmp(r.den) < 0
}

// Fixed returns the ratio in units of 2^-32, rounded down. It saturates instead of overflowing.
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

func mul64(a, b uint64) (p uint128) {
	p.hi, p.lo = bits.Mul64(a, b)
	return p
}

func (a uint128) cmp(b uint128) int {
	if a.hi != b.hi {
		return cmp.Compare(a.hi, b.hi)
	}
	return cmp.Compare(a.lo, b.lo)
}

// mul returns the 256-bit product, most significant word first.
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
