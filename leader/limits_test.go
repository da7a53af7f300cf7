package leader

import (
	"context"
	"math"
	"testing"

	"rmd/scheduler/input"
	"rmd/yarn"
)

// TestOutOfBoundsInputRefused checks that Do refuses inputs that exceed the limits, whichever port
// they came through.
func TestOutOfBoundsInputRefused(t *testing.T) {
	r := newFixture(t, nil)
	for name, in := range map[string]input.Input{
		"a node of 2^63-1 MB": &input.RegisterNode{ID: yarn.NodeID{Host: "evil", Port: 1},
			Total: yarn.NewResource(math.MaxInt64, 8)},
		"the same, set": &input.SetNodeResource{ID: yarn.NodeID{Host: "n1", Port: 1},
			Total: yarn.NewResource(math.MaxInt64, 8)},
		"a tag of 3.9 MB": &input.SubmitApplication{User: "u", Tags: []string{string(make([]byte, 3_900_000))}},
	} {
		reply, index, err := r.Do(context.Background(), input.Request{Input: in})
		if err != nil || index != 0 || reply.Refused() == nil || reply.Refused().Do == "" {
			t.Errorf("Do with %s: %+v, index %d, error %v, want a refusal that says what to do, and index 0",
				name, reply, index, err)
		}
	}
}
