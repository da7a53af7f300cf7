package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"rmd/jepsen-lite/history"
	"rmd/jepsen-lite/ledger"
)

// clients compares the answers to clients with the log. S4: acknowledged writes stay. S5: a write
// with an unknown outcome happened completely or not at all.
func (j *judge) clients() {
	f := j.found["S4"]
	f.Unit = "acks"
	if j.renewed {
		f.Why = "a restore or recovery replaced the log, which may lose acknowledged writes"
	} else {
		if j.log != nil {
			for _, c := range j.calls {
				if c.Type == history.OK {
					j.checkDurable(c)
				}
			}
		}
		j.listed()
	}
	j.keys()
	j.checkSubmissions()
}

// failLost reports a violation of S4: what the client was told, and what there is.
func (j *judge) failLost(c history.Call, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	j.found["S4"].fail(c.Return, []Link{callLink(c, fmt.Sprintf("%s is acknowledged", describe(c))),
		{Lane: "log", NS: c.Return, Text: text}},
		"%s was acknowledged, but %s", describe(c), text)
}

// checkDurable compares one acknowledgement with the log.
func (j *judge) checkDurable(c history.Call) {
	f := j.found["S4"]
	switch c.F {
	case history.Submit:
		f.Checked++
		a, ok := j.log.App(c.Out.App)
		switch {
		case !ok:
			j.failLost(c, "the log has no %s", c.Out.App)
		case c.In.Name != "" && a.Name != c.In.Name:
			j.failLost(c, "%s is %q in the log", c.Out.App, a.Name)
		default:
			j.inTime(c, a.Transitions[0].Index)
		}
	case history.Kill, history.Finish:
		f.Checked++
		id := c.In.App
		if id == "" {
			id = history.AppOf(c.In.Attempt)
		}
		a, ok := j.log.App(id)
		switch {
		case !ok:
			j.failLost(c, "the log has no %s", id)
		case a.Ended != 0:
			j.inTime(c, a.Ended)
		case !a.Finishing:
			j.failLost(c, "%s is %s", id, a.State)
		}
	case history.Move, history.Prioritize:
		f.Checked++
		j.changed(c)
	case history.CancelReservation:
		f.Checked++
		switch ended, ok := j.log.Reservation(c.In.Reservation); {
		case !ok:
			j.failLost(c, "the log has no %s", c.In.Reservation)
		case ended == 0:
			j.failLost(c, "%s is held", c.In.Reservation)
		default:
			j.inTime(c, ended)
		}
	case history.Allocate:
		j.granted(c)
		j.releases(c, c.In.Containers)
	case history.Release:
		j.releases(c, c.In.Containers)
	case history.Complete:
		for _, id := range c.In.Containers {
			if x, ok := j.log.Container(id); ok {
				f.Checked++
				if x.Completed == 0 {
					j.failLost(c, "%s still counts on %s", id, x.Node)
				}
			}
		}
	}
}

// changed checks that a change of an application is in the log. A later change may have replaced
// it.
func (j *judge) changed(c history.Call) {
	a, ok := j.log.App(c.In.App)
	if !ok {
		j.failLost(c, "the log has no %s", c.In.App)
		return
	}
	if c.F == history.Move {
		if !slices.ContainsFunc(a.Transitions, func(t ledger.Transition) bool { return named(t.Queue, c.In.Queue) }) {
			j.failLost(c, "%s was never in %s", c.In.App, c.In.Queue)
		}
		return
	}
	want := c.Out.Text // the planner may have lowered the requested priority
	if want != "" && !slices.ContainsFunc(a.Priorities,
		func(p ledger.Priority) bool { return fmt.Sprint(p.Priority) == want }) {
		j.failLost(c, "%s never had priority %s", c.In.App, want)
	}
}

// named reports whether name is a queue's path or the last part of it.
func named(path, name string) bool { return path == name || strings.HasSuffix(path, "."+name) }

func (j *judge) granted(c history.Call) {
	for _, g := range c.Out.Granted {
		j.found["S4"].Checked++
		x, ok := j.log.Container(g.Container)
		switch {
		case !ok:
			j.failLost(c, "the log has no %s", g.Container)
		case g.Node != "" && x.Node.String() != g.Node:
			j.failLost(c, "%s is on %s in the log, but the AM was told %s", g.Container, x.Node, g.Node)
		case g.MemoryMB != 0 && x.Size[0] != g.MemoryMB:
			j.failLost(c, "%s has %s in the log, but the AM was told %dMB", g.Container, x.Size, g.MemoryMB)
		default:
			j.inTime(c, x.Made)
		}
	}
}

func (j *judge) releases(c history.Call, ids []string) {
	for _, id := range ids {
		if x, ok := j.log.Container(id); ok {
			j.found["S4"].Checked++
			if x.Live {
				j.failLost(c, "%s is still alive", id)
			}
		}
	}
}

// inTime checks that an answer left after its entry was applied, and that its index is not lower
// than the entry's.
func (j *judge) inTime(c history.Call, index uint64) {
	switch t := j.timeOf(index); {
	case c.Out.Index != 0 && c.Out.Index < index:
		j.failLost(c, "its answer has index %d and its entry has index %d", c.Out.Index, index)
	case j.opt.Exact && t > c.Return:
		j.failLost(c, "no replica applied its entry %d until %d ns later", index, t-c.Return)
	}
}

