package network

import (
	"context"
	"crypto/ed25519"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"rmd/jepsen-lite/sim/owner"
	"rmd/transport/peer"
)

// twoHosts returns hosts a and b. b answers calls of method 1 with the request, and grants all
// votes. heard returns how many requests b has received.
func twoHosts(t *testing.T) (n *Network, a, b *Host, heard func() int) {
	t.Helper()
	n = New(1)
	a, b = n.Connect("a", owner.Mark{}), n.Connect("b", owner.Mark{})
	a.Identify("0", "c")
	b.Identify("0", "c")
	calls := 0
	b.Handle(1, func(_ context.Context, _ string, req []byte) ([]byte, error) {
		n.mu.Lock()
		defer n.mu.Unlock()
		calls++
		return req, nil
	})
	go func() {
		for {
			select {
			case rpc := <-b.Consumer():
				n.mu.Lock()
				calls++
				n.mu.Unlock()
				rpc.Respond(&raft.RequestVoteResponse{Term: rpc.Command.(*raft.RequestVoteRequest).Term, Granted: true}, nil)
			case <-b.down:
				return
			}
		}
	}()
	return n, a, b, func() int {
		n.mu.Lock()
		defer n.mu.Unlock()
		return calls
	}
}

func (n *Network) end(hs ...*Host) {
	for _, h := range hs {
		n.Crash(h)
	}
	time.Sleep(time.Minute)
}

func ask(a *Host) error {
	return a.RequestVote("b.0", "b", &raft.RequestVoteRequest{Term: 3, RPCHeader: raft.RPCHeader{ID: []byte("a.0")}},
		&raft.RequestVoteResponse{})
}

func TestNetCarries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, a, b, heard := twoHosts(t)
		votes := ""
		n.OnVote = func(term uint64, voter, candidate string) { votes += voter + " for " + candidate + "; " }
		b1, err := a.Call(t.Context(), "b", 1, []byte("x"))
		if string(b1) != "x" || err != nil {
			t.Errorf("Call = %q, %v, want \"x\"", b1, err)
		}
		if err := ask(a); err != nil || heard() != 2 || votes != "b.0 for a.0; " {
			t.Errorf("%v, heard %d, votes %q", err, heard(), votes)
		}
		if _, err := a.Call(t.Context(), "z", 1, nil); !errors.Is(err, peer.ErrNotSent) {
			t.Errorf("a call to nobody: %v", err)
		}
		n.end(a, b)
	})
}

// TestNetWeather checks each kind of weather.
func TestNetWeather(t *testing.T) {
	for name, c := range map[string]struct {
		turn  func(n *Network)
		heard int
		fails bool
		least time.Duration
	}{
		"good":      {func(*Network) {}, 1, false, 0},
		"lost":      {func(n *Network) { n.SetWeather(func(w *Weather) { w.Loss = 1 }) }, 0, true, messageTimeout},
		"twice":     {func(n *Network) { n.SetWeather(func(w *Weather) { w.Double = 1 }) }, 2, false, 0},
		"cut there": {func(n *Network) { n.Sever("a", "b") }, 0, true, messageTimeout},
		"cut back":  {func(n *Network) { n.Sever("b", "a") }, 1, true, messageTimeout},
		"isolated":  {func(n *Network) { n.Isolate("b", true, true) }, 0, true, messageTimeout},
		"slow": {func(n *Network) {
			n.TurnLink("a", "b", Weather{Delay: 300 * time.Millisecond})
		}, 1, false, 300 * time.Millisecond},
		"thin": {func(n *Network) {
			n.TurnLink("a", "b", Weather{PerByte: 10 * time.Millisecond})
		}, 1, false, 500 * time.Millisecond},
		"healed":           {func(n *Network) { n.Sever("a", "b"); n.Heal() }, 1, false, 0},
		"the other's link": {func(n *Network) { n.TurnLink("b", "z", Weather{Loss: 1}) }, 1, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n, a, b, heard := twoHosts(t)
				c.turn(n)
				begin := time.Now()
				err := ask(a)
				took := time.Since(begin)
				time.Sleep(time.Second)
				if (err != nil) != c.fails || heard() != c.heard || took < c.least {
					t.Errorf("%v after %s, heard %d times", err, took, heard())
				}
				n.end(a, b)
			})
		})
	}
}

