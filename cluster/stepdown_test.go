package cluster

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"rmd/cluster/access"
)

// greyCluster is a cluster in virtual time whose replicas record why they stepped down.
type greyCluster struct {
	*simCluster
	mu    sync.Mutex
	steps []StepDown
}

// grey runs a test with a cluster that has a leader.
func grey(t *testing.T, conf func(*Config), test func(g *greyCluster, l *simReplica)) {
	synctest.Test(t, func(t *testing.T) {
		g := &greyCluster{}
		g.simCluster = newSimCluster(t, 1, func(c *Config) {
			c.OnStepDown = func(d StepDown) {
				g.mu.Lock()
				defer g.mu.Unlock()
				g.steps = append(g.steps, d)
			}
			if conf != nil {
				conf(c)
			}
		})
		for _, r := range g.rs {
			r.logs = &faultLog{LogStore: r.disk}
		}
		g.net.lossless = true // a lost heartbeat must not end a leadership
		g.boot()
		l := g.leader(nil)
		g.commits(l)
		test(g, l)
		g.stopAll()
	})
}

func (g *greyCluster) stepDowns() []StepDown {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.steps
}

// commits checks that an entry proposed at a leader is committed.
func (g *greyCluster) commits(l *simReplica) {
	g.t.Helper()
	if _, _, err := l.c.Propose([]byte("x")).Wait(); err != nil {
		g.t.Errorf("%s: %v", l.id, err)
	}
}

// wantStepDown waits for a leader other than l, checks why l stepped down, and that the new leader
// commits entries.
func (g *greyCluster) wantStepDown(l *simReplica, cause, why string) *simReplica {
	g.t.Helper()
	begin := time.Now()
	next := g.leader(l)
	if took := time.Since(begin); took > l.c.progress.StallLimit()+2*time.Second {
		g.t.Errorf("another leader after %s", took)
	}
	g.commits(next)
	got := g.stepDowns()
	if len(got) != 1 || got[0].Cause != cause || !strings.Contains(got[0].Why, why) {
		g.t.Errorf("step-downs %+v, want one with cause %s and %q", got, cause, why)
	}
	if p := l.c.Warning(); !strings.Contains(p, "gave up leadership") || !strings.Contains(p, why) {
		g.t.Errorf("the problem of %s is %q", l.id, p)
	}
	return next
}

