package gotest

import (
	"maps"
	"testing"
)

func TestParse(t *testing.T) {
	got, err := parse("goos: linux\nBenchmarkBolt-2   \t  100\t 5000 ns/op\t 81.5 decisions/s\nPASS\n")
	if want := map[string]float64{"ns/op": 5000, "decisions/s": 81.5}; err != nil || !maps.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	if _, err := parse("PASS\n"); err == nil {
		t.Error("a run without a result is taken")
	}
}
