package cluster

import (
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand"
	"os"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-metrics"
	"github.com/hashicorp/raft"

	"rmd/internal/exitcode"
)

// simReplica is one replica of a simulated cluster. Its in-memory stores represent the disk.
type simReplica struct {
	id    string
	logs  raft.LogStore
	disk  *raft.InmemStore
	snaps *raft.InmemSnapshotStore
	fsm   *testFSM
	c     *Cluster
	fatal chan exitcode.Error
}

// simCluster is a cluster in virtual time. It must be created inside a synctest bubble.
type simCluster struct {
	t    *testing.T
	net  *simNet
	rs   []*simReplica
	conf func(*Config)
	log  hclog.Logger
}

func newSimCluster(t *testing.T, seed int64, conf func(*Config)) *simCluster {
	s := &simCluster{t: t, net: newSimNet(seed), conf: conf, log: hclog.NewNullLogger()}
	for _, id := range []string{"a", "b", "c"} {
		disk := raft.NewInmemStore()
		s.rs = append(s.rs, &simReplica{id: id, logs: disk, disk: disk, snaps: raft.NewInmemSnapshotStore(),
			fatal: make(chan exitcode.Error, 4)})
	}
	return s
}

func (s *simCluster) addr(r *simReplica) raft.ServerAddress { return raft.ServerAddress(r.id) }

func (s *simCluster) start(r *simReplica) {
	r.fsm = newTestFSM()
	cfg := testConfig(r.id)
	cfg.Heartbeat, cfg.Election, cfg.Lease = time.Second, time.Second, 500*time.Millisecond
	cfg.HungGiveUp, cfg.HungExit = DefaultConfig().HungGiveUp, DefaultConfig().HungExit
	cfg.FSM, cfg.Logger = r.fsm, s.log
	cfg.OnFatal = func(code int, err error) { r.fatal <- exitcode.Error{Code: code, Err: err} }
	cfg.Options = Options{LogStore: r.logs, StableStore: r.disk, SnapshotStore: r.snaps, Transport: s.net.host(s.addr(r)),
		Incarnation: "0", ClusterID: "sim", LowTrailing: true}
	if s.conf != nil {
		s.conf(&cfg)
	}
	c, err := Open(cfg)
	if err != nil {
		s.t.Fatalf("open %s: %v", r.id, err)
	}
	r.c = c
}

// boot starts all replicas and writes the first membership.
func (s *simCluster) boot() {
	var conf raft.Configuration
	for _, r := range s.rs {
		s.start(r)
		conf.Servers = append(conf.Servers, raft.Server{ID: raft.ServerID(r.id + ".0"), Address: s.addr(r)})
	}
	if err := s.rs[0].c.Bootstrap(conf); err != nil {
		s.t.Fatal(err)
	}
}

func (s *simCluster) stop(r *simReplica) {
	s.net.crash(s.addr(r))
	_ = r.c.Close()
}

func (s *simCluster) stopAll() {
	for _, r := range s.rs {
		s.stop(r)
	}
	time.Sleep(time.Minute) // for timers that are still running
}

// leader waits for a leader other than not, and returns it.
func (s *simCluster) leader(not *simReplica) *simReplica {
	for range 3000 {
		time.Sleep(10 * time.Millisecond)
		for _, r := range s.rs {
			if r != not && r.c.IsLeader() {
				return r
			}
		}
	}
	s.t.Fatal("no leader in 30 s")
	return nil
}

// yielder delays the library's goroutines at log lines and metrics, to provoke race conditions.
type yielder struct {
	mu  sync.Mutex
	rng *rand.Rand
}

func (y *yielder) set(rng *rand.Rand) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.rng = rng
}

func (y *yielder) yield() {
	y.mu.Lock()
	var d time.Duration
	if y.rng != nil && y.rng.Intn(3) == 0 {
		d = time.Duration(y.rng.Intn(30)) * time.Millisecond
		if y.rng.Intn(5) == 0 {
			d = time.Duration(y.rng.Intn(1500)) * time.Millisecond
		}
	}
	y.mu.Unlock()
	if d > 0 {
		time.Sleep(d)
	}
}

var yields = &yielder{}

type yieldLog struct{ hclog.Logger }

func (yieldLog) Trace(string, ...any) { yields.yield() }

func (yieldLog) Debug(string, ...any) { yields.yield() }

func (yieldLog) Info(string, ...any) { yields.yield() }

func (yieldLog) Warn(string, ...any) { yields.yield() }

func (yieldLog) Error(string, ...any) { yields.yield() }

func (l yieldLog) With(...any) hclog.Logger { return l }

func (l yieldLog) Named(n string) hclog.Logger {
	if n == "raft" {
		return l // only the library is delayed
	}
	return namedLog(l)
}

func (yieldLog) StandardLogger(*hclog.StandardLoggerOptions) *log.Logger {
	return log.New(io.Discard, "", 0)
}

// namedLog is the logger of our own code. The logger that it returns for raft yields.
type namedLog struct{ hclog.Logger }

