package check

import (
	"cmp"
	"fmt"
	"slices"

	"rmd/jepsen-lite/history"
	"rmd/jepsen-lite/model"
)

// reads searches, for each object, an order of operations that explains all answers: S13.
func (j *judge) reads() {
	f := j.found["S13"]
	f.Unit = "operations"
	for _, p := range model.Parts(j.calls, model.Options{Autopilot: j.opt.Autopilot}) {
		f.Checked += uint64(p.Size())
		res := p.Check(j.opt.Search)
		switch {
		case res.Undecided:
			f.Undecided++
			f.Why = res.Text
		case !res.Legal:
			var chain []Link
			for _, c := range res.Calls {
				chain = append(chain, callLink(c, describe(c)))
			}
			var ns int64
			if n := len(res.Calls); n > 0 {
				ns = res.Calls[n-1].Return
			}
			f.fail(ns, last(chain), "%s", res.Text)
		}
	}
	f.Figure = fmt.Sprintf("undecided %d", f.Undecided)
}

// chainMax is the maximum length of a chain.
const chainMax = 40

func last(chain []Link) []Link { return chain[max(0, len(chain)-chainMax):] }

// sessions checks the indexes in answers: S13. The index of a linearizable read is at least the
// index of every answer before its call. A stale read does not go back within its session, has no
// index that no replica has applied, and shows the state at its index.
func (j *judge) sessions() {
	if j.renewed {
		return
	}
	var ends []history.Call
	for _, c := range j.calls {
		if c.Type == history.OK && c.Out.Index != 0 {
			ends = append(ends, c)
		}
	}
	j.recent(ends)
	sessions := map[string]history.Call{} // the newest answer of each session
	slices.SortStableFunc(ends, func(a, b history.Call) int { return cmp.Compare(a.Return, b.Return) })
	for _, c := range ends {
		if c.In.Stale {
			j.stale(sessions, c)
		}
	}
}

// recent checks linearizable reads against the answers before them.
func (j *judge) recent(ends []history.Call) {
	f := j.found["S13"]
	returns := slices.Clone(ends)
	slices.SortStableFunc(returns, func(a, b history.Call) int { return cmp.Compare(a.Return, b.Return) })
	var newest history.Call
	newest.Out = &history.Value{}
	next := 0
	for _, c := range ends { // in the order of invocation
		for ; next < len(returns) && returns[next].Return < c.NS; next++ {
			if returns[next].Out.Index > newest.Out.Index {
				newest = returns[next]
			}
		}
		if !c.F.Reads() || c.In.Stale {
			continue
		}
		f.Checked++
		if c.Out.Index < newest.Out.Index {
			f.fail(c.Return, []Link{callLink(newest, describe(newest)), callLink(c, describe(c))},
				"%s has index %d, but an earlier answer had index %d", describe(c), c.Out.Index, newest.Out.Index)
		}
	}
}

func (j *judge) stale(sessions map[string]history.Call, c history.Call) {
	f := j.found["S13"]
	f.Checked++
	id := c.In.Session
	if id == "" {
		id = fmt.Sprintf("%s/%d", c.Client, c.Process)
	}
	was, again := sessions[id]
	if again && was.Return <= c.NS && c.Out.Index < was.Out.Index {
		f.fail(c.Return, []Link{callLink(was, describe(was)), callLink(c, describe(c))},
			"session %s goes back from index %d to %d", id, was.Out.Index, c.Out.Index)
	}
	if !again || c.Out.Index >= was.Out.Index {
		sessions[id] = c
	}
	if head := j.headAt(c.Return); j.opt.Exact && head != 0 && c.Out.Index > head {
		f.fail(c.Return, []Link{callLink(c, describe(c))}, "%s has index %d, but no replica had applied more than %d",
			describe(c), c.Out.Index, head)
	}
	if c.F == history.ReadApp && j.log != nil && c.Out.Index <= j.log.Index() {
		j.honest(c)
	}
}

// honest compares a stale read of an application with the log at its index.
func (j *judge) honest(c history.Call) {
	a, ok := j.log.App(c.In.App)
	if !ok {
		return
	}
	t, there := a.At(c.Out.Index)
	shown := c.Out.State
	if there && (shown == t.State.String() || shown == "FINISHED" && !t.State.Ended()) {
		return
	}
	want := "not yet submitted"
	if there {
		want = t.State.String()
	}
	j.found["S13"].fail(c.Return, []Link{callLink(c, describe(c)),
		{NS: j.timeOf(t.Index), Lane: "log", Index: t.Index, Text: fmt.Sprintf("%s is %s", c.In.App, want)}},
		"%s shows %s, but at its index %d the log makes it %s", describe(c), shown, c.Out.Index, want)
}
