package fsm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"rmd/fsm/event"
	"rmd/internal/exitcode"
	"rmd/snapshot"
	"rmd/yarn"
)

// node returns the event of a node's first registration.
func node(n int) event.Event {
	return &event.NodeRegistered{Node: yarn.NodeSlot(n), ID: yarn.NodeID{Host: fmt.Sprintf("h%d", n), Port: 1}, Rack: "/r",
		Total: yarn.NewResource(1024, 4)}
}

func entry(index, term, sequence uint64, events ...event.Event) *raft.Log {
	b := event.Batch{Level: event.Level, Sequence: sequence, Events: events}
	return &raft.Log{Type: raft.LogCommand, Index: index, Term: term, Data: b.Encode()}
}

func mustApply(t *testing.T, m *Machine, l *raft.Log) Result {
	t.Helper()
	r, ok := m.Apply(l).(Result)
	if !ok {
		t.Fatalf("apply at index %d: %v", l.Index, m.Apply(l))
	}
	return r
}

func TestApply(t *testing.T) {
	m := New(Config{})
	mustApply(t, m, entry(3, 1, 0, node(1), node(2)))
	shared, at := m.Fork()
	if again, _ := m.Fork(); again != shared || at != 3 {
		t.Errorf("fork at %d is not shared while the index stands", at)
	}
	r := mustApply(t, m, entry(5, 2, 0, node(3)))
	if r.Index != 5 || r.Events != 1 {
		t.Errorf("result %+v", r)
	}
	if shared.Nodes.Len() != 2 {
		t.Error("a fork sees later entries")
	}
	now, at := m.Fork()
	index, term := m.Applied()
	if now.Nodes.Len() != 3 || at != 5 || index != 5 || term != 2 {
		t.Errorf("%d nodes at %d, applied %d in term %d", now.Nodes.Len(), at, index, term)
	}
	if d, ok := m.Digest(5); !ok || d != r.Digest {
		t.Errorf("digest at 5: %x %v", d, ok)
	}
	if d, ok := m.Digest(4); !ok || d != shared.Digest() {
		t.Errorf("digest at 4, which is no command: %x %v, want that of 3", d, ok)
	}
	if _, ok := m.Digest(6); ok {
		t.Error("a digest of an index not applied yet")
	}
}

func TestFatal(t *testing.T) {
	unknown := entry(2, 1, 0)
	unknown.Data = bytes.Clone(entry(2, 1, 0, &event.JoinTokensExpired{}).Data)
	newer := event.Batch{Level: event.Level + 1, Events: []event.Event{node(2)}}
	for name, c := range map[string]struct {
		log  *raft.Log
		code int
	}{
		"does not follow": {entry(2, 1, 0, node(2), node(7)), exitcode.Diverged},
		"not a batch":     {&raft.Log{Index: 2, Data: []byte("what is this")}, exitcode.NotKnown},
		"damaged":         {&raft.Log{Index: 2, Data: unknown.Data[:len(unknown.Data)-1]}, exitcode.NotKnown},
		"newer level":     {&raft.Log{Index: 2, Data: newer.Encode()}, exitcode.NotKnown},
	} {
		t.Run(name, func(t *testing.T) {
			var codes []int
			m := New(Config{OnFatal: func(code int, err error) { codes = append(codes, code) }})
			mustApply(t, m, entry(1, 1, 0, node(1)))
			sub, _ := m.Watch(0)
			for range 2 {
				if err, ok := m.Apply(c.log).(error); !ok || !errors.Is(err, ErrStopped) {
					t.Fatalf("apply: %v", err)
				}
			}
			if len(codes) != 1 || codes[0] != c.code {
				t.Errorf("OnFatal got %v, want %d once", codes, c.code)
			}
			if err, ok := m.Apply(entry(3, 1, 0, node(2))).(error); !ok || !errors.Is(err, ErrStopped) {
				t.Error("something is applied after a fatal error")
			}
			if _, err := m.Snapshot(); !errors.Is(err, ErrStopped) {
				t.Errorf("snapshot: %v", err)
			}
			if err := m.WaitApplied(context.Background(), 9); !errors.Is(err, ErrStopped) {
				t.Errorf("wait: %v", err)
			}
			if _, err := sub.Next(context.Background()); !errors.Is(err, ErrStopped) {
				t.Errorf("watch: %v", err)
			}
		})
	}
}

