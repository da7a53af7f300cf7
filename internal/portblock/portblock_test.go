package portblock

import "testing"

func TestPortBlocksDisjoint(t *testing.T) {
	a, b := Open(t), Open(t)
	seen := map[int]bool{}
	for range 20 {
		for _, block := range []*Block{a, b} {
			n := block.Take()
			if seen[n] || n <= first || n >= end {
				t.Fatalf("port %d", n)
			}
			seen[n] = true
		}
	}
	if a.first == b.first {
		t.Fatalf("both have the block of %d", a.first)
	}
}
