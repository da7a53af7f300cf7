package sim

import (
	"slices"
	"strings"

	"github.com/hashicorp/raft"

	"rmd/jepsen-lite/history"
)

// configured tells that a replica has applied a membership: S1 for it, and S14: two
// that follow each other differ by one voter at most, so their majorities meet.
func (c *checker) configured(id string, index uint64, conf raft.Configuration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.replicaLine(id, history.Config)
	l.Index = index
	l.Voters, l.Nonvoters = membersOf(conf)
	c.record(l)
	if have, ok := c.confs[index]; ok {
		if !slices.Equal(have.Servers, conf.Servers) {
			c.bad("S14: %s has the membership %v at index %d, another replica had %v", id, conf.Servers, index, have.Servers)
		}
		return
	}
	if last, ok := c.confs[c.confAt]; ok && index > c.confAt {
		if n := votersChanged(last, conf); n > 1 {
			c.bad("S14: %d votes change between the memberships of index %d and %d: %v, %v", n, c.confAt, index, last.Servers, conf.Servers)
		}
	}
	c.confs[index] = conf.Clone()
	if index > c.confAt {
		c.confAt = index
		c.counts.members++
		c.write("the membership of index %d is %v", index, conf.Servers)
	}
}

func isVoter(conf raft.Configuration, server string) bool {
	return slices.ContainsFunc(conf.Servers, func(s raft.Server) bool { return string(s.ID) == server && s.Suffrage == raft.Voter })
}

// votersChanged counts who has a vote in one of two memberships only.
func votersChanged(a, b raft.Configuration) int {
	n := 0
	for _, s := range a.Servers {
		if s.Suffrage == raft.Voter && !isVoter(b, string(s.ID)) {
			n++
		}
	}
	for _, s := range b.Servers {
		if s.Suffrage == raft.Voter && !isVoter(a, string(s.ID)) {
			n++
		}
	}
	return n
}

// voted tells that a replica has given its vote: once in a term, over restarts too.
func (c *checker) voted(term uint64, voter, candidate string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.votes[term] == nil {
		c.votes[term] = map[string]string{}
	}
	if who, ok := c.votes[term][voter]; ok && who != candidate {
		c.bad("S14: %s votes for %s and for %s in term %d", voter, who, candidate, term)
	}
	c.votes[term][voter] = candidate
	c.reach(voter, 0, term)
	c.counts.votes++
	id, _, _ := strings.Cut(voter, ".")
	to, _, _ := strings.Cut(candidate, ".")
	l := c.replicaLine(id, history.Vote)
	l.Term, l.For = term, to
	c.record(l)
}

// elected holds a leader against the votes that were given in its term: a majority
// of the voters of the membership it stood in. That is the newest it has, or the
// one before, when it has begun a change already.
func (c *checker) elected(term uint64, leader string, now, before raft.Configuration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	enough := func(conf raft.Configuration) bool {
		have, all := 0, 0
		for _, s := range conf.Servers {
			if s.Suffrage != raft.Voter {
				continue
			}
			all++
			if string(s.ID) == leader || c.votes[term][string(s.ID)] == leader {
				have++
			}
		}
		return all > 0 && have > all/2
	}
	if !enough(now) && !enough(before) {
		c.bad("S14: %s leads term %d with the votes %v, which are no majority of %v", leader, term, c.votes[term], now.Servers)
	}
}

// achieved counts something by name.
func (c *checker) achieved(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done[what]++
}

// shown is the index that everybody who reads from now on must reach: S13.
func (c *checker) shown() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.floor
}

// read tells that a client has read the state of an index, and what was shown to
// somebody before it asked; digest is the state's own.
func (c *checker) read(id, kind string, floor, index, digest uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts.reads++
	if index < floor {
		c.bad("S13: a %s read at %s shows index %d, and %d was shown before it began", kind, id, index, floor)
	}
	if e, ok := c.entries[index]; ok && e.digest != digest {
		c.bad("S13: a %s read at %s says that it is of index %d and shows another state", kind, id, index)
	}
	if kind == readLinear {
		c.floor = max(c.floor, index)
	}
}

// The kinds of reads.
const (
	readLinear = "linearizable"
	readStale  = "stale"
)
