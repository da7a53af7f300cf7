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

// yieldBytes is the number of bytes after which the writer of a snapshot yields the processor.
const yieldBytes = 1 << 20

// Snapshot implements raft.FSM. It forks the state; Persist writes the fork while Apply continues.
func (m *Machine) Snapshot() (raft.FSMSnapshot, error) {
	defer failpoint.Hit(failpoint.StateForked) // runs after the lock is released
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failed != nil {
		return nil, m.stopped()
	}
	st := m.timedFork()
	return &pending{m: m, st: st, header: snapshot.HeaderOf(st, m.command, m.term, m.sequence)}, nil
}

// Restore implements raft.FSM. It reads and verifies the whole snapshot before it replaces the
// state. After an error the old state remains.
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

// pending is a snapshot that is not written yet.
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
		_ = sink.Cancel() // the first error is the one to report
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

// Release implements raft.FSMSnapshot. It drops the fork, so that Apply no longer copies pages for
// it.
func (p *pending) Release() { p.st = nil }

// yieldingWriter yields the processor regularly, so that a snapshot does not occupy the leader's
// processor.
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
