package leader

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/fsm/state/change"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// fate is what the fakeLog does with an entry.
type fate int

const (
	commits   fate = iota
	refused        // not appended
	lost           // the outcome is unknown; not applied
	forgotten      // the outcome is unknown; applied
	skipped        // applied without effect, because it is stale
	tooLarge
)

// fakeLog applies entries to a committed state, one after the other, each after a delay.
type fakeLog struct {
	mu       sync.Mutex
	delay    time.Duration
	fates    map[int]fate // by the number of the proposal, from 0
	tamper   bool         // makes the committed state differ
	st       *state.State
	index    uint64
	sequence uint64
	term     uint64
	entries  [][]byte
	outcomes map[uint64]Outcome
	inflight int
	most     int
	count    int
	tail     chan struct{} // closed when the newest entry is done
	fatal    []int
}

func newLog() *fakeLog {
	done := make(chan struct{})
	close(done)
	return &fakeLog{st: state.New(), outcomes: map[uint64]Outcome{}, fates: map[int]fate{}, tail: done}
}

type fakeFuture struct {
	done  chan struct{}
	index uint64
	err   error
}

func (f *fakeFuture) Wait() (uint64, error) { <-f.done; return f.index, f.err }

func (l *fakeLog) Propose(entry []byte) Future {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := &fakeFuture{done: make(chan struct{})}
	what, before := l.fates[l.count], l.tail
	l.count++
	l.tail = f.done
	l.inflight++
	l.most = max(l.most, l.inflight)
	go func() {
		<-before
		time.Sleep(l.delay)
		l.mu.Lock()
		defer l.mu.Unlock()
		defer close(f.done)
		l.inflight--
		f.index, f.err = l.apply(entry, what)
	}()
	return f
}

// apply applies one entry according to its fate.
func (l *fakeLog) apply(entry []byte, what fate) (uint64, error) {
	switch what {
	case refused:
		return 0, fmt.Errorf("follower: %w", ErrNotLeader)
	case lost:
		return 0, fmt.Errorf("timed out: %w", ErrUnknownOutcome)
	case tooLarge:
		return 0, ErrTooLarge
	}
	b, err := event.Decode(entry)
	if err != nil {
		panic(err)
	}
	l.index++
	stale := what == skipped || b.Sequence != l.sequence+1
	if !stale {
		l.sequence = b.Sequence
		l.entries = append(l.entries, entry)
		for _, e := range b.Events {
			if err := l.st.Apply(e); err != nil {
				panic(err)
			}
		}
		if l.tamper {
			l.st.Meta.Digest++
		}
	}
	l.outcomes[l.index] = Outcome{Digest: l.st.Digest(), Skipped: stale}
	if what == forgotten {
		return 0, ErrUnknownOutcome
	}
	return l.index, nil
}

func (l *fakeLog) fork(term uint64) Start {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.term != term {
		l.term, l.sequence = term, term<<32
	}
	return Start{State: l.st.Fork(), Index: l.index, Sequence: l.sequence + 1}
}

func (l *fakeLog) outcome(index uint64) (Outcome, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	o, ok := l.outcomes[index]
	return o, ok
}

// barrier waits until the present entries are done, as Raft's barrier does.
func (l *fakeLog) barrier(ctx context.Context) error {
	l.mu.Lock()
	tail := l.tail
	l.mu.Unlock()
	select {
	case <-tail:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *fakeLog) applied() (uint64, *state.State) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.index, l.st.Fork()
}

// lateStay is the heartbeat session of heartbeats that fakePlanner treats as late.
const lateStay = 1

// fakePlanner plans inputs about nodes and audits, and records what it planned.
type fakePlanner struct {
	changes   []change.Change
	st        *state.State
	mu        sync.Mutex
	ticks     int
	stamps    []int64
	expire    []string
	unstarted []yarn.ContainerID
	drawn     []byte // entropy of the last tick
	cost      time.Duration
	due       func(now int64) []input.Input
}

func (p *fakePlanner) State() *state.State { return p.st }

// Due returns what due returns. Without due, a Tick is due at the deadline of a drain.
func (p *fakePlanner) Due(now int64) (list []input.Input) {
	if p.due != nil {
		return p.due(now)
	}
	p.st.Nodes.Each(func(_ state.NodeSlot, n *state.Node) bool {
		if n.State == yarn.NodeDecommissioning && n.DeadlineMillis <= now {
			list = []input.Input{&input.Tick{}}
		}
		return list == nil
	})
	return list
}

func (p *fakePlanner) Changes() []change.Change { return p.changes }

