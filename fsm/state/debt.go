package state

import (
	"rmd/fsm/event"
	"rmd/fsm/state/part"
	"rmd/fsm/state/table"
	"rmd/yarn"
)

var _ = stored(1, part.Rows(40, "debts", func(s *State) *table.Table[QueueSlot, Debts] { return &s.Debts.Table },
	(*Debts).Code))
var _ = applies((*State).guaranteeOwed)

func (s *Accounts) guaranteeOwed(e *event.GuaranteeOwed) error {
	slot, label := s.Queues.Find(e.Path), s.Labels.Find(e.Label)
	if slot == 0 || e.Label != "" && label == 0 || !e.Debt.Known() {
		return broken(e, "no such queue, label or value")
	}
	debt, owed := s.Debts.To(slot, label)
	if owed == (e.Debt == yarn.DebtOwed) || owed && e.Debt == yarn.DebtOverdue && debt.Overdue {
		return broken(e, "the queue is owed %v already, since %d", owed, debt.SinceMillis)
	}
	if !owed {
		debt = Debt{Label: label, SinceMillis: s.Meta.NowMillis}
	}
	debt.Overdue = e.Debt == yarn.DebtOverdue
	s.Debts.Set(slot, debt, e.Debt != yarn.DebtEnded)
	s.fold(uint64(slot)<<24 | uint64(label)<<8 | uint64(e.Debt))
	s.fold(uint64(debt.SinceMillis))
	return nil
}

var _ = stored(2, part.Rows(42, "kept", func(s *State) *table.Table[QueueSlot, Keeps] { return &s.Kept.Table },
	(*Keeps).Code))
var _ = applies((*State).guaranteeKept)

func (s *Accounts) guaranteeKept(e *event.GuaranteeKept) error {
	slot, label := s.Queues.Find(e.Path), s.Labels.Find(e.Label)
	_, kept := s.Kept.For(slot, label)
	if slot == 0 || e.Label != "" && label == 0 || e.Size.Negative() || !kept && e.Size.IsZero() && e.IdleLeft == 0 ||
		e.ReachedMillis > s.Meta.NowMillis {
		return broken(e, "no such queue or label, a negative size, nothing that was kept, or a time to come")
	}
	s.Kept.Set(slot, Kept{Label: label, Size: e.Size, ReachedMillis: e.ReachedMillis, IdleLeft: e.IdleLeft})
	s.fold(uint64(slot)<<16 | uint64(label))
	s.foldResource(e.Size)
	s.fold(uint64(e.ReachedMillis))
	s.fold(e.IdleLeft)
	return nil
}
