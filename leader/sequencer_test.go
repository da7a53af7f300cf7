package leader

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"testing"
	"testing/synctest"
	"time"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/internal/exitcode"
	"rmd/scheduler/input"
	"rmd/yarn"
)

func TestNotLeading(t *testing.T) {
	r := newFixture(t, nil)
	if _, _, err := r.Do(t.Context(), audit("a")); !errors.Is(err, ErrNotLeader) {
		t.Errorf("Do before the replica leads: %v, want %v", err, ErrNotLeader)
	}
}

func TestNoReplyBeforeItsBatchIsApplied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFixture(t, nil)
		r.log.delay = 100 * time.Millisecond
		defer r.lead(1)()
		start := time.Now()
		out := make(chan done, 4)
		r.ask("first", register("a"), out)    // in flight until 100 ms
		r.ask("idle", heartbeat("a"), out)    // waits for the batch in flight
		r.ask("second", register("b"), out)   // in the open batch, which is in flight until 200 ms
		r.ask("resting", heartbeat("b"), out) // waits for the open batch
		time.Sleep(99 * time.Millisecond)
		synctest.Wait()
		if len(out) != 0 {
			t.Fatalf("%s left before its batch was applied", (<-out).name)
		}
		for _, want := range []struct {
			name  string
			index uint64
			after time.Duration
		}{{"first", 1, 100}, {"idle", 1, 100}, {"second", 2, 200}, {"resting", 2, 200}} {
			d := <-out
			if d.err != nil || d.index != want.index || d.at.Sub(start) != want.after*time.Millisecond {
				t.Errorf("%s at index %d after %s, %v; want %+v", d.name, d.index, d.at.Sub(start), d.err, want)
			}
		}
		// If no batch is open or in flight, a reply without events is released at once.
		now := time.Now()
		r.ask("alone", heartbeat("a"), out)
		if d := <-out; d.at != now || d.index != 2 {
			t.Errorf("after %s at index %d", d.at.Sub(now), d.index)
		}
	})
}

func TestOneBatchInFlightWhileTheNextFills(t *testing.T) {
	for _, inflight := range []int{1, 2} {
		synctest.Test(t, func(t *testing.T) {
			r := newFixture(t, func(c *Config) { c.MaxInFlight = inflight })
			r.log.delay = 10 * time.Millisecond
			defer r.lead(1)()
			const n = 50
			out := make(chan done, n)
			for i := range n {
				r.ask(fmt.Sprint(i), audit("x"), out)
			}
			last := uint64(0)
			for i := range n {
				d := <-out
				if d.err != nil || d.index < last {
					t.Errorf("reply %d at index %d after %d, %v", i, d.index, last, d.err)
				}
				last = d.index
			}
			if r.log.most != inflight || last != uint64(inflight+1) {
				t.Errorf("%d in flight at most, %d batches; want %d and %d", r.log.most, last, inflight, inflight+1)
			}
		})
	}
}

func TestBatchIsBoundedAndInputsAreNotSplit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFixture(t, func(c *Config) { c.BatchEvents = 10 })
		r.log.delay = time.Millisecond
		defer r.lead(1)()
		out := make(chan done, 9)
		for i, n := range []int{3, 3, 4, 25, 3, 3, 3, 1, 1} { // plus one TimeAdvanced each
			r.ask(fmt.Sprint(i), audits(n), out)
		}
		index := map[string]uint64{}
		for range 9 {
			d := <-out
			index[d.name] = d.index
		}
		want := map[string]uint64{"0": 1, "1": 2, "2": 2, "3": 2, "4": 3, "5": 3, "6": 3, "7": 4, "8": 4}
		// Events per batch: 3+1 | 3+1, 4+1, 25+1 | 3+1, 3+1, 3+1 | 1+1, 1+1
		for name, i := range want {
			if index[name] != i {
				t.Errorf("input %s is in batch %d, want %d (all: %v)", name, index[name], i, index)
			}
		}
	})
}

func TestBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFixture(t, func(c *Config) { c.QueueMax, c.BatchEvents = 4, 2 })
		r.log.delay = time.Second
		defer r.lead(1)()
		out := make(chan done, 16)
		for i := range 6 { // one in flight, one fills the open batch, four wait
			r.ask(fmt.Sprint(i), audit("x"), out)
		}
		if len(out) != 0 || r.Waiting() != 4 {
			t.Fatalf("%d answered, %d wait", len(out), r.Waiting())
		}
		_, _, err := r.Do(t.Context(), audit("x"))
		var busy *BusyError
		if !errors.Is(err, ErrBusy) || !errors.As(err, &busy) || busy.RetryAfter <= 0 {
			t.Fatalf("a full queue gives %v", err)
		}
		for range 6 {
			if d := <-out; d.err != nil {
				t.Error(d.err)
			}
		}
	})
}

