package cluster

import (
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"rmd/cluster/identity"
)

// A replica that does not answer is told of when that begins, then after absencePause, twice that and so on up to
// absencePauseMax, and when it answers again. The library logs every call that fails, several times a second.
const (
	absencePause    = 10 * time.Second
	absencePauseMax = 10 * time.Minute
)

// absences follows which replicas answer this one's calls.
type absences struct {
	log hclog.Logger
	now func() time.Time

	mu     sync.Mutex
	absent map[raft.ServerID]*absence
	said   map[raft.ServerID]time.Time // when something was logged of a replica last
}

// absence is the time in which a replica does not answer.
type absence struct {
	since, next time.Time
	pause       time.Duration
	calls       uint64 // that failed
	told        bool
}

func newAbsences(log hclog.Logger) *absences {
	return &absences{log: log, now: time.Now, absent: map[raft.ServerID]*absence{}, said: map[raft.ServerID]time.Time{}}
}

// called takes in how a call ended. One that the other replica refused was answered.
func (r *absences) called(id raft.ServerID, to raft.ServerAddress, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a, now := r.absent[id], r.now()
	name, _ := identity.Split(id)
	switch {
	case err == nil || isFull(err):
		if a != nil && a.told {
			r.log.Info("a replica answers again", "replica", name, "address", to, "after", now.Sub(a.since).Round(time.Millisecond), "calls", a.calls)
			r.said[id] = now
		}
		delete(r.absent, id)
		return
	case a == nil:
		a = &absence{since: now, next: now, pause: absencePause}
		if quiet := r.said[id].Add(absencePause); quiet.After(now) { // it comes and goes
			a.next = quiet
		}
		r.absent[id] = a
	}
	a.calls++
	if now.Before(a.next) {
		return
	}
	r.log.Warn("a replica does not answer", "replica", name, "address", to, "for", now.Sub(a.since).Round(time.Second), "calls", a.calls, "error", err)
	a.told, a.next, r.said[id] = true, now.Add(a.pause), now
	a.pause = min(2*a.pause, absencePauseMax)
}

// raftLogger is the library's logger. What absences tells of is logged at debug level.
type raftLogger struct{ hclog.Logger }

// callMessages are what the library logs when a call to a replica fails.
var callMessages = map[string]bool{
	"failed to appendEntries to": true, "failed to heartbeat to": true, "failed to contact": true, "failed to pipeline appendEntries": true,
	"failed to start pipeline replication to": true, "failed to send snapshot to": true, "failed to install snapshot": true,
	"failed to make requestVote RPC": true, "aborting pipeline replication": true, "pipelining replication": true,
}

// Error implements hclog.Logger.
func (l raftLogger) Error(msg string, args ...any) {
	if callMessages[msg] {
		l.Logger.Debug(msg, args...)
		return
	}
	l.Logger.Error(msg, args...)
}

// Warn implements hclog.Logger.
func (l raftLogger) Warn(msg string, args ...any) {
	if callMessages[msg] {
		l.Logger.Debug(msg, args...)
		return
	}
	l.Logger.Warn(msg, args...)
}

// Info implements hclog.Logger.
func (l raftLogger) Info(msg string, args ...any) {
	if callMessages[msg] {
		l.Logger.Debug(msg, args...)
		return
	}
	l.Logger.Info(msg, args...)
}
