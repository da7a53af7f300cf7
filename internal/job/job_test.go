package job

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestJobs checks when a job counts as failing: after as many failures in a row as its row in the
// table says, until it succeeds, or for a job that runs only when it is asked, until some time has
// passed.
func TestJobs(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	r := New(func() time.Time { return now })
	for _, k := range Table {
		j := r.Job(k.Name)
		if again := r.Job(k.Name); again != j {
			t.Fatalf("%s has two records", k.Name)
		}
		for n := range k.After {
			if p := r.Problem(); p != "" {
				t.Fatalf("%s counts as failing after %d failures: %s", k.Name, n, p)
			}
			if err := errors.New("no\nspace"); j.Done(err) != err {
				t.Fatal("Done returns another error")
			}
		}
		if p := r.Problem(); !strings.HasPrefix(p, string(k.Name)+": cannot "+k.Does) || !strings.HasSuffix(p, ": no space") {
			t.Errorf("after %d failures of %s the problem is %q", k.After, k.Name, p)
		}
		now = now.Add(k.Lasts + time.Second)
		if p := r.Problem(); (p == "") != (k.Lasts > 0) {
			t.Errorf("%s after %s: %q", k.Name, k.Lasts, p)
		}
		_ = j.Done(nil)
		s := r.Status()[slices.IndexFunc(r.Status(), func(s Status) bool { return s.Name == k.Name })]
		if r.Problem() != "" || s.Runs != uint64(k.After)+1 || s.Failures != uint64(k.After) || s.InARow != 0 ||
			s.Err != "" || !s.Success.Equal(now) || s.Failure.IsZero() {
			t.Errorf("after a success: %+v", s)
		}
	}
	if !slices.IsSortedFunc(Table, func(a, b Kind) int { return strings.Compare(string(a.Name), string(b.Name)) }) {
		t.Error("the table is not sorted by name")
	}
}

// TestJobsErrorIsBounded checks that a long error is cut.
func TestJobsErrorIsBounded(t *testing.T) {
	r := New(time.Now)
	_ = r.Job(Snapshot).Done(errors.New(strings.Repeat("ü", 10_000)))
	if p := r.Problem(); len(p) > 2*errMax {
		t.Errorf("the problem has %d bytes", len(p))
	}
}

// TestNoRegistry checks that parts without a registry work.
func TestNoRegistry(t *testing.T) {
	var r *Registry
	if err := errors.New("x"); r.Job(Snapshot).Done(err) != err || r.Job(Snapshot).Failing() || r.Status() != nil ||
		r.Problem() != "" {
		t.Error("a registry that is nil records something")
	}
}
