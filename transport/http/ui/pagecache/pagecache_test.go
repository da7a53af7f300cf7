package pagecache

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestCostlyPageIsServedWhileItIsRenewed lets a hundred viewers request a page that is slow to
// render, for a minute.
func TestCostlyPageIsServedWhileItIsRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(8, 40)
		const cost, tick = 100 * time.Millisecond, 500 * time.Millisecond
		renders := 0
		look := func(live, fresh bool) (age time.Duration, took time.Duration) {
			began := time.Now()
			p, err := s.Get("/", Want{Now: time.Now, Live: live, Fresh: fresh, Good: func(have *Page) bool {
				return time.Since(have.At) < tick
			},
				Render: func(bool) (*Page, error) {
					at := time.Now()
					time.Sleep(cost)
					renders++
					return &Page{At: at}, nil
				}})
			if err != nil {
				t.Fatal(err)
			}
			return time.Since(p.At), time.Since(began)
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
		s := New(8, 40)
		for index := uint64(1); index < 500; index++ {
			p, err := s.Get("/", Want{Now: time.Now, Good: func(have *Page) bool { return have.Index >= index },
				Render: func(bool) (*Page, error) {
					time.Sleep(cheap / 3)
					return &Page{Index: index, At: time.Now()}, nil
				}})
			if err != nil || p.Index != index {
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
		s := New(64, 1_000_000) // hardly any budget
		const tick, cost = 500 * time.Millisecond, 2 * cheap
		look := func(key string) time.Duration {
			began := time.Now()
			p, err := s.Get(key, Want{Now: time.Now, Live: true, Good: func(have *Page) bool {
				return time.Since(have.At) < tick
			},
				Render: func(bool) (*Page, error) {
					at := time.Now()
					time.Sleep(cost)
					return &Page{At: at}, nil
				}})
			if err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); took > cost {
				t.Fatalf("a look took %s", took)
			}
			return time.Since(p.At)
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
		s := New(8, 40)
		get := func(render func(bool) (*Page, error)) (*Page, error) {
			return s.Get("/", Want{Now: time.Now, Good: func(*Page) bool { return false }, Render: render})
		}
		first, err := get(func(bool) (*Page, error) { time.Sleep(2 * cheap); return &Page{At: time.Now()}, nil })
		if err != nil {
			t.Fatal(err)
		}
		bang := func(bool) (*Page, error) { panic("bang") }
		if p, err := get(bang); p != first || err != nil {
			t.Fatalf("get with a panic in the renewal = page %p, %v, want the page made first, %p",
				p, err, first)
		}
		synctest.Wait()
		time.Sleep(stale)
		if p, err := get(func(bool) (*Page, error) { return nil, errors.New("what") }); err == nil {
			t.Errorf("%v is served", p)
		}
	})
}

func TestSharedKeepsABoundedNumberOfPages(t *testing.T) {
	s := New(3, 40)
	renders := 0
	get := func(key string) {
		w := Want{Now: time.Now, Good: func(*Page) bool { return true }, Render: func(bool) (*Page, error) {
			renders++
			return &Page{At: time.Now()}, nil
		}}
		if _, err := s.Get(key, w); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []string{"a", "a", "b", "c", "d", "a"} {
		get(key)
	}
	if renders != 5 || len(s.slots) != 3 || len(s.order) != 3 {
		t.Errorf("%d renders, %d kept", renders, len(s.slots))
	}
}
