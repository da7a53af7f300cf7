package cluster

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"rmd/cluster/servers"
)

// lateVoter makes a cluster of two voters and promotes a third while one of the two is cut off. It
// returns the leader that promoted it, the promoted voter, and the voter that was cut off.
func lateVoter(t *testing.T, s *simCluster) (old, promoted, away *simReplica) {
	t.Helper()
	var conf raft.Configuration
	for _, r := range s.rs {
		s.start(r)
		conf.Servers = append(conf.Servers, raft.Server{ID: raft.ServerID(r.id + ".0"), Address: s.addr(r)})
	}
	promoted = s.rs[1]
	conf.Servers[1].Suffrage = raft.Nonvoter
	if err := s.rs[0].c.Bootstrap(conf); err != nil {
		t.Fatal(err)
	}
	old, away = s.leader(nil), s.rs[2]
	if old == away {
		away = s.rs[0]
	}
	if _, _, err := old.c.Propose([]byte("x")).Wait(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(200 * time.Millisecond) // until all replicas have the entry
	s.net.isolate(s.addr(away), true, true)
	if err := old.c.core.Current().Raft.AddVoter(raft.ServerID(promoted.id+".0"), s.addr(promoted), 0,
		time.Minute).Error(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(200 * time.Millisecond)
	if n := len(servers.Voters(promoted.c.core.Configuration())); n != 3 {
		t.Fatalf("the new voter knows %d voters", n)
	}
	if n := len(servers.Voters(away.c.core.Configuration())); n != 2 {
		t.Fatalf("who was cut off knows %d voters", n)
	}
	return old, promoted, away
}

// TestLateVoter checks that a promoted voter wins an election with the vote of a replica that does
// not know of the promotion. The library refuses such a candidate.
func TestLateVoter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimCluster(t, 1, nil)
		old, promoted, away := lateVoter(t, s)
		s.stop(old)
		s.net.heal()
		if l := s.leader(old); l != promoted {
			t.Fatalf("%s leads, whose log lacks what was committed", l.id)
		}
		index, _, err := promoted.c.Propose([]byte("y")).Wait()
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		if at := away.c.AppliedIndex(); at < index {
			t.Errorf("%s is at %d, not at %d", away.id, at, index)
		}
		if msg := differ(s.rs); msg != "" {
			t.Error(msg)
		}
		s.stopAll()
	})
}

// TestLateVoterCampaigns is like TestLateVoter, but the candidate campaigns at once, without
// pre-votes, as after crash detection.
func TestLateVoterCampaigns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimCluster(t, 2, nil)
		old, promoted, away := lateVoter(t, s)
		s.stop(old)
		time.Sleep(10 * time.Second) // until the replica that was cut off knows no leader
		s.net.heal()
		if promoted.c.IsLeader() || away.c.IsLeader() {
			t.Fatal("one leads without the other's vote")
		}
		promoted.c.lead.Succession.Campaign()
		time.Sleep(500 * time.Millisecond) // less than an election timeout
		if !promoted.c.IsLeader() {
			t.Errorf("it does not lead: %s", promoted.c.core.Current().Raft.State())
		}
		s.stopAll()
	})
}

// hungSnaps is a snapshot store whose Create hangs.
type hungSnaps struct {
	raft.SnapshotStore
	release chan struct{}
}

func (h hungSnaps) Create(v raft.SnapshotVersion, index, term uint64, conf raft.Configuration, confIndex uint64,
	tr raft.Transport) (raft.SnapshotSink, error) {
	<-h.release
	return h.SnapshotStore.Create(v, index, term, conf, confIndex, tr)
}

// TestSnapshotIsBounded checks that SnapshotWithin ends with its context while the disk hangs, also
// for a second caller, and that snapshots work again when the disk recovers.
func TestSnapshotIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := newSimCluster(t, 1, func(c *Config) {
			c.Options.SnapshotStore = hungSnaps{c.Options.SnapshotStore, release}
		})
		s.boot()
		l := s.leader(nil)
		if _, _, err := l.c.Propose([]byte("x")).Wait(); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			begin := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			err := l.c.SnapshotWithin(ctx)
			cancel()
			if took := time.Since(begin); !errors.Is(err, context.DeadlineExceeded) || took != 3*time.Second {
				t.Errorf("%v after %s", err, took)
			}
		}
		close(release)
		if err := l.c.Snapshot(); err != nil {
			t.Error(err)
		}
		if list, err := l.c.SnapshotList(); err != nil || len(list) == 0 {
			t.Errorf("%d snapshots, %v", len(list), err)
		}
		s.stopAll()
	})
}
