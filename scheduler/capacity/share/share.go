// Package share has exact shares of a parent queue or of the cluster. It knows no queue.
package share

import (
	"math/big"
	"math/bits"

	"rmd/yarn"
)

// Share is an exact fraction of a parent queue or of the cluster. The zero value is 0. It uses a
// big.Rat only if the numerator or the denominator does not fit into 64 bits, which is rare.
type Share struct {
	small yarn.Fraction
	big   *big.Rat
}

// One is the value of Share.Fixed for the whole.
const One = uint64(1) << 32

// Whole is the share 1.
var Whole = Share{small: yarn.One}

// New returns num/den, or 0 if den is not positive.
func New(num, den int64) Share {
	if den <= 0 {
		return Share{}
	}
	return Share{small: yarn.NewFraction(num, den)}
}

// Of returns a fraction as a share.
func Of(f yarn.Fraction) Share { return Share{small: f} }

// OfRat returns r as a share. The share keeps r if it does not fit into 64 bits.
func OfRat(r *big.Rat) Share {
	if r.Num().IsInt64() && r.Denom().IsInt64() {
		return Share{small: yarn.Fraction{Num: r.Num().Int64(), Den: r.Denom().Int64()}}
	}
	return Share{big: r}
}

// hundred divides percentages.
var hundred = big.NewRat(100, 1)

// OfPercent converts a percentage to a fraction: 8.5 to 0.085.
func OfPercent(f yarn.Fraction) yarn.Fraction {
	if f.Den == 0 {
		return yarn.Fraction{Num: 0, Den: 1}
	}
	if f.Num%100 == 0 {
		return yarn.Fraction{Num: f.Num / 100, Den: f.Den}
	}
	return OfRat(f.Rat().Quo(f.Rat(), hundred)).Fraction()
}

// Exact returns the share as a fraction. exact is false if it does not fit into 64 bits.
func (s Share) Exact() (f yarn.Fraction, exact bool) { return s.small, s.big == nil }

// Rat returns the share as a big.Rat that the caller may change.
func (s Share) Rat() *big.Rat {
	if s.big != nil {
		return new(big.Rat).Set(s.big)
	}
	return s.small.Rat()
}

// Fraction returns the share as a fraction. If it does not fit into 64 bits, it is rounded down to
// a multiple of 1/2^30.
func (s Share) Fraction() yarn.Fraction {
	if s.big == nil {
		if s.small.Den == 0 {
			return yarn.Fraction{Num: 0, Den: 1}
		}
		return s.small
	}
	const parts = 1 << 30
	n := new(big.Int).Mul(s.big.Num(), big.NewInt(parts))
	n.Div(n, s.big.Denom())
	if !n.IsInt64() {
		return yarn.Fraction{Num: 1<<62 - 1, Den: 1}
	}
	return yarn.NewFraction(n.Int64(), parts)
}

// IsZero reports whether the share is 0.
func (s Share) IsZero() bool {
	if s.big != nil {
		return s.big.Sign() == 0
	}
	return s.small.Num == 0
}

// Mul returns s·o.
func (s Share) Mul(o Share) Share {
	if s.IsZero() || o.IsZero() {
		return Share{}
	}
	return OfRat(new(big.Rat).Mul(s.Rat(), o.Rat()))
}

// Div returns s/o, or 0 if o is 0.
func (s Share) Div(o Share) Share {
	if s.IsZero() || o.IsZero() {
		return Share{}
	}
	return OfRat(new(big.Rat).Quo(s.Rat(), o.Rat()))
}

// Add returns s+o.
func (s Share) Add(o Share) Share {
	const most = 1 << 62
	if s.big == nil && o.big == nil && s.small.Den == o.small.Den && s.small.Num < most && o.small.Num < most &&
		s.small.Num > -most && o.small.Num > -most {
		return Of(yarn.NewFraction(s.small.Num+o.small.Num, s.small.Den)) // fast path for the weights of siblings
	}
	return OfRat(new(big.Rat).Add(s.Rat(), o.Rat()))
}

// Cmp returns -1, 0 or 1 if s is less than, equal to or greater than o.
func (s Share) Cmp(o Share) int {
	if s.big == nil && o.big == nil && s.small.Den > 0 && o.small.Den > 0 {
		return s.small.Cmp(o.small)
	}
	return s.Rat().Cmp(o.Rat())
}

// MulFloor returns floor(v·s).
func (s Share) MulFloor(v int64) int64 {
	if s.big == nil {
		return s.small.MulFloor(v)
	}
	n := new(big.Int).Mul(s.big.Num(), big.NewInt(v))
	n.Div(n, s.big.Denom())
	if !n.IsInt64() {
		return 1<<63 - 1
	}
	return n.Int64()
}

// Floor returns floor(r·s) for each kind.
func (s Share) Floor(r yarn.Resource) yarn.Resource {
	for i, v := range r {
		if v != 0 {
			r[i] = s.MulFloor(v)
		}
	}
	return r
}

// Fixed returns the share in parts of 2^32, rounded down. It is at least 1 for each positive share,
// so that it is 0 only for 0.
func (s Share) Fixed() uint64 {
	if s.IsZero() {
		return 0
	}
	if s.big == nil && s.small.Num > 0 {
		return max(yarn.Share(s.small.Num, s.small.Den), 1)
	}
	n := new(big.Int).Lsh(s.Rat().Num(), 32)
	n.Div(n, s.Rat().Denom())
	if n.Sign() < 0 {
		return 0
	}
	if !n.IsUint64() {
		return 1<<64 - 1
	}
	return max(n.Uint64(), 1)
}

// Percent formats the share as a percentage with at most the given number of decimals, rounded half
// away from zero, without trailing zeros: "33.33".
func (s Share) Percent(decimals int) string {
	r := s.Rat()
	r.Mul(r, big.NewRat(100, 1))
	return trimZeros(r.FloatString(decimals))
}

// FixedPercent formats a share in parts of 2^32 as Percent does.
func FixedPercent(fixed uint64, decimals int) string {
	hi, lo := bits.Mul64(fixed, 100)
	n := new(big.Int).SetUint64(hi)
	n.Lsh(n, 64).Or(n, new(big.Int).SetUint64(lo))
	r := new(big.Rat).SetFrac(n, new(big.Int).SetUint64(One))
	return trimZeros(r.FloatString(decimals))
}

func trimZeros(s string) string {
	dot := -1
	for i := range s {
		if s[i] == '.' {
			dot = i
		}
	}
	if dot < 0 {
		return s
	}
	end := len(s)
	for end > dot+1 && s[end-1] == '0' {
		end--
	}
	if end == dot+1 {
		end = dot
	}
	return s[:end]
}
