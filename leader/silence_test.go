package leader

import (
	"testing"
	"time"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// quietRig is a leadership's timers with nodes, at ticks of one second and a limit of two seconds.
type quietRig struct {
	t   *testing.T
	st  *state.State
	tm  timers
	cfg CoreConfig
	now int64
}

func newQuietRig(t *testing.T, nodes int) *quietRig {
	r := &quietRig{t: t, st: state.New(), now: 1_000_000}
	expiry := Expiry{NodeMillis: 600_000, AttemptMillis: 600_000, SilentMillis: 2000}
	r.cfg = CoreConfig{TickInterval: time.Second, Expiry: func(*state.State) Expiry { return expiry }}
	r.apply(&event.TimeAdvanced{NowMillis: r.now},
		&event.ClusterInitialized{ClusterID: "c", ClusterTimestamp: 5, Level: event.Level})
	for n := range nodes {
		r.apply(&event.NodeRegistered{Node: state.NodeSlot(n + 1), ID: yarn.NodeID{Host: "h", Port: uint16(n + 1)},
			Total: yarn.NewResource(1024, 1)})
	}
	r.lead()
	return r
}

func (r *quietRig) apply(events ...event.Event) {
	r.t.Helper()
	for _, e := range events {
		if err := r.st.Apply(e); err != nil {
			r.t.Fatal(err)
		}
	}
}

// lead begins a new leadership.
func (r *quietRig) lead() {
	r.tm = timers{}
	r.tm.arm(r.st, r.cfg.Expiry(r.st))
	r.tm.silence.arm(r.st, 2000)
}

func (r *quietRig) hear(nodes ...state.NodeSlot) { r.tm.touch(r.st, &input.NodesHeard{Nodes: nodes}) }

// tick ticks and applies the marks that are due. It returns how many nodes fell silent and were
// heard again.
func (r *quietRig) tick(elapsed time.Duration, listens bool) (silent, heard int) {
	r.t.Helper()
	r.now += elapsed.Milliseconds()
	r.tm.tick(r.st, r.cfg, r.now, elapsed, listens)
	r.apply(&event.TimeAdvanced{NowMillis: r.now})
	for in := r.tm.next(r.st); in != nil; in = r.tm.next(r.st) {
		in, ok := in.(*input.NodeSilence)
		if !ok {
			continue
		}
		if err := input.Check(input.Request{Input: in}); err != nil {
			r.t.Fatal(err)
		}
		for _, n := range in.Silent {
			if age := r.now - n.SinceMillis; age < 2000 {
				r.t.Errorf("node %d is silent after %d ms", n.Node, age)
			}
			r.apply(&event.NodeSilenceChanged{Node: n.Node, SinceMillis: n.SinceMillis})
		}
		for _, n := range in.Heard {
			r.apply(&event.NodeSilenceChanged{Node: n})
		}
		silent, heard = silent+len(in.Silent), heard+len(in.Heard)
	}
	return silent, heard
}

func (r *quietRig) expect(silent, heard, wantSilent, wantHeard int) {
	r.t.Helper()
	if silent != wantSilent || heard != wantHeard {
		r.t.Errorf("%d fall silent and %d are heard again, want %d and %d", silent, heard, wantSilent, wantHeard)
	}
}

// TestSilentNodes checks that a node is marked once when it has missed two heartbeats, that one that
// sends a heartbeat each second never is, and that its mark ends when it is heard.
func TestSilentNodes(t *testing.T) {
	r := newQuietRig(t, 2)
	for range 20 {
		r.hear(1, 2)
		s, h := r.tick(time.Second, true)
		r.expect(s, h, 0, 0)
	}
	for i := range 20 {
		r.hear(1)
		s, h := r.tick(time.Second, true)
		r.expect(s, h, map[bool]int{true: 1}[i == 1], 0) // missed the ticks 0 and 1: silent for 2 s or more
	}
	r.hear(1, 2)
	s, h := r.tick(time.Second, true)
	r.expect(s, h, 0, 1)
}

// TestSilenceCountsOnlyListening checks that a leader that stood still, or that took no inputs
// because the log was behind, marks no node before it has listened for long enough.
func TestSilenceCountsOnlyListening(t *testing.T) {
	r := newQuietRig(t, 1)
	r.hear(1)
	s, h := r.tick(time.Second, true)
	r.expect(s, h, 0, 0)
	r.hear(1)
	s, h = r.tick(time.Minute, true) // the process stood still; the heartbeats are in the queue
	r.expect(s, h, 0, 0)
	r.hear(1)
	for range 60 {
		s, h = r.tick(time.Second, false) // the disk was slow
		r.expect(s, h, 0, 0)
	}
	s, h = r.tick(time.Second, true) // the heartbeats since then are still in the queue
	r.expect(s, h, 0, 0)
}

// TestNewLeaderMarksWhatItMissed checks that a new leader lets each node begin a full interval, and
// keeps the marks that it finds until it hears the nodes, also when the configuration changes.
func TestNewLeaderMarksWhatItMissed(t *testing.T) {
	r := newQuietRig(t, 3)
	r.apply(&event.NodeSilenceChanged{Node: 1, SinceMillis: 7})
	r.lead()
	for i := range 5 {
		r.hear(2)
		s, h := r.tick(time.Second, true)
		r.expect(s, h, map[bool]int{true: 1}[i == 2], 0)
		if i == 3 {
			r.cfg.Expiry = func(*state.State) Expiry {
				return Expiry{NodeMillis: 500_000, AttemptMillis: 500_000, SilentMillis: 2000}
			}
		}
	}
	if n := r.st.Nodes.Get(1); n.SilentSinceMillis != 7 {
		t.Errorf("silent since %d, was 7", n.SilentSinceMillis)
	}
	r.hear(1)
	s, h := r.tick(time.Second, true)
	r.expect(s, h, 0, 1)
}

// TestSilenceIsBounded checks that one input has at most input.MaxSilence nodes, that all nodes are
// marked, and that numbers of nodes that do not exist cost no memory.
func TestSilenceIsBounded(t *testing.T) {
	const nodes = 2*input.MaxSilence + 10
	r := newQuietRig(t, nodes)
	silent := 0
	for range 4 {
		s, _ := r.tick(time.Second, true)
		silent += s
	}
	if silent != nodes {
		t.Errorf("%d of %d nodes are silent", silent, nodes)
	}
	r.hear(1 << 31)
	if len(r.tm.silence.heard) > 2*nodes {
		t.Errorf("%d entries for %d nodes", len(r.tm.silence.heard), nodes)
	}
}

// TestLostNodeIsNotSilent checks that nodes that send no heartbeats are not marked, and that one
// that comes back gets a full interval.
func TestLostNodeIsNotSilent(t *testing.T) {
	r := newQuietRig(t, 1)
	lose := &event.NodeStateChanged{Node: 1, State: yarn.NodeLost}
	r.apply(lose)
	r.tm.follow(r.st, &r.st.Changes()[0])
	for range 5 {
		s, h := r.tick(time.Second, true)
		r.expect(s, h, 0, 0)
	}
	back := &event.NodeRegistered{Node: 1, ID: yarn.NodeID{Host: "h", Port: 1}, Total: yarn.NewResource(1024, 1)}
	r.apply(back)
	r.tm.follow(r.st, &r.st.Changes()[0])
	for i := range 5 {
		s, h := r.tick(time.Second, true)
		r.expect(s, h, map[bool]int{true: 1}[i == 2], 0)
	}
}
