package v1

import (
	"sync"
	"time"
)

// leaderClock records since when this replica knows the current leader. The time of an election is
// more exact if this replica saw it, but there is none before the first failover.
type leaderClock struct {
	now  func() time.Time
	mu   sync.Mutex
	id   string
	term uint64
	at   int64
}

// look records the current leader.
func (l *leaderClock) look(k Consensus) {
	id, _ := k.Leader()
	term := k.Term()
	l.mu.Lock()
	defer l.mu.Unlock()
	if id != l.id || id != "" && term != l.term {
		l.id, l.term, l.at = id, term, l.now().UnixMilli()
	}
}

// since returns when the current leader took over, in Unix milliseconds, or 0 if there is no
// leader.
func (l *leaderClock) since(k Consensus) int64 {
	l.look(k)
	f := k.LastFailover()
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.id == "":
		return 0
	case f != nil && f.NewLeader == l.id && f.Term == l.term:
		return f.AtMillis
	}
	return l.at
}

// LookAtLeader records the current leader. The server calls it every second.
func (s *cluster) LookAtLeader() { s.leader.look(s.cfg.Consensus) }