// TestVerify checks that Verify rejects what cannot be applied without stopping the machine, and
// that an accepted entry is decoded once.
func TestVerify(t *testing.T) {
	m := New(Config{OnFatal: func(int, error) { t.Error("it stops") }})
	good := entry(1, 1, 0, node(1))
	newer := event.Batch{Level: event.Level + 1, Events: []event.Event{node(2)}}
	for name, data := range map[string][]byte{"none": nil, "no batch": []byte("what is this"),
		"damaged": good.Data[:len(good.Data)-1], "newer level": newer.Encode()} {
		if m.Verify(data) == nil {
			t.Errorf("%s is good", name)
		}
	}
	if err := m.Verify(good.Data); err != nil {
		t.Fatal(err)
	}
	if kept := m.decoded.take(good.Data); kept == nil {
		t.Error("what was decoded is not kept")
	} else {
		m.decoded.keep(good.Data, kept)
	}
	if m.decoded.take(bytes.Clone(good.Data)) != nil {
		t.Error("other bytes are taken for these")
	}
	mustApply(t, m, good)
	if m.decoded.take(good.Data) != nil {
		t.Error("events are applied that are used again")
	}
}

// TestFence checks that every replica skips the same batches: those that were planned on another
// prefix of the log.
func TestFence(t *testing.T) {
	m := New(Config{})
	_, _, seq := m.Planning(5)
	mustApply(t, m, entry(1, 5, seq, node(1)))
	stale := func(what string, l *raft.Log) {
		t.Helper()
		before, _ := m.Fork()
		if err, ok := m.Apply(l).(error); !ok || !errors.Is(err, ErrStale) {
			t.Errorf("%s: Apply: %v, want %v", what, err, ErrStale)
		}
		after, at := m.Fork()
		if after.Digest() != before.Digest() || at != l.Index {
			t.Errorf("%s changed the state, or did not move the index (%d)", what, at)
		}
		if e, ok := m.Entry(l.Index); !ok || !e.Skipped {
			t.Errorf("%s is remembered as %+v", what, e)
		}
	}
	stale("a batch planned in an earlier term", entry(2, 6, seq+1, node(2)))
	stale("one whose predecessor was not appended", entry(3, 5, seq+2, node(2)))
	stale("one appended twice", entry(4, 5, seq, node(2)))
	mustApply(t, m, entry(5, 5, seq+1, node(2)))
	_, index, next := m.Planning(5)
	if index != 5 || next != seq+2 {
		t.Errorf("planning in the same term goes on at %d with %x", index, next)
	}
	_, _, next = m.Planning(7)
	mustApply(t, m, entry(6, 7, next, node(3)))
	mustApply(t, m, entry(7, 7, 0, node(4))) // not fenced
	mustApply(t, m, entry(8, 7, next+1, node(5)))

	// A replica restored from a snapshot skips the same batches.
	restored := New(Config{})
	if err := restored.Restore(io.NopCloser(bytes.NewReader(persisted(t, m)))); err != nil {
		t.Fatal(err)
	}
	for _, r := range []*Machine{m, restored} {
		if err, ok := r.Apply(entry(9, 7, next+3, node(6))).(error); !ok || !errors.Is(err, ErrStale) {
			t.Errorf("after the snapshot: %v", err)
		}
		mustApply(t, r, entry(10, 7, next+2, node(6)))
	}
}

