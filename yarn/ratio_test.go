package yarn

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

func TestRatioIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.OneOf(rapid.Int64Range(0, 20), rapid.Int64Range(1<<62, 1<<63-1), rapid.Int64())
		draw := func() (Ratio, *big.Rat) {
			a, b, c, d := number.Draw(t, "a"), number.Draw(t, "b"), number.Draw(t, "c"), number.Draw(t, "d")
			exact := new(big.Rat)
			if min(a, b, c, d) > 0 {
				exact.Quo(new(big.Rat).Mul(big.NewRat(a, 1), big.NewRat(b, 1)),
					new(big.Rat).Mul(big.NewRat(c, 1), big.NewRat(d, 1)))
			}
			return NewRatio(a, b, c, d), exact
		}
		r, exact := draw()
		o, other := draw()
		if got := r.Cmp(o); got != exact.Cmp(other) {
			t.Fatalf("%v against %v: %d", exact, other, got)
		}
		if got := r.BelowOne(); got != (exact.Cmp(big.NewRat(1, 1)) < 0) {
			t.Fatalf("%v below one: %v", exact, got)
		}
		fixed := new(big.Int).Lsh(exact.Num(), 32)
		fixed.Div(fixed, exact.Denom())
		if !fixed.IsUint64() {
			fixed.SetUint64(1<<64 - 1)
		}
		if got := r.Fixed(); got != fixed.Uint64() {
			t.Fatalf("%v in parts of 2^32: %d, want %d", exact, got, fixed)
		}
	})
}