// listed compares lists and the final reads with the submissions that were acknowledged before.
// Only the log says which applications were forgotten. Without the log, listed checks only final
// lists.
func (j *judge) listed() {
	from, final := j.h.MarkAt(history.Final)
	var submits []history.Call // acknowledged, in the order of their answers
	for _, c := range j.calls {
		if c.F == history.Submit && c.Type == history.OK && !j.forgotten(c.Out.App) {
			submits = append(submits, c)
		}
	}
	slices.SortStableFunc(submits, func(a, b history.Call) int { return cmp.Compare(a.Return, b.Return) })
	gone := map[string]history.Call{} // no iteration, so the order does not matter
	for _, c := range j.calls {
		last := final && c.NS >= from
		switch {
		case c.In.Stale:
		case c.F == history.List && c.Type == history.OK && (last || j.log != nil):
			j.list(c, submits)
		case last && c.F == history.ReadApp && c.Type == history.Fail && c.Out.Code == history.NotFound:
			gone[c.In.App] = c
		}
	}
	for _, c := range submits {
		if r, ok := gone[c.Out.App]; ok && c.Return < r.NS {
			j.failLost(c, "a final read at %d ns finds no %s", r.NS, c.Out.App)
		}
	}
}

// list checks that a list contains every submission that was acknowledged before the list was
// requested.
func (j *judge) list(l history.Call, submits []history.Call) {
	names := slices.Sorted(slices.Values(l.Out.Names))
	for _, c := range submits {
		if c.Return >= l.NS {
			return
		}
		j.found["S4"].Checked++
		if _, ok := slices.BinarySearch(names, c.Out.App); !ok {
			j.failLost(c, "the list of %.3f s does not name %s", float64(l.NS)/1e9, c.Out.App)
		}
	}
}

// forgotten reports whether the log forgot an application after its end.
func (j *judge) forgotten(id string) bool {
	if j.log == nil {
		return false
	}
	a, ok := j.log.App(id)
	return ok && a.Forgotten
}

// keys checks that an idempotency key has one meaning. A repetition with the same content gets the
// same answer. A repetition with other content is not accepted.
func (j *judge) keys() {
	f := j.found["S5"]
	first := map[string]history.Call{} // no iteration, so the order does not matter
	for _, c := range j.calls {
		if c.F != history.Submit || c.In.Key == "" || c.Type != history.OK {
			continue
		}
		f.Checked++
		f.Unit = "requests"
		have, ok := first[c.In.Key]
		switch {
		case !ok:
			first[c.In.Key] = c
		case have.Out.App != c.Out.App:
			f.fail(c.Return, []Link{callLink(have, describe(have)), callLink(c, describe(c))}, "request %s created %s and %s",
				c.In.Key, have.Out.App, c.Out.App)
		case have.In.Name != c.In.Name || have.In.Queue != c.In.Queue:
			f.fail(c.Return, []Link{callLink(have, describe(have)), callLink(c, describe(c))},
				"request %s was accepted again with different content", c.In.Key)
		}
	}
}

// checkSubmissions compares submissions with the log by their names, if each request has its own
// name. A request creates at most one application, and none after a refusal.
func (j *judge) checkSubmissions() {
	if j.log == nil {
		return
	}
	f := j.found["S5"]
	made := map[string][]string{} // ids by name
	for _, a := range j.log.Apps() {
		made[a.Name] = append(made[a.Name], a.ID.String())
	}
	byName := map[string][]history.Call{}
	meanings := map[string]string{} // the first name of each key
	shared := map[string]bool{}     // keys that were used again with other content
	var names []string
	for _, c := range j.calls {
		if c.F != history.Submit || c.In.Name == "" {
			continue
		}
		if byName[c.In.Name] == nil {
			names = append(names, c.In.Name)
		}
		byName[c.In.Name] = append(byName[c.In.Name], c)
		if was, ok := meanings[c.In.Key]; ok && was != c.In.Name {
			shared[c.In.Key] = true
		} else {
			meanings[c.In.Key] = c.In.Name
		}
	}
	for _, name := range names {
		calls := byName[name]
		if !oneRequest(calls) {
			continue
		}
		f.Checked++
		f.Unit = "requests"
		ids, last := made[name], calls[len(calls)-1]
		var chain []Link
		for _, c := range calls {
			chain = append(chain, callLink(c, describe(c)))
		}
		if len(ids) > 1 {
			f.fail(last.NS, chain, "%s was submitted once but created %d times: %v", name, len(ids), ids)
		}
		refused := !slices.ContainsFunc(calls, func(c history.Call) bool { return c.Type != history.Fail })
		if refused && len(ids) > 0 {
			f.fail(last.NS, chain, "the submission of %s was refused but is in the log as %s", name, ids[0])
		}
		if !shared[last.In.Key] {
			j.wholly(last, len(ids) > 0, chain)
		}
	}
}

// oneRequest reports whether calls are one call, or repetitions with one key.
func oneRequest(calls []history.Call) bool {
	for _, c := range calls[1:] {
		if c.In.Key == "" || c.In.Key != calls[0].In.Key {
			return false
		}
	}
	return true
}

// wholly checks that the idempotency table contains a request if and only if it happened.
func (j *judge) wholly(c history.Call, happened bool, chain []Link) {
	if c.In.Key == "" || !j.remembers() {
		return
	}
	if _, recorded := j.log.Recorded(c.In.Key); recorded != happened {
		j.found["S5"].fail(c.NS, chain, "the submission of %s is incomplete: in the log %v, in the idempotency table %v",
			c.In.Name, happened, recorded)
	}
}

// remembers reports whether the log contains the clients' own keys and has forgotten none.
func (j *judge) remembers() bool {
	if j.log.Counts.Forgotten > 0 {
		return false
	}
	for _, c := range j.calls {
		if c.F == history.Submit && c.In.Key != "" && c.Type == history.OK {
			_, ok := j.log.Recorded(c.In.Key)
			return ok
		}
	}
	return false
}
