package logsim

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/leader"
	"rmd/scheduler/input"
	"rmd/scheduler/planner"
	"rmd/yarn"
)

// The tests of this file run the sequencer, which drives the same core with goroutines and
// channels, on a log that is slow to commit.

// slowLog is a log that keeps every entry. Unless it is open, the test commits each batch.
type slowLog struct {
	entries [][]byte
	open    bool // every batch is committed at once
	commit  chan struct{}
}

type slowFuture struct {
	index  uint64
	commit chan struct{}
}

// Wait implements leader.Future.
func (f slowFuture) Wait() (uint64, error) {
	if f.commit != nil {
		<-f.commit
	}
	return f.index, nil
}

// Propose implements leader.Log.
func (l *slowLog) Propose(entry []byte) leader.Future {
	l.entries = append(l.entries, entry)
	f := slowFuture{index: uint64(len(l.entries)), commit: l.commit}
	if l.open {
		f.commit = nil
	}
	return f
}

// events returns the events of the entries after the first `from` ones.
func (l *slowLog) events(t *testing.T, from int) []event.Event {
	var out []event.Event
	for _, e := range l.entries[from:] {
		b, err := event.Decode(e)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, b.Events...)
	}
	return out
}

// lead runs f with a sequencer that leads an initialized cluster. Its program knows the next feature
// level, too.
func lead(t *testing.T, jump *time.Duration, f func(log *slowLog, seq *leader.Sequencer)) {
	synctest.Test(t, func(t *testing.T) {
		opt := Draw(1)
		opt.Tree, opt.Dominant, opt.Kinds = 0, false, 2
		w := newWorld(opt)
		w.boot()
		log := &slowLog{open: true, commit: make(chan struct{}, 16)}
		cfg := leader.DefaultConfig()
		cfg.Logger, cfg.Log = hclog.NewNullLogger(), log
		cfg.Barrier = func(context.Context) error { return nil }
		cfg.Now = func() time.Time { return time.Now().Add(*jump) }
		cfg.Fork = func(term uint64) leader.Start {
			st, index, sequence := w.rs[0].m.Planning(term)
			return leader.Start{State: st, Index: index, Sequence: sequence}
		}
		cfg.NewPlanner = func(st *state.State) (leader.Planner, error) {
			return planner.New(st, planner.Options{Level: event.Level + 1})
		}
		cfg.Expiry = func(*state.State) leader.Expiry {
			return leader.Expiry{NodeMillis: nodeExpiry, AttemptMillis: attemptExpiry, ContainerMillis: containerExpiry}
		}
		seq, err := leader.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- seq.Lead(ctx, 2) }()
		synctest.Wait()
		f(log, seq)
		cancel()
		close(log.commit)
		<-ended
	})
}

func ask(t *testing.T, seq *leader.Sequencer, in input.Input) input.Reply {
	t.Helper()
	r, _, err := seq.Do(context.Background(), input.Request{Input: in})
	if err != nil {
		t.Fatalf("%T: %v", in, err)
	}
	if f := r.Refused(); f != nil {
		t.Fatalf("%T: %v", in, f)
	}
	return r
}

// TestLeaderWritesClusterLevel checks that a leader of a newer build writes nothing above the
// cluster's feature level. Replicas of the older build would stop.
func TestLeaderWritesClusterLevel(t *testing.T) {
	lead(t, new(time.Duration), func(log *slowLog, seq *leader.Sequencer) {
		ask(t, seq, &input.Audit{Who: "op"})
		for _, e := range log.entries {
			if b, err := event.Decode(e); err != nil || b.Level > event.Level {
				t.Errorf("S1: an entry of level %d in a cluster of level %d: replicas of the older build stop (%v)", b.Level,
					event.Level, err)
			}
		}
		if len(log.entries) == 0 {
			t.Error("nothing was written")
		}
	})
}

// TestNoReplyBeforeCommit checks that no answer leaves before its batch is committed: an
// acknowledgement (S4), an order to a node (S11), the acknowledgement of a container's end (S12).
func TestNoReplyBeforeCommit(t *testing.T) {
	node := yarn.NodeID{Host: "n", Port: 1}
	lead(t, new(time.Duration), func(log *slowLog, seq *leader.Sequencer) {
		ask(t, seq, &input.RegisterNode{ID: node, Rack: "/r", Total: yarn.NewResource(8192, 8)})
		early := func(invariant string, in input.Input) input.Reply {
			t.Helper()
			log.open = false
			var reply input.Reply
			done := make(chan struct{})
			go func() {
				defer close(done)
				reply = ask(t, seq, in)
			}()
			synctest.Wait()
			select {
			case <-done:
				t.Errorf("%s: %T is answered with %+v before its entry is committed", invariant, in, reply)
			default:
			}
			log.open = true
			log.commit <- struct{}{}
			<-done
			synctest.Wait()
			return reply
		}
		early("S4", &input.SubmitApplication{Name: "a", User: "u", Queue: "root.b", AM: yarn.NewResource(1024, 1)})
		launch := early("S11", &input.NodeHeartbeat{ID: node}).(*input.NodeHeartbeatReply).Launch
		if len(launch) != 1 {
			t.Fatalf("%d containers are to be launched", len(launch))
		}
		ended := []input.ContainerStatus{{Container: launch[0].Container, State: yarn.ContainerCompleted}}
		early("S12", &input.NodeHeartbeat{ID: node, Statuses: ended})
	})
}

// TestClockJumpExpiresNobody checks that a jump of the machine's clock does not expire a node that
// sends heartbeats, which would end its containers (S7, S11).
func TestClockJumpExpiresNobody(t *testing.T) {
	node := yarn.NodeID{Host: "n", Port: 1}
	jump := new(time.Duration)
	lead(t, jump, func(log *slowLog, seq *leader.Sequencer) {
		ask(t, seq, &input.RegisterNode{ID: node, Rack: "/r", Total: yarn.NewResource(8192, 8)})
		from := len(log.entries)
		for _, step := range []time.Duration{0, time.Hour, -2 * time.Hour, 24 * time.Hour} {
			*jump += step
			for range 4 {
				time.Sleep(time.Second)
				synctest.Wait()
				ask(t, seq, &input.NodeHeartbeat{ID: node})
			}
		}
		for _, e := range log.events(t, from) {
			if e, ok := e.(*event.NodeStateChanged); ok && e.State == yarn.NodeLost {
				t.Errorf("S7, S11: a node that is heard of every second is lost when the clock jumps: %+v", e)
			}
		}
	})
}
