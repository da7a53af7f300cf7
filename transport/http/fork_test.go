package httpserver

import (
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"rmd/fsm/state"
	"rmd/transport/http/view"
)

// countedForks counts the forks of the state.
type countedForks struct {
	*history
	forks atomic.Int64
}

func (c *countedForks) Fork() (*state.State, uint64) {
	c.forks.Add(1)
	return c.history.Fork()
}

// TestForkSharedWithinRequest checks that admission, the page and all API calls of the page read
// one fork. Requests that open pages repeat by themselves share one fork for view.PageLag.
func TestForkSharedWithinRequest(t *testing.T) {
	var k *countedForks
	b := newBench(t, func(c *Config) {
		k = &countedForks{history: c.Reader.(*history)}
		c.Reader = k
	})
	forks := func(do func()) int64 {
		before := k.forks.Load()
		do()
		return k.forks.Load() - before
	}
	for _, path := range []string{"/ui/", "/ui/cluster", "/ui/apps/" + app2, "/v1/apps", "/ws/v1/cluster/scheduler",
		"/v1/cluster"} {
		least := int64(100) // the goroutine that watches the state for metrics also forks when it starts
		for range 3 {
			least = min(least, forks(func() { b.ask("GET", path, "") }))
		}
		if least != 1 {
			t.Errorf("%s forks %d times", path, least)
		}
	}
	began := time.Now()
	n := forks(func() {
		for range 20 {
			b.ask("GET", "/ui/nodes", "", "X-Rmd-Live", "1")
			b.ask("GET", "/ui/queues", "", "X-Rmd-Live", "1")
		}
	})
	if most := 2 + int64(time.Since(began)/view.PageLag); n < 1 || n > most {
		t.Errorf("40 looks of open pages fork %d times, at most %d are right", n, most)
	}
	if n := forks(func() { b.ask("GET", "/v1/apps?min_index=1", "") }); n > 2 {
		t.Errorf("a read that waits forks %d times", n)
	}
}

// TestForkReleased checks that a request sees its own changes after Release, and that a streaming
// request holds no fork.
func TestForkReleased(t *testing.T) {
	b := newBench(t, nil)
	r := view.WithFork(httptest.NewRequest("POST", "/v1/apps", nil), false)
	first, _ := b.s.views.Fork(r)
	crowd(t, b.h, 1)
	if again, _ := b.s.views.Fork(r); again != first {
		t.Error("a request is answered from two forks")
	}
	view.Release(r)
	if again, _ := b.s.views.Fork(r); again == first {
		t.Error("what it has done does not show")
	}
	for _, path := range []string{"/ui/live", "/v1/events", "/v1/snapshot"} {
		if !streaming(path) {
			t.Errorf("%s holds a fork", path)
		}
	}
}
