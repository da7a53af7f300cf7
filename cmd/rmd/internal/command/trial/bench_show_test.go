package trial

import (
	"strings"
	"testing"
	"unicode/utf8"

	load "rmd/workload/hadoop"
)

func TestBenchTableIsNarrow(t *testing.T) {
	many := load.Calls{Times: load.Times{Count: 123_456_789, P50: 1234.56, P99: 123456.78, Max: 123456.78},
		PerSecond: 1_234_567}
	r := &load.Result{Kind: load.Allocations, Nodes: 131072, Masters: 100_000, Seconds: 86400, Stopped: true,
		Heartbeats: many, Allocates: &many,
		Containers: &load.Lives{Done: 123_456_789, PerSecond: 1_234_567, Grant: many.Times, Told: many.Times,
			Life: many.Times},
		Processes: []load.Process{{PID: 4194304, Name: "a-long-name-of-it", CPUSeconds: 123456.7, RSSAfter: 1 << 40,
			RSSBefore: 1 << 30}}, CPUPerContainer: 12345.6, LastError: strings.Repeat("long ", 90), Resyncs: 1}
	var b strings.Builder
	writeBench(&b, r)
	for _, line := range strings.Split(b.String(), "\n") {
		if utf8.RuneCountInString(line) > 80 {
			t.Errorf("wider than 80: %q", line)
		}
	}
	r.Stopped, r.Faults.ToldTwice = false, 3
	b.Reset()
	writeBench(&b, r)
	if !strings.Contains(b.String(), "NOT exactly once: containers 3 told complete twice") {
		t.Errorf("writeBench of a result with 3 containers told complete twice does not say so: %s", b.String())
	}
}
