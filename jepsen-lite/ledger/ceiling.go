package ledger

import (
	"math/big"
	"strings"

	"rmd/yarn"
)

// ceiling is a queue's maximum-capacity: a share of its parent's, or units for
// the kinds that it names. One that this model cannot read bounds nothing.
type ceiling struct {
	share *big.Rat // of every kind; nil for a vector
	units [yarn.MaxKinds]int64
}

var hundred = big.NewRat(100, 1)

// readCeiling reads "60", "8.5%" or "[memory=4096,vcores=4]"; nothing and -1 are
// the parent's whole.
func readCeiling(text string, kinds yarn.Kinds) ceiling {
	whole := ceiling{share: big.NewRat(1, 1)}
	text = strings.TrimSpace(text)
	if inner, ok := strings.CutPrefix(text, "["); ok {
		return readUnits(strings.TrimSuffix(inner, "]"), kinds)
	}
	share, ok := new(big.Rat).SetString(strings.TrimSuffix(text, "%"))
	if !ok || share.Sign() < 0 {
		return whole
	}
	return ceiling{share: share.Quo(share, hundred)}
}

func readUnits(text string, kinds yarn.Kinds) ceiling {
	var c ceiling
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

// scales are the suffixes of amounts; memory is counted in MiB.
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

// maximum is the most that a queue may use in a cluster of a size: shares
// multiply exactly down the tree, a vector is cut to its parent's maximum.
func (m *Model) maximum(i int32, cluster yarn.Resource) yarn.Resource {
	q := &m.queues[i]
	if q.bounded && q.mostOf == cluster {
		return q.most
	}
	q.most, q.mostOf, q.bounded = m.compute(i, cluster), cluster, true
	return q.most
}

func (m *Model) compute(i int32, cluster yarn.Resource) yarn.Resource {
	q := &m.queues[i]
	if q.parent < 0 {
		return cluster
	}
	if q.max.share == nil {
		out := m.maximum(q.parent, cluster)
		for k, v := range q.max.units {
			if v > 0 {
				out[k] = min(v, out[k])
			}
		}
		return out
	}
	share, top := new(big.Rat).Set(q.max.share), q.parent
	for m.queues[top].parent >= 0 && m.queues[top].max.share != nil {
		share.Mul(share, m.queues[top].max.share)
		top = m.queues[top].parent
	}
	out := m.maximum(top, cluster)
	for k, v := range out {
		out[k] = floor(new(big.Rat).Mul(share, new(big.Rat).SetInt64(v)))
	}
	return out
}
