package capacity

import (
	"math/big"
	"math/bits"

	"rmd/yarn"
)

// Share is an exact part of a whole: a queue's part of its parent or of the
// cluster. The zero value is 0. A share whose numerator and denominator fit 64
// bits, as nearly all do, is kept as a fraction; only others carry a big one.
type Share struct {
	small yarn.Fraction
	big   *big.Rat
}

// ShareOne is the whole in the fixed-point form of Share.Fixed: 2^32 parts.
const ShareOne = uint64(1) << 32

// Whole is the share 1.
var Whole = Share{small: yarn.One}

// NewShare returns num/den; 0 when den is not positive.
func NewShare(num, den int64) Share {
	if den <= 0 {
		return Share{}
	}
	return Share{small: yarn.NewFraction(num, den)}
}

// ShareOf returns a fraction as a share.
func ShareOf(f yarn.Fraction) Share { return Share{small: f} }

// shareRat keeps r, in 64 bits when it fits.
func shareRat(r *big.Rat) Share {
	if r.Num().IsInt64() && r.Denom().IsInt64() {
		return Share{small: yarn.Fraction{Num: r.Num().Int64(), Den: r.Denom().Int64()}}
	}
	return Share{big: r}
}

// Rat returns the share as a big rational; it is the caller's to change.
func (s Share) Rat() *big.Rat {
	if s.big != nil {
		return new(big.Rat).Set(s.big)
	}
	return s.small.Rat()
}

// Fraction returns the share as a fraction: exact when it fits 64 bits, else
// rounded down to parts of 2^30 (only shares of more than 18 digits are).
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

// IsZero says whether the share is nothing.
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
	return shareRat(new(big.Rat).Mul(s.Rat(), o.Rat()))
}

// Div returns s/o; 0 when o is 0.
func (s Share) Div(o Share) Share {
	if s.IsZero() || o.IsZero() {
		return Share{}
	}
	return shareRat(new(big.Rat).Quo(s.Rat(), o.Rat()))
}

// Add returns s+o.
func (s Share) Add(o Share) Share {
	const most = 1 << 62
	if s.big == nil && o.big == nil && s.small.Den == o.small.Den && s.small.Num < most && o.small.Num < most && s.small.Num > -most && o.small.Num > -most {
		return ShareOf(yarn.NewFraction(s.small.Num+o.small.Num, s.small.Den)) // as the weights of most siblings
	}
	return shareRat(new(big.Rat).Add(s.Rat(), o.Rat()))
}

// Cmp compares two shares.
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

// Floor returns floor(r·s), kind by kind.
func (s Share) Floor(r yarn.Resource) yarn.Resource {
	for i, v := range r {
		if v != 0 {
			r[i] = s.MulFloor(v)
		}
	}
	return r
}

// Fixed returns the share in parts of 2^32, rounded down, but at least 1 for
// any positive share, so that it tells nothing from something.
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

// Percent writes the share as a percentage with up to the given decimals,
// rounded half away from zero, without trailing zeros: "33.33".
func (s Share) Percent(decimals int) string {
	r := s.Rat()
	r.Mul(r, big.NewRat(100, 1))
	return trimZeros(r.FloatString(decimals))
}

// FixedPercent writes a fixed-point share (2^32 parts) as a percentage.
func FixedPercent(fixed uint64, decimals int) string {
	hi, lo := bits.Mul64(fixed, 100)
	n := new(big.Int).SetUint64(hi)
	n.Lsh(n, 64).Or(n, new(big.Int).SetUint64(lo))
	r := new(big.Rat).SetFrac(n, new(big.Int).SetUint64(ShareOne))
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
