package planner

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// air is what lies between an AM and its ResourceManager: calls that come, come
// twice, or come late, leaders that change, and one that does not know of its end.
type air struct {
	t       *rapid.T
	opt     Options
	now     int64
	nodes   []yarn.NodeID
	at      yarn.AttemptID
	lead    *Planner
	ghost   *Planner // led before
	mute    bool     // the ghost waits for an entry that it never gets
	restart bool     // the AM may start over
	counted bool

	// The AM.
	response int32
	call     *input.Allocate // that it waits for
	settled  bool            // which has led to something, or met a leader that is over
	swapped  bool            // which asks more than at first
	calls    []*input.Allocate
	keys     int32
	waiting  map[yarn.SchedulerKey]bool
	told     map[yarn.ContainerID]bool
	over     map[yarn.ContainerID]bool
	perKey   map[yarn.SchedulerKey]int
	began    int // registrations beyond the first
	elected  int // leaders since one answered it last
	story    []string
}

func newAir(t *rapid.T) *air {
	a := &air{t: t, now: 1000, counted: true, waiting: map[yarn.SchedulerKey]bool{}, told: map[yarn.ContainerID]bool{}, over: map[yarn.ContainerID]bool{}, perKey: map[yarn.SchedulerKey]int{}}
	a.opt.Eager, a.restart = rapid.Bool().Draw(t, "eager"), rapid.IntRange(0, 3).Draw(t, "restarts") == 0
	a.lead = must(New(state.New(), a.opt))
	a.must(&input.InitCluster{ClusterID: "c", ClusterTimestamp: 1000, Properties: []input.Property{
		{Name: confPrefix + "root.queues", Value: "a"}, {Name: confPrefix + "root.a.capacity", Value: "100"},
		{Name: confPrefix + "root.a.user-limit-factor", Value: "100"}, {Name: confPrefix + "maximum-am-resource-percent", Value: "1"}}})
	for i := range 2 {
		a.nodes = append(a.nodes, yarn.NodeID{Host: fmt.Sprintf("n%d", i), Port: 1})
		a.must(&input.RegisterNode{ID: a.nodes[i], Rack: "r", Total: yarn.NewResource(1<<20, 1024)})
	}
	r := a.must(&input.SubmitApplication{User: "u", Queue: "root.a", Unmanaged: true}).(*input.SubmitApplicationReply)
	a.at = yarn.AttemptID{App: r.ID, Attempt: 1}
	a.must(&input.RegisterAttempt{Attempt: a.at})
	return a
}

func (a *air) plan(p *Planner, in input.Input) (input.Reply, []event.Event) {
	a.now += 4 // an AM calls no more often: a new beginning goes on behind the numbers before it
	r, events := p.Plan(a.now, input.Request{Input: in})
	a.tell("%T %+v: %+v, %v", in, in, r, kindsOf(events))
	return r, events
}

func (a *air) must(in input.Input) input.Reply {
	r, _ := a.plan(a.lead, in)
	if f := r.Refused(); f != nil {
		a.fail("%T is refused: %v", in, f)
	}
	return r
}

func (a *air) tell(format string, args ...any) {
	a.story = append(a.story, fmt.Sprintf(format, args...))
}

func (a *air) fail(format string, args ...any) {
	out := fmt.Sprintf(format, args...)
	for i, s := range a.story {
		out += fmt.Sprintf("\n%3d %s", i, s)
	}
	a.t.Fatal(out)
}

// begin makes the AM's next call.
func (a *air) begin(asks int) {
	if a.call != nil {
		return
	}
	a.swapped, a.settled = false, false
	a.call = &input.Allocate{Attempt: a.at, Response: a.response, FromAM: a.counted}
	a.ask(asks)
	a.calls = append(a.calls, a.call)
}

// ask adds asks to the call.
func (a *air) ask(n int) {
	for range n {
		a.keys++
		key := yarn.SchedulerKey{Priority: a.keys}
		a.waiting[key] = true
		a.call.Asks = append(a.call.Asks, askFor(key))
	}
}

func askFor(key yarn.SchedulerKey) input.Ask {
	return input.Ask{Key: key, Name: yarn.Any, Count: 1, Size: yarn.NewResource(1024, 1), Relax: true}
}

// again is the same call once more, or, after the AM's client has given that up, one
// that asks more. No other leader comes then: it could not tell the two from one
// another, and takes the second for the first one repeated, as YARN does.
func (a *air) again(more bool) {
	if a.call == nil {
		return
	}
	if more && !a.settled {
		a.calls = slices.DeleteFunc(a.calls, func(c *input.Allocate) bool { return c == a.call })
		a.swapped = true
		next := *a.call
		next.Asks = append([]input.Ask(nil), next.Asks...)
		a.call = &next
		a.ask(1)
	}
	a.calls = append(a.calls, a.call)
}

// deliver brings a copy to the leader, or to the ghost.
func (a *air) deliver(in *input.Allocate, ghost, heard bool) {
	p := a.lead
	if ghost {
		if p = a.ghost; p == nil || a.mute {
			return
		}
		a.tell("the ghost:")
	}
	r, events := a.plan(p, in)
	if ghost && len(events) > 0 {
		a.mute = true
		return
	}
	for _, e := range events {
		switch e.(type) {
		case *event.TimeAdvanced, *event.ResponseRecorded:
		default:
			a.settled = true
		}
	}
	if got, ok := r.(*input.AllocateReply); ok {
		a.settled = a.settled || len(got.Granted)+len(got.Completed) > 0
	}
	if a.call != in || !heard {
		return
	}
	a.tell("is heard")
	a.call = nil
	switch {
	case ghost: // another leads already
		a.elected = max(a.elected, 1)
	case r.Refused() == nil:
		a.elected = 0
	}
	if f := r.Refused(); f != nil {
		if f.Reason == input.WrongResponse && (a.began > 0 || a.elected > 1 && len(in.Asks) > 0) {
			a.restart = true
			a.register()
			return
		}
		a.fail("the AM's own call is refused: %v", f)
	}
	a.heard(r.(*input.AllocateReply))
}