// sink is a raft.SnapshotSink in memory.
type sink struct {
	bytes.Buffer
	fail             bool
	closed, canceled bool
}

func (s *sink) Write(b []byte) (int, error) {
	if s.fail {
		return 0, errors.New("disk full")
	}
	return s.Buffer.Write(b)
}
func (s *sink) Close() error  { s.closed = true; return nil }
func (s *sink) Cancel() error { s.canceled = true; return nil }
func (s *sink) ID() string    { return "test" }

func persisted(t *testing.T, m *Machine) []byte {
	t.Helper()
	p, err := m.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	var s sink
	if err := p.Persist(&s); err != nil || !s.closed {
		t.Fatalf("Persist: %v, sink closed %v, want no error and true", err, s.closed)
	}
	p.Release()
	return s.Bytes()
}

func TestSnapshotPointInTime(t *testing.T) {
	a, b := New(Config{}), New(Config{})
	for _, m := range []*Machine{a, b} {
		mustApply(t, m, entry(4, 2, 2<<32|1, node(1), node(2)))
	}
	b.StoreConfiguration(6, raft.Configuration{}) // known to only one of them
	p, err := a.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	mustApply(t, a, entry(5, 2, 2<<32|2, node(3)))
	var s sink
	if err := p.Persist(&s); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(s.Bytes(), persisted(t, b)) {
		t.Error("snapshots of two replicas at one command differ")
	}
	info, err := snapshot.Verify(bytes.NewReader(s.Bytes()))
	if err != nil || info.Index != 4 || info.Term != 2 || info.Sequence != 2<<32|1 {
		t.Errorf("Verify of the snapshot = %+v, %v, want index 4, term 2, sequence %#x",
			info, err, uint64(2<<32|1))
	}
}

func TestPersistFails(t *testing.T) {
	m := New(Config{})
	mustApply(t, m, entry(1, 1, 0, node(1)))
	p, _ := m.Snapshot()
	s := sink{fail: true}
	if err := p.Persist(&s); err == nil || !s.canceled || s.closed {
		t.Errorf("error %v, canceled %v, closed %v", err, s.canceled, s.closed)
	}
}

func TestRestore(t *testing.T) {
	from := New(Config{})
	mustApply(t, from, entry(7, 3, 0, node(1), node(2)))
	good := persisted(t, from)

	m := New(Config{})
	mustApply(t, m, entry(1, 1, 0, node(1)))
	old, _ := m.Fork()
	bad := bytes.Clone(good)
	bad[len(bad)/2] ^= 1
	if err := m.Restore(io.NopCloser(bytes.NewReader(bad))); !errors.Is(err, snapshot.ErrDamaged) {
		t.Fatalf("damaged snapshot: %v", err)
	}
	if now, at := m.Fork(); now != old || at != 1 {
		t.Fatal("a refused snapshot has changed the state")
	}
	if err := m.Restore(io.NopCloser(bytes.NewReader(good))); err != nil {
		t.Fatal(err)
	}
	st, at := m.Fork()
	want, _ := from.Fork()
	if at != 7 || snapshot.Sum(st) != snapshot.Sum(want) {
		t.Errorf("restored at %d: %v", at, snapshot.Diff(want, st))
	}
	if d, ok := m.Digest(7); !ok || d != want.Digest() {
		t.Errorf("digest %x %v", d, ok)
	}
	if err := m.WaitApplied(context.Background(), 7); err != nil {
		t.Error(err)
	}
	for _, r := range []*Machine{from, m} {
		mustApply(t, r, entry(8, 3, 0, node(3)))
	}
	d1, _ := from.Digest(8)
	if d2, _ := m.Digest(8); d1 != d2 {
		t.Error("the restored replica goes another way")
	}
}

