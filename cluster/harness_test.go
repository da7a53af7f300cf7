package cluster

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc64"
	"io"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"rmd/cluster/refusal"
	"rmd/cluster/servers"
	"rmd/cluster/timers"
	"rmd/internal/exitcode"
	"rmd/internal/portblock"
	"rmd/transport/peer"
)

// The layout of a data directory. It is part of the format.
const (
	replicaJSON  = "replica.json"
	trustJSON    = "trust.json"
	raftDB       = "raft.db"
	lockFile     = "lock"
	snapshotsDir = "snapshots"
	metaJSON     = "meta.json"
	metaSum      = "meta.crc32c"
	stateBin     = "state.bin"
)

// testFSM computes a rolling digest of the entries that it applies.
type testFSM struct {
	mu      sync.Mutex
	digest  uint64
	count   uint64
	last    uint64
	history map[uint64]uint64
	fail    error // the response of Apply, if set
	back    bool  // a snapshot has set the state back

	confs sync.Mutex // held by a test that delays committed memberships
}

// StoreConfiguration implements raft.ConfigurationStore.
func (f *testFSM) StoreConfiguration(uint64, raft.Configuration) {
	f.confs.Lock()
	defer f.confs.Unlock()
}

func newTestFSM() *testFSM { return &testFSM{history: map[uint64]uint64{}} }

var crcTable = crc64.MakeTable(crc64.ECMA)

func (f *testFSM) Apply(l *raft.Log) any {
	f.mu.Lock()
	defer f.mu.Unlock()
	if l.Index <= f.last {
		panic(fmt.Sprintf("index %d applied after %d", l.Index, f.last))
	}
	f.last = l.Index
	f.digest = crc64.Update(f.digest, crcTable, binary.BigEndian.AppendUint64(nil, l.Index))
	f.digest = crc64.Update(f.digest, crcTable, l.Data)
	f.count++
	f.history[l.Index] = f.digest
	if f.fail != nil {
		return f.fail
	}
	return f.count
}

type testSnap []byte

func (f *testFSM) Snapshot() (raft.FSMSnapshot, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	b := []byte("SNAP")
	for _, v := range []uint64{f.digest, f.count, f.last} {
		b = binary.BigEndian.AppendUint64(b, v)
	}
	return testSnap(b), nil
}

func (s testSnap) Persist(k raft.SnapshotSink) error {
	if _, err := k.Write(s); err != nil {
		return errors.Join(err, k.Cancel())
	}
	return k.Close()
}
func (testSnap) Release() {}

// verifyTestSnap implements Config.VerifySnapshot.
func verifyTestSnap(r io.Reader) error {
	b, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	if len(b) != 28 || !bytes.HasPrefix(b, []byte("SNAP")) {
		return fmt.Errorf("not a test snapshot: %q", b)
	}
	return nil
}

func (f *testFSM) Restore(r io.ReadCloser) error {
	b, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.back = f.back || binary.BigEndian.Uint64(b[20:]) < f.last
	f.digest, f.count, f.last = binary.BigEndian.Uint64(b[4:]), binary.BigEndian.Uint64(b[12:]),
		binary.BigEndian.Uint64(b[20:])
	f.history[f.last] = f.digest
	return nil
}

func (f *testFSM) state() (digest, count, last uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.digest, f.count, f.last
}

// replica is a replica in a test. It can be restarted with its address and directory.
type replica struct {
	t     testing.TB
	id    string
	dir   string
	addr  string
	tweak func(*Config)
	srv   *peer.Server
	c     *Cluster
	fsm   *testFSM
	fatal chan exitcode.Error
}

func testLogger(_ testing.TB, name string) hclog.Logger {
	if os.Getenv("RMD_TEST_LOG") == "" {
		return hclog.NewNullLogger()
	}
	return hclog.New(&hclog.LoggerOptions{Name: name, Level: hclog.Debug, Output: os.Stderr, TimeFormat: "05.000"})
}

