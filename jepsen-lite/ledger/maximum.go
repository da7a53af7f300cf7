package ledger

import (
	"math/big"

	"rmd/jepsen-lite/ledger/settings"
	"rmd/yarn"
)

// maximum returns the most that a queue may use of a partition with the total cluster. Shares are
// multiplied exactly down the tree; amounts are limited by the parent's maximum.
func (l *queues) maximum(i int32, label string, cluster yarn.Resource) yarn.Resource {
	q := &l.list[i]
	if label != "" {
		return l.compute(i, label, cluster)
	}
	if q.bounded && q.mostOf == cluster {
		return q.most
	}
	q.most, q.mostOf, q.bounded = l.compute(i, label, cluster), cluster, true
	return q.most
}

func (l *queues) compute(i int32, label string, cluster yarn.Resource) yarn.Resource {
	q := &l.list[i]
	if q.parent < 0 {
		return cluster
	}
	most := q.maximumOf(label)
	if most.Share == nil {
		out := l.maximum(q.parent, label, cluster)
		for k, v := range most.Units {
			if v > 0 {
				out[k] = min(v, out[k])
			}
		}
		return out
	}
	share, top := new(big.Rat).Set(most.Share), q.parent
	for l.list[top].parent >= 0 && l.list[top].maximumOf(label).Share != nil {
		share.Mul(share, l.list[top].maximumOf(label).Share)
		top = l.list[top].parent
	}
	return settings.Scaled(l.maximum(top, label, cluster), share)
}
