package entitlement

import (
	"testing"

	"rmd/yarn"
)

// TestChosenCountsForEveryApplication checks that containers that were already chosen count for
// every application. YARN counts them only for the applications that come before the resources are
// exhausted.
func TestChosenCountsForEveryApplication(t *testing.T) {
	l := &Leaf{Calculator: yarn.Calculator{Kinds: 2}, Cluster: yarn.NewResource(100, 100),
		MinAlloc:   yarn.NewResource(1, 1),
		Guaranteed: yarn.NewResource(100, 100), Used: yarn.NewResource(50, 50),
		Users: []LeafUser{{Limit: yarn.NewResource(60, 60)},
			{Limit: yarn.NewResource(60, 60), Used: yarn.NewResource(50, 50)}},
		Apps: []LeafApp{{User: 0, Priority: 2, Pending: yarn.NewResource(60, 60)},
			{User: 1, Priority: 1, Used: yarn.NewResource(50, 50), Chosen: yarn.NewResource(10, 10)}}}
	s := &Settings{Intra: Intra{Enabled: true, MaxAllowable: yarn.One, Order: PriorityFirst}}
	got := l.AppShares(s, yarn.NewResource(100, 100))
	if !got[0].ToTake.IsZero() || got[1].ToTake[yarn.Memory] != 40 || !got[1].ForPriority {
		t.Errorf("%+v; the second application has 40 that are not chosen yet", got)
	}
}

// TestOtherKindsStayAboveZero checks that an application has nothing to give of a kind that nobody
// uses. In YARN the GPUs that remain fall below 0 after the first application. The second one then
// seems to use more of them than it should, and uses up the limit.
func TestOtherKindsStayAboveZero(t *testing.T) {
	r := func(memory, vcores, gpus int64) yarn.Resource { return yarn.Resource{memory, vcores, gpus} }
	l := &Leaf{Calculator: yarn.Calculator{Dominant: true, Kinds: 3}, Cluster: r(8537, 17, 3), MinAlloc: r(1024, 1, 0),
		Guaranteed: r(8537, 17, 3), Used: r(8192, 6, 0), AMUsed: r(1024, 2, 0),
		Users: []LeafUser{{Limit: r(5120, 9, 2), Used: r(6144, 3, 0)},
			{Limit: r(5120, 9, 2), Used: r(2048, 3, 0), AMUsed: r(1024, 2, 0)}},
		Apps: []LeafApp{{User: 0, Priority: 2, Used: r(6144, 3, 0), Pending: r(6144, 3, 0)},
			{User: 1, Priority: 1, Used: r(2048, 3, 0), AMUsed: r(1024, 2, 0), Pending: r(2048, 2, 0)}}}
	s := &Settings{Intra: Intra{Enabled: true, MaxAllowable: yarn.NewFraction(1, 5), Order: PriorityFirst}}
	got := l.AppShares(s, r(8537, 17, 3))
	if got[0].ToTake[yarn.Memory] != 1024 || !got[1].ToTake.IsZero() {
		t.Errorf("%+v; the first application must give 1024 MiB", got)
	}
}
