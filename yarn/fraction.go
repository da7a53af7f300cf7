package yarn

import (
	"fmt"
	"math/big"
	"strings"
)

// Fraction is an exact rational: a percentage, factor or weight of a configuration. Den is
// positive. The zero value is invalid; use NewFraction or ParseFraction.
type Fraction struct{ Num, Den int64 }

// One is the fraction 1.
var One = Fraction{1, 1}

// NewFraction returns num/den in lowest terms, with the sign in Num. den must not be zero.
func NewFraction(num, den int64) Fraction {
	if den < 0 {
		num, den = -num, -den
	}
	a, b := max(num, -num), den
	for b != 0 {
		a, b = b, a%b
	}
	if a == 0 {
		return Fraction{0, 1}
	}
	return Fraction{num / a, den / a}
}

// ParseFraction parses a decimal such as "33.333" exactly. It accepts a trailing "f" or "F", as
// Hadoop's parser does, but no exponents. It drops decimals after the ninth: scripts that compute
// percentages write them, but they are finer than Hadoop's own numbers.
func ParseFraction(s string) (Fraction, error) {
	t := strings.TrimSpace(s)
	if n := len(t) - 1; n >= 0 && (t[n] == 'f' || t[n] == 'F') {
		t = t[:n]
	}
	neg := strings.HasPrefix(t, "-")
	if neg || strings.HasPrefix(t, "+") {
		t = t[1:]
	}
	whole, frac, _ := strings.Cut(t, ".")
	if whole+frac == "" || strings.Trim(whole+frac, "0123456789") != "" {
		return Fraction{}, fmt.Errorf("%q is not a decimal number", s)
	}
	frac = frac[:min(len(frac), 9)]
	digits := whole + frac
	if len(digits) > 18 {
		return Fraction{}, fmt.Errorf("%q has too many digits", s)
	}
	var num int64
	for _, d := range digits {
		num = num*10 + int64(d-'0')
	}
	den := int64(1)
	for range frac {
		den *= 10
	}
	if neg {
		num = -num
	}
	return NewFraction(num, den), nil
}

// Cmp compares two fractions with positive denominators.
func (f Fraction) Cmp(o Fraction) int { return compareFraction(f.Num, f.Den, o.Num, o.Den) }

// IsZero reports whether the fraction is 0 or unset.
func (f Fraction) IsZero() bool { return f.Num == 0 }

// MulFloor returns floor(v·f).
func (f Fraction) MulFloor(v int64) int64 { return f.mul(v, 0) }

// MulCeil returns ceil(v·f).
func (f Fraction) MulCeil(v int64) int64 { return f.mul(v, f.Den-1) }

// MulRound returns floor(v·f + 1/2).
func (f Fraction) MulRound(v int64) int64 {
	if f.Den > 1<<61 || f.Num > 1<<61 || f.Num < -(1<<61) {
		twice := new(big.Int).Mul(big.NewInt(v), big.NewInt(f.Num))
		twice.Lsh(twice, 1).Add(twice, big.NewInt(f.Den))
		return floorBig(twice, new(big.Int).Lsh(big.NewInt(f.Den), 1))
	}
	return Fraction{2 * f.Num, 2 * f.Den}.mul(v, f.Den)
}

// mul returns floor((v·Num + add)/Den) without overflow.
func (f Fraction) mul(v, add int64) int64 {
	if f.Den == 0 {
		return 0
	}
	if p := mul(v, f.Num); add < 1<<62 && p < 1<<62 && p > -(1<<62) {
		return floorDiv(p+add, f.Den)
	}
	p := new(big.Int).Mul(big.NewInt(v), big.NewInt(f.Num))
	return floorBig(p.Add(p, big.NewInt(add)), big.NewInt(f.Den))
}

// floorBig returns floor(p/den), or the nearest int64. den must be positive.
func floorBig(p, den *big.Int) int64 {
	q := p.Div(p, den) // Euclidean division, which rounds down because den is positive
	switch {
	case q.IsInt64():
		return q.Int64()
	case q.Sign() < 0:
		return -1 << 63
	}
	return 1<<63 - 1
}

// String returns the fraction as a decimal with up to nine decimals if it is one, and otherwise as
// num/den.
func (f Fraction) String() string {
	r := f.Rat()
	for prec := 0; prec <= 9; prec++ {
		s := r.FloatString(prec)
		if back, ok := new(big.Rat).SetString(s); ok && back.Cmp(r) == 0 {
			return s
		}
	}
	return fmt.Sprintf("%d/%d", f.Num, f.Den)
}

// Rat returns the fraction as a big rational, or 0 if it is unset.
func (f Fraction) Rat() *big.Rat {
	if f.Den == 0 {
		return new(big.Rat)
	}
	return big.NewRat(f.Num, f.Den)
}
