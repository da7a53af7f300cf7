package history

import (
	"cmp"
	"slices"
)

// History is a run in memory. Each slice is in the order of time, Entries in the order of indexes.
type History struct {
	Ops      []*Op
	Replicas []*Replica
	Orders   []*Order
	Faults   []*Fault
	Marks    []*Mark
	Entries  []*Entry
	Dumps    []*Dump
	Torn     int // number of incomplete lines
}

// New returns an empty history.
func New() *History { return &History{} }

// Of returns a history with these lines.
func Of(lines ...Line) *History {
	h := New()
	for _, l := range lines {
		h.Add(l)
	}
	return h
}

// Add implements Sink. It is not safe for concurrent use; a Recorder is.
func (h *History) Add(l Line) {
	switch l := l.(type) {
	case *Op:
		h.Ops = append(h.Ops, l)
	case *Replica:
		h.Replicas = append(h.Replicas, l)
	case *Order:
		h.Orders = append(h.Orders, l)
	case *Fault:
		h.Faults = append(h.Faults, l)
	case *Mark:
		h.Marks = append(h.Marks, l)
	case *Entry:
		h.Entries = append(h.Entries, l)
	case *Dump:
		h.Dumps = append(h.Dumps, l)
	}
}

// Sort sorts lines from several files by time, and entries by index. Lines with the same time keep
// their order.
func (h *History) Sort() {
	byTime(h.Ops)
	byTime(h.Replicas)
	byTime(h.Orders)
	byTime(h.Faults)
	byTime(h.Marks)
	byTime(h.Dumps)
	slices.SortStableFunc(h.Entries, func(a, b *Entry) int { return cmp.Compare(a.Index, b.Index) })
}

func byTime[L Line](lines []L) {
	slices.SortStableFunc(lines, func(a, b L) int { return cmp.Compare(a.At(), b.At()) })
}

// MarkAt returns the time of the first mark with a name.
func (h *History) MarkAt(name string) (ns int64, ok bool) {
	for _, m := range h.Marks {
		if m.Name == name {
			return m.NS, true
		}
	}
	return 0, false
}

// End returns the time of the last line.
func (h *History) End() int64 {
	var end int64
	add := func(ns int64) { end = max(end, ns) }
	last(h.Ops, add)
	last(h.Replicas, add)
	last(h.Orders, add)
	last(h.Faults, add)
	last(h.Marks, add)
	return end
}

func last[L Line](lines []L, add func(int64)) {
	for _, l := range lines {
		add(l.At())
	}
}

// Call is an operation with its call and its return.
type Call struct {
	Op
	// Type is OK, Fail or Info. An operation without a return is Info. Return is the time of the
	// return, or Endless for Info.
	Return int64
	Seen   int // index among the calls
}

// Endless is the return time of an operation whose end was not observed.
const Endless = int64(1<<63 - 1)

// Calls joins the calls and returns of operations, in the order of the calls.
func (h *History) Calls() []Call {
	var out []Call
	open := map[int]int{} // never iterated
	for _, o := range h.Ops {
		if o.Type == Invoke {
			c := Call{Op: *o, Return: Endless, Seen: len(out)}
			c.Type = Info
			open[o.Process] = len(out)
			out = append(out, c)
			continue
		}
		i, ok := open[o.Process]
		if !ok {
			continue
		}
		delete(open, o.Process)
		c := &out[i]
		c.Type, c.Out = o.Type, o.Out
		if o.Type != Info {
			c.Return = o.NS
		}
	}
	for i := range out {
		if out[i].In == nil {
			out[i].In = &Value{}
		}
		if out[i].Out == nil {
			out[i].Out = &Value{}
		}
	}
	return out
}

// Each calls f for every line, kind by kind. If f writes the lines to a file, ReadFiles returns the
// same history.
func (h *History) Each(f func(l Line)) {
	each(h.Marks, f)
	each(h.Faults, f)
	each(h.Replicas, f)
	each(h.Orders, f)
	each(h.Ops, f)
	each(h.Entries, f)
	each(h.Dumps, f)
}

func each[L Line](lines []L, f func(Line)) {
	for _, l := range lines {
		f(l)
	}
}
