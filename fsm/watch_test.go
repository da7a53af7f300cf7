package fsm

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"

	"rmd/fsm/state"
	"rmd/fsm/state/change"
)

func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New(Config{})
		for i := uint64(1); i <= 5; i++ {
			mustApply(t, m, entry(2*i, 1, 0, node(int(i))))
		}
		for from, first := range map[uint64]uint64{1: 2, 2: 4, 5: 6, 9: 10} {
			s, err := m.Watch(from)
			if err != nil {
				t.Fatal(err)
			}
			for want := first; want <= 10; want += 2 {
				b, err := s.Next(t.Context())
				if err != nil || b.Index != want || len(b.Events) != 1 || b.Term != 1 {
					t.Fatalf("from %d: %+v, %v, want index %d", from, b, err, want)
				}
			}
		}
		now, err := m.Watch(0)
		if err != nil {
			t.Fatal(err)
		}
		got := make(chan uint64, 1)
		go func() {
			if b, err := now.Next(t.Context()); err == nil {
				got <- b.Index
			}
		}()
		synctest.Wait()
		mustApply(t, m, entry(12, 1, 0, node(6)))
		if i := <-got; i != 12 {
			t.Errorf("a new watch begins with %d", i)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := now.Next(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("Next with a cancelled context: %v, want %v", err, context.Canceled)
		}
	})
}

func TestSlowWatchMustResync(t *testing.T) {
	for name, cfg := range map[string]Config{"number": {WatchBatches: 4},
		"bytes": {WatchBytes: 4 * len(entry(1, 1, 0, node(1)).Data)}} {
		t.Run(name, func(t *testing.T) {
			m := New(cfg)
			slow, err := m.Watch(0)
			if err != nil {
				t.Fatal(err)
			}
			for i := uint64(1); i <= 9; i++ {
				mustApply(t, m, entry(i, 1, 0, node(int(i))))
			}
			var old *TooOldError
			if _, err := slow.Next(t.Context()); !errors.Is(err, ErrTooOld) || !errors.As(err, &old) {
				t.Fatalf("a watcher that fell behind gets %v", err)
			}
			if old.Oldest != 5 {
				t.Errorf("a watch may start from %d, want 5", old.Oldest)
			}
			if _, err := m.Watch(old.Oldest - 1); !errors.Is(err, ErrTooOld) {
				t.Errorf("watch from %d: %v", old.Oldest-1, err)
			}
			again, err := m.Watch(old.Oldest)
			if err != nil {
				t.Fatal(err)
			}
			if b, err := again.Next(t.Context()); err != nil || b.Index != 6 {
				t.Errorf("Next of a watch from %d: %+v, %v, want the batch of index 6",
					old.Oldest, b, err)
			}
		})
	}
}

// TestFollow checks that a follower gets what each batch changed, also when another one reads more
// slowly and when the events are decoded again, and that changes are kept only for followers.
func TestFollow(t *testing.T) {
	m := New(Config{})
	mustApply(t, m, entry(1, 1, 0, node(1)))
	watch, _ := m.Watch(0)
	fast, err := m.Follow()
	if err != nil {
		t.Fatal(err)
	}
	slow, _ := m.Follow()
	const batches = 2 * decodedBatches
	next := func(s *Subscription, i int, want ...state.NodeSlot) {
		t.Helper()
		b, err := s.Next(t.Context())
		if err != nil || b.Index != uint64(i) || len(b.Events) != 2 || len(b.Changes) != len(want) {
			t.Fatalf("batch %d: %+v, %v, want %d changes", i, b, err, len(want))
		}
		for k, c := range b.Changes {
			if c.Kind != change.NodeRegistered || c.Node != want[k] {
				t.Errorf("batch %d: change %d is %+v", i, k, c)
			}
		}
	}
	for i := 2; i < batches; i++ {
		mustApply(t, m, entry(uint64(i), 1, 0, node(2*i-2), node(2*i-1)))
		next(fast, i, state.NodeSlot(2*i-2), state.NodeSlot(2*i-1))
	}
	if kept, want := m.recent.changes, 2*(batches-2); kept != want {
		t.Errorf("%d changes are kept for the slow follower, want %d", kept, want)
	}
	for i := 2; i < batches; i++ {
		next(slow, i, state.NodeSlot(2*i-2), state.NodeSlot(2*i-1))
		next(watch, i)
	}
	if kept := m.recent.changes; kept != 0 {
		t.Errorf("%d changes are kept that everybody has read", kept)
	}
	mustApply(t, m, entry(batches, 1, 0, node(2*batches-2), node(2*batches-1)))
	fast.Close()
	slow.Close()
	if kept := m.recent.changes; kept != 0 {
		t.Errorf("%d changes are kept for nobody", kept)
	}
	mustApply(t, m, entry(batches+1, 1, 0, node(2*batches), node(2*batches+1)))
	if kept := m.recent.changes; kept != 0 {
		t.Errorf("nobody follows, and %d changes are kept", kept)
	}
}

// TestSlowFollowerMustResync checks that the changes kept for a follower are bounded.
func TestSlowFollowerMustResync(t *testing.T) {
	m := New(Config{WatchChanges: 4})
	slow, err := m.Follow()
	if err != nil {
		t.Fatal(err)
	}
	fast, _ := m.Follow()
	for i := 1; i <= 9; i++ {
		mustApply(t, m, entry(uint64(i), 1, 0, node(i)))
		if b, err := fast.Next(t.Context()); err != nil || len(b.Changes) != 1 || m.recent.changes > 4 {
			t.Fatalf("batch %d: %+v, %v; %d changes are kept", i, b, err, m.recent.changes)
		}
	}
	if _, err := slow.Next(t.Context()); !errors.Is(err, ErrTooOld) {
		t.Errorf("a follower that fell behind gets %v", err)
	}
	if kept := m.recent.changes; kept != 0 {
		t.Errorf("%d changes are kept for a follower that has lost some", kept)
	}
	mustApply(t, m, entry(10, 1, 0, node(10), node(11), node(12), node(13), node(14)))
	if b, err := fast.Next(t.Context()); err != nil || len(b.Changes) != 5 {
		t.Errorf("a batch with more changes than are kept: %+v, %v", b, err)
	}
}

func TestWatchAcrossRestore(t *testing.T) {
	from := New(Config{})
	mustApply(t, from, entry(20, 1, 0, node(1)))
	data := persisted(t, from)
	m := New(Config{})
	mustApply(t, m, entry(1, 1, 0, node(1)))
	upToDate, _ := m.Watch(1)
	follower, _ := m.Follow()
	if err := m.Restore(io.NopCloser(bytes.NewReader(data))); err != nil {
		t.Fatal(err)
	}
	mustApply(t, m, entry(21, 1, 0, node(2)))
	if b, err := upToDate.Next(t.Context()); !errors.Is(err, ErrTooOld) {
		t.Errorf("the watcher does not learn of the gap: %+v, %v", b, err)
	}
	if b, err := follower.Next(t.Context()); !errors.Is(err, ErrTooOld) {
		t.Errorf("the follower does not learn of the gap: %+v, %v", b, err)
	}
	if _, err := m.Watch(19); !errors.Is(err, ErrTooOld) {
		t.Errorf("watch from before the snapshot: %v", err)
	}
	again, err := m.Watch(20)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := again.Next(t.Context()); err != nil || b.Index != 21 {
		t.Errorf("Next of a watch from 20: %+v, %v, want the batch of index 21", b, err)
	}
}
