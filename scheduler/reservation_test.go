package scheduler

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"rmd/yarn"
)

func gigabytes(n int64) yarn.Resource { return yarn.NewResource(n*1024, 1) }

// TestNeedsMore has the table of scenario 19, and the specification's examples with F = 0.25, which
// requires a smallest container of 3G and a largest of 4G.
func TestNeedsMore(t *testing.T) {
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
		k := claim{outstanding: c.n, reserved: c.r, reReservations: c.rr, size: gigabytes(c.size),
			minAlloc: gigabytes(c.least), maxAlloc: gigabytes(c.most)}
		if got := k.needsMore(yarn.Calculator{Kinds: 2}); got != c.want {
			t.Errorf("needsMore of %+v = %v, want %v", c, got, c.want)
		}
	}
}

func TestDominantStarvationLooksAtTheLargestShare(t *testing.T) {
	k := claim{outstanding: 1, reserved: 1, reReservations: 4, minAlloc: yarn.NewResource(1024, 1),
		maxAlloc: yarn.NewResource(8192, 4)}
	k.size = yarn.NewResource(1024, 3) // 3/4 of the vcores: 4 · 1/4 = 1
	if s := k.starvation(yarn.Calculator{Dominant: true, Kinds: 2}); s != 1 {
		t.Errorf("S = %d, want 1", s)
	}
	if s := k.starvation(yarn.Calculator{Kinds: 2}); s != 3 { // memory only: trunc(4 · 7/8)
		t.Errorf("S = %d, want 3", s)
	}
}

// TestStarvationIsExact compares starvation with rationals, for counts that take many months.
func TestStarvationIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		calc := yarn.Calculator{Dominant: rapid.Bool().Draw(t, "dominant"), Kinds: 2}
		size := func(name string, most int64) yarn.Resource {
			return yarn.NewResource(rapid.Int64Range(1, most).Draw(t, name), rapid.Int64Range(1, most).Draw(t, name+" vcores"))
		}
		k := claim{outstanding: rapid.Int64Range(0, 1_000_000).Draw(t, "asked"),
			reserved:       rapid.Int64Range(1, 100_000).Draw(t, "held"),
			reReservations: rapid.Int64Range(0, 1<<31).Draw(t, "re-reservations"), maxAlloc: size("most", 1<<40)}
		k.size, k.minAlloc = size("size", k.maxAlloc[0]), yarn.NewResource(1, 1)
		part := new(big.Rat)
		fraction := func(r yarn.Resource) *big.Rat {
			best := new(big.Rat)
			for i := 0; i < 2 && (calc.Dominant || i == 0); i++ {
				if f := big.NewRat(r[i], k.maxAlloc[i]); f.Cmp(best) > 0 {
					best = f
				}
			}
			return best
		}
		part = fraction(k.size)
		if f := fraction(k.maxAlloc.Sub(k.minAlloc)); f.Cmp(part) < 0 {
			part = f
		}
		s := new(big.Rat).Sub(big.NewRat(1, 1), part)
		s.Mul(s, big.NewRat(k.reReservations, k.reserved))
		want := new(big.Int).Quo(s.Num(), s.Denom()).Int64()
		if want < 0 {
			want = 0
		}
		got := k.starvation(calc)
		if got != want && !(got >= k.outstanding+k.reserved && want >= k.outstanding+k.reserved) &&
			!(got == 1<<31 && want > got) {
			t.Fatalf("S = %d, exactly %d of %+v", got, want, k)
		}
	})
}
