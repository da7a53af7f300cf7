package cluster

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"

	"rmd/cluster/identity"
	"rmd/cluster/local"
	"rmd/cluster/offline"
	"rmd/cluster/raftstore"
	"rmd/cluster/refusal"
	"rmd/internal/exitcode"
)

// faultLog is a log store that can fail or hang.
type faultLog struct {
	raft.LogStore
	err    atomic.Pointer[error]
	hang   atomic.Pointer[chan struct{}]
	writes atomic.Int64
}

func (f *faultLog) StoreLogs(l []*raft.Log) error {
	f.writes.Add(1)
	if ch := f.hang.Load(); ch != nil {
		<-*ch
	}
	if err := f.err.Load(); err != nil {
		return *err
	}
	return f.LogStore.StoreLogs(l)
}

func (f *faultLog) StoreLog(l *raft.Log) error { return f.StoreLogs([]*raft.Log{l}) }

// TestStoreErrorEndsReplica checks that the first failed write stops the replica with exit code 76,
// and that the store is not used after that.
func TestStoreErrorEndsReplica(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimCluster(t, 1, nil)
		for _, r := range s.rs {
			r.logs = &faultLog{LogStore: r.disk}
		}
		s.boot()
		l := s.leader(nil)
		if _, _, err := l.c.Propose([]byte("x")).Wait(); err != nil {
			t.Fatal(err)
		}
		fl := l.logs.(*faultLog)
		eio := errors.New("input/output error")
		fl.err.Store(&eio)
		if _, _, err := l.c.Propose([]byte("y")).Wait(); !errors.Is(err, ErrUnknownOutcome) {
			t.Errorf("got %v, want unknown outcome", err)
		}
		f := <-l.fatal
		if f.Code != exitcode.WriteFailed || !errors.Is(f.Err, eio) {
			t.Errorf("after a store error: exit code %d, %v; want %d, %v", f.Code, f.Err, exitcode.WriteFailed, eio)
		}
		fl.err.Store(nil) // a disk that works again must not be used either
		n := fl.writes.Load()
		next := s.leader(l)
		for range 20 {
			if _, _, err := next.c.Propose([]byte("z")).Wait(); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(10 * time.Second)
		if got := fl.writes.Load(); got != n {
			t.Errorf("%d writes after the failed one", got-n)
		}
		if _, _, err := l.c.Propose([]byte("y")).Wait(); !errors.Is(err, ErrNotLeader) {
			t.Errorf("propose after the end: %v", err)
		}
		if err := l.c.core.Guard.Check(); !errors.Is(err, raftstore.ErrPoisoned) || !errors.Is(err, eio) {
			t.Errorf("the guard's Check after a store error: %v, want %v and %v", err, raftstore.ErrPoisoned, eio)
		}
		s.stopAll()
	})
}

// TestTrap503 checks that a leader whose disk hangs loses leadership after 5 s and stops after 20
// s.
func TestTrap503(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimCluster(t, 1, nil)
		for _, r := range s.rs {
			r.logs = &faultLog{LogStore: r.disk}
		}
		s.boot()
		l := s.leader(nil)
		release := make(chan struct{})
		l.logs.(*faultLog).hang.Store(&release)
		begin := time.Now()
		f := l.c.Propose([]byte("x"))
		next := s.leader(l)
		took := time.Since(begin)
		if took < 4*time.Second || took > 8*time.Second {
			t.Errorf("a new leader after %s", took)
		}
		if _, _, err := next.c.Propose([]byte("y")).Wait(); err != nil {
			t.Error(err)
		}
		e := <-l.fatal
		if e.Code != exitcode.DiskHung || time.Since(begin) < 20*time.Second || time.Since(begin) > 22*time.Second {
			t.Errorf("got %d %v after %s", e.Code, e.Err, time.Since(begin))
		}
		close(release)
		if _, _, err := f.Wait(); !errors.Is(err, ErrUnknownOutcome) {
			t.Errorf("the hung entry: %v", err)
		}
		s.stopAll()
	})
}

