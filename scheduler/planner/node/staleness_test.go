package node

import (
	"math"
	"testing"
)

func TestResponseIDsWrapAround(t *testing.T) {
	for _, c := range []struct {
		a, b int32
		want bool
	}{{1, 2, true}, {2, 1, false}, {3, 3, false}, {math.MaxInt32, 0, true}, {0, math.MaxInt32, false},
		{math.MaxInt32 - 5, 5, true}} {
		if got := older(c.a, c.b); got != c.want {
			t.Errorf("%d before %d: %v", c.a, c.b, got)
		}
	}
}
