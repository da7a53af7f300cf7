package nemesis

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"rmd/jepsen-lite/harness"
	"rmd/jepsen-lite/history"
)

func testEnv(h *history.History) *Env {
	return &Env{Rand: rand.New(rand.NewPCG(1, 2)),
		Record: history.NewRecorder(h, func() int64 { return int64(len(h.Faults)) }), Note: func(string, ...any) {}}
}

// TestDo checks that a fault is held for its time and healed, also when the run is interrupted, and
// that the history has its begin and end.
func TestDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := history.New()
		e := testEnv(h)
		healed := 0
		f := Fault{Name: "x", Kind: "crash", Hold: func(*rand.Rand) time.Duration { return 10 * time.Second },
			Inject: func(_ context.Context, e *Env) (Heal, error) {
				e.recordVictims("somebody", nil)
				return func(ctx context.Context) error {
					healed++
					return ctx.Err()
				}, nil
			}}
		began := time.Now()
		if m := e.Do(t.Context(), f, 0.5); m.Err != nil || healed != 1 || time.Since(began) != 5*time.Second ||
			m.Ended.IsZero() {
			t.Errorf("%+v, healed %d times after %s", m, healed, time.Since(began))
		}
		if len(h.Faults) != 2 || h.Faults[0].When != history.Begin || h.Faults[1].When != history.End ||
			h.Faults[0].ID != h.Faults[1].ID || h.Faults[1].Text != "somebody" {
			t.Errorf("faults in the history %+v, want the begin and the end of one fault, the end with text \"somebody\"",
				h.Faults)
		}
		e.Until = time.Now().Add(2 * time.Second)
		began = time.Now()
		if e.Do(t.Context(), f, 1); time.Since(began) != 2*time.Second || healed != 2 {
			t.Errorf("it held for %s", time.Since(began))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		e.Until, began = time.Time{}, time.Now()
		if m := e.Do(ctx, f, 1); m.Err != nil || healed != 3 || time.Since(began) != 0 {
			t.Errorf("broken off: %+v, healed %d times after %s", m, healed, time.Since(began))
		}
	})
}

// TestInterruptedFaultReportsNothing checks that an interrupted fault reports no violations,
// because its effect may be missing.
func TestInterruptedFaultReportsNothing(t *testing.T) {
	e, told := testEnv(history.New()), 0
	e.Violate = func(string, string, ...any) { told++ }
	f := Fault{Name: "x", Inject: func(_ context.Context, e *Env) (Heal, error) {
		return func(context.Context) error {
			e.violated("disk", "it did not end")
			return nil
		}, nil
	}}
	if e.Do(t.Context(), f, 1); told != 1 {
		t.Errorf("told %d times", told)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if e.Do(ctx, f, 1); told != 1 {
		t.Errorf("told %d times, also when broken off", told)
	}
}

func TestDoFails(t *testing.T) {
	h := history.New()
	e := testEnv(h)
	healed, bad := false, errors.New("no such file")
	m := e.Do(t.Context(), Fault{Name: "x", Hold: seconds(100, 200), Inject: func(context.Context, *Env) (Heal, error) {
		return func(context.Context) error { healed = true; return nil }, bad
	}}, 1)
	if !errors.Is(m.Err, bad) || !healed {
		t.Errorf("%+v, healed %v", m, healed)
	}
	before := len(h.Faults)
	m = e.Do(t.Context(), Fault{Name: "y", Inject: func(context.Context, *Env) (Heal, error) { return nil, ErrNotNow }}, 1)
	if !errors.Is(m.Err, ErrNotNow) || !m.Ended.IsZero() || len(h.Faults) != before {
		t.Errorf("a fault that was not done: %+v, %d lines", m, len(h.Faults)-before)
	}
	// A fault that ends half-way is healed. If healing fails, the error is not ErrNotNow.
	for _, sick := range []error{nil, errors.New("it does not start")} {
		healed, before = false, len(h.Faults)
		m = e.Do(t.Context(), Fault{Name: "z", Hold: seconds(100, 200), Inject: func(context.Context, *Env) (Heal, error) {
			return func(context.Context) error { healed = true; return sick }, ErrNotNow
		}}, 1)
		if !healed || errors.Is(m.Err, ErrNotNow) != (sick == nil) || !errors.Is(m.Err, sick) && sick != nil ||
			m.Ended.IsZero() || len(h.Faults) != before+2 {
			t.Errorf("half of a fault: %+v, healed %v, %d lines", m, healed, len(h.Faults)-before)
		}
	}
}

// TestDiskFaults checks that the faults of a running replica's disk are marked with Disk, and that
// the history has this mark.
func TestDiskFaults(t *testing.T) {
	kinds := []string{harness.DiskFull, harness.SyncFails, harness.SlowDisk, harness.HungDisk}
	for _, f := range All() {
		if f.Disk != slices.Contains(kinds, f.Kind) {
			t.Errorf("%s, a fault of kind %s: Disk is %v", f.Name, f.Kind, f.Disk)
		}
	}
	h := history.New()
	testEnv(h).Do(t.Context(), Fault{Name: "x", Disk: true,
		Inject: func(context.Context, *Env) (Heal, error) { return nil, nil }}, 1)
	if !h.Faults[0].Disk {
		t.Errorf("fault in the history %+v, want Disk", h.Faults[0])
	}
}

func TestSeconds(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		if d := seconds(0.1, 0.3)(r); d < 100*time.Millisecond || d > 300*time.Millisecond {
			t.Fatalf("seconds(0.1, 0.3) = %s, want 100 to 300 ms", d)
		}
	}
	if got := lastLines("a\nb\nc\n", 2); got != "b | c" {
		t.Errorf("lastLines of three lines = %q, want \"b | c\"", got)
	}
}