// TestSlowDiskComesBack checks that a leader whose write returns after 10 s continues as a
// follower.
func TestSlowDiskComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimCluster(t, 1, nil)
		for _, r := range s.rs {
			r.logs = &faultLog{LogStore: r.disk}
		}
		s.boot()
		l := s.leader(nil)
		release := make(chan struct{})
		l.logs.(*faultLog).hang.Store(&release)
		f := l.c.Propose([]byte("x"))
		time.Sleep(10 * time.Second)
		l.logs.(*faultLog).hang.Store(nil)
		close(release)
		if _, _, err := f.Wait(); !errors.Is(err, ErrUnknownOutcome) {
			t.Errorf("the slow entry: %v", err)
		}
		index, _, err := s.leader(l).c.Propose([]byte("y")).Wait()
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		if err := l.c.Failure(); err != nil || l.c.AppliedIndex() < index || l.c.core.Transport.Muted() {
			t.Errorf("failure %v, applied %d of %d, muted %v", err, l.c.AppliedIndex(), index, l.c.core.Transport.Muted())
		}
		s.stopAll()
	})
}

// TestBitRotAtStart checks that a flipped bit in a stored entry prevents the start, and that the
// error names the index.
func TestBitRotAtStart(t *testing.T) {
	r := newReplica(t, "rm1", nil).start()
	leadAlone(t, r)
	index := put(t, []*replica{r}, 5)
	r.stop()
	flip(t, filepath.Join(r.dir, raftDB), index)
	err := r.open()
	var fe *exitcode.Error
	if !errors.As(err, &fe) || fe.Code != exitcode.Store || !errors.Is(err, raftstore.ErrDamaged) ||
		!strings.Contains(err.Error(), fmt.Sprintf("log entry %d", index)) {
		t.Fatalf("start with a damaged entry: %v, want exit code %d, %v, and log entry %d named",
			err, exitcode.Store, raftstore.ErrDamaged, index)
	}
	if _, err := offline.Check(r.dir, verifyTestSnap); !errors.Is(err, raftstore.ErrDamaged) {
		t.Fatalf("check: %v", err)
	}
}

// flip changes one bit of the data stored at index.
func flip(t *testing.T, path string, index uint64) {
	b, err := raftboltdb.New(raftboltdb.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	var l raft.Log
	if err := b.GetLog(index, &l); err != nil {
		t.Fatal(err)
	}
	l.Data[len(l.Data)/2] ^= 4
	if err := errors.Join(b.StoreLog(&l), b.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestBitRotWhileRunning checks that a damaged entry is neither applied nor sent while the replica
// runs.
func TestBitRotWhileRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimCluster(t, 1, nil)
		s.boot()
		l := s.leader(nil)
		var last uint64
		for range 600 { // more than the cache holds
			last, _, _ = l.c.Propose([]byte("payload")).Wait()
		}
		var bad raft.Log
		index := last - 550
		if err := l.disk.GetLog(index, &bad); err != nil {
			t.Fatal(err)
		}
		bad.Data = append([]byte(nil), bad.Data...)
		bad.Data[25] ^= 1
		_ = l.disk.StoreLog(&bad)
		done := make(chan struct{})
		go func() { // the guard ends the reader's goroutine
			defer close(done)
			var out raft.Log
			_ = l.c.core.Stores.Logs.GetLog(index, &out)
			t.Error("a damaged entry was handed out")
		}()
		<-done
		if f := <-l.fatal; f.Code != exitcode.Store ||
			!strings.Contains(fmt.Sprint(f.Err), fmt.Sprintf("log entry %d", index)) {
			t.Errorf("after reading a damaged entry: exit code %d, %v; want %d and log entry %d named",
				f.Code, f.Err, exitcode.Store, index)
		}
		s.stopAll()
	})
}

