package cluster

import (
	"math/rand/v2"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"rmd/cluster/identity"
	"rmd/internal/point"
)

// Crash detection: see DESIGN.md. The wire proves that the leader's process has ended (its liveness
// connection was closed by the kernel and a new one is refused). Then the voter with the longest log
// stands at once, by the library's own way for leadership transfers, instead of after its timers.
const (
	crashListen  = 10 * time.Millisecond // how long the others' notes are waited for
	crashStagger = 20 * time.Millisecond // between ranks
	crashSettle  = 60 * time.Millisecond // for a vote to be counted
	crashRetry   = 15 * time.Millisecond
	crashSlowest = 16 // how much longer later tries may take
)

// crashState is what is known about a leader that is gone.
type crashState struct {
	mu      sync.Mutex
	busy    bool
	term    uint64    // of the leader that is gone, 0 for none
	answer  time.Time // last nudge sent because another doubts
	asked   uint64    // highest term in which another asked for this replica's vote
	askedAt time.Time
}

// ask notes that another asks for a vote. Raft says so only once it has synced its answer.
func (s *crashState) ask(term uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if term > s.asked {
		s.asked, s.askedAt = term, time.Now()
	}
}

// voting says whether another asked a moment ago for a vote in a term above: to stand now would depose it.
func (s *crashState) voting(term uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked > term && time.Since(s.askedAt) < crashStagger
}

// note is this replica's position, told on liveness connections.
func (c *Cluster) note() []byte {
	in := c.current()
	last, lastTerm := c.stores.Logs.Tail()
	p := position{Term: in.raft.CurrentTerm(), LastTerm: lastTerm, LastIndex: last, Applied: c.fsm.applied.Load()}
	c.crash.mu.Lock()
	busy := c.crash.busy
	if c.crash.term == p.Term {
		p.Gone = c.crash.term
	}
	c.crash.mu.Unlock()
	switch in.raft.State() {
	case raft.Leader:
		p.Hears = true
	case raft.Follower:
		_, id := in.raft.LeaderWithID()
		p.Hears = p.Gone == 0 && !busy && id != "" && time.Since(in.raft.LastContact()) < c.cfg.Heartbeat
	}
	return p.encode()
}

// positionOf is what another replica told last.
func (c *Cluster) positionOf(sid raft.ServerID) position {
	if c.peer == nil {
		return position{}
	}
	id, _ := identity.Split(sid)
	p, _, _ := c.told(id)
	return p
}

// told is what another replica told last, and when it did.
func (c *Cluster) told(id string) (p position, at time.Time, ok bool) {
	b, at := c.peer.Note(id)
	p, ok = decodePosition(b)
	return p, at, ok
}

// gone is called by the wire with proof that a replica's process has ended.
func (c *Cluster) gone(id string) {
	in := c.current()
	term := in.raft.CurrentTerm()
	leader, _ := c.Leader()
	if leader != id || in.raft.State() != raft.Follower {
		return
	}
	me, ok := find(c.configuration(), string(c.Identity().ServerID()))
	if !ok || me.Suffrage != raft.Voter {
		return
	}
	c.crash.mu.Lock()
	busy := c.crash.busy
	c.crash.busy = true
	c.crash.mu.Unlock()
	if !busy {
		c.goRun(func() { c.succeed(id, term) })
	}
}

// crashFollow ends the search when a leader is known.
func (c *Cluster) crashFollow(l Leadership) {
	c.crash.mu.Lock()
	defer c.crash.mu.Unlock()
	if l.Term > c.crash.term {
		c.crash.term = 0
	}
}

