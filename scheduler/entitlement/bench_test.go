package entitlement

import (
	"fmt"
	"testing"

	"rmd/yarn"
)

// BenchmarkEntitlements divides a cluster among leaves, one below the other's guarantee.
func BenchmarkEntitlements(b *testing.B) {
	for _, c := range []struct{ parents, leaves int }{{1, 1000}, {30, 33}} {
		b.Run(fmt.Sprintf("%dx%d", c.parents, c.leaves), func(b *testing.B) {
			total := yarn.Resource{10_000 * 262_144, 10_000 * 64}
			p := &Partition{Calculator: yarn.Calculator{Dominant: true, Kinds: 2}, Cluster: total, Total: total,
				Queues: []Queue{{Parent: -1, AbsCapacity: yarn.One, Guaranteed: total, Max: total, Used: total}}}
			for i := range c.parents {
				parent := int32(0)
				if c.parents > 1 {
					parent = int32(len(p.Queues))
					share := yarn.NewFraction(1, int64(c.parents))
					part := p.Calculator.MultiplyRoundDown(total, share)
					p.Queues = append(p.Queues, Queue{AbsCapacity: share, Guaranteed: part, Max: total, Used: part})
				}
				for j := range c.leaves {
					share := yarn.NewFraction(1, int64(c.parents*c.leaves))
					q := Queue{Parent: parent, Leaf: true, AbsCapacity: share,
						Guaranteed: p.Calculator.MultiplyRoundDown(total, share), Max: total}
					q.Used = p.Calculator.MultiplyRoundDown(q.Guaranteed, yarn.NewFraction(int64((i*7+j*13)%200), 100))
					q.Pending = q.Guaranteed
					q.PendingLessReserved = q.Pending
					p.Queues = append(p.Queues, q)
				}
			}
			s := Settings{TotalPerRound: yarn.NewFraction(1, 10), NaturalTermination: yarn.NewFraction(1, 5),
				MaxIgnoredOverCapacity: yarn.NewFraction(1, 10)}
			for b.Loop() {
				p.Entitlements(&s, Mode{})
			}
		})
	}
}
