package scheduler

import (
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/yarn"
)

// queueLimit is canAssignToThisQueue: present use against the limit.
func (p *Planner) queueLimit(i int32, limit, unreservable yarn.Resource) (bool, yarn.Resource) {
	return capacity.QueueLimit(capacity.QueueLimitInput{
		Calculator:      p.cfg.Calculator,
		Total:           p.st.Meta.Cluster,
		EffMax:          p.tree.Capacities[i].EffMax,
		Limit:           limit,
		Used:            p.st.Queues.Get(p.queues[i].slot).Used,
		Unreservable:    unreservable,
		ContinueLooking: p.cfg.ContinueLooking,
	})
}

func (p *Planner) childLimit(parent, child int32, l *limits) yarn.Resource {
	return capacity.ChildLimit(capacity.ChildLimitInput{
		Calculator: p.cfg.Calculator,
		Total:      p.st.Meta.Cluster,
		Limit:      l.limit,
		EffMax:     p.tree.Capacities[parent].EffMax,
		Blocked:    l.blocked,
		Used:       p.st.Queues.Get(p.queues[parent].slot).Used,
		ChildUsed:  p.st.Queues.Get(p.queues[child].slot).Used,
		MinAlloc:   p.cfg.MinAlloc,
	})
}

// currentLimit is what the ancestors of a queue would hand down to it now, at
// most its own maximum. YARN remembers the limit of the last pass; this is
// derived, so that a new leader plans alike.
func (p *Planner) currentLimit(i int32) yarn.Resource {
	own := p.cfg.Calculator.RoundDown(p.tree.Capacities[i].EffMax, p.cfg.MinAlloc)
	parent := p.queues[i].parent
	if parent < 0 {
		return own
	}
	handed := p.childLimit(parent, i, &limits{limit: p.currentLimit(parent)})
	return p.cfg.Calculator.Min(p.st.Meta.Cluster, own, handed)
}

// withinHeadroom says whether the size fits what the queue may still take,
// what the application could give up included.
func (p *Planner) withinHeadroom(a *state.App, k *state.Ask, l *limits) bool {
	room := l.headroom
	if p.cfg.ContinueLooking {
		room = room.Add(a.Reserved)
	}
	return p.cfg.Calculator.FitsIn(k.Size, room)
}

// userCheck is canAssignToUser: use at the limit still passes.
func (p *Planner) userCheck(i int32, a *state.App) (bool, yarn.Resource) {
	return capacity.UserCheck(capacity.UserCheckInput{
		Calculator:      p.cfg.Calculator,
		Total:           p.st.Meta.Cluster,
		Used:            p.st.Users.Get(a.UserSlot).Used,
		AppReserved:     a.Reserved,
		Limit:           p.userLimit(i, a.UserSlot),
		ContinueLooking: p.cfg.ContinueLooking,
	})
}

// userLimit is the limit of one user of a leaf, the active form.
func (p *Planner) userLimit(i int32, user uint32) yarn.Resource {
	v, q := &p.queues[i], &p.cfg.Queues[i]
	if v.changed {
		e, leaf := &p.tree.Capacities[i], p.st.Queues.Get(v.slot)
		v.userLimit = capacity.UserLimit(capacity.UserLimitInput{
			Calculator: p.cfg.Calculator, Label: p.st.Meta.Cluster, MinAlloc: p.cfg.MinAlloc,
			EffMin: e.EffMin, EffMax: e.EffMax,
			DominantUsed: v.dominantUsed, ActiveUsed: leaf.ActiveUsed, ActiveWeight: atLeastOne(v.activeWeight),
			MinUserLimit: q.MinUserLimitPercent, UserLimitFactor: q.UserLimitFactor, UserLimitOff: q.UserLimitOff,
		})
		v.changed = false
	}
	w := p.users[user].weight
	if w == yarn.One {
		return v.userLimit
	}
	return capacity.WeightedUserLimit(p.cfg.Calculator, v.userLimit, w, p.cfg.MinAlloc)
}

// atLeastOne stands in for the sum of no weights.
func atLeastOne(w yarn.Fraction) yarn.Fraction {
	if w.Num <= 0 {
		return yarn.One
	}
	return w
}

// withinLimits checks the user limit and the maximum of every queue above.
func (p *Planner) withinLimits(d *decision, released yarn.Resource) bool {
	a, calc, total := p.st.Apps.Get(d.app), p.cfg.Calculator, p.st.Meta.Cluster
	leaf := p.indexOf[a.Queue]
	used := p.st.Users.Get(a.UserSlot).Used.Sub(released)
	if calc.Compare(total, used, p.userLimit(leaf, a.UserSlot)) > 0 {
		return false
	}
	for i := leaf; i >= 0; i = p.queues[i].parent {
		q := p.st.Queues.Get(p.queues[i].slot)
		if !calc.FitsIn(q.Used.Add(d.size).Sub(released), p.tree.Capacities[i].EffMax) {
			return false
		}
	}
	return true
}

// headroom is what an application may still get, as its AM is told: never below
// zero, even when the cluster has shrunk under what it uses.
func (p *Planner) headroom(slot uint32) yarn.Resource {
	p.capacities()
	a := p.st.Apps.Get(slot)
	i := p.indexOf[a.Queue]
	room := capacity.Headroom(capacity.HeadroomInput{
		Calculator: p.cfg.Calculator, Total: p.st.Meta.Cluster, MinAlloc: p.cfg.MinAlloc,
		UserLimit: p.userLimit(i, a.UserSlot), UserUsed: p.st.Users.Get(a.UserSlot).Used,
		QueueLimit: p.currentLimit(i), QueueUsed: p.st.Queues.Get(a.Queue).Used,
		RootUsed: p.st.Queues.Get(p.queues[0].slot).Used,
	})
	return yarn.ComponentMax(room, yarn.Resource{})
}