// succeed tries to make this replica, or sees another become, the successor of a leader that is gone.
// Safety is raft's own: each try is an ordinary election.
func (c *Cluster) succeed(id string, term uint64) {
	start := time.Now()
	defer func() {
		c.crash.mu.Lock()
		c.crash.busy = false
		c.crash.mu.Unlock()
	}()
	c.log.Warn("the leader's process is gone: standing without waiting for timeouts", "leader", id, "term", term)
	c.tellGone(term)
	c.hearOthers(id, term, start)
	// What a try is given doubles with each that came to nothing: on a machine or disk that needs longer for a
	// vote than the first one waits, the survivors would end each other's elections until the search is over.
	slower := time.Duration(1)
	for deadline := start.Add(3 * c.cfg.Heartbeat); time.Now().Before(deadline) && c.ctx.Err() == nil; {
		heard := c.peer.Heard()
		if c.led(term) {
			c.counters.crashes.Add(1)
			c.observe(MeasureCrash, time.Since(start))
			return
		}
		if c.refuted(id, term, start) {
			return
		}
		if c.doubted(id, term, start) { // until it tells otherwise, which is most often a moment later
			c.hear(heard, crashRetry)
			continue
		}
		before, order := c.Term(), c.order(id, term)
		mine := slices.Index(order, c.cfg.ID)
		if c.waitLed(term, slower*time.Duration(mine)*crashStagger) {
			continue
		}
		switch {
		case c.Term() != before || c.crash.voting(before): // another stands
		case mine > 0 && slower > 1:
			c.urge(order[0])
		default:
			c.stand()
		}
		if !c.waitLed(term, slower*crashSettle) {
			c.pause(slower * (crashRetry + rand.N(2*crashRetry)))
			slower = min(2*slower, crashSlowest)
		}
	}
}

// tellGone tells the others that the leader of a term is gone, and where this log ends for good: what the leader has
// sent to the end is stored first. Survivors that told where they were before the last entry, and compared that with
// where they were behind it, would each hold its own log for the longest.
func (c *Cluster) tellGone(term uint64) {
	c.wire.AwaitServed(c.ctx.Done())
	c.crash.mu.Lock()
	c.crash.term = term
	c.crash.mu.Unlock()
	c.peer.Nudge()
}

// led says that somebody leads after the one that is gone; that may be the same replica, started again.
// Raft forgets the old leader before it raises the term.
func (c *Cluster) led(term uint64) bool {
	if c.Term() <= term {
		return false
	}
	leader, _ := c.Leader()
	return leader != "" || c.IsLeader()
}

// waitLed waits until somebody leads, at most d.
func (c *Cluster) waitLed(term uint64, d time.Duration) bool {
	for end := time.Now().Add(d); ; {
		if c.led(term) {
			return true
		}
		if !time.Now().Before(end) || !c.pause(time.Millisecond) {
			return false
		}
	}
}

// pause waits unless the cluster closes.
func (c *Cluster) pause(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-c.ctx.Done():
		return false
	}
}

// others are the voters beside this replica and the one that is gone.
func (c *Cluster) others(gone string) []string {
	var out []string
	for _, s := range voters(c.configuration()) {
		if id, _ := identity.Split(s.ID); id != gone && id != c.cfg.ID {
			out = append(out, id)
		}
	}
	return out
}

// hearOthers waits for the others' notes after the leader's end, which say where their logs end. Nobody wins without
// a majority: who has not heard one waits longer, since another that is a moment late may have the longer log.
func (c *Cluster) hearOthers(gone string, term uint64, start time.Time) {
	for {
		heard := c.peer.Heard()
		others := c.others(gone)
		fresh := 0
		for _, id := range others {
			if p, at, ok := c.told(id); ok && (p.ended(term) || p.Hears && at.After(start)) {
				fresh++
			}
		}
		most := crashListen
		if voters := len(others) + 2; fresh+1 <= voters/2 {
			most = crashSettle
		}
		left := time.Until(start.Add(most))
		if fresh == len(others) || left <= 0 || c.ctx.Err() != nil {
			return
		}
		c.hear(heard, left)
	}
}

// shorter compares where logs end.
func (p position) shorter(q position) bool {
	return p.LastTerm < q.LastTerm || p.LastTerm == q.LastTerm && p.LastIndex < q.LastIndex
}

// ended says that a replica's log gets nothing more from the leader of a term that is gone.
func (p position) ended(term uint64) bool { return p.Gone == term || p.Term > term }

// hear waits for the next note, at most d.
func (c *Cluster) hear(heard <-chan struct{}, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-heard:
	case <-t.C:
	case <-c.ctx.Done():
	}
}

