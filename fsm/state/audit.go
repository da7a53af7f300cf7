package state

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"rmd/fsm/event"
	"rmd/internal/codec"
)

// Audit is the table of audit entries.
type Audit struct {
	Table[AuditSlot, AuditEntry]
	newest            uint64 // number of the newest entry
	changes, refusals auditList
}

// Limits of the audit that the state keeps. Changes and refusals have separate limits, so that a
// caller who is refused again and again does not displace the changes.
const (
	MaxAuditChanges  = 10_000
	MaxAuditRefusals = 1_000
)

// AuditEntry records an operator's change, or a call that was refused or failed.
type AuditEntry struct {
	Number   uint64 // counts all entries in the order of the log, from 1
	AtMillis int64
	Who      string
	From     string
	Action   string
	Target   string
	Result   string

	next AuditSlot // slot of the next newer entry of the same kind; not in snapshots
}

// Changed reports whether the entry records a change.
func (a *AuditEntry) Changed() bool {
	return strings.HasPrefix(a.Result, event.AuditDone) || a.Result == "ok" // `rmd recover` writes "ok"
}

// auditList is the list of all entries of one kind, oldest first. It is not in snapshots: it
// follows from the numbers of the entries.
type auditList struct {
	oldest, newest AuditSlot
	count, most    int
}

func (s *State) auditList(a *AuditEntry) *auditList {
	if a.Changed() {
		return &s.auditChanges
	}
	return &s.auditRefusals
}

// AuditNewest returns the number of the newest entry, or 0 if there is none.
func (s *State) AuditNewest() uint64 { return s.auditNewest }

// AuditEntries returns the entries with a number above after, oldest first.
func (s *State) AuditEntries(after uint64) []AuditEntry {
	var out []AuditEntry
	s.Audit.Each(func(_ AuditSlot, a *AuditEntry) bool {
		if a.Number > after {
			out = append(out, *a)
		}
		return true
	})
	slices.SortFunc(out, func(a, b AuditEntry) int { return cmp.Compare(a.Number, b.Number) })
	return out
}

var _ = applies((*State).audited)

// audited adds an entry and drops the oldest entry of the same kind if there are too many.
func (s *State) audited(e *event.Audited) error {
	s.auditNewest++
	slot, a := s.Audit.alloc()
	*a = AuditEntry{Number: s.auditNewest, AtMillis: s.Meta.NowMillis, Who: e.Who, From: e.From, Action: e.Action, Target: e.Target, Result: e.Result}
	s.linkAudit(slot)
	s.fold(s.auditNewest)
	return nil
}

// linkAudit appends an entry to the list of its kind.
func (s *State) linkAudit(slot AuditSlot) {
	l := s.auditList(s.Audit.Get(slot))
	if l.newest != 0 {
		s.Audit.mut(l.newest).next = slot
	} else {
		l.oldest = slot
	}
	l.newest = slot
	if l.count++; l.count > l.most {
		first := l.oldest
		l.oldest = s.Audit.Get(first).next
		l.count--
		s.Audit.release(first)
	}
}

// linkAudits rebuilds the lists in a state from a snapshot.
func (s *State) linkAudits() {
	var slots []AuditSlot
	s.Audit.Each(func(slot AuditSlot, _ *AuditEntry) bool { slots = append(slots, slot); return true })
	slices.SortFunc(slots, func(a, b AuditSlot) int { return cmp.Compare(s.Audit.Get(a).Number, s.Audit.Get(b).Number) })
	for _, slot := range slots {
		s.auditNewest = s.Audit.Get(slot).Number
		s.linkAudit(slot)
	}
}

// checkAudit checks the numbers of the audit's entries.
func (s *State) checkAudit() error {
	seen := map[uint64]bool{} // looked up by key only
	var err error
	s.Audit.Each(func(_ AuditSlot, a *AuditEntry) bool {
		if a.Number == 0 || a.Number > s.auditNewest || seen[a.Number] {
			err = errors.New("the audit's entries are not in order")
		}
		seen[a.Number] = true
		return err == nil
	})
	if err == nil && s.Audit.Len() != s.auditChanges.count+s.auditRefusals.count {
		err = errors.New("the audit has more entries than it keeps")
	}
	return err
}

// KeepAudit replaces the audit of s, a restored state, with that of the running state that s is
// about to replace. A restore must not lose the record of who did what.
func (s *State) KeepAudit(running *State) {
	if running.Audit.Len() == 0 {
		return
	}
	s.Audit.Table, s.auditNewest = Table[AuditSlot, AuditEntry]{}, 0
	s.auditChanges, s.auditRefusals = newAuditLists()
	running.Audit.Each(func(slot AuditSlot, a *AuditEntry) bool {
		*s.Audit.place(slot) = *a
		return true
	})
	s.Audit.Each(func(slot AuditSlot, _ *AuditEntry) bool { s.Audit.mut(slot).next = 0; return true })
	s.linkAudits()
}

func newAuditLists() (changes, refusals auditList) {
	return auditList{most: MaxAuditChanges}, auditList{most: MaxAuditRefusals}
}

func (a *AuditEntry) code(c *codec.Coder) {
	c.U64(&a.Number)
	c.I64(&a.AtMillis)
	for _, text := range []*string{&a.Who, &a.From, &a.Action, &a.Target, &a.Result} {
		c.String(text)
	}
}
