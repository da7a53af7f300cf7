package replay

import (
	"context"
	"errors"
	"testing"
	"time"

	"rmd/workload"
	"rmd/workload/report"
)

func TestCounts(t *testing.T) {
	made, fail := int64(100), error(nil)
	var told int
	n, c := &counts{}, workload.Config{OnProgress: func(workload.Progress) { told++ }}
	n.count(&c, func(context.Context) (workload.Observation, error) {
		return workload.Observation{Outcomes: report.Outcomes{Made: made, Fulfilled: 90, Cancelled: 5}}, fail
	})
	tick := func(at time.Duration) { c.OnProgress(workload.Progress{Virtual: at}) }
	tick(0) // nothing is known before the first observation
	_, _ = c.Observe(t.Context())
	tick(time.Second)
	made = 103
	_, _ = c.Observe(t.Context())
	fail, made = errors.New("no answer"), 0
	if _, err := c.Observe(t.Context()); !errors.Is(err, fail) {
		t.Errorf("Observe: %v, want the error of the observation, %v", err, fail)
	}
	tick(2 * time.Second)
	s := n.into(&report.Summary{Series: &report.Series{}})
	want := []report.Count{{AtMillis: 1000}, {AtMillis: 2000, Made: 3}}
	if len(s.Series.Counts) != 2 || s.Series.Counts[0] != want[0] || s.Series.Counts[1] != want[1] || told != 3 {
		t.Errorf("%+v, told %d times; want %+v", s.Series.Counts, told, want)
	}
	if held := s.Series.Counts[1].Held(); held != 3 {
		t.Errorf("%d held", held)
	}
	if n.into(nil) != nil {
		t.Error("a summary of nothing")
	}
}

// TestCountsAreBounded checks that a long run keeps few counts, distributed over the whole run.
func TestCountsAreBounded(t *testing.T) {
	n := &counts{first: &report.Outcomes{}}
	const ticks = 10 * countsMax
	for i := range int64(ticks) {
		n.tick(i)
	}
	if len(n.all) > countsMax || n.all[0].AtMillis > 10 || n.all[len(n.all)-1].AtMillis < ticks-100 {
		t.Errorf("%d counts from %d to %d", len(n.all), n.all[0].AtMillis, n.all[len(n.all)-1].AtMillis)
	}
	for i := 1; i < len(n.all); i++ {
		if n.all[i].AtMillis <= n.all[i-1].AtMillis {
			t.Fatalf("%d after %d", n.all[i].AtMillis, n.all[i-1].AtMillis)
		}
	}
}
