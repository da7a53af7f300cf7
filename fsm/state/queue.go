package state

import (
	"rmd/fsm/event"
	"rmd/fsm/state/change"
	"rmd/fsm/state/check"
	"rmd/fsm/state/part"
	"rmd/fsm/state/table"
	"rmd/internal/codec"
	"rmd/yarn"
)

var _ = stored(1, part.Single(2, "configuration", func(s *State, c *codec.Coder) { s.Versions.Code(c) }))
var _ = applies((*State).queuesConfigured)

func (s *State) queuesConfigured(e *event.QueuesConfigured) error {
	if err := s.checkQueues(e); err != nil {
		return err
	}
	s.changes.Add(change.QueuesChanged)
	keep := make([]bool, s.Queues.Cap())
	dynamic := s.listedDynamic(e)
	children := make([][]QueueSlot, 0, len(e.Queues))
	slots := make([]QueueSlot, 0, len(e.Queues))
	parents := map[QueueSlot]int{} // looked up by key only
	for _, d := range e.Queues {
		slot := s.Queues.Define(d)
		if int(slot) < len(keep) {
			keep[slot] = true
		}
		parents[slot] = len(slots)
		slots, children = append(slots, slot), append(children, nil)
		if p := s.Queues.Get(slot).Parent; p != 0 {
			i := parents[p]
			children[i] = append(children[i], slot)
		}
	}
	for _, slot := range dynamic { // those that remain dynamic
		keep[slot] = true
		if i, ok := parents[s.Queues.Get(slot).Parent]; ok {
			children[i] = append(children[i], slot)
		}
	}
	for i, slot := range slots {
		s.Queues.Mut(slot).Children = children[i]
	}
	s.dropQueues(keep)
	s.Versions.Add(&s.Meta, e)
	s.foldQueues(e, slots)
	return nil
}

// listedDynamic turns dynamic queues that the configuration lists into ordinary ones, and returns
// the other dynamic queues in the order of their creation. The caller sets the lists of children.
func (s *Accounts) listedDynamic(e *event.QueuesConfigured) (others []QueueSlot) {
	listed := make(map[string]bool, len(e.Queues)) // looked up by key only
	for _, d := range e.Queues {
		listed[d.Path] = true
	}
	for slot := range s.DynamicQueues.InOrder() {
		if listed[s.Queues.Get(slot).Path] {
			s.endDynamic(slot)
		} else {
			others = append(others, slot)
		}
	}
	s.DynamicQueues.FindNewest()
	return others
}

func (s *Accounts) foldQueues(e *event.QueuesConfigured, slots []QueueSlot) {
	s.fold(e.Version)
	for i, slot := range slots {
		s.fold(uint64(slot)<<8 | uint64(e.Queues[i].State)<<1 | uint64(count(e.Queues[i].Leaf)))
	}
	for _, p := range e.Properties {
		s.fold(table.Hash(p.Name))
		s.fold(table.Hash(p.Value))
	}
	for _, k := range e.Kinds {
		s.fold(table.Hash(k))
	}
	s.fold(uint64(count(e.Dominant)))
}

// checkQueues returns an error if the queues do not form a tree, or if the configuration removes a
// queue in use.
func (s *Accounts) checkQueues(e *event.QueuesConfigured) error {
	if v := s.Versions.Current(); v != nil && e.Version <= v.Version {
		return broken(e, "version %d is in force", v.Version)
	}
	if len(e.Queues) == 0 || e.Queues[0].Path != "root" || len(e.Kinds) > yarn.MaxKinds {
		return broken(e, "the first queue is not root, or there are more than %d resource kinds", yarn.MaxKinds)
	}
	named := make(map[string]bool, len(e.Queues)) // looked up by key only
	parents := make(map[string]bool, len(e.Queues))
	for i, d := range e.Queues {
		if i > 0 && !parents[yarn.ParentQueue(d.Path)] {
			return broken(e, "queue %q stands before its parent, or under a leaf", d.Path)
		}
		if named[d.Path] {
			return broken(e, "queue %s stands there twice", d.Path)
		}
		if slot := s.Queues.Find(d.Path); slot != 0 && !d.Leaf && s.Queues.Get(slot).Users > 0 {
			return broken(e, "leaf %s with applications becomes a parent", d.Path)
		}
		named[d.Path], parents[d.Path] = true, !d.Leaf
	}
	var err error
	s.Queues.Each(func(slot QueueSlot, q *Queue) bool {
		switch dynamic := s.DynamicQueues.Has(slot); {
		case named[q.Path]:
		case dynamic && !parents[yarn.ParentQueue(q.Path)] &&
			(named[yarn.ParentQueue(q.Path)] || !s.DynamicQueues.Has(q.Parent)):
			err = broken(e, "dynamic queue %s has no parent any more", q.Path)
		case !dynamic && q.Users > 0:
			err = broken(e, "queue %s is in use", q.Path)
		}
		return err == nil
	})
	return err
}

// dropQueues removes every queue whose slot is not set in keep. Ended applications of a removed
// queue keep its path.
func (s *State) dropQueues(keep []bool) {
	s.Apps.Each(func(slot AppSlot, a *App) bool {
		if a.State.Ended() && int(a.Queue) < len(keep) && !keep[a.Queue] && s.Queues.Has(a.Queue) {
			s.leaveQueue(slot)
		}
		return true
	})
	for slot := range keep {
		if keep[slot] || !s.Queues.Has(QueueSlot(slot)) {
			continue
		}
		table.ReleaseKeyed(&s.Queues.Keyed, QueueSlot(slot))
		s.Debts.Drop(QueueSlot(slot))
		s.Kept.Drop(QueueSlot(slot))
	}
}

var _ = applies((*State).queueStateChanged)

func (s *Accounts) queueStateChanged(e *event.QueueStateChanged) error {
	slot := s.Queues.Find(e.Path)
	if slot == 0 {
		return broken(e, "no such queue")
	}
	if e.State < yarn.QueueRunning || e.State > yarn.QueueStopped {
		return broken(e, "no such state")
	}
	if e.State == yarn.QueueStopped && s.Queues.Get(slot).Users > 0 {
		return broken(e, "applications are in it")
	}
	s.Queues.Mut(slot).State = e.State
	s.fold(uint64(slot)<<8 | uint64(e.State))
	return nil
}

// chain calls f on a queue and all its ancestors, for writing.
func (s *Accounts) chain(queue QueueSlot, f func(q *Queue)) {
	s.LabelUses.Touched |= 1
	for slot := queue; slot != 0; {
		q := s.Queues.Mut(slot)
		f(q)
		slot = q.Parent
	}
}

var _ = stored(1, part.Derived[State]{Part: part.Keyed(5, "queues",
	func(s *State) *table.Keyed[QueueSlot, Queue, *Queue] { return &s.Queues.Keyed }, (*Queue).Code),
	Agrees: agrees((*check.Tables).CheckTree)})
