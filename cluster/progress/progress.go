package progress

import (
	"fmt"
	"strings"
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

// Watch measures whether the work of this replica gets on.
type Watch struct {
	*local.Replica
	Stalls Stalls

	asked, answered atomic.Uint64 // requests to raft's main loop
	restoring       atomic.Int64  // restores of backups in progress, which block the main loop
	restores        atomic.Uint64 // restores of backups that have begun
	report          atomic.Pointer[func() Work]
}

// New returns a Watch that has measured nothing yet.
func New(c *local.Replica) *Watch { return &Watch{Replica: c} }

// stallElections is the number of election timeouts in StallLimit.
const stallElections = 8

// StallLimit is how long work may wait without progress before a leader steps down.
func (p *Watch) StallLimit() time.Duration {
	return max(p.Config.HungGiveUp, stallElections*p.Config.Election)
}

// BeginRestore notes that the restore of a backup begins.
func (p *Watch) BeginRestore() {
	p.restoring.Add(1)
	p.restores.Add(1)
}

// EndRestore notes that the restore of a backup has ended.
func (p *Watch) EndRestore() { p.restoring.Add(-1) }

// Restoring reports whether the restore of a backup is in progress.
func (p *Watch) Restoring() bool { return p.restoring.Load() > 0 }

// Restores returns how many restores of backups have begun.
func (p *Watch) Restores() uint64 { return p.restores.Load() }

// WatchWork makes Progress watch the work above Raft. report must return quickly, also while that
// work hangs. It is also called on a replica that does not lead, where the work of an earlier
// leadership may hang.
func (p *Watch) WatchWork(report func() Work) { p.report.Store(&report) }

// Progress returns what this replica knows now.
func (p *Watch) Progress() Progress {
	in := p.Current()
	now := Progress{Leads: p.IsLeader(), Commit: in.Raft.CommitIndex(), Applied: p.AppliedIndex(),
		Last: in.Raft.LastIndex()}
	now.Stalled, now.Why = p.Stalls.Worst()
	if now.Leads {
		for _, r := range p.Transport.Refusals(p.Configuration()) {
			id, _ := identity.Split(r.Server)
			now.Refusals = append(now.Refusals, EntryRefusal{ID: id, Why: r.Why, For: time.Since(r.Since)})
		}
	}
	return now
}

// Observe looks once at each kind of work, after some time has passed.
func (p *Watch) Observe(passed time.Duration) {
	commit, applied := p.CommitIndex(), p.AppliedIndex()
	marks := [StallKinds]uint64{StallApply: applied, StallCommit: commit}
	var texts [StallKinds]string
	if p.restoring.Load() == 0 {
		texts[StallLoop] = p.waitingRequest()
		texts[StallApply] = p.waitingApply(commit, applied)
		marks[StallWork], texts[StallWork] = p.waitingWork()
		texts[StallCommit] = p.waitingCommit(commit)
	}
	marks[StallLoop] = p.answered.Load()
	p.Stalls.Observe(marks, texts, passed)
}

// waitingRequest says that raft's main loop has not served a request, or returns "" if this replica
// does not lead. If the loop has served the request before, it makes the next one.
func (p *Watch) waitingRequest() string {
	if p.Current().Raft.State() != raft.Leader {
		return "" // a follower may install a snapshot for minutes
	}
	if p.asked.Load() == p.answered.Load() {
		p.asked.Add(1)
		p.Go(func() {
			p.Transport.AwaitServed(p.Context.Done())
			p.answered.Add(1)
		})
	}
	if age := p.Guard.OldestWrite(time.Now()); age >= local.WatchInterval {
		return "a write to the disk does not return"
	}
	return "raft's main loop is blocked"
}

// waitingApply says which entry is not applied, or returns "".
func (p *Watch) waitingApply(commit, applied uint64) string {
	// after a snapshot that ends with a no-op there is no such entry
	if applied >= commit || p.Stores.Logs.Peek(applied+1, new(raft.Log)) != nil {
		return ""
	}
	return fmt.Sprintf("entry %d is committed and not applied", applied+1)
}

// waitingWork asks the work above Raft.
func (p *Watch) waitingWork() (done uint64, why string) {
	report := p.report.Load()
	if report == nil {
		return 0, ""
	}
	w := (*report)()
	return w.Done, w.Waiting
}

// waitingCommit says which entry is not committed, and which followers refuse it, or returns "".
func (p *Watch) waitingCommit(commit uint64) string {
	if p.LastIndex() <= commit {
		return ""
	}
	if commit == 0 && !p.IsLeader() { // its data is not gone: Raft stores no commit index
		return fmt.Sprintf("its log on disk ends at entry %d, and it has not learned since its start what is committed: "+
			"it waits for a leader; its data is needed, keep it", p.LastIndex())
	}
	all := []string{fmt.Sprintf("entry %d is not committed", commit+1)}
	if p.IsLeader() {
		for _, r := range p.Transport.Refusals(p.Configuration()) {
			id, _ := identity.Split(r.Server)
			all = append(all, fmt.Sprintf("%s refuses: %s", id, r.Why))
		}
	}
	return strings.Join(all, "; ")
}