func (l namedLog) Named(n string) hclog.Logger {
	if n == "raft" {
		return yieldLog(l)
	}
	return l
}

type yieldSink struct{ metrics.BlackholeSink }

func (*yieldSink) SetGauge([]string, float32) { yields.yield() }

func (*yieldSink) SetGaugeWithLabels([]string, float32, []metrics.Label) { yields.yield() }

func (*yieldSink) IncrCounter([]string, float32) { yields.yield() }

func (*yieldSink) IncrCounterWithLabels([]string, float32, []metrics.Label) { yields.yield() }

// TestTrap695 simulates network partitions and slow goroutines with many seeds. With the
// work-around no seed may show two leaders of one term, or states that differ. RMD_SIM_SEEDS sets
// the number of seeds. With RMD_SIM_FASTPATH=1 the work-around is off, and some seed must fail.
func TestTrap695(t *testing.T) {
	seeds, fast := 12, os.Getenv("RMD_SIM_FASTPATH") == "1"
	if n, err := strconv.Atoi(os.Getenv("RMD_SIM_SEEDS")); err == nil {
		seeds = n
	}
	mc := metrics.DefaultConfig("sim")
	mc.EnableRuntimeMetrics, mc.EnableHostname = false, false
	if _, err := metrics.NewGlobal(mc, &yieldSink{}); err != nil {
		t.Fatal(err)
	}
	defer yields.set(nil)
	bad := 0
	for seed := range seeds {
		if msg := run695(t, int64(seed), fast); msg != "" {
			bad++
			t.Logf("seed %d: %s", seed, msg)
		}
	}
	t.Logf("fast path %v: %d of %d seeds diverged", fast, bad, seeds)
	if !fast && bad > 0 {
		t.Error("the guard does not hold")
	}
	if fast && bad == 0 {
		t.Errorf("no divergence in %d seeds without the guard: does the simulation still see it? (about 1 in 150 does)",
			seeds)
	}
}

// run695 runs one seed for three virtual minutes. It returns what went wrong, or "".
func run695(t *testing.T, seed int64, fast bool) (msg string) {
	synctest.Test(t, func(t *testing.T) {
		yields.set(rand.New(rand.NewSource(seed + 99)))
		rng := rand.New(rand.NewSource(seed))
		s := newSimCluster(t, seed+7, func(c *Config) { c.Options.HeartbeatFastPath = fast })
		s.log = namedLog{hclog.NewNullLogger()}
		s.boot()
		begin, next := time.Now(), time.Now().Add(5*time.Second)
		leaders := map[uint64]string{}
		for k := 0; time.Since(begin) < 3*time.Minute; k++ {
			time.Sleep(10 * time.Millisecond)
			for _, r := range s.rs {
				term := r.c.Term()
				if !r.c.IsLeader() || r.c.Term() != term {
					continue
				}
				if who, ok := leaders[term]; ok && who != r.id && msg == "" {
					msg = fmt.Sprintf("two leaders of term %d: %s and %s after %s", term, who, r.id, time.Since(begin))
				}
				leaders[term] = r.id
				r.c.core.Current().Raft.Apply(fmt.Appendf(nil, "%s-%d", r.id, k), 50*time.Millisecond)
			}
			if time.Now().After(next) {
				s.net.heal()
				if rng.Intn(2) == 1 {
					s.net.isolate(s.addr(s.rs[rng.Intn(3)]), true, rng.Intn(2) == 0)
				}
				next = time.Now().Add(time.Duration(200+rng.Intn(3000)) * time.Millisecond)
			}
		}
		s.net.heal()
		time.Sleep(20 * time.Second)
		yields.set(nil)
		time.Sleep(5 * time.Second)
		if msg == "" {
			msg = differ(s.rs)
		}
		for _, r := range s.rs {
			if err := r.c.Failure(); err != nil && msg == "" {
				msg = fmt.Sprintf("%s stopped: %v", r.id, err)
			}
		}
		s.stopAll()
	})
	return msg
}

// differ compares the digests of all replicas after every index that two of them have applied. It
// returns a description of a difference, or "".
func differ(rs []*simReplica) string {
	for i, a := range rs {
		for _, b := range rs[:i] {
			a.fsm.mu.Lock()
			b.fsm.mu.Lock()
			var first uint64
			for index, d := range a.fsm.history {
				if e, ok := b.fsm.history[index]; ok && d != e && (first == 0 || index < first) {
					first = index
				}
			}
			b.fsm.mu.Unlock()
			a.fsm.mu.Unlock()
			if first != 0 {
				return fmt.Sprintf("states of %s and %s differ from index %d on", a.id, b.id, first)
			}
		}
	}
	return ""
}

