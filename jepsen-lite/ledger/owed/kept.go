package owed

import (
	"fmt"
	"math"
	"slices"

	"rmd/fsm/event"
	"rmd/yarn"
)

// Kept is what other leaves may not borrow of a leaf's guarantee of the nodes of a label.
type Kept struct {
	Path, Label   string
	Size          yarn.Resource // with what the leaf uses of it
	ReachedMillis int64         // when the leaf last used as much
	IdleLeft      uint64        // how much may still stand idle for it, in milliseconds of 2^-32 of the nodes
	Index         uint64        // at which this was said

	late int64 // for how long it should have ended
}

// idleWorth is how many times the work that was lost for a leaf may stand idle for it.
const idleWorth = 4

// FollowKept follows what a round keeps for a leaf, and checks it: it is what the leaf has used of its
// guarantee since containers ended for it, and it ends only if the leaf used less for a while, or if as
// much stood idle as those containers allow.
func (l *Debts) FollowKept(log Log, e *event.GuaranteeKept) {
	set, leaf := log.Settings(), log.Leaf(e.Path)
	index, _ := log.At()
	i := slices.IndexFunc(l.Kept, func(k Kept) bool { return k.Path == e.Path && k.Label == e.Label })
	if leaf < 0 || !log.Labelled(e.Label) || e.Size.Negative() || i < 0 && e.Size.IsZero() && e.IdleLeft == 0 {
		log.Violates(index, "%s is kept for %s of label %q, and before that: %v", e.Size, e.Path, e.Label, i >= 0)
		return
	}
	next := Kept{Path: e.Path, Label: e.Label, Size: e.Size, ReachedMillis: e.ReachedMillis, IdleLeft: e.IdleLeft, Index: index}
	was := Kept{Path: e.Path, Label: e.Label}
	if i >= 0 {
		was = l.Kept[i]
		l.Kept = slices.Delete(l.Kept, i, i+1)
	}
	if !e.Size.IsZero() && !set.Keeps() {
		log.Violates(index, "%s of label %q is kept for %s, and nothing may be", e.Size, e.Label, e.Path)
	}
	next.judge(log, leaf, &was)
	if !e.Size.IsZero() {
		l.Keeps++
	}
	if !e.Size.IsZero() || e.IdleLeft > 0 {
		l.Kept = append(l.Kept, next)
	}
}

// judge checks that a leaf has used what is kept for it when the log says so, that containers end for what
// may stand idle, and that nothing less is kept before the time or what may stand idle is used up.
func (k *Kept) judge(log Log, leaf int32, was *Kept) {
	set := log.Settings()
	used, guarantee := log.Share(leaf, k.Label)
	uses, since := yarn.ComponentMin(used, guarantee.Add(slack)), log.Now()-was.ReachedMillis
	most := float64(was.IdleLeft)
	switch lost := lostFor(log, k.Path, k.Label); {
	case float64(k.IdleLeft) > most+idleWorth*lost, k.IdleLeft == 0 && !k.Size.IsZero():
		log.Violates(k.Index, "%d of label %q may stand idle for %s, %d before, and %.0f are lost for it", k.IdleLeft,
			k.Label, k.Path, was.IdleLeft, lost)
	case !k.Size.Within(yarn.ComponentMax(was.Size, uses)),
		k.ReachedMillis != was.ReachedMillis && k.Size == was.Size && !k.Size.Within(uses):
		log.Violates(k.Index, "%s of label %q is kept for %s since %d, which has used %s of its %s", k.Size, k.Label,
			k.Path, k.ReachedMillis, used, guarantee)
	case set.Keeps() && !was.Size.Within(k.Size) && (was.Size.Within(used) && was.Size.Within(guarantee) ||
		since < set.KeepMillis && most > work(was.Size, log.Nodes(was.Label), set.IntervalMillis)):
		log.Violates(was.Index, "%s of label %q is kept for %s instead of %s, which it used %d ms ago, and %d may stand idle",
			k.Size, k.Label, k.Path, was.Size, since, was.IdleLeft)
	}
}

// lostFor returns the work that is lost for a leaf, if all containers end now whose warnings are over. It is
// an upper bound, because some of them may rather be withdrawn.
func lostFor(log Log, path, label string) (lost float64) {
	for _, w := range log.Warned(path) {
		if w.Label == label && w.Deadline <= log.Now() {
			lost += work(w.Size, log.Nodes(label), log.Now()-w.Since)
		}
	}
	return lost
}

// work returns what a size does in a time, in milliseconds of 2^-32 of the nodes, at most: all kinds count.
func work(size, nodes yarn.Resource, millis int64) float64 {
	share := 0.0
	for kind := range size {
		if nodes[kind] > 0 {
			share = max(share, math.Ceil(float64(size[kind])/float64(nodes[kind])*(1<<32)))
		}
	}
	return share * float64(millis)
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
		if !set.Keeps() || since < set.KeepMillis || passed == 0 || k.Size.IsZero() {
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
