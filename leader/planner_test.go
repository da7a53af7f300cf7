package leader_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"rmd/fsm"
	"rmd/fsm/state"
	"rmd/leader"
	"rmd/scheduler/capacity"
	"rmd/scheduler/input"
	"rmd/scheduler/planner"
	"rmd/snapshot"
	"rmd/yarn"
)

// machineLog is the log of one replica. It applies entries to a Machine, in a term that the test
// sets.
type machineLog struct {
	mu      sync.Mutex
	m       *fsm.Machine
	replica *fsm.Machine // a follower that applies the same entries
	index   uint64
	term    uint64
	delay   time.Duration
	deposed bool // fails every proposal
	confirm func(ctx context.Context, term uint64) error
}

type applied struct {
	done  chan struct{}
	index uint64
	err   error
}

func (a *applied) Wait() (uint64, error) { <-a.done; return a.index, a.err }

func (l *machineLog) Propose(entry []byte) leader.Future {
	a := &applied{done: make(chan struct{})}
	go func() {
		time.Sleep(l.delay)
		l.mu.Lock()
		defer l.mu.Unlock()
		defer close(a.done)
		if l.deposed {
			a.err = leader.ErrNotLeader
			return
		}
		l.index++
		e := &raft.Log{Type: raft.LogCommand, Index: l.index, Term: l.term, Data: entry}
		l.replica.Apply(e)
		if err, failed := l.m.Apply(e).(error); failed {
			a.err = fmt.Errorf("%w: %w", leader.ErrNotLeader, err)
			return
		}
		a.index = l.index
	}()
	return a
}

func sequencerOf(t *testing.T, l *machineLog) *leader.Sequencer {
	t.Helper()
	c := leader.DefaultConfig()
	c.Logger, c.Log = hclog.NewNullLogger(), l
	c.Barrier = func(context.Context) error { return nil }
	c.Confirm = l.confirm
	c.Fork = func(term uint64) leader.Start {
		st, index, seq := l.m.Planning(term)
		return leader.Start{State: st, Index: index, Sequence: seq}
	}
	c.Outcome = func(index uint64) (leader.Outcome, bool) {
		e, ok := l.m.Entry(index)
		return leader.Outcome{Digest: e.Digest, Skipped: e.Skipped}, ok
	}
	c.NewPlanner = func(st *state.State) (leader.Planner, error) {
		return planner.New(st, planner.Options{Eager: true})
	}
	c.Expiry = func(*state.State) leader.Expiry { return leader.Expiry{NodeMillis: 600_000, AttemptMillis: 600_000} }
	c.OnFatal = func(code int, err error) { t.Errorf("fatal %d: %v", code, err) }
	s, err := leader.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// run runs a sequencer on a log. elect makes it lead in a term, and end stops it.
func run(t *testing.T, l *machineLog) (s *leader.Sequencer, elect func(term uint64), end func()) {
	s = sequencerOf(t, l)
	changes := make(chan leader.Leadership)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- s.Run(ctx, changes) }()
	elect = func(term uint64) {
		l.mu.Lock()
		l.term, l.deposed = term, false
		l.mu.Unlock()
		changes <- leader.Leadership{Term: term, IsLeader: true}
		synctest.Wait()
	}
	return s, elect, func() { cancel(); <-ended }
}

// oneQueue initializes a cluster with the queue root.a.
func oneQueue() *input.InitCluster {
	return &input.InitCluster{ClusterID: "c", ClusterTimestamp: 1000, Properties: []input.Property{
		{Name: capacity.Prefix + "root.queues", Value: "a"}, {Name: capacity.Prefix + "root.a.capacity", Value: "100"},
		{Name: capacity.Prefix + "maximum-am-resource-percent", Value: "1"}}}
}

// TestWithTheRealPlanner runs applications through several leaderships with the real planner, state
// machine and codec. A follower that applied the same entries must have the same state.
func TestWithTheRealPlanner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &machineLog{m: fsm.New(fsm.Config{}), replica: fsm.New(fsm.Config{}), delay: time.Millisecond}
		s, elect, end := run(t, l)
		do := func(in input.Input) input.Reply {
			t.Helper()
			reply, index, err := s.Do(t.Context(), input.Request{Input: in})
			if err != nil {
				t.Fatalf("%T: %v", in, err)
			}
			if f := reply.Refused(); f != nil {
				t.Fatalf("%T: %v", in, f)
			}
			if at, _ := l.m.Applied(); at < index {
				t.Errorf("%T: reply at %d, applied %d", in, index, at)
			}
			return reply
		}
		elect(1)
		do(oneQueue())
		var nodes []yarn.NodeID
		for i := range 10 {
			id := yarn.NodeID{Host: fmt.Sprintf("h%d", i), Port: 1}
			nodes = append(nodes, id)
			do(&input.RegisterNode{ID: id, Rack: "/r", Total: yarn.NewResource(64<<10, 64), Version: "3.4.2"})
		}
		granted := 0
		for term := uint64(2); term < 5; term++ {
			elect(term)
			id := do(&input.SubmitApplication{Name: "x", User: "ann", Queue: "a", AM: yarn.NewResource(1024, 1),
				Unmanaged: true}).(*input.SubmitApplicationReply).ID
			at := yarn.AttemptID{App: id, Attempt: 1}
			do(&input.RegisterAttempt{Attempt: at, Host: "am"})
			ask := []input.Ask{{Key: yarn.SchedulerKey{Priority: 1}, Name: yarn.Any, Count: 40,
				Size: yarn.NewResource(2048, 1), Relax: true}}
			response := int32(0)
			for range 8 {
				r := do(&input.Allocate{Attempt: at, Response: response, Asks: ask}).(*input.AllocateReply)
				response, ask = r.Response, nil
				granted += len(r.Granted)
				for _, n := range nodes {
					do(&input.NodeHeartbeat{ID: n})
				}
			}
			if term == 3 {
				do(&input.FinishAttempt{Attempt: at, Final: yarn.FinalSucceeded})
			}
		}
		if granted != 120 {
			t.Errorf("%d containers granted, 120 asked", granted)
		}
		end()
		here, index := l.m.Fork()
		there, at := l.replica.Fork()
		if d := snapshot.Diff(here, there); len(d) > 0 || at != index || here.Digest() != there.Digest() {
			t.Errorf("the follower at %d differs from the leader at %d: %v", at, index, d)
		}
		if err := here.Check(); err != nil {
			t.Error(err)
		}
	})
}
