// Package runner lets a planner go on by itself in virtual time, on a state of its own: a fork of a
// replica's state, or that of a new cluster. The user of a Runner feeds it from a source:
//
//	the log (shadow) ────────────────────┐
//	recorded jobs (rerun) ───────────────┼──▶ inputs ──▶ planner ──▶ what has changed ──▶ the user
//	lengths from the history (forecast) ─┘                                │
//	                                       timers: ends of containers ◀───┘
//
// The user decides when a run ends and what it measures.
package runner

import (
	"cmp"
	"container/heap"
	"math"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/scheduler/planner"
	"rmd/yarn"
)

// Runner is a planner with a virtual clock and timers. It is not safe for concurrent use.
type Runner struct {
	*planner.Planner
	Now int64 // Unix milliseconds
	// Before is called with each input before it is planned, and After when it was planned; see
	// Planner.Changes for what it has changed. Both may be nil.
	Before func(in input.Input)
	After  func(in input.Input, reply input.Reply, events []event.Event)

	timers timers
}

// New returns a runner that takes over a state, and begins at the state's time.
func New(st *state.State, eager bool) (*Runner, error) {
	p, err := planner.New(st, planner.Options{Eager: eager})
	if err != nil {
		return nil, err
	}
	return &Runner{Planner: p, Now: st.Meta.NowMillis}, nil
}

// Fork returns a runner on a fork of the state, at the same time and without timers.
func (r *Runner) Fork() *Runner { return &Runner{Planner: r.Planner.Fork(), Now: r.Now} }

// Plan plans an input at the current time.
func (r *Runner) Plan(in input.Input) (input.Reply, []event.Event) {
	if r.Before != nil {
		r.Before(in)
	}
	reply, events := r.Planner.Plan(r.Now, input.Request{Input: in})
	if r.After != nil {
		r.After(in, reply, events)
	}
	return reply, events
}

// Completion returns the report by which a node ends a container, or nil if the container is on no
// node.
func Completion(st *state.State, ref event.ContainerRef) input.Input {
	slot := st.Container(ref)
	if slot == 0 || !st.Containers.Get(slot).OnNode {
		return nil
	}
	c := st.Containers.Get(slot)
	return &input.NodeHeartbeat{ID: st.Nodes.Get(c.Node).ID,
		Statuses: []input.ContainerStatus{{Container: st.Apps.ContainerID(c), State: yarn.ContainerCompleted}}}
}

// Never is the time of a timer that does not fire.
const Never = math.MaxInt64

// Timer is a time at which a container ends. A timer without the number of a container is for its
// application's AM.
type Timer struct {
	At int64 // Unix milliseconds
	Of event.ContainerRef
}

// SetTimer sets a timer.
func (r *Runner) SetTimer(at int64, of event.ContainerRef) { heap.Push(&r.timers, Timer{at, of}) }

// NextTimer returns the time of the earliest timer, or Never.
func (r *Runner) NextTimer() int64 {
	if len(r.timers) == 0 {
		return Never
	}
	return r.timers[0].At
}

// PopTimer removes the earliest timer. There must be one. Equal times are ordered by container.
func (r *Runner) PopTimer() Timer { return heap.Pop(&r.timers).(Timer) }

type timers []Timer

func (h timers) Len() int { return len(h) }
func (h timers) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(h[i].At, h[j].At), CompareRefs(h[i].Of, h[j].Of)) < 0
}
func (h timers) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *timers) Push(v any)   { *h = append(*h, v.(Timer)) }
func (h *timers) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// CompareRefs orders containers by application, attempt and number.
func CompareRefs(a, b event.ContainerRef) int {
	return cmp.Or(cmp.Compare(a.App, b.App), cmp.Compare(a.Attempt, b.Attempt), cmp.Compare(a.Number, b.Number))
}
