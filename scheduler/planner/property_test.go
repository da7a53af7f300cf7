package planner

import (
	"errors"
	"flag"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// Stories are longer than rapid's default, because reservations need a few steps. The flags
// -rapid.steps and -rapid.checks override the numbers.
func init() {
	if err := errors.Join(flag.Set("rapid.steps", "100"), flag.Set("rapid.checks", "100")); err != nil {
		panic(err)
	}
}

// machine drives a planner with random inputs. After every input it checks all applicable
// invariants of the specification's part B.
type machine struct {
	events []event.Event // of the last input
	t      *rapid.T
	p      *Planner
	opt    Options
	now    int64
	log    []event.Event
	inputs []string
	count  int  // inputs so far
	quick  bool // inputs are not checked: the test checks something else

	kinds    int
	dominant bool
	lazy     bool
	variant  int
	labelled bool // nodes, asks and applications have labels
	nodes    []yarn.NodeID
	apps     []yarn.ApplicationID
	seen     map[event.ContainerRef]bool // container numbers that were given
	promised map[uint64]event.ContainerRef
	round    bool              // the last input was a round of preemption
	killed   map[uint64]uint64 // number of containers that were preempted for each reservation
	choosing bool              // hosts have several nodes: see TestRandomChoices
	mixed    bool              // the story mixes features: see TestRandomMixture
	orders   map[string]string // keys of the order of nodes and of locality delays
	extra    map[string]string // further keys of the configuration
}

func TestRandomInputs(t *testing.T) {
	t.Parallel()
	randomStories(t, false, (*machine).actions)
}

// TestRandomReservations mostly asks, completes containers and sends heartbeats on a few nodes that
// hardly ever have enough room, so reservations are frequent.
func TestRandomReservations(t *testing.T) {
	t.Parallel()
	randomStories(t, false, (*machine).reservingActions)
}

// TestRandomLabels is TestRandomInputs or TestRandomReservations, with labels.
func TestRandomLabels(t *testing.T) {
	t.Parallel()
	randomStories(t, true, func(m *machine) map[string]func(*rapid.T) {
		if rapid.Bool().Draw(m.t, "reserving") {
			return m.reservingActions()
		}
		return m.actions()
	})
}

// TestRandomChoices leaves the order of nodes more choices than the other tests do. checkFirstNodes
// compares them.
func TestRandomChoices(t *testing.T) {
	t.Parallel()
	randomStories(t, true, (*machine).choosingActions)
}

func randomStories(t *testing.T, labels bool, actions func(m *machine) map[string]func(*rapid.T)) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMachine(t, labels)
		do := actions(m)
		defer func() {
			r := recover()
			switch r.(type) {
			case nil:
			case string, runtime.Error: // The planner panicked. rapid ends a story with a panic of another type.
				t.Fatalf("%v\n%s\ninputs:\n%s", r, debug.Stack(), m.story())
			default:
				panic(r)
			}
		}()
		t.Repeat(do)
		m.windDown()
		m.replay()
	})
}

func (m *machine) story() string {
	var out string
	for i, s := range m.inputs {
		out += fmt.Sprintf("%3d %s\n", i, s)
	}
	return out
}

func newMachine(t *rapid.T, labels bool) *machine {
	m := &machine{t: t, labelled: labels, now: 1_000, seen: map[event.ContainerRef]bool{},
		promised: map[uint64]event.ContainerRef{}, killed: map[uint64]uint64{}}
	m.opt.Eager = rapid.Bool().Draw(t, "eager")
	m.dominant = rapid.Bool().Draw(t, "dominant")
	m.lazy = rapid.Bool().Draw(t, "lazy cancel")
	m.kinds = 2
	if m.dominant && rapid.Bool().Draw(t, "gpu") {
		m.kinds = 3
	}
	m.variant = rapid.SampledFrom([]int{3, 0, 1, 2, 3}).Draw(t, "tree")
	m.drawOrders(t)
	m.p = must(New(state.New(), m.opt))
	r := m.plan(&input.InitCluster{ClusterID: "c", ClusterTimestamp: 1000, Properties: m.properties(),
		Entropy: testEntropy})
	if f := r.Refused(); f != nil {
		t.Fatalf("configuration: %v", f)
	}
	for range rapid.IntRange(2, 5).Draw(t, "nodes") {
		m.registerNode(t)
	}
	if m.labelled {
		m.firstLabels(t)
	}
	for range rapid.IntRange(0, 4).Draw(t, "applications") {
		m.submit(t)
	}
	return m
}

// Two checks cost more than the input. What they look for lasts, so they find it later as well.
const (
	rebuiltEvery = 12 // inputs, for a comparison with a rebuilt planner
	sumsEvery    = 4  // inputs, for all sums of the state
)

// plan sends one input to the planner and checks the result.
func (m *machine) plan(in input.Input) input.Reply { return m.request(input.Request{Input: in}) }