// TestRestoreOfABackupFromALongerLog restores a backup with a higher index than the machine's.
func TestRestoreOfABackupFromALongerLog(t *testing.T) {
	from := New(Config{})
	mustApply(t, from, entry(1_000_000, 9, 0, node(1)))
	m := New(Config{})
	mustApply(t, m, entry(50, 2, 2<<32|1, node(1), node(2)))
	if err := m.Restore(io.NopCloser(bytes.NewReader(persisted(t, from)))); err != nil {
		t.Fatal(err)
	}
	_, _, seq := m.Planning(2)
	r := mustApply(t, m, entry(52, 2, seq, node(2)))
	mustApply(t, m, entry(53, 2, seq+1, node(3)))
	if d, ok := m.Digest(52); !ok || d != r.Digest {
		t.Errorf("digest at 52: %x %v, want %x", d, ok, r.Digest)
	}
	if index, term := m.Applied(); index != 53 || term != 2 {
		t.Errorf("applied %d in term %d", index, term)
	}
	s, err := m.Watch(52)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := s.Next(t.Context()); err != nil || b.Index != 53 {
		t.Errorf("Next of a watch from 52: %+v, %v, want the batch of index 53", b, err)
	}
}

func TestDigestRingSize(t *testing.T) {
	m := New(Config{Digests: 4})
	want := map[uint64]uint64{}
	for i := uint64(1); i <= 11; i++ {
		want[i] = mustApply(t, m, entry(i, 1, 0, node(int(i)))).Digest
	}
	for i := uint64(1); i <= 11; i++ {
		d, ok := m.Digest(i)
		if ok != (i >= 8) || (ok && d != want[i]) {
			t.Errorf("Digest(%d) = %x, %v, want %x if the index is among the last 4", i, d, ok, want[i])
		}
	}
	if last := m.Digests(2); len(last) != 2 || last[0].Index != 10 || last[1].Digest != want[11] {
		t.Errorf("Digests(2) = %+v, want those of 10 and 11, the latter %x", last, want[11])
	}
}

func TestWaitApplied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New(Config{})
		done := make(chan uint64, 8)
		for _, index := range []uint64{5, 2, 3, 2} {
			go func() {
				if err := m.WaitApplied(t.Context(), index); err == nil {
					done <- index
				}
			}()
		}
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan error, 1)
		go func() { gone <- m.WaitApplied(ctx, 4) }()
		synctest.Wait()
		mustApply(t, m, entry(2, 1, 0, node(1)))
		synctest.Wait()
		if len(done) != 2 || <-done != 2 || <-done != 2 {
			t.Error("index 2 has not woken just its two waiters")
		}
		cancel()
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled wait: %v", err)
		}
		m.StoreConfiguration(3, raft.Configuration{})
		synctest.Wait()
		if len(done) != 1 || <-done != 3 {
			t.Error("a membership entry has not woken its waiter")
		}
		mustApply(t, m, entry(9, 1, 0, node(2)))
		synctest.Wait()
		if len(done) != 1 || <-done != 5 {
			t.Error("a later command has not woken the waiter of an index between")
		}
		if len(m.waiters.all) != 0 {
			t.Errorf("%d waiters are left over", len(m.waiters.all))
		}
	})
}

// TestWaitAppliedForNoop waits for a no-op, which never reaches Apply. Only AppliedIndex reports
// it, after all entries below it are in the state.
func TestWaitAppliedForNoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var applied atomic.Uint64
		cfg := DefaultConfig()
		cfg.AppliedIndex = applied.Load
		m := New(cfg)
		done := make(chan error, 1)
		go func() { done <- m.WaitApplied(t.Context(), 3) }()
		time.Sleep(time.Second)
		mustApply(t, m, entry(2, 1, 0, node(1)))
		time.Sleep(time.Second)
		if len(done) != 0 {
			t.Fatal("does not wait for the no-op at 3")
		}
		applied.Store(3)
		time.Sleep(33 * cfg.PollInterval)
		if len(done) != 1 || <-done != nil {
			t.Fatal("waits on though the no-op counts as applied")
		}
	})
}
