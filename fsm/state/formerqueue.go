package state

import (
	"rmd/fsm/state/check"
	"rmd/fsm/state/part"
	"rmd/fsm/state/table"
)

// QueueOf returns the path of an application's queue, or of the queue in which it ended.
func (s *State) QueueOf(a *App) string {
	if s.Queues.Has(a.Queue) {
		return s.Queues.Get(a.Queue).Path
	}
	if slot := s.Apps.Find(a.ID.Seq); s.FormerQueues.Has(slot) {
		return s.FormerQueues.Get(slot).Path
	}
	return ""
}

// leaveQueue stores the path of an ended application's queue before the queue is removed. Another
// queue may get its slot.
func (s *State) leaveQueue(slot AppSlot) {
	a := s.Apps.Mut(slot)
	q := s.Queues.Get(a.Queue)
	table.Place(&s.FormerQueues.Table, slot).Path = q.Path
	s.Queues.TallyGone(q.Parent, a)
	a.Queue = 0
}

var _ = stored(1, part.Derived[State]{Part: part.Rows(37, "former-queues",
	func(s *State) *table.Table[AppSlot, FormerQueue] { return &s.FormerQueues.Table }, (*FormerQueue).Code),
	Agrees: agrees((*check.Tables).CheckFormerQueues)})
