package explain

import (
	"cmp"
	"slices"

	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/scheduler/placement"
)

// Landings compares where two configurations place the applications of a state, if they were
// submitted again in the same way: another configuration, and the current one.
type Landings struct {
	Apps      int       `json:"apps"`      // examined, including ended ones
	Elsewhere int       `json:"elsewhere"` // of them, those that would go to another queue or be refused
	Complete  bool      `json:"complete"`  // false: the time limit ended the comparison early
	Moves     []Landing `json:"moves,omitempty"`
}

// Landing is the applications of a user that would go to another queue than now. At most 100 are
// listed, the largest first.
type Landing struct {
	User string `json:"user"`
	From string `json:"from,omitempty"` // empty: the current configuration would refuse the submission
	To   string `json:"to,omitempty"`   // empty: the other configuration would refuse it
	Apps int    `json:"apps"`
}

const landings = 100 // at most so many are listed

// CompareLandings compares two configurations. submission returns how an application was submitted.
// CompareLandings calls stop regularly and ends early if it returns true.
func CompareLandings(st *state.State, from, to *capacity.Config,
	submission func(slot state.AppSlot, a *state.App) placement.Submission, stop func() bool) *Landings {
	out := &Landings{Complete: true}
	moves := map[Landing]int{}
	st.Apps.Each(func(slot state.AppSlot, a *state.App) bool {
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
	for m, n := range moves { // the result is sorted below
		m.Apps = n
		out.Moves = append(out.Moves, m)
	}
	slices.SortFunc(out.Moves, func(a, b Landing) int {
		return cmp.Or(cmp.Compare(b.Apps, a.Apps), cmp.Compare(a.User, b.User), cmp.Compare(a.From, b.From),
			cmp.Compare(a.To, b.To))
	})
	out.Moves = out.Moves[:min(len(out.Moves), landings)]
	return out
}

// land returns the queue into which a submission is placed, or "" if it is refused.
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

// SubmissionOf reconstructs how an application was submitted. If no rule placed it, it assumes that
// the client named the queue, unless that is root.default.
func SubmissionOf(st *state.State, slot state.AppSlot, a *state.App) placement.Submission {
	d := a.Details()
	s := placement.Submission{User: st.Names.Text(a.User), Application: d.Name, Tags: d.Tags}
	if queue := st.Queues.Get(a.Queue).Path; st.Placements.Of(slot) == nil && queue != "root.default" {
		s.Queue = queue
	}
	return s
}