func (a *air) heard(r *input.AllocateReply) {
	a.response = r.Response
	for _, g := range r.Granted {
		if a.told[g.Container] {
			a.fail("%s is told twice", g.Container)
		}
		a.told[g.Container] = true
		a.perKey[g.Key]++
		delete(a.waiting, g.Key)
	}
	for _, c := range r.Completed {
		if a.over[c.Container] {
			a.fail("the end of %s is told twice", c.Container)
		}
		a.over[c.Container] = true
	}
}

// beat is a node's heartbeat; done: something that the AM knows has ended there.
func (a *air) beat(i int, done bool) {
	in := &input.NodeHeartbeat{ID: a.nodes[i]}
	st := a.lead.st
	for _, c := range st.ContainersOn(st.Nodes.Get(st.Node(in.ID))) {
		if done && c.State.Live() && a.told[st.ContainerID(c)] {
			in.Statuses = append(in.Statuses, input.ContainerStatus{Container: st.ContainerID(c), State: yarn.ContainerCompleted})
			break
		}
	}
	a.must(in)
}

// elect makes another leader of what is committed, which is everything.
func (a *air) elect() {
	if a.call != nil && a.swapped {
		return
	}
	a.tell("a leader is elected")
	a.now += 4 * (blockSize + 1)
	a.ghost, a.mute, a.settled = a.lead, false, true
	a.elected++
	a.lead = must(New(a.ghost.st.Fork(), a.opt))
}

// register begins the AM again: it asks again for what it has not been told of.
func (a *air) register() {
	if !a.restart {
		return
	}
	st := a.lead.st
	a.must(&input.RegisterAttempt{Attempt: a.at, HasResponse: true, Response: st.Apps.Get(st.AppByID(a.at.App)).Response})
	a.response, a.call = 0, nil
	a.calls = slices.DeleteFunc(a.calls, func(c *input.Allocate) bool { return c.Response == 0 }) // the number of every beginning
	a.began++
	clear(a.over) // ends that it may have missed are told again
	a.begin(0)
	for _, key := range sortedBy(a.waiting) {
		a.call.Asks = append(a.call.Asks, askFor(key))
	}
}

func sortedBy(m map[yarn.SchedulerKey]bool) []yarn.SchedulerKey {
	var out []yarn.SchedulerKey
	for n := int32(1); len(out) < len(m); n++ {
		if key := (yarn.SchedulerKey{Priority: n}); m[key] {
			out = append(out, key)
		}
	}
	return out
}

// drain lets the AM and the leader be alone: everything asked for must come, once.
func (a *air) drain() {
	a.tell("the network is quiet")
	for range a.keys + 6 {
		a.begin(0)
		a.deliver(a.call, false, true)
		for i := range a.nodes {
			a.beat(i, false)
		}
	}
	if len(a.waiting) > 0 {
		a.fail("the AM waits for %v", a.waiting)
	}
	if a.began > 0 {
		return // what an AM that starts over did not hear of ends by itself
	}
	for key, n := range a.perKey {
		if n != 1 {
			a.fail("%d containers were granted under %v", n, key)
		}
	}
	a.lead.st.Containers.Each(func(_ uint32, k *state.Container) bool {
		if id := a.lead.st.ContainerID(k); k.State.Live() && !a.told[id] {
			a.fail("nobody was told of %s", id)
		}
		return true
	})
}

func (a *air) actions() map[string]func(*rapid.T) {
	any := func(t *rapid.T, ghost bool) {
		if len(a.calls) == 0 {
			return
		}
		i := rapid.IntRange(0, len(a.calls)-1).Draw(t, "which")
		in := a.calls[i]
		if rapid.Bool().Draw(t, "the last of it") {
			a.calls = append(a.calls[:i:i], a.calls[i+1:]...)
		}
		a.deliver(in, ghost, rapid.Bool().Draw(t, "heard"))
	}
	return map[string]func(*rapid.T){
		"begin":   func(t *rapid.T) { a.begin(rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(t, "asks")) },
		"again":   func(t *rapid.T) { a.again(rapid.IntRange(0, 5).Draw(t, "more") == 0) },
		"deliver": func(t *rapid.T) { any(t, false) },
		"haunt":   func(t *rapid.T) { any(t, true) },
		"go on": func(t *rapid.T) {
			a.begin(0)
			a.deliver(a.call, rapid.IntRange(0, 3).Draw(t, "ghost") == 0, true)
		},
		"beat": func(t *rapid.T) {
			a.beat(rapid.IntRange(0, 1).Draw(t, "node"), rapid.Bool().Draw(t, "done"))
		},
		"elect": func(t *rapid.T) {
			if rapid.IntRange(0, 2).Draw(t, "now") == 0 {
				a.elect()
			}
		},
		"register": func(t *rapid.T) { a.register() },
	}
}

// TestCallsComeLate: whatever copies of an AM's calls come, whenever, under any
// leader, the AM is told of each container once, and has each that it asks for. It
// has to start over only when it asks something and two leaders have come since one
// answered it last, or when its call number 0 may be that of an earlier beginning.
func TestCallsComeLate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := newAir(t)
		t.Repeat(a.actions())
		a.drain()
	})
}
