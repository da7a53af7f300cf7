package succession

import (
	"sort"
	"time"

	"github.com/hashicorp/raft"

	"rmd/cluster/identity"
)

// otherVoters are the voters beside this replica and the dead leader.
func (s *Succession) otherVoters(leader string) []string {
	var out []string
	for _, v := range s.cfg.Replica.Configuration().Servers {
		if id, _ := identity.Split(v.ID); v.Suffrage == raft.Voter && id != leader && id != s.id {
			out = append(out, id)
		}
	}
	return out
}

// ranking is the voters that are heard from, this one too, the longest log first. A voter that has
// not told its end for good counts with a log no shorter than ours, so that two who have not heard
// each other agree who is first.
func (s *Succession) ranking(leader string, term uint64) []string {
	type candidate struct {
		id     string
		status PeerStatus
	}
	var mine PeerStatus
	mine.LastIndex, mine.LastTerm = s.cfg.Replica.Tail()
	all := []candidate{{s.id, mine}}
	for _, id := range s.otherVoters(leader) {
		p, at, ok := s.lastStatus(id)
		if !ok || time.Since(at) >= freshness {
			continue
		}
		if !p.final(term) && p.shorter(mine) {
			p = mine
		}
		all = append(all, candidate{id, p})
	}
	sort.Slice(all, func(i, j int) bool {
		a, b := all[i], all[j]
		return b.status.shorter(a.status) || !a.status.shorter(b.status) && a.id < b.id
	})
	ids := make([]string, len(all))
	for i, c := range all {
		ids[i] = c.id
	}
	return ids
}

// awaitStatus waits until the others have told where their logs end for good. Nobody wins without a
// majority: a voter that has not heard one waits longer, since another one that is a moment late
// may have the longer log.
func (s *Succession) awaitStatus(leader string, term uint64, start time.Time) {
	for {
		changed := s.cfg.Peers.StatusChanged()
		others := s.otherVoters(leader)
		told := 0
		for _, id := range others {
			if p, at, ok := s.lastStatus(id); ok && (p.final(term) || p.HearsLeader && at.After(start)) {
				told++
			}
		}
		most := statusWait
		if voters := len(others) + 2; told+1 <= voters/2 {
			most = voteWait
		}
		left := time.Until(start.Add(most))
		if told == len(others) || left <= 0 || s.ctx.Err() != nil {
			return
		}
		s.awaitChange(changed, left)
	}
}

// awaitNewLeader waits until somebody leads, at most d.
func (s *Succession) awaitNewLeader(term uint64, d time.Duration) bool {
	for end := time.Now().Add(d); ; {
		if s.hasNewLeader(term) {
			return true
		}
		if !time.Now().Before(end) || !s.pause(time.Millisecond) {
			return false
		}
	}
}

// awaitChange waits for the next status, at most d.
func (s *Succession) awaitChange(changed <-chan struct{}, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-changed:
	case <-t.C:
	case <-s.ctx.Done():
	}
}

// pause waits and says whether the Succession goes on.
func (s *Succession) pause(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-s.ctx.Done():
		return false
	}
}
