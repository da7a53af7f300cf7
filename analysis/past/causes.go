package past

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/api"
	"rmd/fsm"
	"rmd/fsm/event"
	"rmd/scheduler/explain"
)

// Causes finds out why the decisions in the log were made. A log explainer follows the log on a
// rebuilt state of its own, which is dropped when it is not used for a while. One task runs at a
// time, in the background. Callers wait as long as they like, and get the causes that are known by
// then.
type Causes struct {
	past    *States // the rebuilt state that the explainer follows
	machine *fsm.Machine
	eager   bool
	logger  hclog.Logger

	mu    sync.Mutex
	kept  map[uint64][]api.Because // the causes, by index of the entry
	count int                      // number of causes in kept
	done  chan struct{}            // closed when the current task ends; nil if no task is running
	free  time.Time                // when the next task may begin

	// Only the task uses these fields.
	explainer *explain.LogExplainer
	want      map[uint64]bool

	ctx    context.Context
	cancel context.CancelFunc
	closed bool
	wg     sync.WaitGroup
}

const (
	causesKept = 50_000 // events whose causes are kept
	// causesShare limits the tasks for open pages to about 1/causesShare of the time. Up to
	// causesSaved of unused task time accumulates, so a page that opens after a pause gets its
	// answer soon.
	causesShare = 25
	causesSaved = time.Second
	causesLong  = 10 * time.Second      // the longest time of a task
	causesLeast = 50 * time.Millisecond // the shortest time between two tasks
	// causesFar is the greatest number of entries that the explainer follows. If more are missing,
	// rebuilding the state is faster.
	causesFar = 2_000
	// causesLarge is the number of applications, nodes and containers above which the state is not
	// rebuilt for an open page.
	causesLarge = 20_000
)

// NewCauses returns the causes of the decisions in a log. machine has the current state. eager is how
// the leaders of the log planned.
func NewCauses(log Log, machine *fsm.Machine, eager bool, logger hclog.Logger) *Causes {
	w := &Causes{past: NewStates(log), machine: machine, eager: eager, logger: logger, kept: map[uint64][]api.Because{}}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	w.past.each, w.past.began = w.follow, func() { w.explainer = nil }
	return w
}

// Of returns the causes of the events of some entries, as far as they are known when ctx ends. With
// atOnce, a task begins even if it exceeds its share of the time or must rebuild a large state.
// Open pages do not set atOnce.
func (w *Causes) Of(ctx context.Context, indexes []uint64, atOnce bool) map[uint64][]api.Because {
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

// take copies the known causes to out, and returns the missing indexes. The caller holds w.mu.
func (w *Causes) take(indexes []uint64, out map[uint64][]api.Because) (missing []uint64) {
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

// work finds the causes of entries, in order. If it fails for an entry, the next caller tries
// again. again permits it to rebuild the state.
func (w *Causes) work(indexes []uint64, again bool) {
	began := time.Now()
	err := w.find(indexes, again)
	if err != nil && !errors.Is(err, errNotNow) && w.ctx.Err() == nil {
		w.logger.Debug("the reasons of decisions are not at hand", "first", indexes[0], "last",
			indexes[len(indexes)-1], "error", err)
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

// errNotNow means that the state must be rebuilt first.
var errNotNow = errors.New("not now")

// large reports whether the state is too large to rebuild it for an open page.
func (w *Causes) large() bool {
	st, _ := w.machine.Fork()
	return st.Apps.Len()+st.Nodes.Len()+st.Containers.Len() > causesLarge
}

// find finds the causes of entries. again permits it to rebuild the state.
func (w *Causes) find(indexes []uint64, again bool) (err error) {
	defer func() {
		if r := recover(); r != nil { // a failed explanation must not stop the replica
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
	_, err = w.past.At(ctx, indexes[len(indexes)-1])
	return err
}

// begin brings the explainer to the state before the entry at index, or to an earlier state.
func (w *Causes) begin(ctx context.Context, index uint64, again bool) error {
	p := w.past
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
	w.explainer, err = explain.NewLogExplainer(st, w.eager)
	return err
}

// follow passes an entry that past has read to the explainer.
func (w *Causes) follow(index uint64, data []byte, applied bool) error {
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

func (w *Causes) keep(index uint64, told []api.Because) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.count > causesKept {
		clear(w.kept)
		w.count = 0
	}
	w.kept[index] = told
	w.count += 1 + len(told)
}

// Close cancels the current task and waits for it.
func (w *Causes) Close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.cancel()
	w.wg.Wait()
	w.past.Close()
}
