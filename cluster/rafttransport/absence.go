package rafttransport

import (
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"rmd/cluster/identity"
)

// absences records which replicas do not answer this one's calls. A replica that does not answer is
// logged at the first failure, then at a pace, and when it answers again. The library logs every
// failed call, several times per second.
type absences struct {
	log hclog.Logger
	now func() time.Time

	mu         sync.Mutex
	absent     map[raft.ServerID]*absence
	lastLogged map[raft.ServerID]time.Time // when something was last logged about a replica
}

// absence is a period in which a replica does not answer.
type absence struct {
	since  time.Time
	pace   pace
	calls  uint64 // number of failed calls
	logged bool
}

func newAbsences(log hclog.Logger) *absences {
	return &absences{log: log, now: time.Now, absent: map[raft.ServerID]*absence{},
		lastLogged: map[raft.ServerID]time.Time{}}
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
			r.log.Info("a replica answers again", "replica", name, "address", to, "after",
				now.Sub(a.since).Round(time.Millisecond), "calls", a.calls)
			r.lastLogged[id] = now
		}
		delete(r.absent, id)
		return
	case a == nil:
		a = &absence{since: now, pace: newPace(now)}
		// avoid many log lines about a replica that often disappears and returns
		if quiet := r.lastLogged[id].Add(paceMin); quiet.After(now) {
			a.pace.next = quiet
		}
		r.absent[id] = a
	}
	a.calls++
	if !a.pace.due(now) {
		return
	}
	r.log.Warn("a replica does not answer", "replica", name, "address", to, "for", now.Sub(a.since).Round(time.Second),
		"calls", a.calls, "error", err)
	a.logged, r.lastLogged[id] = true, now
}
