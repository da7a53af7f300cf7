package views

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"rmd/yarn"
)

// TestWeightsOfUsersThatComeAndGo checks that the sum of the weights of active users is exact for
// any weights, and 0 in the end.
func TestWeightsOfUsersThatComeAndGo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sum, exact := yarn.Fraction{Num: 0, Den: 1}, new(big.Rat)
		var users []yarn.Fraction
		change := func(w yarn.Fraction, sign int64) {
			sum = AddFraction(sum, w, sign)
			exact.Add(exact, new(big.Rat).Mul(w.Rat(), big.NewRat(sign, 1)))
			if sum.Rat().Cmp(exact) != 0 {
				t.Fatalf("%d users weigh %v, the sum is %v", len(users), exact, sum)
			}
		}
		for range rapid.IntRange(1, 60).Draw(t, "users") {
			digits := rapid.SampledFrom([]int64{1, 10, 1000, 1e9}).Draw(t, "digits")
			users = append(users, yarn.NewFraction(rapid.Int64Range(1, 1000*digits).Draw(t, "weight"), digits))
			change(users[len(users)-1], 1)
		}
		for len(users) > 0 {
			i := rapid.IntRange(0, len(users)-1).Draw(t, "goes")
			w := users[i]
			users = append(users[:i], users[i+1:]...)
			change(w, -1)
		}
	})
}
