package ledger

import (
	"math/big"

	"rmd/jepsen-lite/ledger/settings"
	"rmd/yarn"
)

// guarantee returns a queue's guarantee on the nodes of a label. The result may be a little too
// low, because each level of the tree rounds down.
func (l *queues) guarantee(i int32, label string) yarn.Resource {
	cluster := l.nodes.size(label).now
	q := &l.list[i]
	if q.parent < 0 {
		return cluster
	}
	have, c := l.guarantee(q.parent, label), q.min[label]
	out := have
	switch {
	case c.Share != nil:
		out = settings.Scaled(have, c.Share)
	case c.Weight != nil:
		out = settings.Scaled(have, l.partOfWeights(q, label))
	default:
		sum := l.unitsBelow(q.parent, label)
		for k := range out {
			if out[k] = c.Units[k]; sum[k] > have[k] {
				out[k] = settings.Floor(new(big.Rat).Mul(big.NewRat(max(have[k], 0), sum[k]), new(big.Rat).SetInt64(c.Units[k])))
			}
		}
	}
	return yarn.ComponentMin(out, l.maximum(i, label, cluster))
}

// partOfWeights returns a queue's weight divided by the sum of its siblings' weights and its own.
// It returns 0 if one of them has no readable weight. A queue without a capacity for the label has
// no part of its nodes.
func (l *queues) partOfWeights(q *queue, label string) *big.Rat {
	sum := new(big.Rat)
	for i := range l.list {
		if s := &l.list[i]; !s.gone && s.parent == q.parent {
			c, has := s.min[label]
			if !has {
				continue
			}
			if c.Weight == nil {
				return new(big.Rat)
			}
			sum.Add(sum, c.Weight)
		}
	}
	if sum.Sign() == 0 {
		return sum
	}
	return sum.Quo(q.min[label].Weight, sum)
}

func (l *queues) unitsBelow(parent int32, label string) (sum yarn.Resource) {
	for i := range l.list {
		if s := &l.list[i]; !s.gone && s.parent == parent {
			sum = sum.Add(s.min[label].Units)
		}
	}
	return sum
}