func (m *machine) request(req input.Request) input.Reply {
	in := req.Input
	m.now += 10
	m.tell("%T %+v", in, in)
	if m.quick {
		reply, events := m.p.Plan(m.now, req)
		m.log = append(m.log, events...)
		return reply
	}
	m.count++
	before := m.p.st.Fork()
	var twin *Planner
	if m.count%rebuiltEvery == 0 {
		twin = must(New(m.p.st.Fork(), m.opt))
		twin.apps.ids = m.p.apps.ids // the state does not contain it
	}
	reply, events := m.p.Plan(m.now, req)
	for _, e := range events {
		m.tell("      %s %+v", e.Kind(), e)
	}
	m.log = append(m.log, events...)
	m.refusalsLeaveNothing(before, reply, events)
	if twin != nil {
		m.rebuiltIsTheSame(twin, req, reply, events)
	}
	m.check(before, in, events)
	return reply
}

// tell adds a line to the history that a failure prints.
func (m *machine) tell(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	if i := strings.Index(line, "Properties:["); i >= 0 {
		line = fmt.Sprintf("%s… tree %d dominant %v lazy %v orders %v", line[:i], m.variant, m.dominant, m.lazy, m.orders)
	}
	m.inputs = append(m.inputs, line)
}

// refusalsLeaveNothing is invariant 33. The refusal of an AM's call may write the time, because its
// answer waits for a log entry.
func (m *machine) refusalsLeaveNothing(before *state.State, reply input.Reply, events []event.Event) {
	if reply.Refused() != nil && !onlyTime(events) {
		m.fail("33: a refused input (%v) led to %d events", reply.Refused(), len(events))
	}
	if len(events) == 0 && m.p.st.Digest() != before.Digest() {
		m.fail("33: the state changed without an event")
	}
}

func onlyTime(events []event.Event) bool {
	return !slices.ContainsFunc(events, func(e event.Event) bool { return e.Kind().Class() != event.Clock })
}

// rebuiltIsTheSame compares a planner built from a fork of the state with the long-lived one: both
// must give the same events, the same reply and the same derived views.
func (m *machine) rebuiltIsTheSame(twin *Planner, req input.Request, reply input.Reply, events []event.Event) {
	again, same := twin.Plan(m.now, req)
	if string(bytesOf(events)) != string(bytesOf(same)) {
		m.fail("a rebuilt planner emits %d events, not %d:\n%+v", len(same), len(events), kindsOf(same))
	}
	if string(input.EncodeReply(nil, reply)) != string(input.EncodeReply(nil, again)) {
		m.fail("a rebuilt planner replies %+v, not %+v", again, reply)
	}
	if twin.st.Digest() != m.p.st.Digest() {
		m.fail("a rebuilt planner's state has another digest")
	}
	if !m.p.sched.Stale() && m.p.Config() != nil {
		fresh := must(New(m.p.st.Fork(), m.opt))
		if why := m.p.sched.Differ(fresh.sched.Views); why != "" {
			m.fail("the derived views are not those of the state: %s", why)
		}
	}
}

func kindsOf(events []event.Event) []string {
	var out []string
	for _, e := range events {
		out = append(out, fmt.Sprintf("%s %+v", e.Kind(), e))
	}
	return out
}

// replay decodes the log from its bytes, applies it to an empty state, and compares the result with
// the planner's state.
func (m *machine) replay() {
	if err := m.p.st.Check(); err != nil {
		m.fail("%v", err)
	}
	b, err := event.Decode((&event.Batch{Level: 1, Events: m.log}).Encode())
	if err != nil {
		m.fail("decode the log: %v", err)
	}
	st := state.New()
	for i, e := range b.Events {
		if err := st.Apply(e); err != nil {
			m.fail("replay event %d: %v", i, err)
		}
	}
	if st.Digest() != m.p.st.Digest() {
		m.fail("the log replayed gives another digest")
	}
	again := reencode(m.t, m.p.st.Fork())
	if again.Digest() != m.p.st.Digest() {
		m.fail("a restored state has another digest")
	}
}

func (m *machine) fail(format string, args ...any) {
	m.t.Fatalf("%s\ninputs:\n%s", fmt.Sprintf(format, args...), m.story())
}

// TestSameInputsGiveTheSameBytes checks that no map order, clock or address influences the events.
func TestSameInputsGiveTheSameBytes(t *testing.T) {
	run := func(seed int) []byte {
		var log []event.Event
		gen := rapid.Custom(func(t *rapid.T) []event.Event {
			m := newMachine(t, rapid.Bool().Draw(t, "labels"))
			actions := m.actions()
			names := sortedKeys(actions)
			for range 60 {
				actions[rapid.SampledFrom(names).Draw(t, "action")](t)
			}
			return m.log
		})
		log = gen.Example(seed)
		return bytesOf(log)
	}
	for seed := range 4 {
		a, b := run(seed), run(seed)
		if len(a) < 100 || string(a) != string(b) {
			t.Errorf("seed %d: two runs of the same inputs wrote %d and %d bytes, which differ", seed, len(a), len(b))
		}
	}
}
