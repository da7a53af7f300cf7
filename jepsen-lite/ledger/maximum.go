package ledger

import (
	"math/big"
	"strings"

	"rmd/yarn"
)

// maximumCapacity is a queue's maximum-capacity: a share of its parent's maximum, or amounts of the
// kinds that it names. A text that the ledger cannot read means the whole maximum of the parent.
type maximumCapacity struct {
	share *big.Rat // of every kind; nil if units counts
	units [yarn.MaxKinds]int64
}

var hundred = big.NewRat(100, 1)

// readMaximumCapacity reads "60", "8.5%" or "[memory=4096,vcores=4]". "" and -1 mean the parent's
// whole maximum.
func readMaximumCapacity(text string, kinds yarn.Kinds) maximumCapacity {
	whole := maximumCapacity{share: big.NewRat(1, 1)}
	text = strings.TrimSpace(text)
	if inner, ok := strings.CutPrefix(text, "["); ok {
		return readUnits(strings.TrimSuffix(inner, "]"), kinds)
	}
	share, ok := new(big.Rat).SetString(strings.TrimSuffix(text, "%"))
	if !ok || share.Sign() < 0 {
		return whole
	}
	return maximumCapacity{share: share.Quo(share, hundred)}
}

func readUnits(text string, kinds yarn.Kinds) maximumCapacity {
	var c maximumCapacity
	for _, item := range strings.Split(text, ",") {
		name, value, _ := strings.Cut(item, "=")
		kind := kinds.Index(strings.TrimSpace(name))
		if kind < 0 || kind >= yarn.MaxKinds {
			continue
		}
		c.units[kind] = readCount(strings.TrimSpace(value))
	}
	return c
}

// scales are the suffixes of amounts. Memory is in MiB.
var scales = []struct {
	suffix string
	by     int64
}{{"Mi", 1}, {"Gi", 1 << 10}, {"Ti", 1 << 20}, {"", 1}}

func readCount(text string) int64 {
	for _, s := range scales {
		number, ok := strings.CutSuffix(text, s.suffix)
		if !ok {
			continue
		}
		if r, ok := new(big.Rat).SetString(strings.TrimSpace(number)); ok {
			return floor(r.Mul(r, new(big.Rat).SetInt64(s.by)))
		}
		return 0
	}
	return 0
}

func floor(r *big.Rat) int64 { return new(big.Int).Quo(r.Num(), r.Denom()).Int64() }

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
	if most.share == nil {
		out := l.maximum(q.parent, label, cluster)
		for k, v := range most.units {
			if v > 0 {
				out[k] = min(v, out[k])
			}
		}
		return out
	}
	share, top := new(big.Rat).Set(most.share), q.parent
	for l.list[top].parent >= 0 && l.list[top].maximumOf(label).share != nil {
		share.Mul(share, l.list[top].maximumOf(label).share)
		top = l.list[top].parent
	}
	out := l.maximum(top, label, cluster)
	for k, v := range out {
		out[k] = floor(new(big.Rat).Mul(share, new(big.Rat).SetInt64(v)))
	}
	return out
}
