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

// network is the network between one AM and its ResourceManager. Calls arrive, arrive twice or arrive
// late; leaders change; and a deposed leader may not know that it was deposed.
type network struct {
	t       *rapid.T
	opt     Options
	now     int64
	nodes   []yarn.NodeID
	at      yarn.AttemptID
	lead    *Planner
	ghost   *Planner // the leader before
	mute    bool     // the ghost waits for a log entry that will never be committed
	restart bool     // the AM may register again
	counted bool

	// The fields below are the AM's.
	response int32
	call     *input.Allocate // the unanswered call
	settled  bool            // a copy of the call had an effect, or reached a deposed leader
	swapped  bool            // the call has more asks than its first copy
	calls    []*input.Allocate
	keys     int32
	waiting  map[yarn.SchedulerKey]bool
	told     map[yarn.ContainerID]bool
	over     map[yarn.ContainerID]bool
	perKey   map[yarn.SchedulerKey]int
	began    int // registrations after the first
	elected  int // elections since a leader last answered the AM
	trace    []string
}

func newNetwork(t *rapid.T) *network {
	a := &network{t: t, now: 1000, counted: true, waiting: map[yarn.SchedulerKey]bool{}, told: map[yarn.ContainerID]bool{},
		over: map[yarn.ContainerID]bool{}, perKey: map[yarn.SchedulerKey]int{}}
	a.opt.Eager, a.restart = rapid.Bool().Draw(t, "eager"), rapid.IntRange(0, 3).Draw(t, "restarts") == 0
	a.lead = must(New(state.New(), a.opt))
	a.must(&input.InitCluster{ClusterID: "c", ClusterTimestamp: 1000, Properties: []input.Property{
		{Name: confPrefix + "root.queues", Value: "a"}, {Name: confPrefix + "root.a.capacity", Value: "100"},
		{Name: confPrefix + "root.a.user-limit-factor", Value: "100"},
		{Name: confPrefix + "maximum-am-resource-percent", Value: "1"}}})
	for i := range 2 {
		a.nodes = append(a.nodes, yarn.NodeID{Host: fmt.Sprintf("n%d", i), Port: 1})
		a.must(&input.RegisterNode{ID: a.nodes[i], Rack: "r", Total: yarn.NewResource(1<<20, 1024)})
	}
	r := a.must(&input.SubmitApplication{User: "u", Queue: "root.a", Unmanaged: true}).(*input.SubmitApplicationReply)
	a.at = yarn.AttemptID{App: r.ID, Attempt: 1}
	a.must(&input.RegisterAttempt{Attempt: a.at})
	return a
}

func (a *network) plan(p *Planner, in input.Input) (input.Reply, []event.Event) {
	a.now += 4 // No AM calls more often: numbers after a registration stay above the earlier ones.
	r, events := p.Plan(a.now, input.Request{Input: in})
	a.tell("%T %+v: %+v, %v", in, in, r, kindsOf(events))
	return r, events
}

func (a *network) must(in input.Input) input.Reply {
	r, _ := a.plan(a.lead, in)
	if f := r.Refused(); f != nil {
		a.fail("%T is refused: %v", in, f)
	}
	return r
}

func (a *network) tell(format string, args ...any) {
	a.trace = append(a.trace, fmt.Sprintf(format, args...))
}

func (a *network) fail(format string, args ...any) {
	out := fmt.Sprintf(format, args...)
	for i, s := range a.trace {
		out += fmt.Sprintf("\n%3d %s", i, s)
	}
	a.t.Fatal(out)
}

// begin creates the AM's next call, unless it waits for an answer.
func (a *network) begin(asks int) {
	if a.call != nil {
		return
	}
	a.swapped, a.settled = false, false
	a.call = &input.Allocate{Attempt: a.at, Response: a.response, FromAM: a.counted}
	a.ask(asks)
	a.calls = append(a.calls, a.call)
}

// ask adds asks for n new keys to the call.
func (a *network) ask(n int) {
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

// again sends the same call again. With more, and if no copy has had an effect, the AM's client has
// given the call up, and the AM sends a call with the same number and one more ask. No election may
// happen then: a new leader cannot distinguish the two calls, and takes the second for a repetition
// of the first, as YARN does.
func (a *network) again(more bool) {
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

// deliver delivers a copy of a call to the leader or to the ghost. heard: the AM receives the
// answer.
func (a *network) deliver(in *input.Allocate, ghost, heard bool) {
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
	case ghost: // another leader has been elected already
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

func (a *network) heard(r *input.AllocateReply) {
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

// beat sends a heartbeat of a node. If done, one container that the AM knows ends there.
func (a *network) beat(i int, done bool) {
	in := &input.NodeHeartbeat{ID: a.nodes[i]}
	st := a.lead.st
	for _, c := range st.Containers.On(st.Nodes.Get(st.Nodes.Find(in.ID))) {
		if done && c.State.Live() && a.told[st.Apps.ContainerID(c)] {
			in.Statuses = append(in.Statuses, input.ContainerStatus{Container: st.Apps.ContainerID(c),
				State: yarn.ContainerCompleted})
			break
		}
	}
	a.must(in)
}

// elect makes a new leader from the committed state, which contains everything.
func (a *network) elect() {
	if a.call != nil && a.swapped {
		return
	}
	a.tell("a leader is elected")
	a.now += 4 * (blockSize + 1)
	a.ghost, a.mute, a.settled = a.lead, false, true
	a.elected++
	a.lead = must(New(a.ghost.st.Fork(), a.opt))
}

// register registers the AM again. The AM then asks again for everything that it was not granted.
func (a *network) register() {
	if !a.restart {
		return
	}
	st := a.lead.st
	a.must(&input.RegisterAttempt{Attempt: a.at, HasResponse: true,
		Response: st.Apps.Get(st.Apps.ByID(a.at.App)).Response})
	a.response, a.call = 0, nil
	// every registration starts at number 0
	a.calls = slices.DeleteFunc(a.calls, func(c *input.Allocate) bool { return c.Response == 0 })
	a.began++
	clear(a.over) // the ends of containers are reported again
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

// drain leaves only the AM and the leader. Each asked container must be granted exactly once.
func (a *network) drain() {
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
		return // containers that an earlier registration missed end by themselves
	}
	for key, n := range a.perKey {
		if n != 1 {
			a.fail("%d containers were granted under %v", n, key)
		}
	}
	a.lead.st.Containers.Each(func(_ state.ContainerSlot, k *state.Container) bool {
		if id := a.lead.st.Apps.ContainerID(k); k.State.Live() && !a.told[id] {
			a.fail("nobody was told of %s", id)
		}
		return true
	})
}

func (a *network) actions() map[string]func(*rapid.T) {
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

// TestLateCallCopies checks that the AM learns of each container exactly once and gets every
// container that it asks for, whatever copies of its calls arrive, whenever, at whichever leader.
// The AM must register again only in two cases: its call has asks and two leaders have been elected
// since one answered it, or its call number 0 may belong to an earlier registration.
func TestLateCallCopies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := newNetwork(t)
		t.Repeat(a.actions())
		a.drain()
	})
}
