package entitlement

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// value returns x as a float64.
func value(x number) float64 { return math.Ldexp(float64(x.m), x.e) }

// exactly returns v as a number.
func exactly(v float64) number {
	m, e := math.Frexp(v)
	return number{int64(math.Ldexp(m, 53)), e - 53}
}

// TestRoundingMatchesHardware compares each operation with the machine's floating point, which
// equals Java's.
func TestRoundingMatchesHardware(t *testing.T) {
	operand := rapid.OneOf(
		rapid.Custom(func(t *rapid.T) float64 { return float64(rapid.Int64Range(-1<<50, 1<<50).Draw(t, "whole")) }),
		rapid.Custom(func(t *rapid.T) float64 { return float64(rapid.IntRange(-1000, 1000).Draw(t, "small")) }),
		rapid.Float64Range(-2, 2),
		rapid.Custom(func(t *rapid.T) float64 {
			return math.Nextafter(float64(rapid.IntRange(0, 64).Draw(t, "half"))/2, rapid.Float64().Draw(t, "to"))
		}),
		rapid.Custom(func(t *rapid.T) float64 { return float64(rapid.Float32Range(0, 1).Draw(t, "single")) }),
	)
	rapid.Check(t, func(t *rapid.T) {
		a, b := operand.Draw(t, "a"), operand.Draw(t, "b")
		if a != 0 && math.Abs(a) < 1e-15 || b != 0 && math.Abs(b) < 1e-15 {
			t.Skip("such numbers do not occur, and Java's types do not hold their quotients")
		}
		x, y := exactly(a), exactly(b)
		f, g := float32(a), float32(b)
		same := func(what string, got, want float64) {
			if got != want {
				t.Fatalf("%s of %v and %v: %v, want %v", what, a, b, got, want)
			}
		}
		same("sum", value(x.plus(y, double)), a+b)
		same("product", value(x.times(y, double)), a*b)
		same("single", value(x.round(float)), float64(f))
		same("sum of singles", value(x.round(float).plus(y.round(float), float)), float64(f+g))
		same("product of singles", value(x.round(float).times(y.round(float), float)), float64(f*g))
		if b != 0 {
			same("quotient", value(x.over(y, double)), a/b)
			same("quotient of singles", value(x.round(float).over(y.round(float), float)), float64(f/g))
		}
		if a >= 0 && b >= 0 {
			same("order", float64(x.compare(y)), float64(sign(a, b)))
		}
		same("floor", float64(x.floor()), math.Floor(a))
		same("ceil", float64(x.ceil()), math.Ceil(a))
		same("truncation", float64(x.truncate()), math.Trunc(a))
	})
}

func sign(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