// divergentTail produces the state of hashicorp/raft #697: the leader sends a snapshot to a
// follower whose uncommitted tail reaches beyond the snapshot, or exactly to its end. It returns
// that follower and the leader.
func divergentTail(t *testing.T, s *simCluster, atEnd bool) (old, now *simReplica) {
	s.boot()
	old = s.leader(nil)
	for i := range 10 {
		if _, _, err := old.c.Propose(fmt.Appendf(nil, "x%d", i)).Wait(); err != nil {
			t.Fatal(err)
		}
	}
	s.net.isolate(s.addr(old), true, true)
	for range 100 {
		old.c.core.Current().Raft.Apply([]byte("lost"), time.Second)
	}
	now = s.leader(old)
	for n := 0; n < 20 || atEnd && now.c.LastIndex() < old.c.LastIndex(); n++ {
		if _, _, err := now.c.Propose([]byte("y")).Wait(); err != nil {
			t.Fatal(err)
		}
	}
	if err := now.c.Snapshot(); err != nil {
		t.Fatal(err)
	}
	return old, now
}

func TestTrap697(t *testing.T) {
	for _, atEnd := range []bool{false, true} {
		t.Run(fmt.Sprintf("at end %v", atEnd), func(t *testing.T) { leavesDivergentTail(t, atEnd) })
	}
}

func leavesDivergentTail(t *testing.T, atEnd bool) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimCluster(t, 1, func(c *Config) { c.Trailing = 0 })
		old, now := divergentTail(t, s, atEnd)
		applied := old.c.AppliedIndex()
		before := s.net.countInstalls()
		s.net.heal()
		for range 600 {
			time.Sleep(100 * time.Millisecond)
			if at := old.c.AppliedIndex(); at < applied {
				t.Fatalf("applied index went back from %d to %d", applied, at)
			} else {
				applied = at
			}
		}
		index, _, err := now.c.Propose([]byte("z")).Wait()
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		if got := old.c.AppliedIndex(); got < index {
			t.Errorf("the follower is at %d, not at %d", got, index)
		}
		if n := s.net.countInstalls() - before; n > 3 {
			t.Errorf("%d snapshots were sent", n)
		}
		if old.c.Stats().Restarts == 0 {
			t.Error("raft was not restarted in place: does the scenario still show the trap?")
		}
		if msg := differ(s.rs); msg != "" {
			t.Error(msg)
		}
		s.stopAll()
	})
}

// TestTrap697Library shows that the library alone sends the snapshot again and again.
func TestTrap697Library(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimCluster(t, 1, func(c *Config) { c.Trailing = 0 })
		old, _ := divergentTail(t, s, false)
		// The follower runs the library without our stores and without restarts.
		s.net.crash(s.addr(old))
		_ = old.c.Close()
		bare := raft.NewInmemStore()
		last, _ := old.disk.LastIndex()
		for i := uint64(1); i <= last; i++ {
			var l raft.Log
			if err := old.c.core.Stores.Logs.Peek(i, &l); err != nil {
				t.Fatal(err)
			}
			_ = bare.StoreLog(&l)
		}
		_ = bare.SetUint64([]byte("CurrentTerm"), 2)
		rc := raft.DefaultConfig()
		rc.LocalID, rc.Logger, rc.TrailingLogs = raft.ServerID(old.id+".0"), hclog.NewNullLogger(), 0
		r, err := raft.NewRaft(rc, newTestFSM(), bare, bare, raft.NewInmemSnapshotStore(), s.net.host(s.addr(old)))
		if err != nil {
			t.Fatal(err)
		}
		before := s.net.countInstalls()
		s.net.heal()
		time.Sleep(time.Minute)
		if n := s.net.countInstalls() - before; n < 50 {
			t.Errorf("only %d snapshots: the library has changed, and our guard may not be needed any more", n)
		}
		s.net.crash(s.addr(old))
		_ = r.Shutdown().Error()
		for _, v := range s.rs {
			if v != old {
				s.stop(v)
			}
		}
		time.Sleep(time.Minute)
	})
}

// TestTrap696 checks that raft is restarted in place after a transfer whose request hangs. Until
// then the leader refuses everything.
func TestTrap696(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimCluster(t, 1, nil)
		s.boot()
		l := s.leader(nil)
		if _, _, err := l.c.Propose([]byte("x")).Wait(); err != nil {
			t.Fatal(err)
		}
		release := make(chan struct{})
		s.net.mu.Lock()
		s.net.transfers = release
		s.net.mu.Unlock()
		if err := l.c.transferHere(t.Context(), ""); err == nil {
			t.Fatal("the transfer succeeded")
		}
		_, _, err := l.c.Propose([]byte("x")).Wait()
		if !errors.Is(err, raft.ErrLeadershipTransferInProgress) || !errors.Is(err, ErrNotLeader) {
			t.Fatalf("got %v: does the scenario still show the trap?", err)
		}
		time.Sleep(4 * time.Second) // two election timeouts, and an election
		if n := l.c.Stats().Restarts; n != 1 {
			t.Errorf("%d restarts in place", n)
		}
		if _, _, err := s.leader(nil).c.Propose([]byte("x")).Wait(); err != nil {
			t.Errorf("after the watchdog: %v", err)
		}
		close(release)
		s.stopAll()
	})
}
