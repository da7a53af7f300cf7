package capacity

import (
	"fmt"

	"rmd/scheduler/capacity/amount"
	"rmd/scheduler/capacity/share"
	"rmd/yarn"
)

// phases is the order in which the units of capacities are served under one parent.
var phases = [...]amount.Unit{amount.Absolute, amount.Percent, amount.Weight}

// computeMixed sets the capacities of a parent's children if units may be mixed. For each kind it
// first serves absolute guarantees, then percentages of what is left, then weights of what is left
// after that. All children of a phase divide what was left when the phase began.
func (c *Config) computeMixed(t *Tree, parent int) {
	children := c.Queues[parent].Children
	scale, weights := c.scaleDown(t, parent), c.weightSums(parent)
	for _, i := range children {
		e := &t.Capacities[i]
		e.ConfiguredMin, e.ConfiguredMax = c.Queues[i].Capacity.Absolute(), c.Queues[i].MaxCapacity.Absolute()
		e.usualMin = c.usualMin(t, i)
		e.EffMax = c.mixedMax(t, i)
	}
	for k := range c.Kinds {
		left := t.Capacities[parent].EffMin[k]
		for _, phase := range phases {
			start := left
			for _, i := range children {
				part, e := c.Queues[i].Capacity.Parts[k], &t.Capacities[i]
				// A queue without memory can run nothing, so it is guaranteed nothing.
				if part.Unit != phase || k != yarn.Memory && e.EffMin[yarn.Memory] == 0 {
					continue
				}
				e.EffMin[k] = c.guardMin(t, i, k, mixedMin(part, start, scale[k], weights[k]), left)
				left -= e.EffMin[k]
			}
		}
	}
	for _, i := range children {
		c.deriveMin(t, i)
		c.deriveMax(t, i)
	}
}

func (c *Config) weightSums(parent int) [yarn.MaxKinds]share.Share {
	var out [yarn.MaxKinds]share.Share
	for _, i := range c.Queues[parent].Children {
		for k, part := range c.Queues[i].Capacity.Parts {
			if part.Unit == amount.Weight {
				out[k] = out[k].Add(share.Of(part.Value))
			}
		}
	}
	return out
}

func mixedMin(p amount.Part, start int64, scale yarn.Fraction, weights share.Share) int64 {
	if p.Unit == amount.Absolute {
		return scale.MulFloor(p.Value.MulFloor(1))
	}
	if p.Unit == amount.Weight {
		return share.Of(p.Value).Div(weights).MulFloor(start)
	}
	return partOf(p, start)
}

// mixedMax returns the configured maximum, but at most the parent's. If it lowers the maximum, it
// adds a warning.
func (c *Config) mixedMax(t *Tree, i int) yarn.Resource {
	q := &c.Queues[i]
	parent := t.Capacities[q.Parent].EffMax
	for k := range c.Kinds {
		if v := partOf(q.MaxCapacity.Parts[k], parent[k]); v > parent[k] {
			t.warn(c.key(q, "maximum-capacity"), fmt.Sprintf("%s of %d is above the parent's %d and is lowered to it",
				c.Kinds[k], v, parent[k]))
		}
	}
	return mixedLimit(q.MaxCapacity, parent)
}

// mixedLimit returns a maximum, but at most the parent's. Here, unlike in legacy mode, YARN reads a
// maximum of 0 as no maximum of its own.
func mixedLimit(a amount.Amount, parent yarn.Resource) yarn.Resource {
	out := parent
	for k, part := range a.Parts {
		if v := partOf(part, parent[k]); v > 0 {
			out[k] = min(v, parent[k])
		}
	}
	return out
}

// guardMin lowers one kind of a guarantee to the queue's maximum and to what is left under the
// parent. Each time it adds a warning.
func (c *Config) guardMin(t *Tree, i, k int, v, left int64) int64 {
	q := &c.Queues[i]
	if most := t.Capacities[i].EffMax[k]; v > most {
		t.warn(c.key(q, "capacity"), fmt.Sprintf("%s of %d is above the queue's maximum of %d and is lowered to it",
			c.Kinds[k], v, most))
		v = most
	}
	if v > left {
		t.warn(c.key(q, "capacity"), fmt.Sprintf("%s of %d is more than the %d that remain under the parent: over-utilized",
			c.Kinds[k], v, left))
		v = max(left, 0)
	}
	return v
}

func (t *Tree) warn(key, what string) {
	t.Warnings = append(t.Warnings, Fault{Name: key, What: what})
}
