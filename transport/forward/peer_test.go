package forward

import (
	"context"
	"sync"
	"testing"

	"github.com/hashicorp/go-hclog"

	"rmd/internal/leadership"
	"rmd/transport/peer"
)

// overPeer returns two forwarders that are connected by real peer servers. The first one leads.
func overPeer(tb testing.TB) (leader, follower *Forwarder) {
	tb.Helper()
	var servers []*peer.Server
	for _, id := range []string{"a", "b"} {
		c := peer.DefaultConfig()
		c.ClusterName, c.ID, c.Listen, c.Logger = "test", id, "127.0.0.1:0", hclog.NewNullLogger()
		s, err := peer.Listen(c)
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { _ = s.Close() })
		s.Identify("1", "cluster")
		servers = append(servers, s)
	}
	open := func(s *peer.Server, l leadership.Leadership) *Forwarder {
		cfg := DefaultConfig()
		tracker := NewTracker()
		tracker.Set(l)
		cfg.Logger, cfg.Sequencer, cfg.Peer, cfg.Leader = hclog.NewNullLogger(), &sequencer{index: 42}, s, tracker.Leader
		cfg.WaitApplied = func(context.Context, uint64) error { return nil }
		d, err := New(cfg)
		if err != nil {
			tb.Fatal(err)
		}
		return d
	}
	l := leadership.Leadership{Term: 1, Address: servers[0].Addr()}
	return open(servers[0], here(l)), open(servers[1], l)
}

func TestOverTheRealWire(t *testing.T) {
	_, b := overPeer(t)
	var wg sync.WaitGroup
	for range 200 {
		wg.Go(func() {
			if _, index, err := b.Do(t.Context(), request); err != nil || index != 42 {
				t.Errorf("index %d, %v", index, err)
			}
		})
	}
	wg.Wait()
}

// BenchmarkForward forwards inputs between two peers on this machine. Budget: 20 µs per input.
func BenchmarkForward(b *testing.B) {
	_, submitter := overPeer(b)
	b.SetParallelism(128)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, _, err := submitter.Do(b.Context(), request); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
