package progress

import (
	"slices"
	"sync"
	"time"

	"rmd/cluster/local"
)

// stall measures how long one kind of work has waited without progress.
type stall struct {
	mark uint64 // changes with progress
	age  time.Duration
	why  string
}

// observe records the state of the work after some time has passed. why is empty if nothing waits.
func (s *stall) observe(mark uint64, why string, passed time.Duration) {
	if why == "" || mark != s.mark {
		*s = stall{mark: mark}
		return
	}
	s.age, s.why = s.age+passed, why
}

// The kinds of stalls. A kind that causes others comes before them.
const (
	StallLoop   = iota // requests to raft's main loop
	StallApply         // entries that are committed and not applied
	StallWork          // the work above Raft
	StallCommit        // entries that are not committed
	StallKinds
)

// Stalls measures how long each kind of work has waited without progress.
type Stalls struct {
	mu    sync.Mutex
	kinds [StallKinds]stall
}

// Observe records the state of each kind of work after some time has passed. The marks change with
// progress. A text is empty if nothing of its kind waits.
func (w *Stalls) Observe(marks [StallKinds]uint64, texts [StallKinds]string, passed time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for kind := range w.kinds {
		w.kinds[kind].observe(marks[kind], texts[kind], passed)
	}
}

// Worst returns the longest stall.
func (w *Stalls) Worst() (time.Duration, string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var most stall
	for _, s := range w.kinds {
		if s.age > most.age {
			most = s
		}
	}
	return most.age, most.why
}

// Beyond returns the kind of work that has waited for at least limit, or StallKinds. If there are
// several, it returns the first one. A kind may notice a moment later that it waits than one that
// waits for it.
func (w *Stalls) Beyond(limit time.Duration) (kind int, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.ContainsFunc(w.kinds[:], func(s stall) bool { return s.age >= limit }) {
		return StallKinds, ""
	}
	kind = slices.IndexFunc(w.kinds[:], func(s stall) bool { return s.age >= limit-4*local.WatchInterval && s.age > 0 })
	return kind, w.kinds[kind].why
}
