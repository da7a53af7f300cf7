package httpserver

import (
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"rmd/fsm/state"
)

// countedForks counts how often the state is forked.
type countedForks struct {
	*history
	forks atomic.Int64
}

func (c *countedForks) Fork() (*state.State, uint64) {
	c.forks.Add(1)
	return c.history.Fork()
}

// Whoever looks at the state on a request's way looks at one fork: admission, the
// page and every call of the API that it makes. What open pages ask for by
// themselves shares one for a moment.
func TestOneForkForARequest(t *testing.T) {
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
	for _, path := range []string{"/ui/", "/ui/cluster", "/ui/apps/" + app2, "/v1/apps", "/ws/v1/cluster/scheduler", "/v1/cluster"} {
		least := int64(100) // the watch of the metrics forks when it begins
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
	if most := 2 + int64(time.Since(began)/pageLag); n < 1 || n > most {
		t.Errorf("40 looks of open pages fork %d times, at most %d are right", n, most)
	}
	if n := forks(func() { b.ask("GET", "/v1/apps?min_index=1", "") }); n > 2 {
		t.Errorf("a read that waits forks %d times", n)
	}
}

// What a request has done shows in what it reads afterwards, and a stream holds no
// fork for as long as it lasts.
func TestForkIsGivenUp(t *testing.T) {
	b := newBench(t, nil)
	r := withFork(httptest.NewRequest("POST", "/v1/apps", nil))
	first, _ := b.s.forkOf(r)
	crowd(t, b.h, 1)
	if again, _ := b.s.forkOf(r); again != first {
		t.Error("a request is answered from two forks")
	}
	unfork(r)
	if again, _ := b.s.forkOf(r); again == first {
		t.Error("what it has done does not show")
	}
	for _, path := range []string{"/ui/live", "/v1/events", "/v1/snapshot"} {
		r := withFork(httptest.NewRequest("GET", path, nil))
		first, _ := b.s.forkOf(r)
		b.h.apply(t)
		if again, _ := b.s.forkOf(r); again == first {
			t.Errorf("%s holds a fork", path)
		}
	}
}

// The fork that open pages share is let go when nobody looks any more.
func TestRecentForkIsLetGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHistory()
		var k recent
		first, _ := k.fork(h, pageLag)
		h.apply(t)
		time.Sleep(pageLag / 2)
		if st, _ := k.fork(h, pageLag); st != first {
			t.Error("it is not shared")
		}
		time.Sleep(pageLag)
		if st, _ := k.fork(h, pageLag); st == first {
			t.Error("it is too old")
		}
		time.Sleep(recentIdle + time.Second)
		synctest.Wait()
		if k.st != nil {
			t.Error("it is kept though nobody looks")
		}
		k.close()
	})
}