// refuted says that the one which is taken for gone has told since the proof that it leads in this very term: the
// proof was of an earlier process of it, or a firewall's. It is believed again. Without that this replica would say
// until the next term that it is gone, and that it hears no leader.
func (c *Cluster) refuted(id string, term uint64, start time.Time) bool {
	if !c.hearsStill(id, term, start) {
		return false
	}
	c.crash.mu.Lock()
	defer c.crash.mu.Unlock()
	if c.crash.term == term {
		c.crash.term = 0
	}
	return true
}

// doubted says that another voter has told, since the proof, that it still hears this leader: then the
// proof may be a firewall's, and raft's own timers decide.
func (c *Cluster) doubted(gone string, term uint64, start time.Time) bool {
	return slices.ContainsFunc(c.others(gone), func(id string) bool { return c.hearsStill(id, term, start) })
}

// hearsStill says that a replica has told, since the proof, that it leads in a term or hears that term's leader.
func (c *Cluster) hearsStill(id string, term uint64, start time.Time) bool {
	p, at, ok := c.told(id)
	return ok && at.After(start) && p.Hears && p.Term == term
}

// order is the voters that are heard from, this one too: the longest log first. Of one that has not told its end for
// good it is taken that its log is no shorter than ours, so that two who have not heard each other agree who is first.
func (c *Cluster) order(gone string, term uint64) []string {
	type candidate struct {
		id string
		p  position
	}
	var mine position
	mine.LastIndex, mine.LastTerm = c.stores.Logs.Tail()
	all := []candidate{{c.cfg.ID, mine}}
	for _, id := range c.others(gone) {
		p, at, ok := c.told(id)
		if !ok || time.Since(at) >= 2*time.Second {
			continue
		}
		if !p.ended(term) && p.shorter(mine) {
			p = mine
		}
		all = append(all, candidate{id, p})
	}
	sort.Slice(all, func(i, j int) bool {
		a, b := all[i], all[j]
		return b.p.shorter(a.p) || !a.p.shorter(b.p) && a.id < b.id
	})
	ids := make([]string, len(all))
	for i, x := range all {
		ids[i] = x.id
	}
	return ids
}

// urge tells another voter to stand at once, as a leader does that hands over. Who has the shorter log cannot
// win: to stand again and again would only end the other's elections, and that one may have no proof, or may
// have won, have been deposed by a try of ours and wait for its timers now.
func (c *Cluster) urge(id string) {
	s, ok := find(c.configuration(), id)
	if !ok {
		return
	}
	c.goRun(func() {
		if err := c.trans.TimeoutNow(s.ID, s.Address, &raft.TimeoutNowRequest{RPCHeader: c.header()}, &raft.TimeoutNowResponse{}); err != nil {
			c.log.Debug("a voter could not be told to stand", "replica", id, "error", err)
		}
	})
}

// stand starts an election here at once. Raft takes TimeoutNow only as a follower; a candidate that lost
// is made one first by a vote request of our own with an empty log and a term above the one it may just
// be about to take: that raises the term and gets no vote.
func (c *Cluster) stand() {
	in := c.current()
	point.Hit(point.CrashStand)
	if in.raft.State() == raft.Candidate {
		c.wire.Inject(&raft.RequestVoteRequest{RPCHeader: c.header(), Term: in.raft.CurrentTerm() + 2}, c.ctx.Done())
	}
	if in.raft.State() == raft.Follower {
		c.wire.Inject(&raft.TimeoutNowRequest{RPCHeader: c.header()}, c.ctx.Done())
	}
}

// watchNotes answers those who believe the leader gone, when this replica still hears it.
func (c *Cluster) watchNotes() {
	for {
		heard := c.peer.Heard()
		c.answerDoubt()
		select {
		case <-heard:
		case <-c.ctx.Done():
			return
		}
	}
}

// answerDoubt nudges at most once per retry pause.
func (c *Cluster) answerDoubt() {
	term := c.Term()
	for _, s := range c.configuration().Servers {
		if c.positionOf(s.ID).Gone != term || term == 0 {
			continue
		}
		mine, _ := decodePosition(c.note())
		c.crash.mu.Lock()
		due := mine.Hears && time.Since(c.crash.answer) >= crashRetry
		if due {
			c.crash.answer = time.Now()
		}
		c.crash.mu.Unlock()
		if due {
			c.peer.Nudge()
		}
		return
	}
}
