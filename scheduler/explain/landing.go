package explain

import (
	"cmp"
	"slices"

	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/scheduler/placement"
)

// Landings compares where the applications of a state would go, if they were submitted again as they
// were, with another configuration and with the one in force.
type Landings struct {
	Apps      int       `json:"apps"`      // looked at, with those that have ended
	Elsewhere int       `json:"elsewhere"` // of them, that would go to another queue or be refused
	Complete  bool      `json:"complete"`  // false: the time for the answer ended before all were looked at
	Moves     []Landing `json:"moves,omitempty"`
}

// Landing is the applications of a user that would go from one queue to another; at most 100 are listed,
// the largest first.
type Landing struct {
	User string `json:"user"`
	From string `json:"from,omitempty"` // empty: the submission would be refused now
	To   string `json:"to,omitempty"`   // empty: it would be refused then
	Apps int    `json:"apps"`
}

const landings = 100 // listed

// CompareLandings asks submission how each application was submitted. Stop is asked now and then
// whether to end early.
func CompareLandings(st *state.State, from, to *capacity.Config, submission func(slot uint32, a *state.App) placement.Submission, stop func() bool) *Landings {
	out := &Landings{Complete: true}
	moves := map[Landing]int{}
	st.Apps.Each(func(slot uint32, a *state.App) bool {
		if out.Apps%stopEvery == 0 && stop() {
			out.Complete = false
			return false
		}
		out.Apps++
		s := submission(slot, a)
		if m := (Landing{User: s.User, From: land(from, s), To: land(to, s)}); m.From != m.To {
			out.Elsewhere++
			moves[m]++
		}
		return true
	})
	for m, n := range moves { // sorted below
		m.Apps = n
		out.Moves = append(out.Moves, m)
	}
	slices.SortFunc(out.Moves, func(a, b Landing) int {
		return cmp.Or(cmp.Compare(b.Apps, a.Apps), cmp.Compare(a.User, b.User), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	out.Moves = out.Moves[:min(len(out.Moves), landings)]
	return out
}

// land is the leaf that a submission goes to; empty if it is refused.
func land(c *capacity.Config, s placement.Submission) string {
	placed := c.Place(s)
	if placed.Rejected || placed.Create {
		return placed.Queue
	}
	i, err := c.Lookup(cmp.Or(placed.Queue, s.Queue, "default"))
	if err != nil || !c.Queues[i].Leaf {
		return ""
	}
	return c.Queues[i].Path
}

// SubmissionOf is how an application was submitted, as far as the state says. Where no rule placed it, its
// client is taken to have named its queue, unless that is root.default.
func SubmissionOf(st *state.State, slot uint32, a *state.App) placement.Submission {
	d := a.Details()
	s := placement.Submission{User: st.NameOf(a.User), Application: d.Name, Tags: d.Tags}
	if queue := st.Queues.Get(a.Queue).Path; st.PlacementOf(slot) == nil && queue != "root.default" {
		s.Queue = queue
	}
	return s
}
