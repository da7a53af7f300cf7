package planner

import (
	"testing"

	"rmd/scheduler/input"
)

// TestEveryKindIsPlanned checks that the planner knows every kind of input, and answers one without
// content.
func TestEveryKindIsPlanned(t *testing.T) {
	for k := input.Kind(1); k < input.KindsEnd; k++ {
		w := newWorld(t)
		w.tellAll("conf queues=(a:100)")
		reply, _ := w.p.Plan(w.now, input.Request{Input: input.New(k)})
		if f := reply.Refused(); f != nil && f.Do == "upgrade the leader" {
			t.Errorf("input %d, %T: %v", k, input.New(k), f)
		}
	}
}
