package leader

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/fsm/state/change"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// scripted is a Planner that decides by the key of a request. "write", for instance, gives one
// event.
type scripted struct {
	st      *state.State
	changes []change.Change
	due     []input.Input
}

func (p *scripted) State() *state.State { return p.st }

func (p *scripted) Due(int64) []input.Input { return p.due }

func (p *scripted) Changes() []change.Change { return p.changes }

func (p *scripted) Plan(now int64, req input.Request) (input.Reply, []event.Event) {
	reply, events := p.decide(req)
	if len(events) > 0 {
		events = append([]event.Event{&event.TimeAdvanced{NowMillis: now}}, events...)
	}
	p.changes = nil
	for _, e := range events {
		if _, counts := e.(*event.AskCountersUpdated); counts {
			continue // there is no application with such an ask
		}
		if err := p.st.Apply(e); err != nil {
			panic(err)
		}
		p.changes = append(p.changes, p.st.Changes()...)
	}
	return reply, events
}

func (p *scripted) decide(req input.Request) (input.Reply, []event.Event) {
	written := []event.Event{&event.Audited{Who: req.Key}}
	switch req.Key {
	case "write":
		return &input.Done{}, written
	case "count":
		return &input.NodeHeartbeatReply{}, []event.Event{&event.AskCountersUpdated{}}
	case "kill":
		return &input.NodeHeartbeatReply{Kill: make([]yarn.ContainerID, 1)}, []event.Event{&event.AskCountersUpdated{}}
	case "refuse":
		return input.Refuse(req.Input, &input.Refusal{Reason: input.NotRegistered}), nil
	case "panic":
		panic("planner")
	}
	return req.Input.NewReply(), nil
}

// machine drives a Core with lines of text.
type machine struct {
	*Core[string]
	t       *testing.T
	digests []uint64 // of the planning state, for each batch in flight
}

func newMachine(t *testing.T) *machine {
	cfg := DefaultConfig().CoreConfig
	cfg.MaxInFlight, cfg.BatchEvents = 2, 5
	cfg.Expiry = func(*state.State) Expiry { return Expiry{NodeMillis: 10_000} }
	return &machine{Core: NewCore[string](cfg, &scripted{st: state.New()}, Start{Index: 5, Sequence: 1}), t: t}
}

// do runs one line and returns the results as text: a reply as caller@index, caller@index? if it is
// unconfirmed, or caller!error; a proposal as its sequence number and its number of events.
func (m *machine) do(line string) string {
	verb, arg, _ := strings.Cut(line, " ")
	out := ""
	switch verb {
	case "propose":
		out = m.propose()
	case "commit", "skip", "diverge", "guess":
		m.committed(verb, arg)
	case "refused":
		m.aborted(ErrNotLeader)
	case "lost":
		m.aborted(errors.New("timeout"))
	case "too-large":
		m.aborted(fmt.Errorf("log: %w", ErrTooLarge))
	case "stop":
		m.Stop()
	default:
		in := input.Input(&input.Audit{})
		if verb == "count" || verb == "kill" || verb == "beat" {
			in = &input.NodeHeartbeat{}
		}
		m.Step(0, &arg, input.Request{Key: verb, Input: in})
	}
	for _, r := range m.Replies() {
		out += " " + text(r)
	}
	return strings.TrimSpace(out)
}

func text(r Reply[string]) string {
	switch {
	case r.Err != nil:
		for name, err := range map[string]error{"not-leader": ErrNotLeader, "unknown": ErrUnknownOutcome,
			"too-large": ErrTooLarge, "planner": ErrPlanner} {
			if errors.Is(r.Err, err) {
				return *r.Caller + "!" + name
			}
		}
		return *r.Caller + "!" + r.Err.Error()
	case r.Unconfirmed:
		return fmt.Sprintf("%s@%d?", *r.Caller, r.Index)
	}
	return fmt.Sprintf("%s@%d", *r.Caller, r.Index)
}

func (m *machine) propose() string {
	p, ok := m.Propose()
	if !ok {
		return "-"
	}
	m.digests = append(m.digests, m.State().Digest())
	b, err := event.Decode(p.Entry)
	if err != nil || len(b.Events) != p.Events {
		m.t.Fatalf("proposal of %d events: %d, %v", p.Events, len(b.Events), err)
	}
	return fmt.Sprintf("#%d:%d", b.Sequence, p.Events)
}

