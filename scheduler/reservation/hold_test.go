package reservation

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"rmd/yarn"
)

func gigabytes(n int64) yarn.Resource { return yarn.NewResource(n*1024, 1) }

// The table of scenario 19, and the specification's examples with F = 0.25,
// which takes a smallest container of 3G under a largest of 4G.
func TestHold(t *testing.T) {
	for _, c := range []struct {
		n, r, rr, size, least, most int64
		want                        bool
	}{
		{1, 0, 0, 8, 1, 8, true},
		{1, 1, 0, 4, 1, 8, false},
		{1, 1, 1, 4, 1, 8, false},
		{1, 1, 2, 4, 1, 8, true},
		{1, 1, 7, 8, 1, 8, false},
		{1, 1, 8, 8, 1, 8, true},
		{2, 1, 0, 4, 1, 8, true},
		{1, 2, 7, 4, 1, 8, false},
		{1, 2, 8, 4, 1, 8, true},
		{3, 3, 5, 1, 1, 8, true},
		{1, 1, 1, 4, 3, 4, false},
		{1, 1, 2, 4, 3, 4, true},
		{0, 0, 0, 1, 1, 8, false},
	} {
		claim := Claim{Outstanding: c.n, Held: c.r, ReReservations: c.rr, Size: gigabytes(c.size), MinAlloc: gigabytes(c.least), MaxAlloc: gigabytes(c.most)}
		if got := MayHold(yarn.Calculator{Kinds: 2}, claim); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestDominantStarvationLooksAtTheLargestShare(t *testing.T) {
	claim := Claim{Outstanding: 1, Held: 1, ReReservations: 4, MinAlloc: yarn.NewResource(1024, 1), MaxAlloc: yarn.NewResource(8192, 4)}
	claim.Size = yarn.NewResource(1024, 3) // 3/4 of the vcores: 4 · 1/4 = 1
	if s := Starvation(yarn.Calculator{Dominant: true, Kinds: 2}, claim); s != 1 {
		t.Errorf("S = %d, want 1", s)
	}
	if s := Starvation(yarn.Calculator{Kinds: 2}, claim); s != 3 { // memory only: trunc(4 · 7/8)
		t.Errorf("S = %d, want 3", s)
	}
}

// Starvation against rationals, up to counters of many months.
func TestStarvationIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		calc := yarn.Calculator{Dominant: rapid.Bool().Draw(t, "dominant"), Kinds: 2}
		size := func(name string, most int64) yarn.Resource {
			return yarn.NewResource(rapid.Int64Range(1, most).Draw(t, name), rapid.Int64Range(1, most).Draw(t, name+" vcores"))
		}
		k := Claim{Outstanding: rapid.Int64Range(0, 1_000_000).Draw(t, "asked"), Held: rapid.Int64Range(1, 100_000).Draw(t, "held"),
			ReReservations: rapid.Int64Range(0, 1<<31).Draw(t, "re-reservations"), MaxAlloc: size("most", 1<<40)}
		k.Size, k.MinAlloc = size("size", k.MaxAlloc[0]), yarn.NewResource(1, 1)
		part := new(big.Rat)
		fraction := func(r yarn.Resource) *big.Rat {
			best := new(big.Rat)
			for i := 0; i < 2 && (calc.Dominant || i == 0); i++ {
				if f := big.NewRat(r[i], k.MaxAlloc[i]); f.Cmp(best) > 0 {
					best = f
				}
			}
			return best
		}
		part = fraction(k.Size)
		if f := fraction(k.MaxAlloc.Sub(k.MinAlloc)); f.Cmp(part) < 0 {
			part = f
		}
		s := new(big.Rat).Sub(big.NewRat(1, 1), part)
		s.Mul(s, big.NewRat(k.ReReservations, k.Held))
		want := new(big.Int).Quo(s.Num(), s.Denom()).Int64()
		if want < 0 {
			want = 0
		}
		got := Starvation(calc, k)
		if got != want && !(got >= k.Outstanding+k.Held && want >= k.Outstanding+k.Held) && !(got == 1<<31 && want > got) {
			t.Fatalf("S = %d, exactly %d of %+v", got, want, k)
		}
	})
}
