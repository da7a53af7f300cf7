package preemption

import (
	"rmd/fsm/state"
	"rmd/scheduler/entitlement"
	"rmd/yarn"
)

// chooseInsideLeaves takes containers from applications of a leaf for others of the same leaf: from
// those of users above their limit, and from those of a lower priority.
//
// Source: Hadoop 3.4.2, IntraQueueCandidatesSelector.
func (r *yarnRound) chooseInsideLeaves() {
	demands := r.insideLeaves() // all before the first container is chosen, because they share the budget
	for i := range demands {
		r.chooseInside(&demands[i])
	}
}

// leafDemand is what the applications of a leaf must give in a partition.
type leafDemand struct {
	*leafApps
	leaf      int32
	partition int
	shares    []entitlement.AppShare
}

func (r *yarnRound) insideLeaves() (demands []leafDemand) {
	apps := appsOfLeaves(r.s.Views)
	for i, p := range r.s.Partitions {
		v := r.s.On(p)
		for leaf := range r.needy[i] {
			if q := &r.partitions[i].Queues[leaf]; !q.Leaf || q.DisabledIntra || !r.needy[i][leaf] ||
				!usesEnough(&v, int32(leaf), r.set) {
				continue
			}
			chosen := func(app state.AppSlot) yarn.Resource { return r.chosenOf(app, p.Label) }
			l := leafOf(&v, int32(leaf), apps[leaf], r.owed[i][leaf], chosen, nothing)
			demands = append(demands, leafDemand{l, int32(leaf), i, l.AppShares(r.set, r.budget)})
		}
	}
	return demands
}

// chosenOf returns what the round has already chosen from an application on the nodes of a label.
func (r *yarnRound) chosenOf(app state.AppSlot, label state.LabelSlot) (sum yarn.Resource) {
	for _, c := range r.chosen {
		if k := r.s.State.Containers.Get(c.container); k.App == app && r.s.State.Nodes.Get(k.Node).Label == label {
			sum = sum.Add(k.Size)
		}
	}
	return sum
}

// chooseInside takes what the applications of a leaf must give, beginning with the last ones in the
// order. With userlimit_first, every user stays above its limit.
func (r *yarnRound) chooseInside(d *leafDemand) {
	f := &yarnFirstIn{yarnRound: r, leaf: d.leaf, conservative: r.set.Intra.ConservativeDRF,
		gains: r.s.Config.Queues[d.leaf].Path,
		take:  make([]yarn.Resource, len(r.partitions)), gives: make([]bool, len(r.partitions))}
	take := &f.take[d.partition]
	for _, s := range d.shares {
		*take = take.Add(s.ToTake)
	}
	f.gives[d.partition] = !take.IsZero()
	used := make([]yarn.Resource, len(d.Users))
	for i := range used {
		used[i] = d.Users[i].Used
	}
	for i := len(d.apps) - 1; i >= 0; i-- {
		if d.shares[i].ToTake.IsZero() {
			continue
		}
		f.cause = yarn.PreemptUserLimit
		if d.shares[i].ForPriority {
			f.cause = yarn.PreemptPriority
		}
		user := d.Apps[i].User
		f.chooseAboveLimit(d.apps[i], d.Users[user].Limit, &used[user])
	}
}

// chooseAboveLimit takes containers of an application. used is the use of its user less what was
// taken.
func (f *yarnFirstIn) chooseAboveLimit(app state.AppSlot, limit yarn.Resource, used *yarn.Resource) {
	userLimits := f.set.Intra.Order == entitlement.UserLimitFirst
	for _, slot := range f.liveOf(f.s.State.Apps.Get(app)) {
		c := f.s.State.Containers.Get(slot)
		if c.AM {
			continue
		}
		if userLimits && f.calc.Compare(f.cluster, used.Sub(c.Size), limit) <= 0 {
			return
		}
		if f.try(slot) && userLimits {
			*used = used.Sub(c.Size)
		}
	}
}
