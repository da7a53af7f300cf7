package view

import (
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/scheduler/capacity/limits"
	"rmd/scheduler/capacity/share"
	"rmd/yarn"
)

// Partition has what a view knows of the nodes with one label. The default partition, label 0, has
// those without a label.
type Partition struct {
	Label state.LabelSlot
	Conf  *capacity.Config // with the capacities for the label; nil before the cluster has queues
	Tree  *capacity.Tree

	v      *View
	limits []yarn.Resource // limits that the parents impose on each queue, by slot
}

// Partition returns the partition of a label.
func (v *View) Partition(label state.LabelSlot) *Partition {
	if have, ok := v.partitions[label]; ok {
		return have
	}
	p := &Partition{Label: label, Conf: v.Conf, Tree: v.Tree, v: v}
	if label != 0 {
		of := v.confs.At(v.State, label)
		p.Conf, p.Tree = of.Conf, of.Tree
	}
	p.limits = make([]yarn.Resource, v.State.Queues.Cap())
	if root := v.State.Queues.Root(); root != 0 && p.Conf != nil {
		p.limits[root] = p.Tree.Cluster
		p.handDown(root)
	}
	if v.partitions == nil {
		v.partitions = map[state.LabelSlot]*Partition{}
	}
	v.partitions[label] = p
	return p
}

// TreeOf returns the capacities of the queues for a label, or nil for a label that the cluster does
// not have.
func (v *View) TreeOf(label string) *capacity.Tree {
	id := v.State.Labels.Find(label)
	if label != "" && id == 0 {
		return nil
	}
	return v.Partition(id).Tree
}

// Partitions returns the default partition, and those of the cluster's labels and of removed labels
// that are still used or asked for.
func (v *View) Partitions() []*Partition {
	out := []*Partition{v.Partition(0)}
	root := v.State.Queues.Root()
	v.State.Labels.Each(func(slot state.LabelSlot, l *state.Label) bool {
		label := slot
		if l.Listed || root != 0 && v.State.QueueUse(root, label) != (state.Use{}) {
			out = append(out, v.Partition(label))
		}
		return true
	})
	return out
}

// Name returns the name of the label; it is empty for the default partition.
func (p *Partition) Name() string { return p.v.State.Labels.Name(p.Label) }

// Shows reports whether the partition is shown for a queue: the queue may use the label, or uses
// it.
func (p *Partition) Shows(queue state.QueueSlot) bool {
	return p.Accessible(queue) || p.Use(queue) != (state.Use{})
}

// Accessible reports whether a queue may use the label.
func (p *Partition) Accessible(queue state.QueueSlot) bool {
	i := p.v.Configured(p.v.QueuePath(queue))
	return i >= 0 && p.Conf.Queues[i].MayUse(p.Name())
}

// handDown computes the limits of the queues below a queue.
func (p *Partition) handDown(slot state.QueueSlot) {
	for _, k := range p.v.State.Queues.Get(slot).Children {
		p.limits[k] = p.childLimit(slot, k)
		p.handDown(k)
	}
}

func (p *Partition) childLimit(parent, child state.QueueSlot) yarn.Resource {
	i := p.v.Configured(p.v.QueuePath(parent))
	if i < 0 {
		return p.limits[parent]
	}
	return limits.ChildLimit(limits.ChildLimitInput{
		Calculator: p.Conf.Calculator, Total: p.Tree.Cluster, Limit: p.limits[parent], EffMax: p.Tree.Capacities[i].EffMax,
		Used: p.Use(parent).Used, ChildUsed: p.Use(child).Used, MinAlloc: p.Conf.MinAlloc,
	})
}

// Use returns a queue's use of the partition.
func (p *Partition) Use(queue state.QueueSlot) state.Use { return p.v.State.QueueUse(queue, p.Label) }

// AMLimit returns how much of the partition the AMs of a leaf queue may use now. slot is the
// queue's place in the state, i its place in the configuration.
func (p *Partition) AMLimit(slot state.QueueSlot, i int) yarn.Resource {
	calc, eff := p.Conf.Calculator, &p.Tree.Capacities[i]
	usable := eff.EffMin
	if p.Label == 0 { // for labels, YARN uses only the guarantee
		usable = limits.AMUsable(calc, calc.Min(p.Tree.Cluster, p.limits[slot], eff.EffMax), usable)
	}
	return limits.AMLimit(calc, usable, p.Conf.Queues[i].MaxAMPercent, p.Conf.MinAlloc)
}

// weighted returns the limit of a user, by the user's weight in leaf queue i.
func (p *Partition) weighted(limit yarn.Resource, i int, user string) yarn.Resource {
	return limits.WeightedUserLimit(p.Conf.Calculator, limit, p.Conf.Queues[i].Weight(user), p.Conf.MinAlloc)
}

// UserLimit returns the limit of a user of weight 1 in leaf queue i. users are the slots of the
// queue's users.
func (p *Partition) UserLimit(i int, users []state.UserSlot) yarn.Resource {
	st, calc := p.v.State, p.Conf.Calculator
	conf, eff := &p.Conf.Queues[i], &p.Tree.Capacities[i]
	var dominant, used yarn.Resource
	var weight, all share.Share
	for _, slot := range users {
		u, use := st.Users.Get(slot), st.UserUse(slot, p.Label).Used
		w := share.Of(conf.Weight(st.Names.Text(u.Name)))
		dominant = dominant.Add(limits.DominantPart(calc, p.Tree.Cluster, use))
		all = all.Add(w)
		if u.IsActive() {
			used, weight = used.Add(use), weight.Add(w)
		}
	}
	if weight.IsZero() {
		weight = share.Of(yarn.One)
	}
	return limits.UserLimit(limits.UserLimitInput{
		Calculator: calc, Label: p.Tree.Cluster, MinAlloc: p.Conf.MinAlloc, EffMin: eff.EffMin, EffMax: eff.EffMax,
		DominantUsed: dominant, ActiveUsed: used, ActiveWeight: weight.Fraction(), AllWeight: all.Fraction(),
		MinUserLimit: conf.MinUserLimitPercent, UserLimitFactor: conf.UserLimitFactor, UserLimitOff: conf.UserLimitOff,
	})
}
