package scenario

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"rmd/internal/boolint"
	"rmd/jepsen-lite/harness"
	"rmd/jepsen-lite/history"
)

// archive copies the committed log into the history while the cluster runs. Every replica sooner or
// later truncates its log or loses its disk, but the checks need the log from its first entry. What
// a replica has applied is committed, so the archive copies from a replica only what it has
// applied.
type archive struct {
	r    *run
	stop context.CancelFunc
	done chan struct{}

	mu      sync.Mutex
	covered uint64 // the history has every entry up to this index
	broken  bool   // no replica has the entry after covered any more
	// Until safe.ns, no replica had applied an entry above safe.index, and the history has all
	// entries up to it. next is a later moment of which this is not known yet.
	safe, next moment
}

// moment is a time of the run and the highest index that a replica may have applied by then.
type moment struct {
	ns    int64
	index uint64
}

const (
	archiveEvery = time.Second
	// A replica that could not be observed may have applied an entry that the observer has not
	// seen. Within this time the others have applied it too.
	archiveMargin = 3 * time.Second
)

// lag returns by how many entries the archive may lag behind.
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
				a.copyAhead(a.lag())
			}
		}
	}()
	return a
}

// close copies the remaining entries and ends the archive. With flush it waits until safe is
// recent, because the log is about to be replaced.
func (a *archive) close(flush bool) {
	a.stop()
	<-a.done
	a.copyAhead(0)
	for end := time.Now().Add(2 * archiveMargin); flush && time.Now().Before(end) && !a.settled(); a.copyAhead(0) {
		time.Sleep(archiveMargin / 10)
	}
}

// settled reports whether safe is recent, or the archive is broken.
func (a *archive) settled() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.broken || a.safe.ns > 0 && a.r.rec.Now()-a.safe.ns < int64(2*archiveMargin)
}

// upTo returns the index of the last entry in the history. whole is false if no replica has the
// next one.
func (a *archive) upTo() (covered uint64, whole bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.covered, !a.broken
}

// copyAhead copies what replicas have applied if it is more than lag entries ahead. It prefers
// followers, because the copied replica pauses.
func (a *archive) copyAhead(lag uint64) {
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
			return cmp.Compare(boolint.Of[int](x.leads), boolint.Of[int](y.leads))
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

// take copies a replica's entries up to an index. gap reports that the replica's log begins after
// the next missing entry. take ignores a log that it cannot read at the moment, because a fault
// damages the disk or the process.
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

// historyUntil returns the part of a history up to a moment: its lines up to m.ns, and its entries
// up to m.index.
func historyUntil(h *history.History, m moment) *history.History {
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
