package check

import (
	"fmt"
	"slices"

	"rmd/jepsen-lite/history"
)

// roster has the committed memberships and the votes.
type roster struct {
	configs []config           // by index
	votes   map[uint64][]*vote // by term
}

type config struct {
	index            uint64
	voters, nonvoter []string
	who              string
	ns               int64
}

type vote struct {
	who, to, disk string
	ns            int64
}

func newRoster() roster { return roster{votes: map[uint64][]*vote{}} }

// config records a committed membership and checks S14: it is the same on every replica, and every
// majority of it has a replica in common with every majority of its neighbors.
func (s *Streams) config(r *replica, e *history.Replica) {
	f := s.found["S14"]
	f.Unit = "changes"
	c := config{index: e.Index, voters: slices.Sorted(slices.Values(e.Voters)),
		nonvoter: slices.Sorted(slices.Values(e.Nonvoters)), who: e.ID, ns: e.NS}
	r.learn(e, slices.Contains(c.voters, e.ID) || slices.Contains(c.nonvoter, e.ID))
	i, known := slices.BinarySearchFunc(s.roster.configs, c.index, func(c config, index uint64) int {
		switch {
		case c.index < index:
			return -1
		case c.index > index:
			return 1
		}
		return 0
	})
	if known {
		if have := s.roster.configs[i]; !slices.Equal(have.voters, c.voters) || !slices.Equal(have.nonvoter, c.nonvoter) {
			f.fail(e.NS, []Link{have.link(), c.link()}, "the voters at index %d are %v on %s, but %v on %s", c.index,
				have.voters, have.who, c.voters, e.ID)
		}
		return
	}
	f.Checked++
	s.roster.configs = slices.Insert(s.roster.configs, i, c)
	if i > 0 {
		s.checkOverlap(f, s.roster.configs[i-1], c)
	}
	if i+1 < len(s.roster.configs) {
		s.checkOverlap(f, c, s.roster.configs[i+1])
	}
}

// learn records what a replica knows of its own membership. After a restart or while it catches up,
// a replica reads old memberships again; learn ignores them.
func (r *replica) learn(e *history.Replica, member bool) {
	if e.Index < r.configured {
		return
	}
	r.configured = e.Index
	switch {
	case member:
		r.member, r.removed = true, false
	case r.member:
		r.member, r.removed, r.removedNS, r.removedIndex = false, true, e.NS, e.Index
	}
}

func (c config) link() Link {
	return Link{NS: c.ns, Lane: c.who, Index: c.index, Text: "the voters are " + list(c.voters)}
}

func list(names []string) string {
	out := ""
	for i, n := range names {
		if i > 0 {
			out += ", "
		}
		out += n
	}
	return out
}

// checkOverlap checks that a majority of one membership and a majority of the next always have a
// replica in common.
func (s *Streams) checkOverlap(f *Finding, a, b config) {
	if len(a.voters) == 0 || len(b.voters) == 0 || !disjoint(a.voters, b.voters) {
		return
	}
	f.fail(b.ns, []Link{a.link(), b.link()},
		"a majority of %v (index %d) and a majority of %v (index %d) may have no replica in common", a.voters, a.index,
		b.voters, b.index)
}

// disjoint reports whether a and b can have disjoint majorities. Each majority first takes the
// replicas that only its own list has. The shared replicas must then suffice for the rest of both.
func disjoint(a, b []string) bool {
	shared := 0
	for _, x := range a {
		if slices.Contains(b, x) {
			shared++
		}
	}
	left := max(0, len(a)/2+1-(len(a)-shared)) + max(0, len(b)/2+1-(len(b)-shared))
	return left <= shared
}

// vote records a vote and checks S14: a replica that knows of its removal votes no more. It also
// checks S2: no replica votes twice in a term on the same disk.
func (s *Streams) vote(r *replica, e *history.Replica) {
	f := s.found["S14"]
	f.Unit = "changes"
	to := e.For
	if to == "" {
		to = e.ID
	}
	v := &vote{who: e.ID, to: to, disk: r.disk, ns: e.NS}
	if r.removed {
		f.fail(e.NS, []Link{{NS: r.removedNS, Lane: e.ID, Index: r.removedIndex, Text: e.ID + " learns that it is removed"},
			link(e, "%s votes for %s in term %d", e.ID, to, e.Term)},
			"%s was removed at index %d but votes for %s in term %d", e.ID, r.removedIndex, to, e.Term)
	}
	for _, o := range s.roster.votes[e.Term] {
		if o.who == v.who && o.disk == v.disk && o.to != v.to {
			s.found["S2"].fail(e.NS, []Link{{NS: o.ns, Lane: o.who, Text: o.who + " votes for " + o.to},
				link(e, "%s votes for %s in term %d", e.ID, to, e.Term)},
				"%s votes twice in term %d: for %s and for %s", e.ID, e.Term, o.to, to)
			return
		}
	}
	s.roster.votes[e.Term] = append(s.roster.votes[e.Term], v)
}

// member reports whether the newest membership contains a replica. If the history has no
// memberships, every replica is a member.
func (s *Streams) member(id string) bool {
	n := len(s.roster.configs)
	if n == 0 {
		return true
	}
	last := s.roster.configs[n-1]
	return slices.Contains(last.voters, id) || slices.Contains(last.nonvoter, id)
}

// election is the begin of a leadership.
type election struct {
	who  string
	term uint64
	ns   int64
	age  int
}

// count checks every leadership against the votes for it, if the history has votes: S14. The votes
// must include a majority of the voters of one membership: the one in force, the one before it, or
// the one after it, which the leader may have used before it was committed. Other votes do not
// count.
func (s *Streams) count() {
	f := s.found["S14"]
	for _, e := range s.elections {
		votes := s.roster.votes[e.term]
		if e.age != s.age || len(votes) == 0 || len(s.roster.configs) == 0 {
			continue
		}
		f.Checked++
		in := s.inForce(e.ns)
		if slices.ContainsFunc(in, func(c config) bool { return majority(c, e, votes) }) {
			continue
		}
		chain := []Link{in[0].link()}
		for _, v := range votes {
			if v.to == e.who {
				chain = append(chain, Link{NS: v.ns, Lane: v.who, Text: v.who + " votes for " + v.to})
			}
		}
		chain = append(chain, Link{NS: e.ns, Lane: e.who, Text: fmt.Sprintf("%s leads term %d", e.who, e.term)})
		f.fail(e.ns, chain, "%s leads term %d without votes of a majority of the voters %v", e.who, e.term, in[0].voters)
	}
	s.elections = nil
}

// inForce returns the last membership that was committed at a time, and its neighbors.
func (s *Streams) inForce(ns int64) []config {
	all, last := s.roster.configs, 0
	for i, c := range all {
		if c.ns <= ns {
			last = i
		}
	}
	out := []config{all[last]}
	if last > 0 {
		out = append(out, all[last-1])
	}
	if last+1 < len(all) {
		out = append(out, all[last+1])
	}
	return out
}

// majority reports whether the voters of a membership gave a leader a majority. The leader's own
// vote counts.
func majority(c config, e election, votes []*vote) bool {
	n := 0
	for _, who := range c.voters {
		if who == e.who || slices.ContainsFunc(votes, func(v *vote) bool { return v.who == who && v.to == e.who }) {
			n++
		}
	}
	return n > len(c.voters)/2
}