func TestLossOfLeadership(t *testing.T) {
	for _, c := range []struct {
		fate     fate
		inflight error
	}{{refused, ErrNotLeader}, {lost, ErrUnknownOutcome}, {forgotten, ErrUnknownOutcome}, {skipped, ErrNotLeader},
		{tooLarge, ErrTooLarge}} {
		synctest.Test(t, func(t *testing.T) {
			r := newFixture(t, func(c *Config) { c.BatchEvents = 2; c.RetryInterval = time.Hour })
			r.log.delay, r.log.fates[0] = time.Second, c.fate
			defer r.lead(1)()
			out := make(chan done, 8)
			r.ask("in flight", audit("x"), out)
			r.ask("resting", heartbeat("x"), out)
			r.ask("open", audit("x"), out)
			r.ask("queued", audit("x"), out)
			time.Sleep(time.Second)
			synctest.Wait()
			want := map[string]error{"in flight": c.inflight, "resting": c.inflight, "open": ErrNotLeader,
				"queued": ErrNotLeader}
			for range want {
				d := <-out
				if !errors.Is(d.err, want[d.name]) {
					t.Errorf("fate %d: %s gets %v, want %v", c.fate, d.name, d.err, want[d.name])
				}
			}
			if _, leading := r.Leading(); leading || r.log.count != 1 {
				t.Errorf("fate %d: leading %v after %d proposals", c.fate, leading, r.log.count)
			}
			if _, _, err := r.Do(t.Context(), audit("x")); !errors.Is(err, ErrNotLeader) {
				t.Errorf("fate %d: then %v", c.fate, err)
			}
		})
	}
}

// TestSecondBatchFailsWithFirst checks two batches in flight of which the first is refused. The
// second has no effect, and no caller gets a success.
func TestSecondBatchFailsWithFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFixture(t, func(c *Config) { c.MaxInFlight = 2; c.RetryInterval = time.Hour })
		r.log.delay, r.log.fates[0] = time.Second, refused
		defer r.lead(1)()
		out := make(chan done, 2)
		r.ask("first", register("a"), out)
		r.ask("second", register("b"), out)
		for range 2 {
			if d := <-out; !errors.Is(d.err, ErrNotLeader) {
				t.Errorf("%s gets %v", d.name, d.err)
			}
		}
		if _, st := r.log.applied(); st.Nodes.Len() != 0 || len(r.log.fatal) != 0 {
			t.Errorf("%d nodes, fatal %v", st.Nodes.Len(), r.log.fatal)
		}
	})
}

// TestLeadershipBeginsAgain checks that a leadership that ends within a term begins again, on the
// committed state.
func TestLeadershipBeginsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFixture(t, nil)
		r.log.delay = time.Millisecond
		r.log.fates[1], r.log.fates[2] = forgotten, lost
		defer r.lead(4)()
		hosts := []string{"a", "b", "c", "d"}
		for _, h := range hosts {
			for {
				_, _, err := r.Do(t.Context(), register(h))
				if err == nil {
					break
				}
				time.Sleep(10 * time.Millisecond)
			}
		}
		if _, st := r.log.applied(); st.Nodes.Len() != len(hosts) {
			t.Errorf("%d nodes, want each exactly once", st.Nodes.Len())
		}
	})
}

func TestDivergenceIsFatal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFixture(t, nil)
		r.log.tamper = true
		defer r.lead(1)()
		if _, _, err := r.Do(t.Context(), register("a")); !errors.Is(err, ErrUnknownOutcome) {
			t.Errorf("reply of a batch that went another way: %v", err)
		}
		synctest.Wait()
		if len(r.log.fatal) != 1 || r.log.fatal[0] != exitcode.Diverged {
			t.Errorf("OnFatal got %v", r.log.fatal)
		}
		time.Sleep(time.Hour)
		if _, leading := r.Leading(); leading {
			t.Error("leads on")
		}
	})
}

