package state

import (
	"slices"
	"strings"

	"rmd/fsm/event"
	"rmd/fsm/state/change"
	"rmd/fsm/state/check"
	"rmd/fsm/state/part"
	"rmd/fsm/state/table"
	"rmd/yarn"
)

// DynamicQueueList returns the dynamic queues for the queue configuration, in the same order.
func (s *Accounts) DynamicQueueList() []yarn.DynamicQueue {
	out := make([]yarn.DynamicQueue, 0, s.DynamicQueues.Len())
	for slot := range s.DynamicQueues.InOrder() {
		q := s.Queues.Get(slot)
		out = append(out, yarn.DynamicQueue{Path: q.Path, Leaf: q.Leaf, Active: s.DynamicQueues.Get(slot).Active})
	}
	return out
}

var _ = applies((*State).queueCreated)

func (s *Demand) queueCreated(e *event.QueueCreated) error {
	parent := s.Queues.Find(yarn.ParentQueue(e.Path))
	switch {
	case s.Queues.Find(e.Path) != 0:
		return broken(e, "the queue is there")
	case parent == 0 || s.Queues.Get(parent).Leaf || strings.HasSuffix(e.Path, "."):
		return broken(e, "no such parent")
	case e.State < yarn.QueueRunning || e.State > yarn.QueueStopped:
		return broken(e, "no such state")
	}
	slot := s.Queues.Define(event.QueueDefinition{Path: e.Path, Leaf: e.Leaf, State: e.State})
	above := s.Queues.Mut(parent)
	above.Children = append(slices.Clip(above.Children), slot)
	s.DynamicQueues.SetIdle(&s.Meta, parent, 0)
	d := table.Place(&s.DynamicQueues.Table, slot)
	s.DynamicQueues.Newest++
	d.Number, d.CreatedMillis, d.IdleMillis = s.DynamicQueues.Newest, s.Meta.NowMillis, s.Meta.IdleNow()
	s.DynamicQueues.Hash ^= s.DynamicQueues.HashOf(&s.Queues, slot)
	s.changes.Add(change.QueueCreated).Queue = slot
	s.fold(uint64(slot)<<32 | uint64(parent))
	s.fold(s.Queues.HashOf(slot))
	s.fold(d.Number<<8 | uint64(e.State)<<1 | uint64(count(e.Leaf)))
	return nil
}

var _ = applies((*State).queuesActivated)

func (s *Demand) queuesActivated(e *event.QueuesActivated) error {
	var slots []QueueSlot
	seen := make([]bool, s.Queues.Cap())
	for _, list := range []struct {
		paths  []string
		active bool
	}{{e.Active, true}, {e.Inactive, false}} {
		for _, path := range list.paths {
			slot := s.Queues.Find(path)
			switch {
			case slot == 0 || !s.DynamicQueues.Has(slot) || !s.Queues.Get(slot).Leaf || seen[slot]:
				return broken(e, "%s is not a dynamic leaf, or stands there twice", path)
			case s.DynamicQueues.Get(slot).Active == list.active:
				return broken(e, "active of %s is %v already", path, list.active)
			}
			seen[slot], slots = true, append(slots, slot)
		}
	}
	s.changes.Add(change.QueuesChanged)
	for _, slot := range slots {
		s.DynamicQueues.Hash ^= s.DynamicQueues.HashOf(&s.Queues, slot)
		d := s.DynamicQueues.Mut(slot)
		d.Active = !d.Active
		s.DynamicQueues.Hash ^= s.DynamicQueues.HashOf(&s.Queues, slot)
		s.fold(uint64(slot)<<1 | uint64(count(d.Active)))
	}
	return nil
}

var _ = applies((*State).queuesRemoved)

func (s *State) queuesRemoved(e *event.QueuesRemoved) error {
	gone := make([]bool, s.Queues.Cap())
	for _, path := range e.Paths {
		slot := s.Queues.Find(path)
		switch {
		case slot == 0 || !s.DynamicQueues.Has(slot) || gone[slot]:
			return broken(e, "%s is not a dynamic queue, or stands there twice", path)
		case s.DynamicQueues.Get(slot).Users != 0:
			return broken(e, "%s has applications", path)
		case slices.ContainsFunc(s.Queues.Get(slot).Children, func(c QueueSlot) bool { return !gone[c] }):
			return broken(e, "there are queues below %s", path)
		}
		gone[slot] = true
	}
	s.changes.Add(change.QueuesChanged)
	s.removeDynamic(gone)
	return nil
}

// removeDynamic removes the dynamic queues whose slots are set in gone. A dynamic parent that has
// no children left becomes idle.
func (s *State) removeDynamic(gone []bool) {
	parents := make([]bool, len(gone))
	for slot := range gone {
		if gone[slot] {
			parents[s.Queues.Get(QueueSlot(slot)).Parent] = true
			s.endDynamic(QueueSlot(slot))
			s.fold(uint64(slot))
		}
	}
	s.DynamicQueues.FindNewest()
	for slot := range parents {
		if !parents[slot] || gone[slot] {
			continue
		}
		q := s.Queues.Mut(QueueSlot(slot))
		q.Children = slices.DeleteFunc(slices.Clone(q.Children), func(c QueueSlot) bool { return gone[c] })
		if len(q.Children) == 0 {
			s.DynamicQueues.SetIdle(&s.Meta, QueueSlot(slot), s.Meta.IdleNow())
		}
	}
	keep := make([]bool, len(gone))
	for slot := range keep {
		keep[slot] = !gone[slot]
	}
	s.dropQueues(keep)
}

// endDynamic removes the DynamicQueue of a queue, because the queue is removed or the configuration
// now lists it. The caller must call FindNewest afterwards.
func (s *Accounts) endDynamic(slot QueueSlot) {
	s.DynamicQueues.Hash ^= s.DynamicQueues.HashOf(&s.Queues, slot)
	table.Release(&s.DynamicQueues.Table, slot)
}

// linkDynamicQueues computes the fields that follow from dynamic queues, in a state from a
// snapshot.
func (s *Accounts) linkDynamicQueues() {
	s.DynamicQueues.Each(func(slot QueueSlot, d *DynamicQueue) bool {
		s.DynamicQueues.Newest = max(s.DynamicQueues.Newest, d.Number)
		if s.Queues.Has(slot) {
			s.DynamicQueues.Hash ^= s.DynamicQueues.HashOf(&s.Queues, slot)
		}
		return true
	})
	s.Users.Each(func(_ UserSlot, u *User) bool {
		if s.DynamicQueues.Has(u.Queue) {
			s.DynamicQueues.Mut(u.Queue).Users++
		}
		return true
	})
}

var _ = stored(1, part.Derived[State]{Part: part.Rows(34, "dynamic-queues",
	func(s *State) *table.Table[QueueSlot, DynamicQueue] { return &s.DynamicQueues.Table }, (*DynamicQueue).Code),
	Links: (*State).linkDynamicQueues, Agrees: agrees((*check.Tables).CheckDynamicQueues)})
