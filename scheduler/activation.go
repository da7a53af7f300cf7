package scheduler

import (
	"slices"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/yarn"
)

// activate walks a leaf's waiting applications in order and activates those
// that the AM limits of queue and user allow. One that is refused does not stop
// the walk; where no AM runs yet, one may always start.
func (p *Planner) activate(i int32) {
	v := &p.queues[i]
	if len(v.pending) == 0 {
		return
	}
	p.capacities()
	if p.amShareSpent(i) {
		return // however many wait, none can start
	}
	users := p.usersOf(i)                 // of the whole walk, as in YARN: an activation here changes no user's share
	refused := map[uint32]yarn.Resource{} // smallest AM refused, by user; looked up by key only
	for _, slot := range slices.Clone(v.pending) {
		a := p.st.Apps.Get(slot)
		if least, ok := refused[a.UserSlot]; ok && !a.Unmanaged && least.Within(a.AM) {
			continue
		}
		switch p.mayActivate(i, a, users) {
		case AMLimitUser:
			refused[a.UserSlot] = a.AM
			continue
		case AMLimitQueue:
			continue
		}
		p.emit(&event.AttemptActivated{App: a.ID.Seq})
		p.asksMore(slot)
		if p.amShareSpent(i) {
			return
		}
	}
}

// amShareSpent says whether a leaf has not even the smallest AM's room left. It
// keeps the walk short where thousands wait.
func (p *Planner) amShareSpent(i int32) bool {
	q, calc := p.st.Queues.Get(p.queues[i].slot), p.cfg.Calculator
	return q.ActiveApps > 0 && calc.AnyAboveZero(q.AMUsed) && p.queues[i].unmanaged == 0 &&
		!calc.FitsIn(q.AMUsed.Add(p.cfg.MinAlloc), p.amLimit(i))
}

// usersOf is how many users share what the AMs of a leaf may take.
func (p *Planner) usersOf(i int32) int64 {
	leaf := p.st.Queues.Get(p.queues[i].slot)
	return int64(leaf.ActiveUsers + leaf.WaitingUsers)
}

// mayActivate says what keeps an application from being activated, if anything, when so many users
// share the leaf.
func (p *Planner) mayActivate(i int32, a *state.App, users int64) Reason {
	q, calc := p.st.Queues.Get(p.queues[i].slot), p.cfg.Calculator
	if a.Unmanaged {
		return NoReason
	}
	limit := p.amLimit(i)
	first := q.ActiveApps < 1 || !calc.AnyAboveZero(q.AMUsed)
	if !first && !calc.FitsIn(q.AMUsed.Add(a.AM), limit) {
		return AMLimitQueue
	}
	u := p.st.Users.Get(a.UserSlot)
	if !first && !calc.FitsIn(u.AMUsed.Add(a.AM), p.userAMLimit(i, a.UserSlot, limit, users)) {
		return AMLimitUser
	}
	return NoReason
}

// amLimit is how much the AMs of a leaf may take now.
func (p *Planner) amLimit(i int32) yarn.Resource {
	usable := capacity.AMUsable(p.cfg.Calculator, p.currentLimit(i), p.tree.Capacities[i].EffMin)
	return capacity.AMLimit(p.cfg.Calculator, usable, p.cfg.Queues[i].MaxAMPercent, p.cfg.MinAlloc)
}

func (p *Planner) userAMLimit(i int32, user uint32, queueLimit yarn.Resource, users int64) yarn.Resource {
	q := &p.cfg.Queues[i]
	return capacity.UserAMLimit(capacity.UserAMLimitInput{
		Calculator: p.cfg.Calculator, Total: p.st.Meta.Cluster, EffMin: p.tree.Capacities[i].EffMin,
		AMLimit: queueLimit, MinAlloc: p.cfg.MinAlloc, AMPercent: q.MaxAMPercent,
		MinUserLimit: q.MinUserLimitPercent, UserLimitFactor: q.UserLimitFactor, UserLimitOff: q.UserLimitOff,
		Weight: p.users[user].weight, ActiveUsers: users,
	})
}

