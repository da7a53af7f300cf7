package reservation

import (
	"math/bits"

	"rmd/yarn"
)

// Claim is what decides how many reservations a key may hold.
type Claim struct {
	Outstanding    int64 // containers still asked
	Held           int64 // reservations held
	ReReservations int64 // heartbeats of reserved nodes since the last change
	Size           yarn.Resource
	MinAlloc       yarn.Resource
	MaxAlloc       yarn.Resource // of the queue
}

// MayHold says whether the key may hold one reservation more:
// S + N − R > 0, where S grows with re-reservations, slower for large asks.
//
// Source: Hadoop 3.4.2, RegularContainerAllocator.shouldAllocOrReserveNewContainer.
func MayHold(c yarn.Calculator, k Claim) bool {
	return Starvation(c, k)+k.Outstanding-k.Held > 0
}

// Starvation is S = trunc((RR/R)·(1 − min(size/max, (max−min)/max))), exact.
func Starvation(c yarn.Calculator, k Claim) int64 {
	if k.Held == 0 {
		return 0
	}
	whole := ratio(c, k.Size, k.MaxAlloc)
	if most := ratio(c, k.MaxAlloc.Sub(k.MinAlloc), k.MaxAlloc); most.Cmp(whole) < 0 {
		whole = most
	}
	rest := whole.Den - whole.Num
	if rest <= 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(k.ReReservations), uint64(rest))
	divisor := uint64(k.Held) * uint64(whole.Den)
	if hi >= divisor {
		return k.Outstanding + k.Held // more than anybody asks for
	}
	q, _ := bits.Div64(hi, lo, divisor)
	return int64(min(q, 1<<31))
}

// ratio is a/b by memory, or the largest a[i]/b[i] of all kinds.
func ratio(c yarn.Calculator, a, b yarn.Resource) yarn.Fraction {
	if !c.Dominant {
		return part(a[yarn.Memory], b[yarn.Memory])
	}
	best := yarn.Fraction{Num: 0, Den: 1}
	for i := 0; i < c.Kinds; i++ {
		if f := part(a[i], b[i]); best.Cmp(f) < 0 {
			best = f
		}
	}
	return best
}

func part(a, b int64) yarn.Fraction {
	if b <= 0 || a <= 0 {
		return yarn.Fraction{Num: 0, Den: 1}
	}
	return yarn.NewFraction(a, b)
}
