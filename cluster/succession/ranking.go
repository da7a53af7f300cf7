package succession

import (
	"sort"
	"time"

	"github.com/hashicorp/raft"

	"rmd/cluster/identity"
)

// otherVoters returns the ids of the voters other than this replica and the dead leader.
func (s *Succession) otherVoters(leader string) []string {
	var out []string
	for _, v := range s.cfg.Replica.Configuration().Servers {
		if id, _ := identity.Split(v.ID); v.Suffrage == raft.Voter && id != leader && id != s.id {
			out = append(out, id)
		}
	}
	return out
}

// ranking returns the ids of this replica and of the voters with a recent status, the longest log
// first. If a voter's status is not final, its log counts as no shorter than ours. So two voters
// that have not heard from each other since the death rank each other in the same order.
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

// turn returns how long this replica leaves to those before it in the ranking. One that has reported
// the leader's death campaigns. It asks for votes only when it has stored its own, which a slow disk
// takes longer for than stagger; a second candidate would split the votes. One that has not may be
// dead.
func (s *Succession) turn(before []string, term uint64) (d time.Duration) {
	for _, id := range before {
		if p, _, ok := s.lastStatus(id); ok && p.final(term) {
			d += voteWait
		} else {
			d += stagger
		}
	}
	return d
}

// awaitStatus waits until the other voters have reported the final end of their logs. It waits
// longer while this replica has heard from too few for a majority: without them it cannot win
// anyway, and a voter whose report is late may have the longer log.
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

// awaitNewLeader waits up to d until there is a new leader, and reports whether there is one.
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

// awaitChange waits up to d for the next status.
func (s *Succession) awaitChange(changed <-chan struct{}, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-changed:
	case <-t.C:
	case <-s.ctx.Done():
	}
}

// pause waits for d. It reports false if the Succession ended meanwhile.
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
