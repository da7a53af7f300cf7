package apptoken

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func numbers(p *pages[uint32, *Token]) (out []uint32) {
	for t := range p.all() {
		out = append(out, t.Number)
	}
	return out
}

// TestPages changes lists at random and compares them, and copies of them, with slices.
func TestPages(t *testing.T) {
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 1))
		var p, copied pages[uint32, *Token]
		var want, frozen []uint32
		for step := range uint32(4 * pageSize) {
			n := step
			if seed%2 == 0 { // in no order
				n = r.Uint32N(3 * pageSize)
			}
			at, has := slices.BinarySearch(want, n)
			switch {
			case r.IntN(3) == 0 && len(want) > 0:
				at = r.IntN(len(want))
				p.remove(want[at])
				want = slices.Delete(slices.Clone(want), at, at+1)
			default:
				p.put(&Token{Number: n})
				if !has {
					want = slices.Insert(slices.Clone(want), at, n)
				}
			}
			if r.IntN(100) == 0 {
				copied, frozen = p, want
			}
			if p.n != len(want) || copied.n != len(frozen) {
				t.Fatalf("seed %d: %d records, want %d; the copy has %d, want %d", seed, p.n, len(want), copied.n, len(frozen))
			}
			if len(want) > 0 {
				at = r.IntN(len(want))
				if k, ok := p.get(want[at]); !ok || k.Number != want[at] || p.at(at) != k {
					t.Fatalf("seed %d: record %d at %d is %v", seed, want[at], at, k)
				}
			}
		}
		if got := numbers(&p); !slices.Equal(got, want) {
			t.Fatalf("seed %d: %v, want %v", seed, got, want)
		}
		if got := numbers(&copied); !slices.Equal(got, frozen) {
			t.Fatalf("seed %d: the copy has changed", seed)
		}
		for len(want) > 0 {
			p.remove(want[0])
			want = want[1:]
		}
		p.remove(7)
		if p.n != 0 || p.pages != nil {
			t.Errorf("seed %d: %+v is not empty", seed, p)
		}
	}
}
