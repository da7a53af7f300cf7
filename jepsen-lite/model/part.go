package model

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"rmd/jepsen-lite/history"
)

// Part has the operations on one object.
type Part struct {
	Kind  string // application, queue, node, members
	Name  string
	calls []history.Call
	model porcupine.Model
	facts facts
}

// facts are properties of a whole part, the same for each of its operations.
type facts struct {
	finishes  bool // the history has the AMs' own operations
	registers bool // the history has the nodes' registrations
	autopilot bool // replicas may be promoted and removed without an operation
}

// Result is the result of the check of a part.
type Result struct {
	Legal     bool
	Undecided bool // the search took too long
	Text      string
	// Calls are those up to the first call that no order explains, which is the last of them.
	Calls []history.Call
}

// Options say which changes may happen without an operation of a client.
type Options struct {
	Autopilot bool
}

// Parts divides a history by object.
func Parts(calls []history.Call, opt Options) []Part {
	parts := applications(calls)
	parts = append(parts, queues(calls)...)
	parts = append(parts, nodes(calls)...)
	return append(parts, members(calls, opt)...)
}

// Size returns the number of operations.
func (p *Part) Size() int { return len(p.calls) }

// Check searches for an order of the operations that explains their results, for at most limit.
func (p *Part) Check(limit time.Duration) Result {
	switch porcupine.CheckOperationsTimeout(p.model, p.operations(history.Endless), limit) {
	case porcupine.Ok:
		return Result{Legal: true}
	case porcupine.Unknown:
		return Result{Undecided: true, Text: fmt.Sprintf("%s %s: no answer within %s for %d operations", p.Kind, p.Name,
			limit, len(p.calls))}
	}
	return p.explain(limit)
}

// explain finds the first return that no order explains. Without it and all later returns, there is
// an order.
func (p *Part) explain(limit time.Duration) Result {
	var ends []int64
	for _, c := range p.calls {
		if c.Return != history.Endless {
			ends = append(ends, c.Return)
		}
	}
	slices.Sort(ends)
	ends = slices.Compact(ends)
	lo, hi := 0, len(ends)-1
	for lo < hi {
		mid := (lo + hi) / 2
		if porcupine.CheckOperationsTimeout(p.model, p.operations(ends[mid]), limit/8) == porcupine.Illegal {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	res := Result{}
	if len(ends) == 0 {
		return res
	}
	for _, c := range p.calls {
		if c.Return <= ends[lo] {
			res.Calls = append(res.Calls, c)
		}
	}
	slices.SortStableFunc(res.Calls, func(a, b history.Call) int { return cmp.Compare(a.Return, b.Return) })
	last := res.Calls[len(res.Calls)-1]
	res.Text = fmt.Sprintf("%s %s: no order of what came before explains %s", p.Kind, p.Name, Describe(last))
	return res
}

// operations returns the operations for porcupine. Operations that return after until are still
// open.
func (p *Part) operations(until int64) []porcupine.Operation {
	var out []porcupine.Operation
	for _, c := range p.calls {
		if c.NS > until {
			continue
		}
		o := porcupine.Operation{ClientId: c.Process, Input: step{c.F, *c.In, p.facts}, Call: c.NS, Return: c.Return,
			Output: answer{known: c.Type != history.Info, missing: c.Type == history.Fail, out: *c.Out}}
		if c.Return > until {
			o.Return, o.Output = history.Endless, answer{}
		}
		if o.Return == history.Endless && c.F.Reads() {
			continue
		}
		out = append(out, o)
	}
	return out
}

// step is the input of an operation, for a model.
type step struct {
	f     history.F
	in    history.Value
	facts facts
}

// answer is the output of an operation. known is false if the outcome is unknown, and missing says
// that the object does not exist.
type answer struct {
	known, missing bool
	out            history.Value
}

// counts reports whether a call is part of the model. A refused call changed nothing.
func counts(c *history.Call) bool {
	if c.In.Stale {
		return false
	}
	return c.Type != history.Fail || c.Out.Code == history.NotFound
}

// group collects calls by object, in the order in which the objects first occur.
type group struct {
	names []string
	calls map[string][]history.Call
}

func (g *group) add(name string, c history.Call) {
	if name == "" {
		return
	}
	if g.calls == nil {
		g.calls = map[string][]history.Call{}
	}
	if _, ok := g.calls[name]; !ok {
		g.names = append(g.names, name)
	}
	g.calls[name] = append(g.calls[name], c)
}

// Describe formats a call as one line.
func Describe(c history.Call) string {
	out := fmt.Sprintf("%s%s", c.F, describeValue(c.In))
	switch c.Type {
	case history.OK:
		return out + " → ok" + describeValue(c.Out)
	case history.Fail:
		return out + " → refused" + describeValue(c.Out)
	}
	return out + " → unknown"
}

func describeValue(v *history.Value) string {
	if v == nil {
		return ""
	}
	out := ""
	for _, f := range []struct{ name, text string }{
		{"", v.App}, {"", v.Attempt}, {"", v.Queue}, {"", v.Node}, {"", v.Reservation}, {"", v.Name}, {"", v.State},
		{"", v.Code}, {"", v.Text},
	} {
		if f.text != "" {
			out += " " + f.text
		}
	}
	for _, m := range v.Members {
		out += " " + m.ID
		if !m.Voter {
			out += "(nonvoter)"
		}
	}
	if v.Replica != "" {
		out += " at " + v.Replica
	}
	if v.Index != 0 {
		out += fmt.Sprintf(" (index %d)", v.Index)
	}
	return out
}
