package ledger

import (
	"math/big"
	"strings"

	"rmd/fsm/event"
	"rmd/yarn"
)

// capacityOf is a queue's capacity: a share of its parent's, a weight among its siblings, or units for
// the kinds that it names. One that this ledger cannot read guarantees nothing.
type capacityOf struct {
	share, weight *big.Rat
	units         yarn.Resource
}

func readCapacity(text string, kinds yarn.Kinds) (c capacityOf) {
	text = strings.TrimSpace(text)
	if inner, ok := strings.CutPrefix(text, "["); ok {
		if !strings.ContainsAny(inner, "%w") { // kinds with units of their own
			c.units = readUnits(strings.TrimSuffix(inner, "]"), kinds).units
		}
		return c
	}
	if number, ok := strings.CutSuffix(text, "w"); ok {
		c.weight, _ = new(big.Rat).SetString(number)
		return c
	}
	if share, ok := new(big.Rat).SetString(strings.TrimSuffix(text, "%")); ok {
		c.share = share.Quo(share, hundred)
	}
	return c
}

// readCapacities reads what a queue is guaranteed of nodes without a label, and of those of each.
func (l *Ledger) readCapacities(q *queue, properties []event.Property) {
	prefix := "yarn.scheduler.capacity." + q.path + "."
	q.min = map[string]capacityOf{"": readCapacity(propertyOf(properties, prefix+"capacity"), l.kinds)}
	for _, p := range properties {
		key, ok := strings.CutPrefix(p.Name, prefix+"accessible-node-labels.")
		if label, name, _ := strings.Cut(key, "."); ok && name == "capacity" {
			q.min[label] = readCapacity(p.Value, l.kinds)
		}
	}
}

// guarantee is what a queue is guaranteed of the nodes of a label, or less: roundings go down at each
// level of the tree.
func (l *Ledger) guarantee(i int32, label string) yarn.Resource {
	cluster := l.size(label).now
	q := &l.queues[i]
	if q.parent < 0 {
		return cluster
	}
	have, c := l.guarantee(q.parent, label), q.min[label]
	out := have
	switch {
	case c.share != nil:
		out = scaled(have, c.share)
	case c.weight != nil:
		out = scaled(have, l.partOfWeights(q, label))
	default:
		sum := l.unitsBelow(q.parent, label)
		for k := range out {
			if out[k] = c.units[k]; sum[k] > have[k] {
				out[k] = floor(new(big.Rat).Mul(big.NewRat(max(have[k], 0), sum[k]), new(big.Rat).SetInt64(c.units[k])))
			}
		}
	}
	return yarn.ComponentMin(out, l.maximum(i, label, cluster))
}

func scaled(r yarn.Resource, by *big.Rat) yarn.Resource {
	for k, v := range r {
		r[k] = floor(new(big.Rat).Mul(by, new(big.Rat).SetInt64(v)))
	}
	return r
}

// partOfWeights is a queue's weight by the weights of its parent's children; none if one of them has
// one that cannot be read. A queue without a capacity of the label has no part of its nodes.
func (l *Ledger) partOfWeights(q *queue, label string) *big.Rat {
	sum := new(big.Rat)
	for i := range l.queues {
		if s := &l.queues[i]; !s.gone && s.parent == q.parent {
			c, has := s.min[label]
			if !has {
				continue
			}
			if c.weight == nil {
				return new(big.Rat)
			}
			sum.Add(sum, c.weight)
		}
	}
	if sum.Sign() == 0 {
		return sum
	}
	return sum.Quo(q.min[label].weight, sum)
}

func (l *Ledger) unitsBelow(parent int32, label string) (sum yarn.Resource) {
	for i := range l.queues {
		if s := &l.queues[i]; !s.gone && s.parent == parent {
			sum = sum.Add(s.min[label].units)
		}
	}
	return sum
}