func (m *machine) committed(how, arg string) {
	index, got := uint64(0), &Outcome{Digest: m.digests[0]}
	if _, err := fmt.Sscan(arg, &index); err != nil {
		m.t.Fatal(err)
	}
	m.digests = m.digests[1:]
	switch how {
	case "skip":
		got.Skipped = true
	case "diverge":
		got.Digest++
	case "guess": // this replica does not know the outcome
		got = nil
	}
	if err := m.Committed(index, got); errors.Is(err, errDiverged) != (how == "diverge") {
		m.t.Errorf("%s gives %v", how, err)
	}
}

func (m *machine) aborted(err error) {
	m.digests = m.digests[1:]
	m.Aborted(err)
}

func TestCore(t *testing.T) {
	for name, script := range map[string][][2]string{
		"a reply waits for its batch": {
			{"write a", ""}, {"propose", "#1:2"}, {"write b", ""}, {"commit 6", "a@6"}, {"propose", "#2:2"}, {"commit 7", "b@7"},
			{"read c", "c@7"},
		},
		"a reply without events leaves at once": {{"read a", "a@5"}, {"beat b", "b@5"}, {"propose", "-"}},
		"a reply without events rests on the newest batch before it": {
			{"write a", ""}, {"read b", ""}, {"propose", "#1:2"}, {"read c", ""}, {"write d", ""}, {"read e", ""},
			{"propose", "#2:2"}, {"read f", ""},
			{"commit 6", "a@6 b@6 c@6"}, {"read g", ""}, {"commit 7", "d@7 e@7 f@7 g@7"},
		},
		"counters alone need no commit": {
			{"count a", "a@5"}, {"propose", "#1:2"}, {"read b", "b@5"}, {"write c", ""}, {"count d", ""}, {"propose", "#2:4"},
			{"commit 6", ""}, {"read e", ""}, {"commit 7", "c@7 d@7 e@7"},
		},
		"a reply rests on an older batch when the newer one only counts": {
			{"write a", ""}, {"propose", "#1:2"}, {"count b", ""}, {"propose", "#2:2"}, {"read c", ""},
			{"commit 6", "a@6 b@6 c@6"}, {"read d", "d@6"}, {"commit 7", ""},
		},
		"an order to end containers needs a commit": {{"kill a", ""}, {"propose", "#1:2"}, {"commit 6", "a@6"}},
		"a refusal that rests on nothing is to be confirmed": {
			{"refuse a", "a@5?"}, {"write b", ""}, {"refuse c", ""}, {"propose", "#1:2"}, {"commit 6", "b@6 c@6"},
		},
		"no more batches are in flight than allowed": {
			{"propose", "-"}, {"write a", ""}, {"propose", "#1:2"}, {"propose", "-"}, {"write b", ""}, {"propose", "#2:2"},
			{"write c", ""}, {"propose", "-"},
			{"commit 6", "a@6"}, {"propose", "#3:2"},
		},
		"the outcome of an entry may be forgotten": {{"write a", ""}, {"propose", "#1:2"}, {"guess 6", "a@6"},
			{"write b", ""}, {"propose", "#2:2"}},
		"a refused batch ends the leadership": {
			{"write a", ""}, {"propose", "#1:2"}, {"write b", ""}, {"refused", "a!not-leader"}, {"propose", "-"},
			{"write c", "c!not-leader"}, {"read d", "d!not-leader"},
			{"stop", "b!not-leader"},
		},
		"a lost batch ends it too, and nobody knows": {
			{"write a", ""}, {"read r", ""}, {"propose", "#1:2"}, {"write b", ""}, {"lost", "a!unknown r!unknown"},
			{"propose", "-"}, {"stop", "b!not-leader"},
		},
		"a batch that is too large": {{"write a", ""}, {"propose", "#1:2"}, {"too-large", "a!too-large"}, {"propose", "-"}},
		"a skipped batch had no effect": {
			{"write a", ""}, {"propose", "#1:2"}, {"skip 6", "a!not-leader"}, {"propose", "-"}, {"stop", ""},
		},
		"a state that differs": {{"write a", ""}, {"propose", "#1:2"}, {"diverge 6", "a!unknown"}, {"propose", "-"}},
		"the second in flight is aborted with the first": {
			{"write a", ""}, {"propose", "#1:2"}, {"write b", ""}, {"propose", "#2:2"}, {"refused", "a!not-leader"},
			{"skip 6", "b!not-leader"},
		},
		"nobody guesses that the second was applied": {
			{"write a", ""}, {"propose", "#1:2"}, {"write b", ""}, {"propose", "#2:2"}, {"lost", "a!unknown"},
			{"guess 6", "b!unknown"},
		},
		"what differs after a failure is still told": {
			{"write a", ""}, {"propose", "#1:2"}, {"write b", ""}, {"propose", "#2:2"}, {"lost", "a!unknown"},
			{"diverge 6", "b!unknown"},
		},
		"stop with batches in flight": {
			{"write a", ""}, {"propose", "#1:2"}, {"read b", ""}, {"write c", ""}, {"propose", "#2:2"}, {"write d", ""},
			{"stop", "a!unknown b!unknown c!unknown d!not-leader"}, {"propose", "-"},
		},
		"a fault of the planner ends the leadership": {
			{"write a", ""}, {"propose", "#1:2"}, {"write b", ""}, {"panic c", "c!planner"}, {"propose", "-"},
			{"read d", "d!not-leader"}, {"commit 6", "a!unknown"}, {"stop", "b!not-leader"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			for i, line := range script {
				if got := m.do(line[0]); got != line[1] {
					t.Fatalf("step %d, %s: %q, want %q", i, line[0], got, line[1])
				}
			}
		})
	}
}

