package logsim

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"rmd/fsm"
	"rmd/leader"
	"rmd/snapshot"
)

// replica is one replica. Its snapshot survives restarts, as on a disk.
type replica struct {
	w      *world
	id     int
	m      *fsm.Machine
	up     bool
	offset int64         // of its wall clock from the true time, in ms
	time   *leader.Clock // created at each start; a leader stamps its inputs with it

	applied uint64
	snap    saved // the newest snapshot on its disk
	pending *pendingSnapshot

	expectStop bool // the next entry is one that must stop it
}

// saved is a finished snapshot. Index 0 means none.
type saved struct {
	index uint64
	data  []byte
}

// pendingSnapshot is a snapshot that is written while the replica applies further entries.
type pendingSnapshot struct {
	index uint64
	due   uint64 // the index at which it is written
	fork  raft.FSMSnapshot
	sum   [32]byte
	known bool // sum is set
}

// sink is a snapshot sink in memory.
type sink struct{ bytes.Buffer }

// ID implements raft.SnapshotSink.
func (s *sink) ID() string { return "memory" }

// Cancel implements raft.SnapshotSink.
func (s *sink) Cancel() error { return nil }

// Close implements raft.SnapshotSink.
func (s *sink) Close() error { return nil }

// start starts the replica with the snapshot on its disk, or with an empty state.
func (r *replica) start() {
	r.time = leader.NewClock(func() time.Time { return time.UnixMilli(r.clock()) },
		func() time.Duration { return time.Duration(r.w.now) * time.Millisecond }, hclog.NewNullLogger())
	c := fsm.DefaultConfig()
	c.Digests, c.WatchBatches = 64, 8
	c.OnFatal = func(code int, err error) {
		if !r.expectStop {
			r.w.check.fail("S1", "replica %d stops itself with code %d: %v", r.id, code, err)
		}
	}
	r.m, r.up, r.applied = fsm.New(c), true, 0
	r.w.check.started(r.id)
	if r.snap.index > 0 {
		r.restore(r.snap, "its own")
	}
}

// crash stops the replica. An unfinished snapshot is lost.
func (r *replica) crash(wipe bool) {
	r.up, r.m, r.pending = false, nil, nil
	if wipe {
		r.snap = saved{}
	}
}

// catchUp applies up to n committed entries.
func (r *replica) catchUp(n int) {
	l := &r.w.log
	for ; n > 0 && r.up && r.applied < l.last() && !r.w.check.broken(); n-- {
		if r.applied < l.base {
			r.install()
			continue
		}
		r.apply(r.applied + 1)
	}
}

// apply applies the entry at an index.
func (r *replica) apply(index uint64) {
	e := r.w.log.at(index)
	res := r.m.Apply(&raft.Log{Index: index, Term: e.term, Type: raft.LogCommand, Data: e.data})
	err, _ := res.(error)
	r.applied = index
	r.w.check.applied(r, index, e, errors.Is(err, fsm.ErrStale), err)
	r.snapshots(index)
}

// snapshots begins and finishes snapshots when they are due.
func (r *replica) snapshots(index uint64) {
	if r.pending != nil && index >= r.pending.due {
		r.persist()
	}
	if r.pending == nil && index%r.w.opt.SnapshotEvery == 0 {
		r.snapshot()
	}
}

// snapshot forks the state. persist writes the fork some entries later.
func (r *replica) snapshot() {
	if r.applied == 0 {
		return
	}
	f, err := r.m.Snapshot()
	if err != nil {
		r.w.check.fail("S15", "replica %d cannot begin a snapshot at %d: %v", r.id, r.applied, err)
		return
	}
	p := &pendingSnapshot{index: r.applied, due: r.applied + 1 + r.w.rng.Uint64N(min(r.w.opt.SnapshotEvery, 40)), fork: f}
	if r.w.opt.SnapshotEvery >= 50 || r.w.rng.IntN(16) == 0 {
		st, _ := r.m.Fork()
		p.sum, p.known = snapshot.Sum(st), true
	}
	r.pending = p
}

// persist writes the pending snapshot. The checker compares it with the state at that index and
// with the snapshots of other replicas.
func (r *replica) persist() {
	p := r.pending
	r.pending = nil
	var s sink
	if err := p.fork.Persist(&s); err != nil {
		r.w.check.fail("S15", "replica %d cannot write the snapshot of %d: %v", r.id, p.index, err)
		return
	}
	p.fork.Release()
	r.w.check.snapshotted(r, p, s.Bytes())
	r.snap = saved{p.index, s.Bytes()}
	r.w.compact()
}

// install restores the newest snapshot of any replica, because the log no longer has the next
// entry.
func (r *replica) install() {
	var from saved
	for _, o := range r.w.rs {
		if o.snap.index > from.index {
			from = o.snap
		}
	}
	if from.index < r.w.log.base {
		r.w.check.fail("S15", "the log begins after %d and nobody has a snapshot of it", r.w.log.base)
		return
	}
	r.w.counts.Installs++
	r.restore(from, "another's")
	r.snap = from
}

// restore replaces the state with a snapshot.
func (r *replica) restore(s saved, whose string) {
	if err := r.m.Restore(io.NopCloser(bytes.NewReader(s.data))); err != nil {
		r.w.check.fail("S15", "replica %d cannot restore %s snapshot of %d: %v", r.id, whose, s.index, err)
		r.crash(true)
		return
	}
	r.pending = nil
	r.applied, _ = r.m.Applied()
	r.w.counts.Restores++
	if r.applied != s.index {
		r.w.check.fail("S15", "replica %d is at %d after restoring the snapshot of %d", r.id, r.applied, s.index)
	}
	r.w.check.restored(r)
}

// clock returns the replica's wall clock, in milliseconds since 1970.
func (r *replica) clock() int64 { return epochMillis + r.w.now + r.offset }

func (r *replica) String() string { return fmt.Sprintf("replica %d at %d", r.id, r.applied) }
