package ledger

import (
	"math/big"
	"strings"

	"rmd/fsm/event"
	"rmd/yarn"
)

// capacityOf is a queue's capacity: a share of its parent's, a weight among its siblings, or
// amounts of the kinds that it names. A text that the ledger cannot read guarantees nothing.
type capacityOf struct {
	share, weight *big.Rat
	units         yarn.Resource
}

func readCapacity(text string, kinds yarn.Kinds) (c capacityOf) {
	text = strings.TrimSpace(text)
	if inner, ok := strings.CutPrefix(text, "["); ok {
		if !strings.ContainsAny(inner, "%w") { // amounts only
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

// readCapacities reads a queue's capacities: of the nodes without a label, and of the nodes of each
// label.
func (l *queues) readCapacities(q *queue, properties []event.Property) {
	prefix := "yarn.scheduler.capacity." + q.path + "."
	q.min = map[string]capacityOf{"": readCapacity(propertyOf(properties, prefix+"capacity"), l.kinds)}
	for _, p := range properties {
		key, ok := strings.CutPrefix(p.Name, prefix+"accessible-node-labels.")
		if label, name, _ := strings.Cut(key, "."); ok && name == "capacity" {
			q.min[label] = readCapacity(p.Value, l.kinds)
		}
	}
}

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

func (l *queues) unitsBelow(parent int32, label string) (sum yarn.Resource) {
	for i := range l.list {
		if s := &l.list[i]; !s.gone && s.parent == parent {
			sum = sum.Add(s.min[label].units)
		}
	}
	return sum
}
