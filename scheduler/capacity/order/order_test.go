package order

import (
	"testing"

	"rmd/scheduler/capacity/share"
	"rmd/yarn"
)

func key(used, effMin, total int64, priority int32) Key {
	return Key{
		Used:        Used(memoryOnly, mem(total), mem(used), mem(effMin), mem(1)),
		AbsUsed:     AbsUsed(memoryOnly, mem(total), mem(used)),
		AbsCapacity: share.New(effMin, total).Fixed(),
		Priority:    priority,
	}
}

// TestServedByUseRatio is scenario 32: a 30 %, b 70 % of 20G.
func TestServedByUseRatio(t *testing.T) {
	for _, tc := range []struct {
		a, b   int64
		aFirst bool
	}{{0, 1, true}, {2, 2, false}, {3, 4, false}, {3, 8, true}} {
		a, b := key(tc.a, 6, 20, 0), key(tc.b, 14, 20, 0)
		if got := Less(Utilization, a, b); got != tc.aFirst {
			t.Errorf("a %d/6, b %d/14: a first %v", tc.a, tc.b, got)
		}
		if Less(Utilization, b, a) == tc.aFirst {
			t.Errorf("a %d/6, b %d/14: the order is not one", tc.a, tc.b)
		}
	}
}

// TestQueuePriorityOrder is scenario 36.
func TestQueuePriorityOrder(t *testing.T) {
	for _, tc := range []struct {
		name       string
		usedA      int64
		priorityA  int32
		usedB      int64
		priorityB  int32
		policy     ParentPolicy
		wantAFirst bool
	}{
		{"both under, higher priority though more used", 5, 2, 1, 1, PriorityUtilization, true},
		{"at its guarantee against under", 10, 9, 9, 1, PriorityUtilization, false},
		{"both over, higher priority", 15, 2, 11, 1, PriorityUtilization, true},
		{"equal priority, less used", 3, 1, 4, 1, PriorityUtilization, true},
		{"utilization has no priority", 5, 2, 1, 1, Utilization, false},
	} {
		a, b := key(tc.usedA, 10, 20, tc.priorityA), key(tc.usedB, 10, 20, tc.priorityB)
		if got := Less(tc.policy, a, b); got != tc.wantAFirst || Less(tc.policy, b, a) == got {
			t.Errorf("%s: a first %v", tc.name, got)
		}
	}
}

func TestQueueOrderTies(t *testing.T) {
	small, large := key(0, 5, 20, 0), key(0, 10, 20, 0)
	if !Less(Utilization, large, small) {
		t.Error("equal use: the larger capacity comes first")
	}
	small.ConfiguredMin, large.ConfiguredMin = mem(5), mem(4)
	if !Less(Utilization, small, large) {
		t.Error("equal use: the larger configured minimum comes first")
	}
	if large.ConfiguredMin = (yarn.Resource{}); !Less(Utilization, small, large) {
		t.Error("equal use: a configured minimum comes before none")
	}
	if Compare(Utilization, &small, &small) != 0 {
		t.Error("a queue is not equal to itself")
	}
	none, some := key(0, 0, 20, 0), key(30, 5, 20, 0)
	if !Less(Utilization, some, none) {
		t.Error("a queue without capacity comes last, however little it uses")
	}
	one, two := key(1, 0, 20, 0), key(2, 0, 20, 0)
	if !Less(Utilization, one, two) {
		t.Error("among queues without capacity the absolute use counts")
	}
}

func TestUsedShareAtTheGuarantee(t *testing.T) {
	if got := UsedShare(memoryOnly, mem(20), mem(7), mem(7), mem(1)); got != share.One {
		t.Errorf("exactly the guarantee: %d", got)
	}
	if got := UsedShare(memoryOnly, mem(20), mem(1), mib(512), mem(1)); got != share.One {
		t.Errorf("a guarantee below one container counts as one: %d", got)
	}
	calc := yarn.Calculator{Dominant: true, Kinds: 3}
	total := yarn.Resource{100, 100, 8}
	if got := UsedShare(calc, total, yarn.Resource{10, 10, 4}, yarn.Resource{50, 50, 4},
		yarn.Resource{1, 1}); got != share.One {
		t.Errorf("the GPUs dominate: %d", got)
	}
}

// TestEqualUseRatios checks that equal ratios compare as equal, however they are computed. Then the
// larger queue comes first.
func TestEqualUseRatios(t *testing.T) {
	calc := yarn.Calculator{Dominant: true, Kinds: 2}
	for total := int64(20); total < 60; total++ {
		for guarantee := int64(1); guarantee <= total/3; guarantee++ {
			for used := int64(1); used < guarantee; used++ {
				of := func(times int64) Key {
					min := yarn.Resource{times * guarantee, 1}
					cluster := yarn.Resource{total, 1000}
					return Key{Used: Used(calc, cluster, yarn.Resource{times * used, 1}, min, yarn.Resource{1, 1}),
						AbsCapacity: share.New(times*guarantee, total).Fixed()}
				}
				if small, large := of(1), of(2); Compare(Utilization, &large, &small) >= 0 {
					t.Fatalf("%d of %d and twice that, of %d in all: %+v before %+v", used, guarantee, total, small, large)
				}
			}
		}
	}
}
