package scheduler

import (
	"iter"
	"slices"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/views"
	"rmd/yarn"
)

// Activate activates a leaf's waiting applications, in order, as far as the AM limits of the queue
// and its users allow. It continues after an application that it cannot activate. If no AM runs in
// the leaf, the limits allow one in any case.
func (s *Scheduler) Activate(i int32) {
	for slot := range s.activatable(i) {
		s.Emit(&event.AttemptActivated{App: s.State.Apps.Get(slot).ID.Seq})
		s.AsksMore(slot)
	}
}

// activatable returns the waiting applications of a leaf that may be activated. Each is only
// judged after the caller has activated the one before.
func (s *rules) activatable(i int32) iter.Seq[state.AppSlot] {
	return func(yield func(state.AppSlot) bool) {
		v := &s.Queues[i]
		if len(v.Pending) == 0 {
			return
		}
		s.RefreshCapacities()
		if s.amShareSpent(i) {
			return // none of them can start
		}
		users := s.UsersOf(i) // computed once, as in YARN: an activation here changes no user's share
		type share struct {
			user  state.UserSlot
			label state.LabelSlot
		}
		refused := map[share]yarn.Resource{} // the smallest refused AM, by user and partition; never iterated
		for _, slot := range slices.Clone(v.Pending) {
			a := s.State.Apps.Get(slot)
			if least, ok := refused[share{a.UserSlot, a.AMLabel}]; ok && !a.Unmanaged && least.Within(a.AM) {
				continue
			}
			switch s.mayActivate(i, a, users) {
			case AMLimitUser:
				refused[share{a.UserSlot, a.AMLabel}] = a.AM
				continue
			case AMLimitQueue:
				continue
			}
			if !yield(slot) || s.amShareSpent(i) {
				return
			}
		}
	}
}

// ActivatedNext returns the application of a leaf that Activate would activate first, or 0.
func (s *rules) ActivatedNext(i int32) state.AppSlot {
	for slot := range s.activatable(i) {
		return slot
	}
	return 0
}

// MayStart reports whether ActivateAll or StartNonRunnable would start an application now. Without
// nodes, applications wait for the first one.
func (s *rules) MayStart() bool {
	if !s.Config.Calculator.AnyAboveZero(s.State.Meta.Cluster) {
		return false
	}
	for i := range s.Queues {
		if s.Config.Queues[i].Leaf {
			for range s.activatable(int32(i)) {
				return true
			}
		}
	}
	return len(s.mayBecomeRunnable()) > 0
}

// amShareSpent reports whether even the smallest AM exceeds the AM limit of a leaf. It saves time
// when thousands of applications wait.
func (s *rules) amShareSpent(i int32) bool {
	q, calc := s.Queue(i), s.Config.Calculator
	v := s.On(s.Partitions[0])
	return len(s.Partitions) == 1 && q.ActiveApps > 0 && calc.AnyAboveZero(q.AMUsed) && s.Queues[i].Unmanaged == 0 &&
		!calc.FitsIn(q.AMUsed.Add(s.Config.MinAlloc), v.AMLimit(i))
}

// amLimits are the limits of a leaf and of a user in it on the resources of AMs, as they are for the
// AM of one application.
type amLimits struct {
	view  views.View // of the nodes that the AM wants
	leaf  int32
	app   *state.App
	queue yarn.Resource // the limit of the leaf
	first bool          // no other AM runs there: no limit applies
}

func (s *rules) amLimitsOf(i int32, a *state.App) amLimits {
	v := s.On(s.Partitions[a.AMLabel])
	first := a.Unmanaged || v.Queue(i).ActiveApps < 1 || !v.Config.Calculator.AnyAboveZero(v.AMUsed(i))
	return amLimits{v, i, a, v.AMLimit(i), first}
}

// queueRefuses reports whether the limit of the leaf refuses the AM.
func (l amLimits) queueRefuses() bool {
	return !l.first && !l.view.Config.Calculator.FitsIn(l.view.AMUsed(l.leaf).Add(l.app.AM), l.queue)
}

// userRefuses reports whether the limit of the user refuses the AM. users is the number of users
// that share the leaf.
func (l amLimits) userRefuses(users int64) bool {
	used := l.view.State.UserUse(l.app.UserSlot, l.view.At.Label).AMUsed
	return !l.first && !l.view.Config.Calculator.FitsIn(used.Add(l.app.AM),
		l.view.UserAMLimitAmong(l.leaf, l.app.UserSlot, l.queue, users))
}

// mayActivate returns the first limit that prevents the activation of an application, or NoReason.
// users is the number of users that share the leaf.
func (s *rules) mayActivate(i int32, a *state.App, users int64) Reason {
	switch l := s.amLimitsOf(i, a); {
	case l.queueRefuses():
		return AMLimitQueue
	case l.userRefuses(users):
		return AMLimitUser
	}
	return NoReason
}

// WhyNotActivated returns all limits that prevent the activation of an application now, in YARN's
// order.
func (s *rules) WhyNotActivated(a *state.App) (limits []Reason) {
	i := s.LeafOf(a)
	l := s.amLimitsOf(i, a)
	if l.queueRefuses() {
		limits = append(limits, AMLimitQueue)
	}
	if l.userRefuses(s.UsersOf(i)) {
		limits = append(limits, AMLimitUser)
	}
	return limits
}

