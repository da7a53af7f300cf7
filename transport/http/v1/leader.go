package v1

import (
	"sync"
	"time"
)

// leaderClock knows since when this replica knows the present leader. An
// election's own time is more exact where it was seen; before the first failover
// there is none.
type leaderClock struct {
	now  func() time.Time
	mu   sync.Mutex
	id   string
	term uint64
	at   int64
}

// look notes who leads.
func (l *leaderClock) look(k Consensus) {
	id, _ := k.Leader()
	term := k.Term()
	l.mu.Lock()
	defer l.mu.Unlock()
	if id != l.id || id != "" && term != l.term {
		l.id, l.term, l.at = id, term, l.now().UnixMilli()
	}
}

// since is when the present leader took over, in Unix milliseconds; 0 without
// one.
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

// LookAtLeader notes who leads. It is called about every second while nobody asks.
func (s *API) LookAtLeader() { s.leader.look(s.cfg.Consensus) }
