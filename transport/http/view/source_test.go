package view

import (
	"testing"
	"testing/synctest"
	"time"

	"rmd/fsm/state"
)

// reader is a reader whose state the test replaces.
type reader struct {
	Reader
	st *state.State
}

func (r *reader) Fork() (*state.State, uint64) { return r.st, 1 }

// TestUnusedForkDropped checks that open pages share a fork, and that it is dropped when it is
// unused.
func TestUnusedForkDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &reader{st: state.New()}
		var k recent
		first, _ := k.fork(h, PageLag)
		h.st = state.New()
		time.Sleep(PageLag / 2)
		if st, _ := k.fork(h, PageLag); st != first {
			t.Error("it is not shared")
		}
		time.Sleep(PageLag)
		if st, _ := k.fork(h, PageLag); st == first {
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
