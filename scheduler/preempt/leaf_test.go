package preempt

import (
	"testing"

	"rmd/yarn"
)

// TestChosenCountsForEveryApplication checks that containers that were already chosen count for
// every application. YARN counts them only for the applications that come before the resources are
// exhausted.
func TestChosenCountsForEveryApplication(t *testing.T) {
	l := &Leaf{Calculator: yarn.Calculator{Kinds: 2}, Cluster: yarn.NewResource(100, 100), MinAlloc: yarn.NewResource(1, 1),
		Guaranteed: yarn.NewResource(100, 100), Used: yarn.NewResource(50, 50),
		Users: []LeafUser{{Limit: yarn.NewResource(60, 60)}, {Limit: yarn.NewResource(60, 60), Used: yarn.NewResource(50, 50)}},
		Apps: []LeafApp{{User: 0, Priority: 2, Pending: yarn.NewResource(60, 60)},
			{User: 1, Priority: 1, Used: yarn.NewResource(50, 50), Chosen: yarn.NewResource(10, 10)}}}
	s := &Settings{Intra: Intra{Enabled: true, MaxAllowable: yarn.One, Order: PriorityFirst}}
	got := l.AppShares(s, yarn.NewResource(100, 100))
	if !got[0].ToTake.IsZero() || got[1].ToTake[yarn.Memory] != 40 || !got[1].ForPriority {
		t.Errorf("%+v; the second application has 40 that are not chosen yet", got)
	}
}
