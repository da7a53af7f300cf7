package fsm

import (
	"bufio"
	"fmt"
	"io"
	"runtime"
	"time"

	"github.com/hashicorp/raft"

	"rmd/fsm/state"
	"rmd/internal/failpoint"
	"rmd/snapshot"
)

// yieldBytes is how much of a snapshot is written before others get the core.
const yieldBytes = 1 << 20

// Snapshot forks the state; Persist writes the fork beside further applying.
func (m *Machine) Snapshot() (raft.FSMSnapshot, error) {
	defer failpoint.Hit(failpoint.StateForked) // the lock is given back by then
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failed != nil {
		return nil, m.stopped()
	}
	st := m.timedFork()
	return &pending{m: m, st: st, header: snapshot.HeaderOf(st, m.command, m.term, m.sequence)}, nil
}

// Restore reads and verifies a whole snapshot, then makes it the state. On an
// error the old state stays.
func (m *Machine) Restore(r io.ReadCloser) error {
	start := time.Now()
	err := m.restore(r)
	if m.cfg.Observe.Restore != nil {
		m.cfg.Observe.Restore(time.Since(start), err)
	}
	return err
}

func (m *Machine) restore(r io.ReadCloser) error {
	h, st, err := snapshot.Read(bufio.NewReaderSize(r, 1<<20))
	if closed := r.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = h.Within(m.cfg.Level)
	}
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	failpoint.Hit(failpoint.StateRead)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failed != nil {
		return m.stopped()
	}
	m.st, m.fork = st, nil
	m.command, m.term, m.sequence = h.Index, h.Term, h.Sequence
	m.digests.reset()
	m.digests.add(Entry{Index: h.Index, Digest: st.Digest()})
	m.recent.reset(h.Index)
	m.reach(h.Index)
	return nil
}

// pending is a snapshot not written yet.
type pending struct {
	m      *Machine
	st     *state.State
	header snapshot.Header
}

// Persist implements raft.FSMSnapshot.
func (p *pending) Persist(sink raft.SnapshotSink) error {
	start := time.Now()
	w := &yieldingWriter{w: sink}
	b := bufio.NewWriterSize(w, 256<<10)
	err := snapshot.Write(b, p.header, p.st)
	if err == nil {
		err = b.Flush()
	}
	if err != nil {
		_ = sink.Cancel() // the first error is the one that tells
	} else {
		err = sink.Close()
	}
	if p.m.cfg.Observe.Persist != nil {
		p.m.cfg.Observe.Persist(w.total, time.Since(start), err)
	}
	if err != nil {
		return fmt.Errorf("persist snapshot at index %d: %w", p.header.Index, err)
	}
	return nil
}

// Release implements raft.FSMSnapshot: from here on applying copies no page for
// this fork's sake.
func (p *pending) Release() { p.st = nil }

// yieldingWriter lets others run now and then, so that a snapshot does not take
// the leader's core for itself.
type yieldingWriter struct {
	w       io.Writer
	total   int64
	unyield int
}

// Write implements io.Writer.
func (y *yieldingWriter) Write(b []byte) (int, error) {
	n, err := y.w.Write(b)
	y.total += int64(n)
	if y.unyield += n; y.unyield >= yieldBytes {
		y.unyield = 0
		runtime.Gosched()
	}
	return n, err
}
