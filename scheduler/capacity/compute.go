package capacity

import (
	"slices"

	"rmd/scheduler/capacity/amount"
	"rmd/scheduler/capacity/share"
	"rmd/yarn"
)

// Tree has the effective capacities of all queues for a certain resource of the cluster, or of the
// nodes of a label.
type Tree struct {
	Cluster    yarn.Resource
	Capacities []Capacity // parallel to Config.Queues
	Warnings   []Fault    // capacities that were lowered because they did not fit (mixed units only)
}

// Capacity is the effective capacity of one queue. Scheduling decisions use EffMin and EffMax. The
// shares are for display, for the order of queues and for the limits on applications.
type Capacity struct {
	Capacity, MaxCapacity yarn.Fraction // of the parent
	AbsCapacity, AbsMax   share.Share   // of the cluster
	AbsFixed              uint64        // AbsCapacity in parts of 2^32; 0 only when it is 0
	EffMin, EffMax        yarn.Resource
	ConfiguredMin         yarn.Resource // the units that the configuration states; zero otherwise
	ConfiguredMax         yarn.Resource
	usualMin              yarn.Resource // see Config.usualMin
}

// queueShares are the shares of a queue that are the same for every cluster resource. fixedMin says
// that EffMin is the share abs of the cluster, and fixedMax that EffMax is the share absMax. They
// are false for a queue with a vector and for the queues below it, whose shares refer to the
// parent's effective resource.
type queueShares struct {
	capacity, max      share.Share // of the parent
	abs, absMax        share.Share
	fixedMin, fixedMax bool
}

// Compute returns the effective capacities for a resource of the cluster, or of the nodes of a
// label if c is the configuration of that label.
func (c *Config) Compute(cluster yarn.Resource) *Tree {
	if c.stale {
		c.computeShares()
	}
	t := &Tree{Cluster: cluster, Capacities: make([]Capacity, len(c.Queues))}
	t.Capacities[0] = Capacity{
		Capacity: yarn.One, MaxCapacity: yarn.One, AbsCapacity: share.Whole, AbsMax: share.Whole,
		AbsFixed: share.One, EffMin: cluster, EffMax: cluster,
	}
	for i := range c.Queues {
		if c.Queues[i].Leaf {
			continue
		}
		if c.LegacyQueueMode {
			c.computeChildren(t, i)
		} else {
			c.computeMixed(t, i)
		}
	}
	for i := range t.Capacities {
		t.Capacities[i].AbsFixed = t.Capacities[i].AbsCapacity.Fixed()
	}
	return t
}

// computeChildren sets the capacities of a parent's children in legacy mode, in which all children
// use the same unit.
func (c *Config) computeChildren(t *Tree, parent int) {
	scale := c.scaleDown(t, parent)
	p := &t.Capacities[parent]
	for n, i := range c.Queues[parent].Children {
		q, s, e := &c.Queues[i], &c.shares[i], &t.Capacities[i]
		if n > 0 && c.alike(i, c.Queues[parent].Children[n-1]) {
			*e = t.Capacities[c.Queues[parent].Children[n-1]]
			continue
		}
		e.ConfiguredMin, e.ConfiguredMax, e.usualMin = q.Capacity.Absolute(), q.MaxCapacity.Absolute(), c.usualMin(t, i)
		c.effectiveMax(t, i)
		if q.Capacity.Unit == amount.Absolute {
			for k, v := range e.ConfiguredMin {
				e.EffMin[k] = scale[k].MulFloor(v)
			}
			c.deriveMin(t, i)
			continue
		}
		e.Capacity = s.capacity.Fraction()
		if s.fixedMin {
			e.AbsCapacity, e.EffMin = s.abs, s.abs.Floor(t.Cluster)
		} else {
			e.AbsCapacity, e.EffMin = p.AbsCapacity.Mul(s.capacity), s.capacity.Floor(p.EffMin)
		}
	}
}

// effectiveMax sets the maximum of queue i. That of its parent must be set before.
func (c *Config) effectiveMax(t *Tree, i int) {
	q, s, e := &c.Queues[i], &c.shares[i], &t.Capacities[i]
	p := &t.Capacities[q.Parent]
	switch {
	case q.MaxCapacity.Unit == amount.Absolute:
		// as in YARN, 0 for a kind that the vector does not name
		e.EffMax = yarn.ComponentMin(q.MaxCapacity.Absolute(), p.EffMax)
		c.deriveMax(t, i)
	case s.fixedMax:
		e.MaxCapacity, e.AbsMax, e.EffMax = s.max.Fraction(), s.absMax, s.absMax.Floor(t.Cluster)
	default:
		e.MaxCapacity, e.AbsMax, e.EffMax = s.max.Fraction(), p.AbsMax.Mul(s.max), s.max.Floor(p.EffMax)
	}
}

// partOf returns a percentage of whole, or the stated number of units.
func partOf(p amount.Part, whole int64) int64 {
	switch p.Unit {
	case amount.Percent:
		return share.OfPercent(p.Value).MulFloor(whole)
	case amount.Absolute:
		return p.Value.MulFloor(1)
	}
	return 0
}

