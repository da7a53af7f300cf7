package cluster

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"rmd/cluster/identity"
	"rmd/cluster/local"
)

// Progress says whether this replica makes progress with its log, and what hinders it.
type Progress struct {
	Leads bool `json:"leads"`
	// Commit is the highest index that this replica knows to be committed, Applied the highest index
	// whose effect is in its state, and Last the last index in its log.
	Commit  uint64 `json:"commit"`
	Applied uint64 `json:"applied"`
	Last    uint64 `json:"last"`
	// Stalled is how long something has waited here while nothing of its kind got done. It is 0 if
	// nothing waits, or while work gets done, however slowly. These kinds are watched: entries that
	// are not committed, entries that are not applied, the work above Raft (WatchWork) and, on a
	// leader, requests to raft's main loop. It does not grow while this process is stopped, nor while
	// a backup is restored. It is updated four times a second.
	Stalled time.Duration `json:"stalled"`
	// Why says in one sentence what waits, and if known for what. It is empty if Stalled is 0.
	Why string `json:"why,omitempty"`
	// Refusals lists the followers that answer and do not store this leader's entries. It is empty
	// on a replica that does not lead.
	Refusals []EntryRefusal `json:"refusals,omitempty"`
}

// EntryRefusal says that a follower answers and does not store the leader's entries.
type EntryRefusal struct {
	ID  string        `json:"id"`  // the configured id of the follower
	Why string        `json:"why"` // the follower's error
	For time.Duration `json:"for"` // since the first refusal after it last stored entries
}

// Work says what the work above Raft does.
type Work struct {
	// Done changes while there is progress.
	Done uint64
	// Waiting says what waits to be done, or is empty if nothing does.
	Waiting string
}

// WatchWork makes Progress watch the work above Raft. report must return quickly, also while that
// work hangs. It is also called on a replica that does not lead, where the work of an earlier
// leadership may hang.
func (p *progress) WatchWork(report func() Work) { p.stalls.report.Store(&report) }

// Progress returns what this replica knows now.
func (p *progress) Progress() Progress {
	in := p.Current()
	now := Progress{Leads: p.IsLeader(), Commit: in.Raft.CommitIndex(), Applied: p.AppliedIndex(),
		Last: in.Raft.LastIndex()}
	now.Stalled, now.Why = p.stalls.worst()
	if now.Leads {
		for _, r := range p.Transport.Refusals() {
			id, _ := identity.Split(r.Server)
			now.Refusals = append(now.Refusals, EntryRefusal{ID: id, Why: r.Why, For: time.Since(r.Since)})
		}
	}
	return now
}

// progress measures whether the work of this replica gets on.
type progress struct {
	*local.Replica
	stalls progressWatch
}

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
	stallLoop   = iota // requests to raft's main loop
	stallApply         // entries that are committed and not applied
	stallWork          // the work above Raft
	stallCommit        // entries that are not committed
	stallKinds
)

// progressWatch measures the stalls.
type progressWatch struct {
	mu     sync.Mutex
	stalls [stallKinds]stall

	asked, answered atomic.Uint64 // requests to raft's main loop
	restoring       atomic.Int64  // restores of backups in progress, which block the main loop
	restores        atomic.Uint64 // restores of backups that have begun
	report          atomic.Pointer[func() Work]
}

// worst returns the longest stall.
func (w *progressWatch) worst() (time.Duration, string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var most stall
	for _, s := range w.stalls {
		if s.age > most.age {
			most = s
		}
	}
	return most.age, most.why
}

// beyond returns the kind of work that has waited for at least limit, or stallKinds. If there are
// several, it returns the first one. A kind may notice a moment later that it waits than one that
// waits for it.
func (w *progressWatch) beyond(limit time.Duration) (kind int, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.ContainsFunc(w.stalls[:], func(s stall) bool { return s.age >= limit }) {
		return stallKinds, ""
	}
	kind = slices.IndexFunc(w.stalls[:], func(s stall) bool { return s.age >= limit-4*local.WatchInterval && s.age > 0 })
	return kind, w.stalls[kind].why
}

// watchProgress measures stalls until the cluster closes, and makes a leader without progress step
// down. Of each interval no more than twice its nominal length counts: if this process was stopped,
// that is no stall.
func (s *stepDowns) watchProgress() {
	s.Watch(func(_ time.Time, passed time.Duration) (goOn bool) {
		passed = min(passed, 2*local.WatchInterval)
		s.progress.observeProgress(passed)
		s.judgeLeadership(passed)
		return true
	})
}

// observeProgress looks once at each kind of work.
func (p *progress) observeProgress(passed time.Duration) {
	w := &p.stalls
	commit, applied := p.CommitIndex(), p.AppliedIndex()
	marks := [stallKinds]uint64{stallApply: applied, stallCommit: commit}
	var texts [stallKinds]string
	if w.restoring.Load() == 0 {
		texts[stallLoop] = p.waitingRequest()
		texts[stallApply] = p.waitingApply(commit, applied)
		marks[stallWork], texts[stallWork] = p.waitingWork()
		texts[stallCommit] = p.waitingCommit(commit)
	}
	marks[stallLoop] = w.answered.Load()
	w.mu.Lock()
	defer w.mu.Unlock()
	for kind := range w.stalls {
		w.stalls[kind].observe(marks[kind], texts[kind], passed)
	}
}

// waitingRequest says that raft's main loop has not served a request, or returns "" if this replica
// does not lead. If the loop has served the request before, it makes the next one.
func (p *progress) waitingRequest() string {
	if p.Current().Raft.State() != raft.Leader {
		return "" // a follower may install a snapshot for minutes
	}
	w := &p.stalls
	if w.asked.Load() == w.answered.Load() {
		w.asked.Add(1)
		p.Go(func() {
			p.Transport.AwaitServed(p.Context.Done())
			w.answered.Add(1)
		})
	}
	if age := p.Guard.OldestWrite(time.Now()); age >= local.WatchInterval {
		return "a write to the disk does not return"
	}
	return "raft's main loop is blocked"
}

// waitingApply says which entry is not applied, or returns "".
func (p *progress) waitingApply(commit, applied uint64) string {
	// after a snapshot that ends with a no-op there is no such entry
	if applied >= commit || p.Stores.Logs.Peek(applied+1, new(raft.Log)) != nil {
		return ""
	}
	return fmt.Sprintf("entry %d is committed and not applied", applied+1)
}

// waitingWork asks the work above Raft.
func (p *progress) waitingWork() (done uint64, why string) {
	report := p.stalls.report.Load()
	if report == nil {
		return 0, ""
	}
	w := (*report)()
	return w.Done, w.Waiting
}

// waitingCommit says which entry is not committed, and which followers refuse it, or returns "".
func (p *progress) waitingCommit(commit uint64) string {
	if p.LastIndex() <= commit {
		return ""
	}
	all := []string{fmt.Sprintf("entry %d is not committed", commit+1)}
	if p.IsLeader() {
		for _, r := range p.Transport.Refusals() {
			id, _ := identity.Split(r.Server)
			all = append(all, fmt.Sprintf("%s refuses: %s", id, r.Why))
		}
	}
	return strings.Join(all, "; ")
}
