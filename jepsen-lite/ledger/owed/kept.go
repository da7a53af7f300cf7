package owed

import (
	"fmt"
	"slices"

	"rmd/fsm/event"
	"rmd/yarn"
)

// Kept is what other leaves may not borrow of a leaf's guarantee of the nodes of a label.
type Kept struct {
	Path, Label   string
	Size          yarn.Resource // with what the leaf uses of it
	ReachedMillis int64         // when the leaf last used as much
	Index         uint64        // at which this was said

	late int64 // for how long it should have ended
}

// FollowKept follows what a round keeps for a leaf, and checks it: it is what the leaf has used of its
// guarantee since it had to wait for it, and it becomes less only if the leaf used less for a while.
func (l *Debts) FollowKept(log Log, e *event.GuaranteeKept) {
	now, set, leaf := log.Now(), log.Settings(), log.Leaf(e.Path)
	index, _ := log.At()
	i := slices.IndexFunc(l.Kept, func(k Kept) bool { return k.Path == e.Path && k.Label == e.Label })
	if leaf < 0 || !log.Labelled(e.Label) || e.Size.Negative() || i < 0 && e.Size.IsZero() {
		log.Violates(index, "%s is kept for %s of label %q, and before that: %v", e.Size, e.Path, e.Label, i >= 0)
		return
	}
	var was Kept
	if i >= 0 {
		was = l.Kept[i]
		l.Kept = slices.Delete(l.Kept, i, i+1)
	}
	used, guarantee := log.Share(leaf, e.Label)
	most := yarn.ComponentMax(was.Size, yarn.ComponentMin(used, guarantee.Add(slack)))
	owed := slices.ContainsFunc(l.List, func(d Debt) bool { return d.Path == e.Path && d.Label == e.Label })
	switch {
	case !e.Size.IsZero() && (!set.Keeps() || i < 0 && !owed):
		log.Violates(index, "%s of label %q is kept for %s, which never had to wait", e.Size, e.Label, e.Path)
	case !e.Size.Within(most):
		log.Violates(index, "%s of label %q is kept for %s, which has used %s of its %s", e.Size, e.Label, e.Path, used,
			guarantee)
	case set.Keeps() && !was.Size.Within(e.Size) && (now-was.ReachedMillis < set.KeepMillis ||
		was.Size.Within(used) && was.Size.Within(guarantee)):
		log.Violates(was.Index, "%s of label %q is kept for %s instead of %s, which it used %d ms ago", e.Size, e.Label,
			e.Path, was.Size, now-was.ReachedMillis)
	}
	if !e.Size.IsZero() {
		l.Keeps++
		l.Kept = append(l.Kept, Kept{Path: e.Path, Label: e.Label, Size: e.Size, ReachedMillis: now, Index: index})
	}
}

// slack is by how much the ledger's guarantees may differ from those of the scheduler, because each level
// of the tree is rounded.
var slack = func() (r yarn.Resource) {
	for kind := range r {
		r[kind] = 1
	}
	r[yarn.Memory] = rounding
	return r
}()

// Takes describes what a leaf takes of what is kept for others, with a container that it is about to get
// in free room. It returns "" if it certainly takes nothing.
func (l *Debts) Takes(log Log, leaf int32, label string, size yarn.Resource) string {
	var kept, none yarn.Resource
	for i := range l.Kept {
		k := &l.Kept[i]
		of := log.Leaf(k.Path)
		if !log.Settings().Keeps() || k.Label != label || of == leaf || log.Now()-k.ReachedMillis >= log.Settings().KeepMillis ||
			!log.Borrows(leaf, of, label, size.Sub(slack)) {
			continue
		}
		used, guarantee := log.Share(of, label)
		kept = kept.Add(yarn.ComponentMax(yarn.ComponentMin(k.Size, guarantee).Sub(used), none))
	}
	if kept.IsZero() {
		return ""
	}
	l.Near++
	used, total := log.Share(0, label)
	left := total.Sub(used).Sub(size)
	for kind := range kept {
		if kept[kind] > 0 && size[kind] > 0 && left[kind] < kept[kind] {
			return fmt.Sprintf("a leaf borrows %s of label %q and leaves %s free, but %s is kept for others", size, label, left,
				kept)
		}
	}
	return ""
}

// roundsLate is how many rounds may leave what has ended, because a slow log or a slow clock delays them.
const roundsLate = 6

// lookKept checks that what is kept for a leaf ends when the leaf did not use it for long enough. Only the
// time under one leader counts: each begins with an interval that does not.
func (l *Debts) lookKept(log Log, passed int64) {
	now, set := log.Now(), log.Settings()
	for i := range l.Kept {
		k := &l.Kept[i]
		since := now - k.ReachedMillis
		if !set.Keeps() || since < set.KeepMillis || passed == 0 {
			k.late = 0
			continue
		}
		if k.late += min(passed, since-set.KeepMillis); k.late > roundsLate*set.IntervalMillis {
			k.late = 0
			log.Violates(k.Index, "%s of label %q is still kept for %s, which used as much %d ms ago", k.Size, k.Label, k.Path,
				since)
		}
	}
}