// scaleDown returns, for each kind, the factor by which the absolute guarantees of a parent's
// children must shrink so that their sum does not exceed the parent's guarantee.
func (c *Config) scaleDown(t *Tree, parent int) [yarn.MaxKinds]yarn.Fraction {
	var sum yarn.Resource
	for _, i := range c.Queues[parent].Children {
		sum = sum.Add(c.Queues[i].Capacity.Absolute())
	}
	var out [yarn.MaxKinds]yarn.Fraction
	have := t.Capacities[parent].EffMin
	for k := range out {
		out[k] = yarn.One
		if sum[k] > have[k] {
			out[k] = yarn.NewFraction(max(have[k], 0), sum[k])
		}
	}
	return out
}

// deriveMin sets the shares of a queue from its EffMin, for a guarantee that is a vector.
func (c *Config) deriveMin(t *Tree, i int) {
	e, p := &t.Capacities[i], &t.Capacities[c.Queues[i].Parent]
	e.Capacity = c.divide(t.Cluster, e.EffMin, p.EffMin).Fraction()
	e.AbsCapacity = c.divide(t.Cluster, e.EffMin, t.Cluster)
}

// deriveMax sets the shares of a queue from its EffMax, for a maximum that is a vector.
func (c *Config) deriveMax(t *Tree, i int) {
	e, p := &t.Capacities[i], &t.Capacities[c.Queues[i].Parent]
	e.MaxCapacity = c.divide(t.Cluster, e.EffMax, p.EffMax).Fraction()
	e.AbsMax = c.divide(t.Cluster, e.EffMax, t.Cluster)
}

// divide is the exact quotient for YARN's ResourceCalculator.divide(total, a, b): the quotient of
// the memory, or of the largest shares of total.
func (c *Config) divide(total, a, b yarn.Resource) share.Share {
	if !c.Calculator.Dominant {
		return share.New(a[yarn.Memory], b[yarn.Memory])
	}
	return c.largestShare(total, a).Div(c.largestShare(total, b))
}

func (c *Config) largestShare(total, r yarn.Resource) share.Share {
	var most share.Share
	for k := 0; k < c.Calculator.Kinds; k++ {
		if total[k] <= 0 || r[k] <= 0 {
			continue
		}
		if s := share.New(r[k], total[k]); most.Cmp(s) < 0 {
			most = s
		}
	}
	return most
}

// WithoutMaxima returns the configuration as if a queue and its ancestors had no maximum.
func (c *Config) WithoutMaxima(i int) *Config {
	p := *c
	p.Queues = slices.Clone(c.Queues)
	for ; i >= 0; i = p.Queues[i].Parent {
		p.Queues[i].MaxCapacity = amount.Amount{}
	}
	p.computeShares()
	return &p
}

// computeShares sets the shares that do not depend on the cluster's resource.
func (c *Config) computeShares() {
	c.stale, c.shares = false, make([]queueShares, len(c.Queues))
	c.shares[0] = queueShares{capacity: share.Whole, max: share.Whole, abs: share.Whole, absMax: share.Whole,
		fixedMin: true, fixedMax: true}
	for i := range c.Queues {
		q := &c.Queues[i]
		var weights share.Share
		for _, k := range q.Children {
			if a := c.Queues[k].Capacity; a.Unit == amount.Weight {
				weights = weights.Add(share.Of(a.Value))
			}
		}
		for n, k := range q.Children {
			if n > 0 && c.alike(k, q.Children[n-1]) {
				c.shares[k] = c.shares[q.Children[n-1]]
				continue
			}
			c.shares[k] = sharesUnder(&c.shares[i], &c.Queues[k], weights)
		}
	}
	if c.label == "" {
		c.computeLabelShares()
	}
}

// alike reports whether two children of a parent have equal capacities, as most dynamic queues do.
// Then the results for one are also those for the other.
func (c *Config) alike(i, k int) bool {
	a, b := &c.Queues[i], &c.Queues[k]
	return a.Capacity == b.Capacity && a.MaxCapacity == b.MaxCapacity && a.Template == b.Template
}

func sharesUnder(p *queueShares, q *Queue, weights share.Share) queueShares {
	s := queueShares{max: share.Whole}
	switch q.Capacity.Unit {
	case amount.Percent:
		s.capacity = share.Of(share.OfPercent(q.Capacity.Value))
	case amount.Weight:
		s.capacity = share.Of(q.Capacity.Value).Div(weights)
	}
	if q.MaxCapacity.Unit == amount.Percent {
		s.max = share.Of(share.OfPercent(q.MaxCapacity.Value))
	}
	vectorMax := q.MaxCapacity.Unit == amount.Absolute || q.MaxCapacity.Unit == amount.Mixed
	vector := q.Capacity.Unit == amount.Absolute || q.Capacity.Unit == amount.Mixed
	s.fixedMax = p.fixedMax && !vectorMax
	s.fixedMin = p.fixedMin && !vector && s.fixedMax
	if p.fixedMin {
		s.abs = p.abs.Mul(s.capacity)
	}
	if p.fixedMax {
		s.absMax = p.absMax.Mul(s.max)
	}
	return s
}