// calm is a raft timeout that is longer than any pause of a busy machine. A leader with calm timers
// leads until the test ends its leadership. Elections do not wait for the timers: the end of a
// process, a transfer or elect starts them.
const calm = 12 * time.Second

// fastTimers sets the lowest recommended timeouts, for tests that wait for raft's own timers and
// accept any leader.
func fastTimers(c *Config) {
	c.Timers = timers.Lowest()
}

// patience is the longest time that a test waits for an expected event.
const patience = time.Minute

// testConfig returns a Config with calm timers and a fast autopilot.
func testConfig(id string) Config {
	cfg := DefaultConfig()
	cfg.ID, cfg.ClusterName = id, "test"
	cfg.Heartbeat, cfg.Election, cfg.Lease = calm, calm, calm
	cfg.Autopilot.LastContactThreshold = patience
	cfg.Autopilot.Interval = 50 * time.Millisecond
	cfg.Autopilot.ServerStabilizationTime = 100 * time.Millisecond
	cfg.DigestInterval = 0
	cfg.DiskReserve, cfg.DiskStop = 0, 0
	cfg.HungGiveUp, cfg.HungExit = 10*patience, 20*patience // the disk watchdog must not interfere
	cfg.VerifySnapshot = verifyTestSnap
	return cfg
}

func newReplica(t testing.TB, id string, tweak func(*Config)) *replica {
	r := &replica{t: t, id: id, dir: t.TempDir(), addr: portblock.Loopback(portblock.Open(t).Take()), tweak: tweak}
	if err := os.Chmod(r.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.stop)
	return r
}

// open starts the replica and returns the error of Open.
func (r *replica) open() error {
	pc := peer.DefaultConfig()
	pc.ClusterName, pc.ID, pc.Listen, pc.Logger = "test", r.id, r.addr, testLogger(r.t, r.id)
	srv, err := peer.Listen(pc)
	if err != nil {
		return err
	}
	r.addr = srv.Addr()
	r.fsm = newTestFSM()
	r.fatal = make(chan exitcode.Error, 4)
	cfg := testConfig(r.id)
	cfg.DataDir, cfg.Peer, cfg.FSM, cfg.Logger = r.dir, srv, r.fsm, testLogger(r.t, r.id)
	fatal := r.fatal
	cfg.OnFatal = func(code int, err error) { fatal <- exitcode.Error{Code: code, Err: err} }
	if r.tweak != nil {
		r.tweak(&cfg)
	}
	c, err := Open(cfg)
	if err != nil {
		_ = srv.Close()
		return err
	}
	r.srv, r.c = srv, c
	return nil
}

func (r *replica) start() *replica {
	r.t.Helper()
	if err := r.open(); err != nil {
		r.t.Fatalf("open %s: %v", r.id, err)
	}
	return r
}

// stop closes the replica properly.
func (r *replica) stop() {
	if r.c == nil {
		return
	}
	if err := r.c.Close(); err != nil {
		r.t.Errorf("close %s: %v", r.id, err)
	}
	_ = r.srv.Close()
	r.c, r.srv = nil, nil
}

// kill ends the replica as the kernel ends a killed process: listener and connections first.
func (r *replica) kill() {
	_ = r.srv.Close()
	_ = r.c.Close()
	r.c, r.srv = nil, nil
}

// eventually polls a condition until it is true, and fails the test after d.
func eventually(t testing.TB, d time.Duration, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("not within %s: %s", d, what)
}

// leadAlone makes a replica the leader of a cluster of one.
func leadAlone(t testing.TB, r *replica) {
	t.Helper()
	if err := r.c.Init(false); err != nil {
		t.Fatal(err)
	}
	elect(t, r)
}

// elect makes a replica campaign until it leads, without waiting for timers. The other replicas
// must have no leader, or the test must accept that theirs is replaced.
func elect(t testing.TB, r *replica) {
	t.Helper()
	var next time.Time
	eventually(t, patience, r.id+" leads", func() bool {
		if !r.c.IsLeader() && time.Now().After(next) {
			r.c.lead.Succession.Campaign()
			next = time.Now().Add(time.Second)
		}
		return r.c.IsLeader()
	})
}

