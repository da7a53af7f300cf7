package command

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rmd/internal/point"
)

// TestFailpoint: whoever comes to the place for the time that was named waits, and nobody else;
// what was set is taken back; what names no place is refused.
func TestFailpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said strings.Builder
		f := &failpoint{err: &said}
		passes := func(n point.Name) time.Duration {
			began := time.Now()
			f.hit(n)
			return time.Since(began)
		}
		if err := f.set("batch.closed 2 3s"); err != nil {
			t.Fatal(err)
		}
		for i, want := range []time.Duration{0, 3 * time.Second, 0} {
			if passes(point.EntryApplied) != 0 {
				t.Error("it waits at another place too")
			}
			if got := passes(point.BatchClosed); got != want {
				t.Errorf("time %d takes %s", i+1, got)
			}
		}
		if said.String() != "point batch.closed reached\n" {
			t.Errorf("said %q", said.String())
		}
		if err := f.set("batch.closed 1 3s"); err != nil {
			t.Fatal(err)
		}
		if err := f.set("none"); err != nil || passes(point.BatchClosed) != 0 {
			t.Errorf("it is not taken back: %v", err)
		}
		for _, bad := range []string{"", "batch.closed", "batch.closed 0 1s", "batch.closed 1 -1s", "batch.closed x 1s", "nowhere 1 1s", "batch.closed 1 1s more"} {
			if err := f.set(bad); err == nil || !strings.Contains(err.Error(), "names no failpoint") {
				t.Errorf("%q: %v", bad, err)
			}
		}
	})
}