// StartAttempt starts an application's next attempt. If a limit on parallel applications is
// reached, the attempt is non-runnable. Otherwise it waits for activation, and StartAttempt emits
// the ask for its AM at once, so that the AM counts as pending.
func (s *Scheduler) StartAttempt(app state.AppSlot) {
	a := s.State.Apps.Get(app)
	nonRunnable := !s.mayRun(a)
	s.Emit(&event.AttemptStarted{App: a.ID.Seq, Attempt: a.Attempt + 1, NonRunnable: nonRunnable})
	if !nonRunnable {
		s.askForAM(app)
	}
}

// askForAM makes an attempt wait for activation, and asks for its AM. The ask comes after the
// activation, as in YARN, so it does not make its user one of the active users by which the AM
// limits are divided.
func (s *Scheduler) askForAM(app state.AppSlot) {
	s.ActivateArrival(s.LeafOf(s.State.Apps.Get(app)))
	a := s.State.Apps.Get(app)
	if a.Unmanaged {
		if !a.Activated() { // there are no nodes yet; an AM that needs no container may register nevertheless
			s.Emit(&event.AttemptActivated{App: a.ID.Seq})
			s.AsksMore(app)
		}
		return
	}
	s.Emit(&event.AskChanged{App: a.ID.Seq, Key: yarn.SchedulerKey{Priority: yarn.AMPriority}, Name: yarn.Any, Count: 1,
		Size: a.AM, Relax: !a.AMStrict})
	if label := s.State.Labels.Name(a.AMLabel); label != "" {
		s.Emit(&event.AskLabelled{App: a.ID.Seq, Key: yarn.SchedulerKey{Priority: yarn.AMPriority}, Label: label})
	}
	places := a.Details().AMPlaces
	admitted := s.AdmitNames(a.User, len(places))
	for _, at := range places {
		if !admitted(at.Name) {
			continue
		}
		s.Emit(&event.AskChanged{App: a.ID.Seq, Key: yarn.SchedulerKey{Priority: yarn.AMPriority}, Name: at.Name, Count: 1,
			Size: a.AM, Relax: at.Relax})
	}
	if s.State.Apps.Get(app).Activated() {
		s.AsksMore(app)
	}
}

// ActivateArrival calls Activate for a leaf with a new application, if the cluster has nodes.
// Without nodes the application waits for the first one, as in YARN.
func (s *Scheduler) ActivateArrival(leaf int32) {
	if s.Config.Calculator.AnyAboveZero(s.State.Meta.Cluster) {
		s.Activate(leaf)
	}
}

// mayRun checks max-parallel-apps of the user, the leaf and every ancestor.
func (s *rules) mayRun(a *state.App) bool {
	_, reached := s.ReachedParallelLimit(a)
	return !reached
}

// ParallelLimit is a limit on parallel applications, of a user or of a queue, that is reached.
type ParallelLimit struct {
	User, Queue   string // one of them is set
	Running, Most int64
}

// ReachedParallelLimit returns the first limit on parallel applications that blocks an application,
// if there is one.
func (s *rules) ReachedParallelLimit(a *state.App) (l ParallelLimit, reached bool) {
	user := s.State.Names.Text(a.User)
	if most, runs := s.Config.MaxParallelAppsOf(user), int64(s.RunnableOf(a.User)); most >= 0 && runs >= most {
		return ParallelLimit{User: user, Running: runs, Most: most}, true
	}
	for i := s.LeafOf(a); i >= 0; i = s.Queues[i].Parent {
		if most, runs := s.Config.Queues[i].MaxParallelApps, int64(s.Queue(i).Runnable); most >= 0 && runs >= most {
			return ParallelLimit{Queue: s.Config.Queues[i].Path, Running: runs, Most: most}, true
		}
	}
	return ParallelLimit{}, false
}

// StartNonRunnable starts non-runnable applications that may run now, in start order. It is called
// after an application has ended or moved.
func (s *Scheduler) StartNonRunnable() {
	nonRunnable := s.mayBecomeRunnable()
	slices.SortFunc(nonRunnable, func(x, y state.AppSlot) int {
		return int(int64(s.State.Apps.Get(x).ID.Seq) - int64(s.State.Apps.Get(y).ID.Seq))
	})
	for _, slot := range nonRunnable {
		if a := s.State.Apps.Get(slot); s.mayRun(a) {
			s.Emit(&event.AttemptStarted{App: a.ID.Seq, Attempt: a.Attempt})
			s.askForAM(slot)
		}
	}
}

// mayBecomeRunnable returns the non-runnable applications of which each could run now if it were the
// only one.
func (s *rules) mayBecomeRunnable() (slots []state.AppSlot) {
	if !s.anyNonRunnable() {
		return nil
	}
	s.State.Apps.Each(func(slot state.AppSlot, a *state.App) bool {
		if a.AttemptState == state.AttemptNonRunnable && s.mayRun(a) {
			slots = append(slots, slot)
		}
		return true
	})
	return slots
}

func (s *rules) anyNonRunnable() bool {
	for i := range s.Queues {
		if s.Config.Queues[i].Leaf && s.Queue(int32(i)).NonRunnableApps > 0 {
			return true
		}
	}
	return false
}

// ActivateAll tries activations in all leaves after the size of the cluster has changed.
func (s *Scheduler) ActivateAll() {
	for i := range s.Queues {
		if s.Config.Queues[i].Leaf {
			s.Activate(int32(i))
		}
	}
}