func TestDiskLevels(t *testing.T) {
	t.Parallel()
	var low atomic.Pointer[string] // id of the replica with little space
	var free atomic.Uint64
	none := ""
	low.Store(&none)
	rs := trio(t, func(c *Config) {
		id := c.ID
		c.DiskReserve, c.DiskStop = 256<<20, 64<<20
		c.Options.FreeSpace = func(string) (uint64, error) {
			if *low.Load() == id {
				return free.Load(), nil
			}
			return 1 << 40, nil
		}
	})
	put(t, rs, 3)
	l := leader(t, rs)
	free.Store(100 << 20)
	low.Store(&l.id)
	eventually(t, patience, "leadership given up at the reserve", func() bool { return !l.c.IsLeader() })
	inStep(t, rs, put(t, rs, 3))
	free.Store(10 << 20)
	eventually(t, patience, "stop level seen", l.c.core.Full.Load)
	if _, _, err := l.c.Propose([]byte("x")).Wait(); !errors.Is(err, ErrDiskFull) {
		t.Fatalf("Propose below the stop level: %v, want %v", err, ErrDiskFull)
	}
	for _, r := range rs { // a busy replica may miss the timeout of one call
		eventually(t, patience, r.id+" shows the problem, and whose it is", func() bool {
			return !slices.ContainsFunc(r.c.Members(), func(m Member) bool {
				full := m.Full && m.Problem == "disk full: 10 MiB free, writes are refused below disk.stop, 64 MiB"
				return full != (m.ID == l.id)
			})
		})
	}
	before := l.c.LastIndex()
	put(t, rs, 3)
	time.Sleep(100 * time.Millisecond)
	if l.c.LastIndex() != before || l.c.Failure() != nil {
		t.Fatalf("a full replica took entries: %d to %d, %v", before, l.c.LastIndex(), l.c.Failure())
	}
	low.Store(&none)
	inStep(t, rs, put(t, rs, 3))

	l.stop()
	low.Store(&l.id)
	var fe *exitcode.Error
	if err := l.open(); !errors.As(err, &fe) || fe.Code != exitcode.DiskFull {
		t.Fatalf("start on a full disk: %v", err)
	}
}

func TestDataDirRefusals(t *testing.T) {
	r := newReplica(t, "rm1", nil).start()
	if _, err := raftstore.OpenDir(r.dir, identity.Identity{ID: "rm1", ClusterName: "test"}); !errors.Is(err,
		raftstore.ErrInUse) {
		t.Errorf("second process: %v", err)
	}
	_, err := offline.Check(r.dir, nil)
	wantRefusal(t, err, refusal.InUse)
	r.stop()
	r.id = "rm2"
	if err := r.open(); !errors.Is(err, raftstore.ErrForeign) {
		t.Errorf("another id: %v", err)
	}
	r.id = "rm1"
	if err := os.Chmod(filepath.Join(r.dir, raftDB), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := r.open(); err == nil || !strings.Contains(err.Error(), "wider than") {
		t.Errorf("readable store: %v", err)
	}
	_ = os.Chmod(filepath.Join(r.dir, raftDB), 0o600)
	_ = os.Chmod(r.dir, 0o755)
	if err := r.open(); err == nil || !strings.Contains(err.Error(), "wider than") {
		t.Errorf("readable directory: %v", err)
	}
	_ = os.Chmod(r.dir, 0o700)
	if err := os.Remove(filepath.Join(r.dir, replicaJSON)); err != nil {
		t.Fatal(err)
	}
	if err := r.open(); !errors.Is(err, raftstore.ErrDamaged) {
		t.Errorf("identity lost: %v", err)
	}
	if err := os.Remove(filepath.Join(r.dir, raftDB)); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(r.dir, snapshotsDir, "1-2-3"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := r.open(); !errors.Is(err, raftstore.ErrDamaged) || !strings.Contains(err.Error(), "1-2-3") {
		t.Errorf("nothing left but a snapshot: %v", err)
	}
}

// TestDataDirTaken checks that a replica stops if its data directory is removed or replaced while
// it runs.
func TestDataDirTaken(t *testing.T) {
	t.Parallel()
	for name, take := range map[string]func(dir string) error{
		"removed":       os.RemoveAll,
		"the log alone": func(dir string) error { return os.Remove(filepath.Join(dir, raftDB)) },
		"replaced": func(dir string) error {
			if err := os.Rename(dir, dir+".old"); err != nil {
				return err
			}
			if err := os.Mkdir(dir, 0o700); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(dir, lockFile), nil, 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReplica(t, "rm1", nil).start()
			if err := take(r.dir); err != nil {
				t.Fatal(err)
			}
			select {
			case f := <-r.fatal:
				if f.Code != exitcode.Store || !strings.Contains(f.Err.Error(), "data directory was removed") {
					t.Errorf("ended with %d: %v", f.Code, f.Err)
				}
			case <-time.After(patience):
				t.Error("it goes on")
			}
			r.kill()
		})
	}
}

// TestStopOn checks that the library's futures can be ended from outside.
func TestStopOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimCluster(t, 1, nil)
		for _, r := range s.rs {
			r.logs = &faultLog{LogStore: r.disk}
		}
		s.boot()
		l := s.leader(nil)
		release := make(chan struct{})
		l.logs.(*faultLog).hang.Store(&release) // raft's main loop answers nothing
		in := l.c.core.Current()
		stop := make(chan struct{})
		close(stop)
		apply := in.Raft.Apply([]byte("x"), 0)
		synctest.Wait() // raft's main loop is inside the write
		for name, f := range map[string]raft.Future{"apply": apply, "verify": in.Raft.VerifyLeader()} {
			if !local.StopOn(f, stop) {
				t.Fatalf("%s: the library's future has changed", name)
			}
			if err := f.Error(); !errors.Is(err, raft.ErrRaftShutdown) {
				t.Errorf("%s: future's error %v, want %v", name, err, raft.ErrRaftShutdown)
			}
		}
		if bare := in.Raft.Apply([]byte("x"), time.Millisecond); local.StopOn(bare, stop) || local.Enqueued(bare) {
			t.Error("a refused proposal passes for one that was taken")
		}
		l.logs.(*faultLog).hang.Store(nil)
		close(release)
		s.stopAll()
	})
}