// wantUnmuted waits until a replica may lead again.
func (g *greyCluster) wantUnmuted(r *simReplica) {
	g.t.Helper()
	for range 100 {
		if !r.c.core.Transport.Muted() {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	g.t.Errorf("%s stays muted: %+v", r.id, r.c.Progress())
}

// blocker is a request that blocks raft's main loop until the channel is closed.
type blocker chan struct{}

// GetRPCHeader implements raft.WithRPCHeader.
func (b blocker) GetRPCHeader() raft.RPCHeader {
	<-b
	return raft.RPCHeader{}
}

// TestStepDownMainLoop checks that a leader whose main loop is blocked loses leadership, and goes on
// as a follower when the loop is free again.
func TestStepDownMainLoop(t *testing.T) {
	grey(t, nil, func(g *greyCluster, l *simReplica) {
		release := make(blocker)
		go l.c.core.Transport.Inject(release, nil)
		l.c.WatchWork(func() Work { return Work{Waiting: "a batch waits"} }) // for the main loop
		time.AfterFunc(time.Minute, func() { l.c.WatchWork(func() Work { return Work{} }) })
		g.wantStepDown(l, CauseLoop, "main loop")
		close(release)
		time.Sleep(time.Minute)
		g.wantUnmuted(l)
		if l.c.IsLeader() {
			t.Error("it leads again")
		}
	})
}

// TestStepDownUnasked checks that a leader whose main loop is blocked gives up leadership although no
// voter hears its request to campaign.
func TestStepDownUnasked(t *testing.T) {
	grey(t, nil, func(g *greyCluster, l *simReplica) {
		g.net.mu.Lock()
		g.net.refuse = func(_ raft.ServerAddress, request any) error {
			if _, ok := request.(*raft.TimeoutNowRequest); ok {
				return errSimTimeout
			}
			return nil
		}
		g.net.mu.Unlock()
		release := make(blocker)
		go l.c.core.Transport.Inject(release, nil)
		for end := time.Now().Add(2 * l.c.progress.StallLimit()); !l.c.core.Transport.Muted() && time.Now().Before(end); {
			time.Sleep(100 * time.Millisecond)
		}
		g.commits(g.leader(l))
		close(release)
		g.wantUnmuted(l)
	})
}

// TestStepDownLongestLog checks that a replica that has stepped down leads again at once when nothing
// of its own hangs any more and no other replica can win: of three voters one is dead, and its log is
// longer than that of the other one.
func TestStepDownLongestLog(t *testing.T) {
	grey(t, nil, func(g *greyCluster, l *simReplica) {
		g.stop(g.others(l)[0])
		drop := func(what func(raft.ServerAddress, any) error) {
			g.net.mu.Lock()
			defer g.net.mu.Unlock()
			g.net.refuse = what
		}
		drop(func(_ raft.ServerAddress, request any) error {
			if q, ok := request.(*raft.AppendEntriesRequest); ok && len(q.Entries) > 0 {
				return errSimTimeout
			}
			return nil
		})
		l.c.Propose([]byte("only here"))
		time.Sleep(l.c.core.Config.Election)
		release := make(blocker)
		go l.c.core.Transport.Inject(release, nil)
		for end := time.Now().Add(2 * l.c.progress.StallLimit()); !l.c.core.Transport.Muted() && time.Now().Before(end); {
			time.Sleep(100 * time.Millisecond)
		}
		if !l.c.core.Transport.Muted() {
			t.Fatal("it does not step down")
		}
		drop(nil)
		close(release)
		began := time.Now()
		g.commits(g.leader(nil))
		if took := time.Since(began); took > l.c.progress.StallLimit()/2 {
			t.Errorf("the next leader needs %s", took)
		}
	})
}

// hangingFSM hangs in Apply while its channel is set.
type hangingFSM struct {
	*testFSM
	until *atomic.Pointer[chan struct{}]
}

// Apply implements raft.FSM.
func (f hangingFSM) Apply(l *raft.Log) any {
	if ch := f.until.Load(); ch != nil {
		<-*ch
	}
	return f.testFSM.Apply(l)
}

// TestStepDownApply checks that a leader that does not apply what is committed loses leadership, and
// is not elected again while it hangs.
func TestStepDownApply(t *testing.T) {
	until := map[string]*atomic.Pointer[chan struct{}]{"a": {}, "b": {}, "c": {}}
	grey(t, func(c *Config) { c.FSM = hangingFSM{c.FSM.(*testFSM), until[c.ID]} }, func(g *greyCluster, l *simReplica) {
		release := make(chan struct{})
		until[l.id].Store(&release)
		f := l.c.Propose([]byte("hangs"))
		g.wantStepDown(l, CauseApply, "committed and not applied")
		time.Sleep(time.Minute)
		if !l.c.core.Transport.Muted() {
			t.Error("it may lead although it does not apply entries")
		}
		until[l.id].Store(nil)
		close(release)
		_, _, _ = f.Wait()
		g.wantUnmuted(l)
	})
}

// TestStepDownWork checks that a leader whose work above Raft hangs loses leadership. It is not
// elected again while that work hangs, unless nobody else is.
func TestStepDownWork(t *testing.T) {
	grey(t, nil, func(g *greyCluster, l *simReplica) {
		var hangs atomic.Bool
		hangs.Store(true)
		l.c.WatchWork(func() Work {
			if hangs.Load() {
				return Work{Waiting: "the planner hangs"}
			}
			return Work{}
		})
		g.wantStepDown(l, CauseWork, "the planner hangs")
		time.Sleep(time.Minute)
		if !l.c.core.Transport.Muted() {
			t.Error("it may lead although its work hangs")
		}
		for _, r := range g.others(l) {
			g.stop(r)
		}
		time.Sleep(2 * l.c.progress.StallLimit())
		if l.c.core.Transport.Muted() {
			t.Error("it does not try although nobody else leads")
		}
		for _, r := range g.others(l) {
			g.start(r)
		}
		hangs.Store(false)
		g.commits(g.leader(nil))
		g.wantUnmuted(l)
	})
}

// refuseEntries makes followers refuse entries with an error. Heartbeats pass.
func (g *greyCluster) refuseEntries(err error, hosts ...*simReplica) {
	g.net.mu.Lock()
	defer g.net.mu.Unlock()
	g.net.refuse = func(to raft.ServerAddress, request any) error {
		q, ok := request.(*raft.AppendEntriesRequest)
		newer := func(e *raft.Log) bool { return string(e.Data) == string(newerEntry) }
		if ok && slices.ContainsFunc(q.Entries, newer) &&
			slices.ContainsFunc(hosts, func(r *simReplica) bool { return g.addr(r) == to }) {
			return err
		}
		return nil
	}
}

func (g *greyCluster) others(l *simReplica) []*simReplica {
	var out []*simReplica
	for _, r := range g.rs {
		if r != l {
			out = append(out, r)
		}
	}
	return out
}

// TestStepDownRefusedEntry checks that a leader whose entry all followers refuse gives way to them.
// Their leader replaces the entry.
func TestStepDownRefusedEntry(t *testing.T) {
	grey(t, nil, func(g *greyCluster, l *simReplica) {
		g.refuseEntries(fmt.Errorf("%w: event 999 is not known", access.ErrBadEntry), g.others(l)...)
		f := l.c.Propose(newerEntry)
		g.wantStepDown(l, CauseCommit, "refuses: "+access.ErrBadEntry.Error()+": event 999")
		if _, _, err := f.Wait(); !errors.Is(err, ErrUnknownOutcome) {
			t.Errorf("the refused entry: %v, want %v", err, ErrUnknownOutcome)
		}
		g.wantUnmuted(l)
		if msg := differ(g.rs); msg != "" {
			t.Error(msg)
		}
	})
}

// TestStepDownNotBackAtOnce checks that a leader which stepped down does not win the next election,
// although its log is the longest and the others cannot win for a while.
func TestStepDownNotBackAtOnce(t *testing.T) {
	grey(t, nil, func(g *greyCluster, l *simReplica) {
		g.refuseEntries(access.ErrBadEntry, g.others(l)...)
		refuseEntry := g.net.refuse
		var noVotes atomic.Bool
		noVotes.Store(true)
		g.net.mu.Lock()
		g.net.refuse = func(to raft.ServerAddress, request any) error {
			if q, ok := request.(*raft.RequestVoteRequest); ok && noVotes.Load() && string(q.ID) != l.id+".0" &&
				to != g.addr(l) {
				return errSimTimeout
			}
			return refuseEntry(to, request)
		}
		g.net.mu.Unlock()
		go func() { _, _, _ = l.c.Propose(newerEntry).Wait() }()
		for end := time.Now().Add(4 * l.c.progress.StallLimit()); len(g.stepDowns()) == 0; time.Sleep(
			100 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("it does not step down")
			}
		}
		for end := time.Now().Add(l.c.progress.StallLimit() - time.Second); time.Now().Before(end); time.Sleep(
			10 * time.Millisecond) {
			if l.c.IsLeader() {
				t.Fatal("it leads again")
			}
		}
		noVotes.Store(false)
		g.commits(g.leader(l))
		g.wantUnmuted(l)
	})
}

// TestNoStepDownInVain checks that a leader which commits nothing stays, without elections, if
// nobody else could do better: a follower that refuses the entry has no majority without the leader,
// or the followers' disks are full. It says so, and continues when the cause ends.
func TestNoStepDownInVain(t *testing.T) {
	for name, hinder := range map[string]func(g *greyCluster, l *simReplica){
		"one is down, the other refuses": func(g *greyCluster, l *simReplica) {
			g.net.isolate(g.addr(g.others(l)[0]), true, true)
			g.refuseEntries(access.ErrBadEntry, g.others(l)[1])
		},
		"full disks": func(g *greyCluster, l *simReplica) {
			for _, r := range g.others(l) {
				r.c.core.Transport.RefuseEntries(true)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			grey(t, nil, func(g *greyCluster, l *simReplica) {
				hinder(g, l)
				term := l.c.Term()
				f := l.c.Propose(newerEntry)
				time.Sleep(5 * time.Minute)
				if !l.c.IsLeader() || l.c.Term() != term || len(g.stepDowns()) != 0 {
					t.Errorf("leads %v, term %d after %d, %+v", l.c.IsLeader(), l.c.Term(), term, g.stepDowns())
				}
				if p := l.c.Problem(); !strings.Contains(p, "no progress") || !strings.Contains(p, "refuses") {
					t.Errorf("its problem is %q", p)
				}
				g.refuseEntries(nil)
				for _, r := range g.others(l) {
					r.c.core.Transport.RefuseEntries(false)
				}
				if _, _, err := f.Wait(); err != nil {
					t.Error(err)
				}
				g.net.heal()
				time.Sleep(15 * time.Second) // the library tries again after up to 10 s
				if p := l.c.Problem(); p != "" {
					t.Errorf("its problem afterwards is %q", p)
				}
			})
		})
	}
}

// TestNoStepDownAlone checks that the only voter keeps leading, whatever hangs.
func TestNoStepDownAlone(t *testing.T) {
	r := newReplica(t, "rm1", func(c *Config) { fastTimers(c); c.HungGiveUp = time.Second }).start()
	leadAlone(t, r)
	r.c.WatchWork(func() Work { return Work{Waiting: "the planner hangs"} })
	eventually(t, patience, "the problem is named",
		func() bool { return strings.Contains(r.c.Problem(), "the planner hangs") })
	time.Sleep(2 * r.c.progress.StallLimit())
	if !r.c.IsLeader() || r.c.core.Transport.Muted() {
		t.Errorf("leads %v, muted %v", r.c.IsLeader(), r.c.core.Transport.Muted())
	}
}

// TestSlowLeaderStays checks that a leader whose every write takes nearly as long as a stall keeps
// leadership: it makes progress.
func TestSlowLeaderStays(t *testing.T) {
	grey(t, nil, func(g *greyCluster, l *simReplica) {
		term := l.c.Term()
		for range 20 {
			ch := make(chan struct{})
			l.logs.(*faultLog).hang.Store(&ch)
			f := l.c.Propose([]byte("slow"))
			time.Sleep(DefaultConfig().HungGiveUp - time.Second)
			close(ch)
			if _, _, err := f.Wait(); err != nil {
				t.Fatal(err)
			}
		}
		if !l.c.IsLeader() || l.c.Term() != term || len(g.stepDowns()) != 0 {
			t.Errorf("leads %v, term %d after %d, %+v", l.c.IsLeader(), l.c.Term(), term, g.stepDowns())
		}
	})
}

// TestStepDownsBecomeRare checks that leadership does not go around if each leader has an entry that
// the others refuse.
func TestStepDownsBecomeRare(t *testing.T) {
	grey(t, nil, func(g *greyCluster, l *simReplica) {
		g.refuseEntries(access.ErrBadEntry, g.rs...)
		var during []int // step-downs until the end of each period
		for range 4 {
			for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); time.Sleep(time.Second) {
				for _, r := range g.rs {
					if r.c.IsLeader() {
						go func() { _, _, _ = r.c.Propose(newerEntry).Wait() }()
					}
				}
			}
			during = append(during, len(g.stepDowns()))
		}
		if during[0] < 3 || during[3]-during[2] > 4 {
			t.Errorf("step-downs after each 5 minutes: %d, want some and then few", during)
		}
		g.refuseEntries(nil)
		time.Sleep(time.Minute)
		g.commits(g.leader(nil))
	})
}

// TestNoStepDownToHanging checks that a leader whose work hangs stays if that of the others hangs
// too.
func TestNoStepDownToHanging(t *testing.T) {
	grey(t, nil, func(g *greyCluster, l *simReplica) {
		term := l.c.Term()
		for _, r := range g.rs {
			r.c.WatchWork(func() Work { return Work{Waiting: "the planner hangs"} })
		}
		time.Sleep(5 * time.Minute)
		if !l.c.IsLeader() || l.c.Term() != term || len(g.stepDowns()) != 0 {
			t.Errorf("leads %v, term %d after %d, %+v", l.c.IsLeader(), l.c.Term(), term, g.stepDowns())
		}
	})
}
