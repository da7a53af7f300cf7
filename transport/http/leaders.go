package httpserver

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

// leaderPause is how often the leader is looked at while nobody asks.
const leaderPause = time.Second

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

// watchLeader looks at the leader, and at what commits take, until Close.
func (s *Server) watchLeader() {
	tick := time.NewTicker(leaderPause)
	defer tick.Stop()
	for {
		s.leaders.look(s.cfg.Consensus)
		s.timings.look()
		select {
		case <-tick.C:
		case <-s.ctx.Done():
			return
		}
	}
}