// TestNewerSnapshot checks that a snapshot of a newer program does not count as damaged, neither on
// disk nor when the leader sends it. The replica reports that its program is too old.
func TestNewerSnapshot(t *testing.T) {
	t.Parallel()
	var old atomic.Pointer[string] // id of the replica with the old program
	none := ""
	old.Store(&none)
	rs := trio(t, func(c *Config) {
		id := c.ID
		c.Trailing, c.Options.LowTrailing = 0, true
		c.VerifySnapshot = func(r io.Reader) error {
			_, err := io.Copy(io.Discard, r)
			if *old.Load() == id {
				return fmt.Errorf("%w: feature level 9", raftstore.ErrNewer)
			}
			return err
		}
	})
	l := leader(t, rs)
	f := follower(rs, l)
	put(t, rs, 5)
	f.stop()
	old.Store(&f.id)
	put(t, without(rs, f), 5)
	if err := l.c.Snapshot(); err != nil {
		t.Fatal(err)
	}
	put(t, without(rs, f), 5)
	if err := l.c.Snapshot(); err != nil {
		t.Fatal(err)
	}
	f.start()
	select {
	case fe := <-f.fatal:
		if fe.Code != exitcode.NotKnown || !errors.Is(fe.Err, raftstore.ErrNewer) {
			t.Errorf("sent a newer snapshot it ended with %d: %v", fe.Code, fe.Err)
		}
	case <-time.After(patience):
		t.Fatal("it does not say that the snapshot is newer than it")
	}
	f.kill()
	old.Store(&none)
	f.start()
	inStep(t, rs, put(t, without(rs, f), 1))
	if err := f.c.Snapshot(); err != nil {
		t.Fatal(err)
	}
	f.stop()
	old.Store(&f.id)
	var fe *exitcode.Error
	if err := f.open(); !errors.As(err, &fe) || fe.Code != exitcode.NotKnown || errors.Is(err, raftstore.ErrDamaged) {
		t.Errorf("started on a newer snapshot: %v", err)
	}
	old.Store(&none)
	f.start()
	inStep(t, rs, put(t, rs, 1))
}
