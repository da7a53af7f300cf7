package replica

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rmd/internal/failpoint"
)

// TestFailpoint checks that only the goroutine with the given hit count waits, that a failpoint can
// be cleared, and that an unknown name is refused.
func TestFailpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said strings.Builder
		f := &failpointListener{err: &said}
		passes := func(n failpoint.Name) time.Duration {
			began := time.Now()
			f.hit(n)
			return time.Since(began)
		}
		if err := f.set("batch.closed 2 3s"); err != nil {
			t.Fatal(err)
		}
		for i, want := range []time.Duration{0, 3 * time.Second, 0} {
			if passes(failpoint.EntryApplied) != 0 {
				t.Error("it waits at another place too")
			}
			if got := passes(failpoint.BatchClosed); got != want {
				t.Errorf("pass %d of batch.closed takes %s, want %s", i+1, got, want)
			}
		}
		if said.String() != "failpoint batch.closed reached\n" {
			t.Errorf("stderr %q, want one line that failpoint batch.closed was reached", said.String())
		}
		if err := f.set("batch.closed 1 3s"); err != nil {
			t.Fatal(err)
		}
		if err := f.set("none"); err != nil || passes(failpoint.BatchClosed) != 0 {
			t.Errorf("it is not taken back: %v", err)
		}
		for _, bad := range []string{"", "batch.closed", "batch.closed 0 1s", "batch.closed 1 -1s", "batch.closed x 1s",
			"nowhere 1 1s", "batch.closed 1 1s more"} {
			if err := f.set(bad); err == nil || !strings.Contains(err.Error(), "names no failpoint") {
				t.Errorf("set(%q): %v, want an error with \"names no failpoint\"", bad, err)
			}
		}
	})
}