func (p *fakePlanner) Plan(now int64, req input.Request) (input.Reply, []event.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stamps = append(p.stamps, now)
	if p.cost > 0 {
		time.Sleep(p.cost)
	}
	reply := req.Input.NewReply()
	if r, ok := reply.(*input.NodeHeartbeatReply); ok {
		r.Late = req.Input.(*input.NodeHeartbeat).HeartbeatSession == lateStay
	}
	events := p.decide(req.Input)
	if len(events) > 0 {
		events = append([]event.Event{&event.TimeAdvanced{NowMillis: now}}, events...)
	}
	p.changes = nil
	for _, e := range events {
		if err := p.st.Apply(e); err != nil {
			panic(err)
		}
		p.changes = append(p.changes, p.st.Changes()...)
	}
	return reply, events
}

func (p *fakePlanner) decide(in input.Input) []event.Event {
	switch in := in.(type) {
	case *input.RegisterNode:
		slot := p.st.Nodes.Find(in.ID)
		if slot == 0 {
			slot = p.st.Nodes.Next()
		}
		return []event.Event{&event.NodeRegistered{Node: slot, ID: in.ID, Rack: "/r", Total: yarn.NewResource(1024, 1)}}
	case *input.DrainNode:
		return []event.Event{&event.NodeStateChanged{Node: p.st.Nodes.Find(in.ID), State: yarn.NodeDecommissioning,
			DeadlineMillis: in.DeadlineMillis}}
	case *input.ExpireNode:
		p.expire = append(p.expire, in.ID.Host)
		return []event.Event{&event.NodeStateChanged{Node: p.st.Nodes.Find(in.ID), State: yarn.NodeLost}}
	case *input.ForgetNode:
		p.expire = append(p.expire, "forget "+in.ID.Host)
		return []event.Event{&event.NodeForgotten{Node: p.st.Nodes.Find(in.ID), ID: in.ID}}
	case *input.ExpireAttempt:
		p.expire = append(p.expire, in.Attempt.String())
	case *input.NodesHeard:
		return nil
	case *input.ExpireContainers:
		p.unstarted = append(p.unstarted, in.Containers...)
	case *input.Audit: // Target is the number of events
		n := 1
		_, _ = fmt.Sscan(in.Target, &n)
		out := make([]event.Event, n)
		for i := range out {
			out[i] = &event.Audited{Who: in.Who, Action: in.Action}
		}
		return out
	case *input.Tick:
		p.ticks++
		p.drawn = in.Entropy
		var out []event.Event
		p.st.Nodes.Each(func(slot state.NodeSlot, n *state.Node) bool {
			if n.State == yarn.NodeDecommissioning {
				out = append(out, &event.NodeStateChanged{Node: slot, State: yarn.NodeDecommissioned})
			}
			return true
		})
		return out
	}
	return nil
}

func (p *fakePlanner) entropy() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.drawn
}

func (p *fakePlanner) expired() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.expire...)
}

// fixture is a Sequencer with a fakeLog.
type fixture struct {
	*Sequencer
	log     *fakeLog
	planner *fakePlanner // of the newest leadership
	cost    time.Duration
	due     func(now int64) []input.Input // of the planners
}

func newFixture(tb testing.TB, change func(*Config)) *fixture {
	r := &fixture{log: newLog()}
	cfg := DefaultConfig()
	cfg.Logger = hclog.NewNullLogger()
	cfg.Log, cfg.Barrier, cfg.Fork, cfg.Outcome = r.log, r.log.barrier, r.log.fork, r.log.outcome
	cfg.Expiry = func(*state.State) Expiry { return Expiry{NodeMillis: 600_000, AttemptMillis: 600_000} }
	cfg.NewPlanner = func(st *state.State) (Planner, error) {
		r.planner = &fakePlanner{st: st, cost: r.cost, due: r.due}
		return r.planner, nil
	}
	cfg.OnFatal = func(code int, _ error) { r.log.fatal = append(r.log.fatal, code) }
	if change != nil {
		change(&cfg)
	}
	s, err := New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	r.Sequencer = s
	return r
}

// lead leads in a term until stop is called.
func (r *fixture) lead(term uint64) (stop func()) {
	stop = r.start(context.Background(), term)
	synctest.Wait()
	return stop
}

func audit(who string) input.Request {
	return input.Request{Input: &input.Audit{Who: who, Target: "1"}}
}

func audits(n int) input.Request {
	return input.Request{Input: &input.Audit{Target: fmt.Sprint(n)}}
}

func register(host string) input.Request {
	return input.Request{Input: &input.RegisterNode{ID: yarn.NodeID{Host: host, Port: 1}}}
}

func heartbeat(host string) input.Request {
	return input.Request{Input: &input.NodeHeartbeat{ID: yarn.NodeID{Host: host, Port: 1}}}
}

// done is the result of one Do.
type done struct {
	name  string
	index uint64
	err   error
	at    time.Time
}

// ask calls Do in a goroutine and waits until it blocks or has returned.
func (r *fixture) ask(name string, req input.Request, out chan<- done) {
	go func() {
		_, index, err := r.Do(context.Background(), req)
		out <- done{name, index, err, time.Now()}
	}()
	synctest.Wait()
}

func (p *fakePlanner) ticked() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ticks
}

func (p *fakePlanner) slow(cost time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cost = cost
}
