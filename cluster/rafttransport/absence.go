package rafttransport

import (
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"rmd/cluster/identity"
)

// A replica that does not answer is logged at the first failure, then after absencePause, twice
// that and so on up to absencePauseMax, and when it answers again. The library logs every failed
// call, several times per second.
const (
	absencePause    = 10 * time.Second
	absencePauseMax = 10 * time.Minute
)

// absences records which replicas do not answer this one's calls.
type absences struct {
	log hclog.Logger
	now func() time.Time

	mu         sync.Mutex
	absent     map[raft.ServerID]*absence
	lastLogged map[raft.ServerID]time.Time // when something was last logged about a replica
}

// absence is a period in which a replica does not answer.
type absence struct {
	since, next time.Time
	pause       time.Duration
	calls       uint64 // number of failed calls
	logged      bool
}

func newAbsences(log hclog.Logger) *absences {
	return &absences{log: log, now: time.Now, absent: map[raft.ServerID]*absence{}, lastLogged: map[raft.ServerID]time.Time{}}
}

// observe records the result of a call. A refusal of entries counts as an answer.
func (r *absences) observe(id raft.ServerID, to raft.ServerAddress, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a, now := r.absent[id], r.now()
	name, _ := identity.Split(id)
	switch {
	case err == nil || isRefusal(err):
		if a != nil && a.logged {
			r.log.Info("a replica answers again", "replica", name, "address", to, "after", now.Sub(a.since).Round(time.Millisecond), "calls", a.calls)
			r.lastLogged[id] = now
		}
		delete(r.absent, id)
		return
	case a == nil:
		a = &absence{since: now, next: now, pause: absencePause}
		if quiet := r.lastLogged[id].Add(absencePause); quiet.After(now) { // avoid many log lines about a replica that often disappears and returns
			a.next = quiet
		}
		r.absent[id] = a
	}
	a.calls++
	if now.Before(a.next) {
		return
	}
	r.log.Warn("a replica does not answer", "replica", name, "address", to, "for", now.Sub(a.since).Round(time.Second), "calls", a.calls, "error", err)
	a.logged, a.next, r.lastLogged[id] = true, now.Add(a.pause), now
	a.pause = min(2*a.pause, absencePauseMax)
}
