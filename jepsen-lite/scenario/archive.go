package scenario

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"rmd/jepsen-lite/harness"
	"rmd/jepsen-lite/history"
)

// archive copies the committed log into the history while the cluster runs: every
// replica drops the beginning of its own sooner or later, or loses its disk, and
// the checker's model wants the log from its first entry. What a replica has
// applied is committed, so no more than that is taken from it.
type archive struct {
	r    *run
	stop context.CancelFunc
	done chan struct{}

	mu      sync.Mutex
	covered uint64 // every entry up to here is in the history
	broken  bool   // nobody has the entry behind covered any more
	// Up to safe.ns nothing came of an entry above safe.index, which is covered;
	// next is a moment that becomes so.
	safe, next moment
}

// moment is a time of the run, and an index that bounds what was applied by then.
type moment struct {
	ns    int64
	index uint64
}

const (
	archiveEvery = time.Second
	// A replica that nobody could look at may have applied an entry unseen; within
	// this time the others have it too.
	archiveMargin = 3 * time.Second
)

// lag is how far the archive may be behind.
func (a *archive) lag() uint64 { return uint64(min(a.r.config().Trailing/4, 8192)) }

func (r *run) openArchive(ctx context.Context) *archive {
	a := &archive{r: r, done: make(chan struct{})}
	ctx, a.stop = context.WithCancel(ctx)
	go func() { // until close
		defer close(a.done)
		tick := time.NewTicker(archiveEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				a.pass(a.lag())
			}
		}
	}()
	return a
}

// close ends the archive with what there is. With flush it waits until a moment of just
// now is safe: from here on the log is replaced.
func (a *archive) close(flush bool) {
	a.stop()
	<-a.done
	a.pass(0)
	for end := time.Now().Add(2 * archiveMargin); flush && time.Now().Before(end) && !a.settled(); a.pass(0) {
		time.Sleep(archiveMargin / 10)
	}
}

// settled says whether a moment of just now is safe.
func (a *archive) settled() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.broken || a.safe.ns > 0 && a.r.rec.Now()-a.safe.ns < int64(2*archiveMargin)
}

// upTo is the last entry that is in the history.
func (a *archive) upTo() (covered uint64, whole bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.covered, !a.broken
}

// pass takes what some replica has applied, if it is far enough ahead: a follower's
// log sooner than the leader's, which would stand still for the copy.
func (a *archive) pass(lag uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.broken {
		return
	}
	sights := a.r.watch.sights()
	if len(sights) == 0 {
		return
	}
	highest := slices.MaxFunc(sights, func(x, y sight) int { return cmp.Compare(x.applied, y.applied) }).applied
	if a.next.ns == 0 {
		a.next = moment{a.r.rec.Now() - int64(archiveMargin), highest}
	}
	slices.SortStableFunc(sights, func(x, y sight) int {
		if x.leads != y.leads {
			return cmp.Compare(btoi(x.leads), btoi(y.leads))
		}
		return cmp.Compare(y.applied, x.applied)
	})
	tried, missing := 0, 0
	for _, s := range sights {
		p := a.r.cluster.Replica(s.id)
		if p == nil || s.applied <= a.covered+lag {
			continue
		}
		tried++
		switch taken, gap := a.take(p, s.applied); {
		case taken:
			missing = 0
		case gap:
			missing++
		}
		if a.covered >= highest-min(highest, lag) {
			break
		}
	}
	if tried > 1 && missing == tried {
		a.broken = true
		a.r.opt.note("no replica has the entry after index %d any more: the check replays the log up to there", a.covered)
	}
	if a.covered >= a.next.index {
		a.safe, a.next = a.next, moment{}
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// take adds a replica's entries up to an index; gap says that its log begins
// behind what is missing. A log that cannot be read at the moment, for its disk or
// process is being broken, is left alone.
func (a *archive) take(p *harness.Replica, upTo uint64) (taken, gap bool) {
	entries, err := p.LogFrom(a.covered + 1)
	if err != nil || len(entries) == 0 {
		return false, false
	}
	if entries[0].Index > a.covered+1 {
		return false, true
	}
	for _, e := range entries {
		if e.Index > upTo || e.Index != a.covered+1 {
			break
		}
		a.r.rec.Note(e)
		a.r.membership(p.ID, e)
		a.covered = e.Index
		taken = true
	}
	return taken, false
}

// until is the part of a history that the archive has the log of: what was done
// and told by a moment, and the entries that carry it.
func until(h *history.History, m moment) *history.History {
	out := history.New()
	h.Each(func(l history.Line) {
		switch l := l.(type) {
		case *history.Entry:
			if l.Index <= m.index {
				out.Add(l)
			}
		default:
			if l.At() <= m.ns {
				out.Add(l)
			}
		}
	})
	out.Sort()
	return out
}
