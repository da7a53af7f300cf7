package preemption

import (
	"math"
	"math/rand"
	"slices"
	"testing"

	"rmd/scheduler/entitlement"
)

// TestAnyRank compares aboveAny and belowAny with every pair of leaves of random trees.
func TestAnyRank(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	priorities := []int32{math.MinInt32, -1, 0, 0, 1, math.MaxInt32}
	met := map[bool]int{}
	for range 300 {
		queues := []entitlement.Queue{{Parent: -1}}
		for i := range 1 + rng.Intn(20) {
			parent := rng.Intn(i + 1)
			for queues[parent].Leaf {
				parent = rng.Intn(i + 1)
			}
			queues = append(queues, entitlement.Queue{Parent: int32(parent), Leaf: rng.Intn(3) > 0,
				Priority: priorities[rng.Intn(len(priorities))]})
		}
		k := newQueueRanks(queues)
		var waiting []int32
		for i := range queues {
			if queues[i].Leaf && rng.Intn(3) == 0 {
				waiting = append(waiting, int32(i))
			}
		}
		below := k.belowAny(slices.Values(waiting))
		for i := range queues {
			if !queues[i].Leaf {
				continue
			}
			leaf := int32(i)
			above := false
			for j := range queues {
				above = above || queues[j].Leaf && k.above(leaf, int32(j))
			}
			if got := k.aboveAny(leaf); got != above {
				t.Fatalf("%+v: leaf %d has priority over another: %v, want %v", queues, i, got, above)
			}
			want := slices.ContainsFunc(waiting, func(w int32) bool { return k.above(w, leaf) })
			if below[i] != want {
				t.Fatalf("%+v: one of %v has priority over leaf %d: %v, want %v", queues, waiting, i, below[i], want)
			}
			met[above]++
			met[want]++
		}
	}
	if met[true] < 100 || met[false] < 100 {
		t.Errorf("too few cases: %v", met)
	}
}
