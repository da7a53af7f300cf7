package record

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"rmd/fsm/event"
	"rmd/fsm/state/table"
	"rmd/internal/codec"
)

// Audit is the table of audit entries.
type Audit struct {
	table.Table[AuditSlot, AuditEntry]
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

func (t *Audit) list(a *AuditEntry) *auditList {
	if a.Changed() {
		return &t.changes
	}
	return &t.refusals
}

// Newest returns the number of the newest entry, or 0 if there is none.
func (t *Audit) Newest() uint64 { return t.newest }

// After returns the entries with a number above after, oldest first.
func (t *Audit) After(after uint64) []AuditEntry {
	var out []AuditEntry
	t.Each(func(_ AuditSlot, a *AuditEntry) bool {
		if a.Number > after {
			out = append(out, *a)
			out[len(out)-1].next = 0
		}
		return true
	})
	slices.SortFunc(out, func(a, b AuditEntry) int { return cmp.Compare(a.Number, b.Number) })
	return out
}

// Record adds an entry and drops the oldest entry of the same kind if there are too many.
func (t *Audit) Record(m *Meta, e *event.Audited) error {
	t.newest++
	slot, a := table.Alloc(&t.Table)
	*a = AuditEntry{Number: t.newest, AtMillis: m.NowMillis, Who: e.Who, From: e.From, Action: e.Action, Target: e.Target,
		Result: e.Result}
	t.link(slot)
	m.Fold(t.newest)
	return nil
}

// link appends an entry to the list of its kind.
func (t *Audit) link(slot AuditSlot) {
	l := t.list(t.Get(slot))
	if l.newest != 0 {
		t.Mut(l.newest).next = slot
	} else {
		l.oldest = slot
	}
	l.newest = slot
	if l.count++; l.count > l.most {
		first := l.oldest
		l.oldest = t.Get(first).next
		l.count--
		table.Release(&t.Table, first)
	}
}

// LinkAll rebuilds the lists in a state from a snapshot.
func (t *Audit) LinkAll() {
	var slots []AuditSlot
	t.Each(func(slot AuditSlot, _ *AuditEntry) bool { slots = append(slots, slot); return true })
	slices.SortFunc(slots, func(a, b AuditSlot) int { return cmp.Compare(t.Get(a).Number, t.Get(b).Number) })
	for _, slot := range slots {
		t.newest = t.Get(slot).Number
		t.link(slot)
	}
}

// CheckEntries checks the numbers of the audit's entries.
func (t *Audit) CheckEntries() error {
	seen := map[uint64]bool{} // looked up by key only
	var err error
	t.Each(func(_ AuditSlot, a *AuditEntry) bool {
		if a.Number == 0 || a.Number > t.newest || seen[a.Number] {
			err = errors.New("the audit's entries are not in order")
		}
		seen[a.Number] = true
		return err == nil
	})
	if err == nil && t.Len() != t.changes.count+t.refusals.count {
		err = errors.New("the audit has more entries than it keeps")
	}
	return err
}

// Keep replaces the audit of a restored state with that of the running state, which is about to be
// replaced. A restore must not lose the record of who did what.
func (t *Audit) Keep(running *Audit) {
	if running.Len() == 0 {
		return
	}
	*t = NewAudit()
	running.Each(func(slot AuditSlot, a *AuditEntry) bool {
		*table.Place(&t.Table, slot) = *a
		return true
	})
	t.Each(func(slot AuditSlot, _ *AuditEntry) bool { t.Mut(slot).next = 0; return true })
	t.LinkAll()
}

// NewAudit returns an empty table with its limits.
func NewAudit() Audit {
	return Audit{changes: auditList{most: MaxAuditChanges}, refusals: auditList{most: MaxAuditRefusals}}
}

// Code encodes the record, or decodes into it.
func (a *AuditEntry) Code(c *codec.Coder) {
	c.U64(&a.Number)
	c.I64(&a.AtMillis)
	for _, text := range []*string{&a.Who, &a.From, &a.Action, &a.Target, &a.Result} {
		c.String(text)
	}
}
