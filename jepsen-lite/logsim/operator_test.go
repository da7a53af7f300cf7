package logsim

import (
	"fmt"
	"testing"

	"rmd/scheduler/input"
)

// TestOperatorDrains checks that the load starts drains in every possible way.
func TestOperatorDrains(t *testing.T) {
	p := newWorld(Draw(1)).op
	met := map[string]int{}
	for range 1000 {
		for _, in := range []input.Input{p.admin(), p.nodes()} {
			switch in := in.(type) {
			case *input.SetHosts:
				met[fmt.Sprintf("lists, gracefully: %t, times of their own: %t", in.Graceful, len(in.Timeouts) > 0)]++
				for _, own := range in.Timeouts {
					met[fmt.Sprintf("longer: %t, limit: %t", own.Millis > in.TimeoutMillis, own.Millis > 0)]++
				}
			case *input.DrainNodes:
				met[fmt.Sprintf("drains of %d nodes", len(in.IDs))]++
			case *input.DrainNode:
				met[fmt.Sprintf("drains, back: %t, at once: %t", in.Back, in.Now)]++
			}
		}
	}
	for _, what := range []string{"lists, gracefully: true, times of their own: true",
		"lists, gracefully: true, times of their own: false",
		"lists, gracefully: false, times of their own: true", "lists, gracefully: false, times of their own: false",
		"longer: true, limit: true", "longer: false, limit: true", "longer: false, limit: false",
		"drains of 2 nodes", "drains, back: false, at once: false", "drains, back: false, at once: true",
		"drains, back: true, at once: false"} {
		if met[what] == 0 {
			t.Errorf("no %s; there are %v", what, met)
		}
	}
}
