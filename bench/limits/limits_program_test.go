package main

import (
	"strings"
	"testing"
)

// TestLimitRatioText checks that a ratio always says by how many times the limit is better.
func TestLimitRatioText(t *testing.T) {
	m := measured{rmd: []float64{30, 20, 10}, limit: []float64{10, 10, 10}}
	if got := (row{work: "cost"}).line(m); !strings.Contains(got, " 2  1 to 3 ") {
		t.Errorf("line of a limit with half the cost: %q, want a ratio of 2, 1 to 3", got)
	}
	m = measured{rmd: []float64{10, 10, 10}, limit: []float64{30, 20, 10}}
	if got := (row{work: "rate", more: true}).line(m); !strings.Contains(got, " 2  1 to 3 ") {
		t.Errorf("line of a limit with twice the rate: %q, want a ratio of 2, 1 to 3", got)
	}
}

// TestRows checks that each figure has a unit, and either a benchmark or the same flag.
func TestRows(t *testing.T) {
	for _, r := range rows {
		for _, f := range append(r.limit, r.rmd) {
			if f.unit == "" || (f.pkg == "" || f.bench == "" || f.time == "") != f.same {
				t.Errorf("figure of %q: %+v, want a unit, and either pkg, bench and time or same", r.work, f)
			}
		}
	}
}
