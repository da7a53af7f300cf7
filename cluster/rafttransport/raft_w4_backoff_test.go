package rafttransport

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

// TestWaitersReleasedOnRemoval checks that calls which wait for a follower end when the follower is
// removed or leadership ends.
func TestWaitersReleasedOnRemoval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &switched{}
		r.member.Store(true)
		r.leads.Store(true)
		_, inner := raft.NewInmemTransport("a")
		w := New(Config{Transport: inner, Replica: r, Log: r, Snapshots: r, Logger: hclog.NewNullLogger()})
		w.Start()
		defer w.Stop()
		held := func() <-chan struct{} {
			done := make(chan struct{})
			go func() {
				defer close(done)
				_ = w.AppendEntries("b", "b", &raft.AppendEntriesRequest{Term: 1, PrevLogEntry: 1}, &raft.AppendEntriesResponse{})
			}()
			time.Sleep(time.Minute)
			select {
			case <-done:
				t.Error("it does not wait for who is away")
			default:
			}
			return done
		}
		done := held()
		r.member.Store(false)
		time.Sleep(2 * followerPoll)
		<-done
		r.member.Store(true)
		done = held()
		r.leads.Store(false)
		time.Sleep(2 * followerPoll)
		<-done
		if err := w.AppendEntries("b", "b", &raft.AppendEntriesRequest{Term: 1}, &raft.AppendEntriesResponse{}); err == nil {
			t.Error("a heartbeat to who is away succeeds")
		}
	})
}

// switched is a replica with one follower. The test sets whether it leads and whether the follower
// is a member.
type switched struct {
	replica
	member, leads atomic.Bool
}

func (s *switched) Leads(uint64) bool { return s.leads.Load() }
func (s *switched) Configuration() raft.Configuration {
	if !s.member.Load() {
		return raft.Configuration{}
	}
	return raft.Configuration{Servers: []raft.Server{{ID: "b"}}}
}
