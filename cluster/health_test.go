package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"rmd/cluster/progress"
	"rmd/internal/job"
)

// memberOf returns a replica as Members of another one shows it.
func memberOf(t testing.TB, by *replica, id string) Member {
	t.Helper()
	for _, m := range by.c.Members() {
		if m.ID == id {
			return m
		}
	}
	t.Fatalf("%s does not know %s", by.id, id)
	return Member{}
}

// TestMembersStalled checks that followers which refuse entries, and a replica that gets nothing
// done, are stalled although they answer.
func TestMembersStalled(t *testing.T) {
	t.Parallel()
	var older refusers
	rs := trio(t, older.tweak)
	inStep(t, rs, put(t, rs, 3))
	l := leader(t, rs)
	for _, m := range l.c.Members() {
		if m.Stalled != "" {
			t.Errorf("%s is stalled: %s", m.ID, m.Stalled)
		}
	}
	f := follower(rs, l)
	older.set(f)
	if _, _, err := l.c.Propose(newerEntry).Wait(); err != nil {
		t.Fatal(err)
	}
	eventually(t, patience, "the refusing follower is stalled", func() bool {
		return strings.Contains(memberOf(t, l, f.id).Stalled, "refuses the leader's entries: ") &&
			memberOf(t, f, f.id).Stalled != ""
	})
	older.set()
	eventually(t, patience, "it is not stalled any more", func() bool { return memberOf(t, l, f.id).Stalled == "" })
	eventually(t, patience, "a replica that gets nothing done is stalled", func() bool {
		var marks [progress.StallKinds]uint64
		texts := [progress.StallKinds]string{progress.StallApply: "entry 9 is not applied"}
		for range 2 { // the first one has a new mark; they hold until the next look
			f.c.progress.Stalls.Observe(marks, texts, time.Hour)
		}
		m := memberOf(t, l, f.id)
		return m.Stalled == "entry 9 is not applied" &&
			strings.Contains(m.Problem, "no progress for 1h0m0s: entry 9 is not applied")
	})
}

// walled is a Peer that cannot open new connections while shut is set.
type walled struct {
	Peer
	shut *atomic.Bool
}

var errExpired = errors.New("tls: expired certificate")

func (w walled) Reach(ctx context.Context, addr string) error {
	if w.shut.Load() {
		return errExpired
	}
	return w.Peer.Reach(ctx, addr)
}

// TestMembersUnreached checks that a replica which cannot open new connections says to whom and why,
// although its old connections go on, and that it recovers.
func TestMembersUnreached(t *testing.T) {
	t.Parallel()
	var shut atomic.Bool
	rs := trio(t, func(c *Config) {
		if c.ID == "rm2" {
			c.Peer = walled{c.Peer, &shut}
		}
	})
	l := leader(t, rs)
	shut.Store(true)
	eventually(t, patience, "rm2 names both others", func() bool {
		u := memberOf(t, l, "rm2").Unreached
		return len(u) == 2 && u["rm1"] == errExpired.Error() && u["rm3"] == errExpired.Error()
	})
	put(t, rs, 3) // the old connections go on
	if u := memberOf(t, l, "rm3").Unreached; u != nil {
		t.Errorf("rm3 does not reach %v", u)
	}
	shut.Store(false)
	eventually(t, patience, "rm2 reaches all", func() bool { return memberOf(t, l, "rm2").Unreached == nil })
}

// fullStore is a snapshot store on a disk without space for a new file.
type fullStore struct {
	raft.SnapshotStore
	full *atomic.Bool
}

func (s fullStore) Create(v raft.SnapshotVersion, index, term uint64, conf raft.Configuration, at uint64,
	tr raft.Transport) (raft.SnapshotSink, error) {
	if s.full.Load() {
		return nil, syscall.ENOSPC
	}
	return s.SnapshotStore.Create(v, index, term, conf, at, tr)
}

// TestSnapshotJob checks that snapshots that fail are a problem of the replica, which ends with the
// next one.
func TestSnapshotJob(t *testing.T) {
	t.Parallel()
	var full atomic.Bool
	jobs := job.New(time.Now)
	failed := make(chan Measure, 16)
	r := newReplica(t, "rm1", func(c *Config) {
		c.Jobs = jobs
		c.Options.SnapshotStore = fullStore{raft.NewInmemSnapshotStore(), &full}
		c.Observe = func(what Measure, _ time.Duration) {
			if what == MeasureNoShot {
				failed <- what
			}
		}
	}).start()
	leadAlone(t, r)
	put(t, []*replica{r}, 3)
	full.Store(true)
	for range 2 {
		if err := r.c.Snapshot(); err == nil {
			t.Fatal("a snapshot without space")
		}
	}
	const says = "snapshot: cannot write snapshots (2 times in a row): create snapshot at "
	if m := memberOf(t, r, "rm1"); !strings.Contains(m.Problem, says) ||
		!strings.Contains(m.Problem, "no space left on device") {
		t.Errorf("the problem is %q", m.Problem)
	}
	if len(failed) != 2 {
		t.Errorf("%d failures were measured", len(failed))
	}
	if p := r.c.Problem(); p != "" {
		t.Errorf("everybody learns %q", p)
	}
	full.Store(false)
	if err := r.c.Snapshot(); err != nil {
		t.Fatal(err)
	}
	if m := memberOf(t, r, "rm1"); m.Problem != "" {
		t.Errorf("afterwards the problem is %q", m.Problem)
	}
}

// TestSlowDiskIsAProblem checks that a write which does not return is a problem.
func TestSlowDiskIsAProblem(t *testing.T) {
	grey(t, nil, func(g *greyCluster, l *simReplica) {
		ch := make(chan struct{})
		l.logs.(*faultLog).hang.Store(&ch)
		f := l.c.Propose([]byte("slow"))
		time.Sleep(DefaultConfig().HungGiveUp + time.Second)
		if p := l.c.Problem(); !strings.Contains(p, "the disk is slow: a write has not returned for ") {
			t.Errorf("its problem is %q", p)
		}
		close(ch)
		_, _, _ = f.Wait() // another replica leads
	})
}

// TestStartedAlone checks that a replica that starts alone says where its log ends, and not that it lacks entry 1.
func TestStartedAlone(t *testing.T) {
	t.Parallel()
	rs := trio(t, nil)
	inStep(t, rs, put(t, rs, 3))
	for _, r := range rs {
		r.stop()
	}
	r := rs[0].start()
	eventually(t, patience, "it says where its log ends", func() bool {
		return strings.Contains(r.c.progress.Progress().Why,
			fmt.Sprintf("its log on disk ends at entry %d, ", r.c.progress.LastIndex()))
	})
}
