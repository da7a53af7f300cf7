package ui

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestCostlyPageIsServedWhileItIsRenewed lets a hundred viewers request a page that is slow to
// render, for a minute.
func TestCostlyPageIsServedWhileItIsRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s shared
		s.init(8, 40)
		const cost, tick = 100 * time.Millisecond, 500 * time.Millisecond
		renders := 0
		look := func(live, fresh bool) (age time.Duration, took time.Duration) {
			began := time.Now()
			p, err := s.get("/", want{now: time.Now, live: live, fresh: fresh, good: func(have *rendered) bool { return time.Since(have.at) < tick },
				render: func(bool) (*rendered, error) {
					at := time.Now()
					time.Sleep(cost)
					renders++
					return &rendered{at: at}, nil
				}})
			if err != nil {
				t.Fatal(err)
			}
			return time.Since(p.at), time.Since(began)
		}
		if _, took := look(true, false); took != cost {
			t.Errorf("the first look took %s", took)
		}
		for range 120 {
			time.Sleep(tick)
			for range 100 {
				if age, took := look(true, false); took != 0 || age > staleOpen {
					t.Fatalf("a look took %s and showed what is %s old", took, age)
				}
			}
		}
		synctest.Wait()
		// A minute has room for 15 renewals. Two more were saved up.
		if renders < 15 || renders > 22 {
			t.Errorf("%d renders in a minute", renders)
		}
		time.Sleep(tick)
		if age, took := look(false, true); took < cost || age > cost {
			t.Errorf("after an action: a look took %s and showed what is %s old", took, age)
		}
		time.Sleep(staleOpen)
		if age, _ := look(true, false); age > cost {
			t.Errorf("nobody looked for long: what is shown is %s old", age)
		}
	})
}

func TestCheapPageIsAlwaysNew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s shared
		s.init(8, 40)
		for index := uint64(1); index < 500; index++ {
			p, err := s.get("/", want{now: time.Now, good: func(have *rendered) bool { return have.index >= index },
				render: func(bool) (*rendered, error) {
					time.Sleep(cheap / 3)
					return &rendered{index: index, at: time.Now()}, nil
				}})
			if err != nil || p.index != index {
				t.Fatalf("index %d: %v, %v", index, p, err)
			}
			time.Sleep(20 * time.Millisecond)
		}
	})
}

// TestOpenPagesAreRenewedWhenOverdue checks that open pages whose cost exceeds the budget are only
// some seconds old, and that viewers do not wait for them.
func TestOpenPagesAreRenewedWhenOverdue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s shared
		s.init(64, 1_000_000) // hardly any budget
		const tick, cost = 500 * time.Millisecond, 2 * cheap
		look := func(key string) time.Duration {
			began := time.Now()
			p, err := s.get(key, want{now: time.Now, live: true, good: func(have *rendered) bool { return time.Since(have.at) < tick },
				render: func(bool) (*rendered, error) {
					at := time.Now()
					time.Sleep(cost)
					return &rendered{at: at}, nil
				}})
			if err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); took > cost {
				t.Fatalf("a look took %s", took)
			}
			return time.Since(p.at)
		}
		keys := []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"}
		for _, key := range keys {
			look(key)
		}
		for range 60 {
			time.Sleep(tick)
			for _, key := range keys {
				if age := look(key); age > overdueAfter+tick {
					t.Fatalf("page %s is %s old", key, age)
				}
			}
		}
		synctest.Wait()
	})
}

func TestRenewalThatFailsIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s shared
		s.init(8, 40)
		get := func(render func(bool) (*rendered, error)) (*rendered, error) {
			return s.get("/", want{now: time.Now, good: func(*rendered) bool { return false }, render: render})
		}
		first, err := get(func(bool) (*rendered, error) { time.Sleep(2 * cheap); return &rendered{at: time.Now()}, nil })
		if err != nil {
			t.Fatal(err)
		}
		bang := func(bool) (*rendered, error) { panic("bang") }
		if p, err := get(bang); p != first || err != nil {
			t.Fatalf("get with a panic in the renewal = page %p, %v, want the page made first, %p",
				p, err, first)
		}
		synctest.Wait()
		time.Sleep(stale)
		if p, err := get(func(bool) (*rendered, error) { return nil, bad("what", "do") }); err == nil {
			t.Errorf("%v is served", p)
		}
	})
}