// trio starts three replicas. The first one initializes the cluster, and the others join and are
// promoted by autopilot.
func trio(t testing.TB, tweak func(*Config)) []*replica {
	t.Helper()
	var rs []*replica
	for i := range 3 {
		rs = append(rs, newReplica(t, fmt.Sprintf("rm%d", i+1), tweak).start())
	}
	leadAlone(t, rs[0])
	for _, r := range rs[1:] {
		var err error
		eventually(t, patience, r.id+" joins", func() bool {
			var ref *refusal.Refusal
			err = r.c.Join(t.Context(), []string{rs[0].addr}, "", false)
			// the answer to the first try was lost
			return err == nil || errors.As(err, &ref) && ref.Code == refusal.AlreadyInitialized
		})
	}
	for _, r := range rs {
		eventually(t, patience, r.id+" knows three voters",
			func() bool { return len(servers.Voters(r.c.core.Configuration())) == 3 })
	}
	return rs
}

// leader waits until one replica leads and all others know it, and returns it.
func leader(t testing.TB, rs []*replica) *replica {
	t.Helper()
	var l *replica
	eventually(t, patience, "a leader known to all", func() bool {
		l = nil
		for _, r := range rs {
			if r.c != nil && r.c.IsLeader() {
				l = r
			}
		}
		for _, r := range rs {
			if r.c == nil {
				continue
			}
			if id, _ := r.c.Leader(); l == nil || id != l.id {
				return false
			}
		}
		return l != nil
	})
	return l
}

// follower returns the first replica that is not the leader.
func follower(rs []*replica, l *replica) *replica { return without(rs, l)[0] }

// without returns all replicas but one.
func without(rs []*replica, not *replica) []*replica {
	var out []*replica
	for _, r := range rs {
		if r != not {
			out = append(out, r)
		}
	}
	return out
}

// acquainted waits until each replica has received from every other one a status of the current
// term which says that it hears the leader.
func acquainted(t testing.TB, rs []*replica) {
	t.Helper()
	for _, a := range rs {
		for _, b := range without(rs, a) {
			eventually(t, patience, a.id+" hears from "+b.id, func() bool {
				p := a.c.lead.Succession.StatusOf(b.c.Identity().ServerID())
				return p.Term == a.c.Term() && p.HearsLeader && p.DeadLeaderTerm == 0
			})
		}
	}
}

// put proposes entries at the current leader until n are acknowledged. It returns the last index.
func put(t testing.TB, rs []*replica, n int) uint64 {
	t.Helper()
	var index uint64
	deadline := time.Now().Add(patience)
	for i := 0; i < n; {
		var err error = ErrNoLeader
		for _, r := range rs {
			if r.c != nil && r.c.IsLeader() {
				if index, _, err = r.c.Propose(fmt.Appendf(nil, "entry %d", i)).Wait(); err == nil {
					i++
				}
				break
			}
		}
		if err != nil {
			if time.Now().After(deadline) {
				t.Fatalf("propose: %v", err)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	return index
}

// inStep waits until all replicas have applied index, and compares their digests.
func inStep(t testing.TB, rs []*replica, index uint64) {
	t.Helper()
	var want uint64
	for i, r := range rs {
		eventually(t, patience, fmt.Sprintf("%s applies %d", r.id, index), func() bool { return r.c.AppliedIndex() >= index })
		digest, count, _ := r.fsm.state()
		if i == 0 {
			want = digest
		} else if digest != want {
			t.Fatalf("%s differs from %s after %d entries", r.id, rs[0].id, count)
		}
	}
}

// wantRefusal checks that err is a refusal with a code, and returns the refusal.
func wantRefusal(t testing.TB, err error, code refusal.Code) *refusal.Refusal {
	t.Helper()
	var r *refusal.Refusal
	if !errors.As(err, &r) || r.Code != code {
		t.Fatalf("got %v, want refusal %s", err, code)
	}
	return r
}
