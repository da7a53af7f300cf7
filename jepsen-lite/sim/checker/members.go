package checker

import (
	"slices"
	"strings"

	"github.com/hashicorp/raft"

	"rmd/jepsen-lite/history"
)

// Configured is called after a replica has applied a membership. It checks S14: all replicas have
// the same membership at an index, and consecutive memberships differ by at most one voter, so that
// their majorities overlap.
func (c *Checker) Configured(id string, index uint64, conf raft.Configuration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.replicaLine(id, history.Config)
	l.Index = index
	l.Voters, l.Nonvoters = membersOf(conf)
	c.record(l)
	if have, ok := c.confs[index]; ok {
		if !slices.Equal(have.Servers, conf.Servers) {
			c.violate("S14: %s has the membership %v at index %d, another replica had %v", id, conf.Servers, index, have.Servers)
		}
		return
	}
	if last, ok := c.confs[c.confAt]; ok && index > c.confAt {
		if n := votersChanged(last, conf); n > 1 {
			c.violate("S14: %d votes change between the memberships of index %d and %d: %v, %v", n, c.confAt, index,
				last.Servers, conf.Servers)
		}
	}
	c.confs[index] = conf.Clone()
	if index > c.confAt {
		c.confAt = index
		c.counts.Members++
		c.write("the membership of index %d is %v", index, conf.Servers)
	}
}

// IsVoter reports whether a membership has a server as a voter.
func IsVoter(conf raft.Configuration, server string) bool {
	return slices.ContainsFunc(conf.Servers,
		func(s raft.Server) bool { return string(s.ID) == server && s.Suffrage == raft.Voter })
}

// votersChanged counts the voters that are in only one of two memberships.
func votersChanged(a, b raft.Configuration) int {
	n := 0
	for _, s := range a.Servers {
		if s.Suffrage == raft.Voter && !IsVoter(b, string(s.ID)) {
			n++
		}
	}
	for _, s := range b.Servers {
		if s.Suffrage == raft.Voter && !IsVoter(a, string(s.ID)) {
			n++
		}
	}
	return n
}

// Voted is called after a replica has granted its vote. It checks S14: a replica grants one vote in
// a term, also across restarts.
func (c *Checker) Voted(term uint64, voter, candidate string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.votes[term] == nil {
		c.votes[term] = map[string]string{}
	}
	if who, ok := c.votes[term][voter]; ok && who != candidate {
		c.violate("S14: %s votes for %s and for %s in term %d", voter, who, candidate, term)
	}
	c.votes[term][voter] = candidate
	c.reach(voter, 0, term)
	c.counts.Votes++
	id, _, _ := strings.Cut(voter, ".")
	to, _, _ := strings.Cut(candidate, ".")
	l := c.replicaLine(id, history.Vote)
	l.Term, l.For = term, to
	c.record(l)
}

// Elected checks that a leader has the votes of a majority. The membership that counts is the
// newest one on the leader's disk, or the one before if the leader has already begun a change.
func (c *Checker) Elected(term uint64, leader string, now, before raft.Configuration) {
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
		c.violate("S14: %s leads term %d with the votes %v, which are no majority of %v", leader, term,
			c.votes[term], now.Servers)
	}
}

// Achieved counts a completed operation or fault by name.
func (c *Checker) Achieved(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done[what]++
}

// Shown returns the highest index that a client has seen. Every read that begins from now on must
// return at least this index (S13).
func (c *Checker) Shown() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.floor
}

// Read is called after a client has read the state of an index. It checks S13. floor is the index
// that clients had seen before the read began; digest is the digest of the state that the client
// got.
func (c *Checker) Read(id, kind string, floor, index, digest uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts.Reads++
	if index < floor {
		c.violate("S13: a %s read at %s shows index %d, and %d was shown before it began", kind, id, index, floor)
	}
	if e, ok := c.entries[index]; ok && e.digest != digest {
		c.violate("S13: a %s read at %s says that it is of index %d and shows another state", kind, id, index)
	}
	if kind == ReadLinear {
		c.floor = max(c.floor, index)
	}
}

// The kinds of reads.
const (
	ReadLinear = "linearizable"
	ReadStale  = "stale"
)