// start begins an application's next attempt: parked when a limit on parallel
// applications is reached, else waiting for activation. The AM is asked for at
// once, so that it counts as demand.
func (p *Planner) start(app uint32) {
	a := p.st.Apps.Get(app)
	parked := !p.mayRun(a)
	p.emit(&event.AttemptStarted{App: a.ID.Seq, Attempt: a.Attempt + 1, Parked: parked})
	if !parked {
		p.askForAM(app)
	}
}

// askForAM has an attempt wait for activation and asks for its AM. The ask comes after the walk, as in
// YARN: it does not make its user an active one among those that the AM limits divide by.
func (p *Planner) askForAM(app uint32) {
	p.activateNew(p.indexOf[p.st.Apps.Get(app).Queue])
	a := p.st.Apps.Get(app)
	if a.Unmanaged {
		if !a.Activated() { // without a node; an AM that needs no container may register all the same
			p.emit(&event.AttemptActivated{App: a.ID.Seq})
			p.asksMore(app)
		}
		return
	}
	p.emit(&event.AskChanged{App: a.ID.Seq, Key: yarn.SchedulerKey{Priority: yarn.AMPriority}, Name: yarn.Any, Count: 1, Size: a.AM, Relax: !a.AMStrict})
	for _, at := range a.Details().AMPlaces {
		p.emit(&event.AskChanged{App: a.ID.Seq, Key: yarn.SchedulerKey{Priority: yarn.AMPriority}, Name: at.Name, Count: 1, Size: a.AM, Relax: at.Relax})
	}
	if p.st.Apps.Get(app).Activated() {
		p.asksMore(app)
	}
}

// activateNew is activate for a leaf that an application has come to. Without a node it waits for the
// first one, as in YARN.
func (p *Planner) activateNew(leaf int32) {
	if p.cfg.Calculator.AnyAboveZero(p.st.Meta.Cluster) {
		p.activate(leaf)
	}
}

// mayRun holds max-parallel-apps of the user, the leaf and every ancestor.
func (p *Planner) mayRun(a *state.App) bool {
	if most := p.cfg.MaxParallelAppsOf(p.st.NameOf(a.User)); most >= 0 && int64(p.runnableOf(a.User)) >= most {
		return false
	}
	for i := p.indexOf[a.Queue]; i >= 0; i = p.queues[i].parent {
		if most := p.cfg.Queues[i].MaxParallelApps; most >= 0 && int64(p.st.Queues.Get(p.queues[i].slot).Runnable) >= most {
			return false
		}
	}
	return true
}

func (p *Planner) runnableOf(user state.NameID) int32 {
	if int(user) < len(p.runnable) {
		return p.runnable[user]
	}
	return 0
}

// unpark retries parked applications, in start order, after one has left.
func (p *Planner) unpark() {
	if !p.anyParked() {
		return
	}
	var parked []uint32
	p.st.Apps.Each(func(slot uint32, a *state.App) bool {
		if a.AttemptState == state.AttemptParked {
			parked = append(parked, slot)
		}
		return true
	})
	slices.SortFunc(parked, func(x, y uint32) int {
		return int(int64(p.st.Apps.Get(x).ID.Seq) - int64(p.st.Apps.Get(y).ID.Seq))
	})
	for _, slot := range parked {
		if a := p.st.Apps.Get(slot); p.mayRun(a) {
			p.emit(&event.AttemptStarted{App: a.ID.Seq, Attempt: a.Attempt})
			p.askForAM(slot)
		}
	}
}

func (p *Planner) anyParked() bool {
	for i := range p.queues {
		if p.cfg.Queues[i].Leaf && p.st.Queues.Get(p.queues[i].slot).ParkedApps > 0 {
			return true
		}
	}
	return false
}