func TestCoreIsFullAndIdle(t *testing.T) {
	m := newMachine(t)
	for i, line := range []struct {
		do         string
		full, idle bool
	}{{"read a", false, true}, {"write a", false, false}, {"write b", false, false}, {"write c", true, false},
		{"propose", false, false}, {"commit 6", false, true}} {
		m.do(line.do)
		if m.Full() != line.full || m.Idle() != line.idle {
			t.Errorf("step %d, %s: full %v, idle %v", i, line.do, m.Full(), m.Idle())
		}
	}
	if m.Applied() != 6 || m.Err() != nil {
		t.Errorf("applied %d, %v", m.Applied(), m.Err())
	}
}

// TestCoreStamps checks that the stamp follows the driver's time but never goes back.
func TestCoreStamps(t *testing.T) {
	st := state.New()
	if err := st.Apply(&event.TimeAdvanced{NowMillis: 50}); err != nil {
		t.Fatal(err)
	}
	c := NewCore[string](newMachine(t).cfg, &scripted{st: st}, Start{})
	for _, s := range []struct{ now, want int64 }{{10, 50}, {60, 60}, {55, 60}, {61, 61}} {
		c.Step(s.now, nil, input.Request{Key: "write", Input: &input.Audit{}})
		if c.Stamp() != s.want || st.Meta.NowMillis != s.want {
			t.Errorf("at %d: stamp %d, state %d, want %d", s.now, c.Stamp(), st.Meta.NowMillis, s.want)
		}
	}
}

// TestCoreTimers checks that only Tick advances the timers. Due inputs are returned one at a time,
// and only while the open batch has room.
func TestCoreTimers(t *testing.T) {
	st := state.New()
	for i := range state.NodeSlot(3) {
		if err := st.Apply(&event.NodeRegistered{Node: i + 1, ID: yarn.NodeID{Host: fmt.Sprint("n", i+1), Port: 1},
			Rack: "/r"}); err != nil {
			t.Fatal(err)
		}
	}
	p := &scripted{st: st}
	c := NewCore[string](newMachine(t).cfg, p, Start{})
	tick := func(n int) {
		for range n {
			c.Tick(0, time.Second)
		}
	}
	tick(6)
	c.Touch(heartbeat("n2").Input)
	tick(4)
	c.Step(0, nil, audits(1))
	for range 3 {
		c.Step(0, nil, input.Request{Key: "write", Input: &input.Audit{}})
	}
	if in := c.Due(); in != nil {
		t.Errorf("%T is due while the batch is full", in)
	}
	c.Propose()
	for _, want := range []string{"n1", "n3", ""} {
		in, _ := c.Due().(*input.ExpireNode)
		if (in == nil) != (want == "") || in != nil && in.ID.Host != want {
			t.Errorf("%+v is due, want %q", in, want)
		}
	}
	p.due = []input.Input{&input.Tick{}, &input.PreemptionRound{}}
	tick(2) // the second one finds the same deadlines
	for _, want := range []input.Kind{input.KindTick, input.KindPreemptionRound} {
		if in := c.Due(); in == nil || in.Kind() != want {
			t.Errorf("%T is due, want kind %d", in, want)
		}
	}
	if in := c.Due(); in != nil {
		t.Errorf("%T is due twice", in)
	}
	tick(1)
	c.Aborted(ErrNotLeader)
	if in := c.Due(); in != nil {
		t.Errorf("%T is due after a failure", in)
	}
}
