package capacity

import (
	"fmt"
	"strings"

	"rmd/scheduler/capacity/amount"
	"rmd/scheduler/capacity/share"
	"rmd/yarn"
)

// checkQueues checks the rules that concern several queues or keys.
func (r *reader) checkQueues(c *Config) {
	for i := range c.Queues {
		q := &c.Queues[i]
		r.checkWeights(q)
	}
	if c.LegacyQueueMode { // for mixed units, computeMixed lowers what does not fit
		r.checkCapacities(c)
	}
	r.checkLabels(c)
}

func (r *reader) checkCapacities(c *Config) {
	for i := range c.Queues {
		q := &c.Queues[i]
		r.checkMinMax(c, q)
		if !q.Leaf {
			r.checkChildren(c, q)
		}
	}
}

// checkMinMax checks that capacity ≤ maximum-capacity for each kind that has the same unit in both.
// YARN accepts a percentage above the maximum; the queue then never gets its capacity.
func (r *reader) checkMinMax(c *Config, q *Queue) {
	for k, most := range q.MaxCapacity.Parts {
		least := q.Capacity.Parts[k]
		if least.Unit != most.Unit || most.Value.IsZero() && most.Unit == amount.Absolute || most.Unit == amount.None ||
			least.Value.Cmp(most.Value) <= 0 {
			continue
		}
		report := r.fault
		if most.Unit == amount.Percent {
			report = r.warn
		}
		report(c.key(q, "maximum-capacity"), fmt.Sprintf("%s is below the queue's capacity of %s",
			q.MaxCapacity.Format(c.Kinds), q.Capacity.Format(c.Kinds)), "raise the maximum, or lower the capacity")
		return
	}
}

// checkWeights checks that minimum-user-limit-percent · weight ≤ 100 for each weighted user of a
// leaf.
func (r *reader) checkWeights(q *Queue) {
	if !q.Leaf {
		return
	}
	for _, w := range q.UserWeights {
		if share.Of(q.MinUserLimitPercent).Mul(share.Of(w.Weight)).Cmp(share.New(100, 1)) > 0 {
			r.fault(Prefix+q.Path+".user-settings."+w.User+".weight",
				fmt.Sprintf("weight %s times minimum-user-limit-percent %s is more than 100", w.Weight, q.MinUserLimitPercent),
				"lower the weight or minimum-user-limit-percent")
		}
	}
}

// unitsOf returns the units that the children of a queue use, and for each unit the name of a
// child. A percentage of 0, or no capacity, is compatible with all units and is left out.
func unitsOf(c *Config, q *Queue) (units []amount.Unit, users map[amount.Unit]string) {
	users = map[amount.Unit]string{}
	for _, i := range q.Children {
		child := &c.Queues[i]
		u := child.Capacity.Unit
		if u == amount.None || u == amount.Percent && child.Capacity.Value.IsZero() || users[u] != "" {
			continue
		}
		units, users[u] = append(units, u), child.Name
	}
	return units, users
}

// checkChildren checks the rules of legacy mode for the children of one parent.
func (r *reader) checkChildren(c *Config, q *Queue) {
	if len(q.Children) == 0 {
		return // submissions create them
	}
	units, users := unitsOf(c, q)
	if len(units) > 1 {
		var parts []string
		for _, u := range units {
			parts = append(parts, fmt.Sprintf("%s (%s)", u, users[u]))
		}
		r.fault(Prefix+q.Path+".queues", "its children mix units of capacity"+c.forLabel()+": "+strings.Join(parts, ", "),
			"use one unit, or set "+Prefix+"legacy-queue-mode.enabled = false")
		return
	}
	absolute := len(units) == 1 && units[0] == amount.Absolute
	if c.label != "" && len(units) == 0 && q.Capacity.Unit == amount.Absolute {
		return // only the parent has a capacity for the label
	}
	if q.Parent >= 0 && absolute != (q.Capacity.Unit == amount.Absolute) &&
		(len(units) == 1 || q.Capacity.Unit == amount.Absolute) {
		r.fault(c.key(q, "capacity"), "absolute capacity must be used by a parent and its children alike",
			"give all of them a vector, or none")
		return
	}
	switch {
	case absolute:
		r.checkAbsoluteSum(c, q)
	case !c.divides(q): // the parent has nothing of the label, so its children have nothing either
	case len(units) == 0 || units[0] == amount.Percent:
		r.checkPercentSum(c, q)
	}
}

// percentTolerance is the greatest difference of a sum of percentages from 100, in percent. It is
// that of YARN.
var percentTolerance = share.New(5, 100)

func (r *reader) checkPercentSum(c *Config, q *Queue) {
	var sum share.Share
	for _, i := range q.Children {
		sum = sum.Add(share.Of(share.OfPercent(c.Queues[i].Capacity.Value)))
	}
	off := sum.Add(share.New(-1, 1)).Mul(share.New(100, 1))
	if off.Cmp(percentTolerance) <= 0 && off.Cmp(share.New(-5, 100)) >= 0 {
		return
	}
	none := q.Capacity.Unit == amount.None || q.Capacity.IsZero()
	if sum.IsZero() && (q.AllowZeroCapacitySum || q.Capacity.Unit == amount.Weight || none) {
		return
	}
	r.fault(Prefix+q.Path+".queues", fmt.Sprintf("the capacities of its children sum to %s %%, not 100 %%%s",
		sum.Percent(4), c.forLabel()),
		"change "+capacityKeys(c, q))
}

// capacityKeys lists the children of a queue with their capacities.
func capacityKeys(c *Config, q *Queue) string {
	const most = 6
	var parts []string
	for n, i := range q.Children {
		if n == most {
			parts = append(parts, fmt.Sprintf("and %d more", len(q.Children)-most))
			break
		}
		v := c.Queues[i].Capacity.Format(c.Kinds)
		if v == "" {
			v = "not set"
		}
		parts = append(parts, fmt.Sprintf("%s (%s)", c.Queues[i].Name, v))
	}
	return "the capacity of " + strings.Join(parts, ", ")
}

func (r *reader) checkAbsoluteSum(c *Config, q *Queue) {
	if q.Parent < 0 {
		return // root has the whole cluster, and computeChildren scales its children down
	}
	var sum yarn.Resource
	for _, i := range q.Children {
		sum = sum.Add(c.Queues[i].Capacity.Absolute())
	}
	have := q.Capacity.Absolute()
	for k, kind := range c.Kinds {
		if sum[k] > have[k] {
			r.fault(c.key(q, "capacity"), fmt.Sprintf("its children are guaranteed %d of %s, more than its own %d", sum[k],
				kind, have[k]),
				"raise it, or lower the children's")
			return
		}
	}
}
