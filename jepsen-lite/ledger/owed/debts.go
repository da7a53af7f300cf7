package owed

import (
	"slices"

	"rmd/fsm/event"
	"rmd/jepsen-lite/ledger/settings"
	"rmd/yarn"
)

// Debt is what a leaf is owed on the nodes of a label: containers within its guarantee.
type Debt struct {
	Path, Label string
	SinceMillis int64
	Overdue     bool
	Index       uint64 // at which it began

	late    int64 // for how long it should have been marked as overdue
	stalled int64 // for how long rounds could have made room and did not
	judged  bool
}

// Counts counts debts: all, those that became overdue, and those of them that rounds could serve. Keeps
// counts what was kept after a debt, and Near the containers that might have taken some of it.
type Counts struct{ Owed, Overdue, Judged, Keeps, Near uint64 }

// Debts follows and judges the debts to leaves (L7). It counts only time in which there were rounds.
type Debts struct {
	List []Debt
	Kept []Kept

	Counts
	LongestMillis int64

	seen  int64  // the time of the last look
	lead  uint64 // the term of the last look
	began int64  // when the term began
}

// Log is what a log says after an event or an entry.
type Log interface {
	Now() int64
	At() (index, term uint64)
	Settings() *settings.Preemption
	Leaf(path string) int32 // -1: there is none
	Partition(label string) *Partition
	Warned(path string) []Warned      // the containers with warnings for a leaf
	Nodes(label string) yarn.Resource // the size of the nodes of a label
	Labelled(label string) bool       // whether there was such a label
	// Share returns what a queue uses with its reservations, and its guarantee. Queue 0 is root.
	Share(queue int32, label string) (used, guarantee yarn.Resource)
	// Borrows reports whether a leaf borrows from another one with a size: below the queue that is above
	// both, its side uses more than its guarantee.
	Borrows(leaf, from int32, label string, size yarn.Resource) bool
	// Violates records a violation by a debt that began at an index.
	Violates(since uint64, format string, args ...any)
}

// Warned is a container with a warning.
type Warned struct {
	Label           string
	Size            yarn.Resource
	Since, Deadline int64 // when it was allocated, and when it ends, in Unix milliseconds
}

// Follow follows what a round has found, and checks it: a debt begins while the leaf may be below its
// guarantee, is overdue as soon as the configuration says, and ends when nothing waits.
func (l *Debts) Follow(log Log, e *event.GuaranteeOwed) {
	now, set, leaf := log.Now(), log.Settings(), log.Leaf(e.Path)
	index, _ := log.At()
	i := slices.IndexFunc(l.List, func(d Debt) bool { return d.Path == e.Path && d.Label == e.Label })
	switch {
	case leaf < 0 || !e.Debt.Known() || (i < 0) != (e.Debt == yarn.DebtOwed):
		log.Violates(index, "the debt to %s of label %q is %s, it stands: %v", e.Path, e.Label, e.Debt, i >= 0)
	case i < 0:
		l.Owed++
		l.List = append(l.List, Debt{Path: e.Path, Label: e.Label, SinceMillis: now, Index: index})
		if !set.Owes() || !log.Partition(e.Label).Below(leaf) {
			log.Violates(index, "%s is owed something of label %q, and lacks nothing", e.Path, e.Label)
		}
	case e.Debt == yarn.DebtEnded:
		if set.Owes() && !set.Limited && log.Partition(e.Label).Waits(leaf) {
			log.Violates(l.List[i].Index, "%s is owed nothing of label %q any more, and waits", e.Path, e.Label)
		}
		l.List = slices.Delete(l.List, i, i+1)
	default:
		l.Overdue++
		d := &l.List[i]
		if after := now - d.SinceMillis; d.Overdue || after < set.OverdueMillis() {
			log.Violates(d.Index, "the debt to %s of label %q is overdue after %d ms, it was before: %v", e.Path, e.Label,
				after, d.Overdue)
		}
		d.Overdue = true
	}
}

// Drop removes the debts to a leaf that is removed, and what is kept for it.
func (l *Debts) Drop(path string) {
	l.List = slices.DeleteFunc(l.List, func(d Debt) bool { return d.Path == path })
	l.Kept = slices.DeleteFunc(l.Kept, func(k Kept) bool { return k.Path == path })
}

// Paid records that a leaf has got a container.
func (l *Debts) Paid(path, label string) {
	for i := range l.List {
		if d := &l.List[i]; d.Path == path && d.Label == label {
			d.stalled = 0
		}
	}
}

// roundsMissed is how many rounds may do nothing for a leaf: others may come first, or none runs for a while.
const roundsMissed = 3

// Look judges the debts after an entry. Between two entries, at most one interval counts: there may have
// been no leader. For the same reason, the first interval of a term does not count. Four looks in an
// interval are enough.
func (l *Debts) Look(log Log) {
	now, set := log.Now(), log.Settings()
	passed := min(now-l.seen, set.IntervalMillis)
	if _, term := log.At(); l.lead != term {
		l.lead, l.began = term, now
	}
	if passed < set.IntervalMillis/4 {
		return
	}
	if l.seen = now; now-l.began <= set.IntervalMillis {
		passed = 0
	}
	l.lookKept(log, passed)
	for i := range l.List {
		d := &l.List[i]
		l.LongestMillis = max(l.LongestMillis, now-d.SinceMillis)
		due := d.SinceMillis + set.OverdueMillis()
		if !set.Owes() || now < due {
			d.late, d.stalled = 0, 0
			continue
		}
		l.judge(log, d, min(passed, now-due))
	}
}

// judge judges a debt that is due, after some more time. While a warning stands for the leaf, it is being
// served; L6 says that no warning stands for ever.
func (l *Debts) judge(log Log, d *Debt, passed int64) {
	set, after := log.Settings(), log.Now()-d.SinceMillis
	most := roundsMissed * set.IntervalMillis
	if d.late += passed; d.late > most && !d.Overdue {
		d.late = 0
		log.Violates(d.Index, "%s is owed something of label %q for %d ms, and it is not overdue", d.Path, d.Label, after)
	}
	if set.Limited || len(log.Warned(d.Path)) > 0 {
		return
	}
	how := log.Partition(d.Label).Obtains(log.Leaf(d.Path))
	if how == "" {
		d.stalled = 0
		return
	}
	if !d.judged {
		d.judged = true
		l.Judged++
	}
	if d.stalled += passed; d.stalled > set.RestMillis()+most {
		log.Violates(d.Index, "%s is owed something of label %q for %d ms, and for %d ms nothing was taken for it: %s",
			d.Path, d.Label, after, d.stalled, how)
		d.stalled = 0
	}
}
