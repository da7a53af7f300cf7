package state

import (
	"fmt"

	"rmd/fsm/state/table"
	"rmd/internal/codec"
)

// FormerQueues has the paths of removed queues, by the slot of the App that ended there.
type FormerQueues struct {
	table.Table[AppSlot, FormerQueue]
}

// FormerQueue is the path of the queue in which an application ended, if that queue was removed
// later. Idle dynamic queues are removed, for instance. Its slot is the slot of its App.
type FormerQueue struct{ Path string }

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
	s.FormerQueues.Place(slot).Path = q.Path
	s.Queues.tallyGone(q.Parent, a)
	a.Queue = 0
}

func (t *FormerQueues) drop(app AppSlot) {
	if t.Has(app) {
		t.Release(app)
	}
}

func (s *State) checkFormerQueues() (err error) {
	s.FormerQueues.Each(func(slot AppSlot, f *FormerQueue) bool {
		if !s.Apps.Has(slot) || s.Apps.Get(slot).Queue != 0 || f.Path == "" {
			err = fmt.Errorf("%w: former queue %q at slot %d", ErrInconsistent, f.Path, slot)
		}
		return err == nil
	})
	return err
}

func (f *FormerQueue) code(c *codec.Coder) { c.String(&f.Path) }

var formerQueuePart = derived{part: rows(37, "former-queues", func(s *State) *table.Table[AppSlot, FormerQueue] { return &s.FormerQueues.Table }, (*FormerQueue).code),
	agrees: (*State).checkFormerQueues}