func TestStampNeverRunsBackwards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFixture(t, nil)
		ahead := time.Now().Add(time.Hour).UnixMilli() // from the clock of another leader
		if err := r.log.st.Apply(&event.TimeAdvanced{NowMillis: ahead}); err != nil {
			t.Fatal(err)
		}
		defer r.lead(1)()
		for range 3 {
			if _, _, err := r.Do(t.Context(), audit("x")); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(2 * time.Hour)
		if _, _, err := r.Do(t.Context(), audit("x")); err != nil {
			t.Fatal(err)
		}
		s := r.planner.stamps
		if s[0] != ahead || s[2] != ahead || s[len(s)-1] <= ahead {
			t.Errorf("stamps %v, the state's clock stood at %d", s, ahead)
		}
	})
}

// TestReplayEqualsLive runs random changes of leadership, fates of batches and abandoned calls.
// Every input with a successful reply must be in the log, and a replay of the log must give the
// live state.
func TestReplayEqualsLive(t *testing.T) {
	for seed := range int64(20) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewSource(seed))
			r := newFixture(t, func(c *Config) {
				c.MaxInFlight, c.BatchEvents, c.QueueMax = 1+rng.Intn(2), 1+rng.Intn(20), 4+rng.Intn(20)
			})
			for i := range 300 {
				if rng.Intn(8) == 0 {
					r.log.fates[i] = []fate{refused, lost, forgotten, skipped}[rng.Intn(4)]
				}
			}
			r.log.delay = 3 * time.Millisecond
			ctx, cancel := context.WithCancel(t.Context())
			changes := make(chan Leadership)
			ended := make(chan error)
			go func() { ended <- r.Run(ctx, changes) }()
			type host struct {
				name  string
				index uint64
			}
			known := make(chan host, 4000)
			callers := make(chan struct{}, 40)
			for c := range cap(callers) {
				seed := rng.Int63()
				go func() {
					rng := rand.New(rand.NewSource(seed))
					for i := range 30 {
						name := fmt.Sprintf("h%d-%d", c, i)
						cctx, stop := context.WithTimeout(ctx, time.Duration(1+rng.Intn(20))*time.Millisecond)
						if _, index, err := r.Do(cctx, register(name)); err == nil {
							known <- host{name, index}
						}
						stop()
						time.Sleep(time.Duration(rng.Intn(10)) * time.Millisecond)
					}
					callers <- struct{}{}
				}()
			}
			for term := uint64(1); term < 12; term++ {
				changes <- Leadership{Term: term, IsLeader: rng.Intn(4) > 0}
				time.Sleep(time.Duration(rng.Intn(50)) * time.Millisecond)
			}
			for range cap(callers) {
				<-callers
			}
			close(known)
			cancel()
			<-ended
			_, live := r.log.applied()
			replayed := replay(t, r.log.entries)
			if replayed.Digest() != live.Digest() || replayed.Check() != nil {
				t.Fatalf("seed %d: replayed %x, live %x", seed, replayed.Digest(), live.Digest())
			}
			n := 0
			for h := range known {
				n++
				if replayed.Nodes.Find(register(h.name).Input.(*input.RegisterNode).ID) == 0 {
					t.Errorf("seed %d: %s was answered with index %d and is not in the log", seed, h.name, h.index)
				}
			}
			if n == 0 || len(r.log.fatal) > 0 {
				t.Errorf("seed %d: %d answered, fatal %v", seed, n, r.log.fatal)
			}
		})
	}
}

func replay(t *testing.T, entries [][]byte) *state.State {
	t.Helper()
	st := state.New()
	for _, b := range entries {
		d, err := event.Decode(b)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range d.Events {
			if err := st.Apply(e); err != nil {
				t.Fatal(err)
			}
		}
	}
	return st
}

// TestPlannerPanic checks that an input on which the planner panics is refused and has no effect,
// and that the replica leads again without it.
func TestPlannerPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFixture(t, nil)
		r.log.delay = time.Millisecond
		defer r.lead(4)()
		// The fake planner returns an event that is invalid in this state.
		if _, _,
			err := r.Do(t.Context(),
			input.Request{Input: &input.DrainNode{ID: yarn.NodeID{Host: "nobody", Port: 1}}}); !errors.Is(err, ErrPlanner) {
			t.Fatalf("the input at fault was answered with %v", err)
		}
		for {
			_, _, err := r.Do(t.Context(), register("a"))
			if err == nil {
				break
			}
			if !errors.Is(err, ErrNotLeader) && !errors.Is(err, ErrUnknownOutcome) {
				t.Fatalf("Do after the panic: %v, want nil, %v or %v",
					err, ErrNotLeader, ErrUnknownOutcome)
			}
			time.Sleep(10 * time.Millisecond)
		}
		if _, st := r.log.applied(); st.Nodes.Len() != 1 {
			t.Errorf("%d nodes, want 1", st.Nodes.Len())
		}
	})
}
