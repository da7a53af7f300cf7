package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"rmd/fsm/event"
	"rmd/scheduler/explain"
	"rmd/transport/http/v1/api"
)

// causeCache knows why the decisions in the log were made. A log explainer follows the log on a
// state of its own, which is rebuilt as that of the page Replay is, and dropped when it is not
// used for a while. One piece of work is done at a time, in the background: callers wait as long
// as they like, and get the causes that are known by then.
type causeCache struct {
	past historical // the explainer's own

	mu    sync.Mutex
	kept  map[uint64][]api.Because // by index of the entry
	count int                      // of what is kept
	done  chan struct{}            // closed at the end of the work in hand; nil: there is none
	free  time.Time                // from when on there may be more

	// Of the work alone.
	explainer *explain.LogExplainer
	want      map[uint64]bool

	ctx    context.Context
	cancel context.CancelFunc
	closed bool
	wg     sync.WaitGroup
}

const (
	causesKept = 50_000 // events whose reasons are remembered
	// causesShare bounds the work that is done for open pages: one part in so many of
	// the time. Unused time is saved up, so that a page after a pause gets its answer soon.
	causesShare = 25
	causesSaved = time.Second
	causesLong  = 10 * time.Second      // that one piece of work may take
	causesLeast = 50 * time.Millisecond // between two of them
	// causesFar is how many entries the explainer follows rather than start over: a
	// state alone is brought forward faster.
	causesFar = 2_000
	// causesLarge is how many applications, nodes and containers make a state that is
	// not rebuilt for an open page.
	causesLarge = 20_000
)

func newCauseCache(r *Replica) *causeCache {
	w := &causeCache{kept: map[uint64][]api.Because{}}
	w.ctx, w.cancel = context.WithCancel(r.ctx)
	w.past.r, w.past.each, w.past.began = r, w.follow, func() { w.explainer = nil }
	return w
}

// of is why the events of some entries were decided, as far as it is known when
// the context ends. At once, work is begun even where its share of the time is
// spent, and where a large state has to be rebuilt for it: an open page has that
// only while somebody asks who waits for it.
func (w *causeCache) of(ctx context.Context, indexes []uint64, atOnce bool) map[uint64][]api.Because {
	out := map[uint64][]api.Because{}
	for range 2 {
		w.mu.Lock()
		missing := w.take(indexes, out)
		if len(missing) > 0 && w.done == nil && !w.closed && (atOnce || !time.Now().Before(w.free)) {
			w.done = make(chan struct{})
			w.wg.Go(func() { w.work(missing, atOnce || !w.large()) })
		}
		done := w.done
		w.mu.Unlock()
		if len(missing) == 0 || done == nil {
			return out
		}
		select {
		case <-done:
		case <-ctx.Done():
			return out
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.take(indexes, out)
	return out
}

// take copies what is kept, and returns what is not. The lock is held.
func (w *causeCache) take(indexes []uint64, out map[uint64][]api.Because) (missing []uint64) {
	for _, i := range indexes {
		if have, ok := w.kept[i]; ok {
			out[i] = have
		} else if i > 0 {
			missing = append(missing, i)
		}
	}
	slices.Sort(missing)
	return slices.Compact(missing)
}

// work finds out about entries, in order. What it cannot, the next one who asks
// will ask for again.
func (w *causeCache) work(indexes []uint64, again bool) {
	began := time.Now()
	err := w.find(indexes, again)
	if err != nil && !errors.Is(err, errNotNow) && w.ctx.Err() == nil {
		w.past.r.log.Debug("the reasons of decisions are not at hand", "first", indexes[0], "last", indexes[len(indexes)-1], "error", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	if saved := now.Add(-causesShare * causesSaved); w.free.Before(saved) {
		w.free = saved
	}
	w.free = w.free.Add(causesShare * now.Sub(began))
	if least := now.Add(causesLeast); w.free.Before(least) {
		w.free = least
	}
	close(w.done)
	w.done = nil
}

// errNotNow says that the state would have to be rebuilt.
var errNotNow = errors.New("not now")

// large says whether rebuilding the state takes what pages should have.
func (w *causeCache) large() bool {
	st, _ := w.past.r.machine.Fork()
	return st.Apps.Len()+st.Nodes.Len()+st.Containers.Len() > causesLarge
}

// find finds out about entries; again, the state may be rebuilt for it.
func (w *causeCache) find(indexes []uint64, again bool) (err error) {
	defer func() {
		if r := recover(); r != nil { // the replica does not end for a question about the past
			err = fmt.Errorf("follow the log: %v", r)
			w.past.drop()
		}
	}()
	ctx, cancel := context.WithTimeout(w.ctx, causesLong)
	defer cancel()
	w.want = map[uint64]bool{}
	for _, i := range indexes {
		w.want[i] = true
	}
	if err := w.begin(ctx, indexes[0], again); err != nil {
		return err
	}
	_, err = w.past.at(ctx, indexes[len(indexes)-1])
	return err
}

// begin brings the explainer to the state just before an entry, or to an earlier one.
func (w *causeCache) begin(ctx context.Context, index uint64, again bool) error {
	p := &w.past
	p.mu.Lock()
	defer p.mu.Unlock()
	if w.explainer != nil && p.machine != nil && p.index < index && index-p.index <= causesFar {
		return nil
	}
	if !again {
		return errNotNow
	}
	w.explainer = nil
	if err := p.reach(ctx, index-1); err != nil {
		return err
	}
	st, _, _ := p.machine.Planning(0)
	var err error
	w.explainer, err = explain.NewLogExplainer(st)
	return err
}

// follow hears of every entry that the past applies.
func (w *causeCache) follow(index uint64, data []byte, applied bool) error {
	if w.explainer == nil {
		return nil
	}
	var told []api.Because
	if applied {
		b, err := event.Decode(data)
		if err != nil {
			return err
		}
		why, err := w.explainer.Follow(b.Events, w.want[index])
		if err != nil {
			return err
		}
		told = why
	}
	if w.want[index] {
		w.keep(index, told)
	}
	return nil
}

func (w *causeCache) keep(index uint64, told []api.Because) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.count > causesKept {
		clear(w.kept)
		w.count = 0
	}
	w.kept[index] = told
	w.count += 1 + len(told)
}

// close ends the work in hand.
func (w *causeCache) close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.cancel()
	w.wg.Wait()
	w.past.close()
}