// TestNetReset checks that after a reset pending calls fail at once with an unknown outcome, and
// new ones succeed.
func TestNetReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, a, b, _ := twoHosts(t)
		n.TurnLink("a", "b", Weather{Delay: time.Second})
		time.AfterFunc(100*time.Millisecond, func() { n.Reset("b", "a") })
		begin := time.Now()
		if _, err := a.Call(t.Context(), "b", 1, nil); !errors.Is(err, peer.ErrOutcomeUnknown) ||
			time.Since(begin) != 100*time.Millisecond {
			t.Errorf("%v after %s", err, time.Since(begin))
		}
		if err := ask(a); err != nil {
			t.Error(err)
		}
		n.end(a, b)
	})
}

// TestNetHello checks that a host does not answer a removed replica or another cluster, and that
// Raft's messages need two hosts that know their cluster.
func TestNetHello(t *testing.T) {
	for name, c := range map[string]struct {
		prepare    func(a, b *Host)
		call, raft bool
	}{
		"members": {func(_, _ *Host) {}, true, true},
		"removed": {func(_, b *Host) {
			b.SetGate(func(string, string, string, string, ed25519.PublicKey) (string, string) { return "REMOVED", "" },
				nil, nil, nil)
		}, false, false},
		"other cluster": {func(a, _ *Host) { a.Identify("0", "d") }, false, false},
		"stranger":      {func(a, _ *Host) { a.Identify("0", "") }, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n, a, b, _ := twoHosts(t)
				c.prepare(a, b)
				if _, err := a.Call(t.Context(), "b", 1, nil); (err == nil) != c.call {
					t.Errorf("call: %v", err)
				}
				if err := ask(a); (err == nil) != c.raft {
					t.Errorf("raft: %v", err)
				}
				n.end(a, b)
			})
		})
	}
}

// TestNetFrozen checks that a frozen host receives nothing, and continues afterwards.
func TestNetFrozen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, a, b, heard := twoHosts(t)
		thaw := b.Freeze()
		time.AfterFunc(time.Second, func() {
			if heard() != 0 {
				t.Error("it hears while it stands still")
			}
			thaw()
		})
		if err := ask(a); err != nil || heard() != 1 {
			t.Errorf("%v, heard %d", err, heard())
		}
		n.end(a, b)
	})
}

// TestNetPipeline checks that the requests of a pipeline arrive in order, that several are under
// way at a time, and that a lost one ends the pipeline.
func TestNetPipeline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(1)
		n.Pipelined = true
		a, b := n.Connect("a", owner.Mark{}), n.Connect("b", owner.Mark{})
		a.Identify("0", "c")
		b.Identify("0", "c")
		go func() {
			for last := uint64(0); ; {
				select {
				case rpc := <-b.Consumer():
					q := rpc.Command.(*raft.AppendEntriesRequest)
					if q.PrevLogEntry != last+1 {
						t.Errorf("request %d after %d", q.PrevLogEntry, last)
					}
					last = q.PrevLogEntry
					time.AfterFunc(50*time.Millisecond,
						func() { rpc.Respond(&raft.AppendEntriesResponse{LastLog: last, Success: true}, nil) })
				case <-b.down:
					return
				}
			}
		}()
		p, err := a.AppendEntriesPipeline("b.0", "b")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			for i := uint64(1); i <= 20; i++ {
				if _, err := p.AppendEntries(&raft.AppendEntriesRequest{PrevLogEntry: i},
					&raft.AppendEntriesResponse{}); err != nil {
					t.Error(err)
				}
			}
		}()
		begin := time.Now()
		for i := uint64(1); i <= 20; i++ {
			f := <-p.Consumer()
			if f.Error() != nil || f.Request().PrevLogEntry != i || !f.Response().Success {
				t.Errorf("answer %d: %v, %+v", i, f.Error(), f.Response())
			}
		}
		if took := time.Since(begin); took > 20*50*time.Millisecond {
			t.Errorf("20 requests took %s: one waits for the other", took)
		}
		n.SetWeather(func(w *Weather) { w.Loss = 1 })
		f, err := p.AppendEntries(&raft.AppendEntriesRequest{PrevLogEntry: 21}, &raft.AppendEntriesResponse{})
		if err != nil || !errors.Is(f.Error(), ErrLost) {
			t.Errorf("a lost request: %v, %v", err, f.Error())
		}
		<-p.Consumer()
		time.Sleep(time.Second)
		if _, err := p.AppendEntries(&raft.AppendEntriesRequest{}, &raft.AppendEntriesResponse{}); !errors.Is(err,
			raft.ErrPipelineShutdown) {
			t.Errorf("a pipeline goes on that has lost something: %v", err)
		}
		n.end(a, b)
	})
}
