package model

import (
	"slices"
	"strings"

	"github.com/anishathalye/porcupine"

	"rmd/jepsen-lite/history"
)

// Roles of a member in a roster. A member that joins as a voter is a non-voter until it has caught
// up.
const (
	voter    = "v"
	nonvoter = "n"
	joining  = "j"
)

// roster is the list of members as text, because porcupine compares states with ==: "r1 v,r2 n". It
// is "?" before the first read.
type roster string

const unread roster = "?"

func members(calls []history.Call, opt Options) []Part {
	p := Part{Kind: "members", Name: "cluster", model: membersModel, facts: facts{autopilot: opt.Autopilot}}
	for i := range calls {
		c := &calls[i]
		switch c.F {
		case history.Join, history.Promote, history.Remove, history.ReadMembers:
			if counts(c) {
				p.calls = append(p.calls, *c)
			}
		}
	}
	if len(p.calls) == 0 {
		return nil
	}
	return []Part{p}
}

var membersModel = porcupine.Model{
	Init: func() any { return unread },
	Step: func(state, input, output any) (bool, any) {
		s, in, out := state.(roster), input.(step), output.(answer)
		if in.f == history.ReadMembers {
			ok, next := s.read(out.out.Members, in.facts.autopilot)
			return ok, next
		}
		if s == unread {
			return true, s
		}
		ok, next := s.change(in, out)
		return ok || !out.known, next
	},
}

func (r roster) split() map[string]string {
	out := map[string]string{}
	for _, m := range strings.Split(string(r), ",") {
		if id, role, ok := strings.Cut(m, " "); ok {
			out[id] = role
		}
	}
	return out
}

func rosterOf(members map[string]string) roster {
	var out []string
	for id, role := range members { // sorted below
		out = append(out, id+" "+role)
	}
	slices.Sort(out)
	return roster(strings.Join(out, ","))
}

func (r roster) change(in step, out answer) (bool, roster) {
	m := r.split()
	id := in.in.Replica
	role, there := m[id]
	if out.missing {
		return !there, r
	}
	switch in.f {
	case history.Join:
		switch {
		case in.in.Voter && role != voter:
			m[id] = joining
		case !there:
			m[id] = nonvoter
		}
	case history.Promote:
		if !there {
			return false, r
		}
		m[id] = voter
	case history.Remove:
		delete(m, id)
	}
	return true, rosterOf(m)
}

// read compares a list with the roster. Some changes need no operation: a joining member becomes a
// voter, and the autopilot promotes members and removes dead ones.
func (r roster) read(list []history.Member, autopilot bool) (bool, roster) {
	seen := map[string]string{}
	for _, m := range list {
		seen[m.ID] = nonvoter
		if m.Voter {
			seen[m.ID] = voter
		}
	}
	if r == unread {
		return true, rosterOf(seen)
	}
	m := r.split()
	for id, role := range seen {
		was, there := m[id]
		grows := role == voter && (was == joining || autopilot)
		if !there || (was != role && !grows && was != joining) {
			return false, r
		}
		if was == joining && role == nonvoter {
			seen[id] = joining
		}
	}
	if len(seen) < len(m) && !autopilot {
		return false, r
	}
	return true, rosterOf(seen)
}
