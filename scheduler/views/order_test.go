package views

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestAppKeyOrder(t *testing.T) {
	inOrder := []AppKey{
		{fair: 0, priority: 5, seq: 9}, {fair: 0, priority: 5, seq: 10}, {fair: 0, priority: 1, seq: 1},
		{fair: 0, priority: -1, seq: 0}, {fair: 1, priority: 9, seq: 0},
	}
	for i := range inOrder {
		for k := range inOrder {
			if got := inOrder[i].Less(inOrder[k]); got != (i < k) {
				t.Errorf("%+v before %+v: %v", inOrder[i], inOrder[k], got)
			}
		}
	}
}

func TestLog2FixedAgainstFloats(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Uint64Range(1, 1<<50).Draw(t, "v")
		got, want := float64(log2Fixed(v))/65536, math.Log2(float64(v))
		if got > want+1e-9 || got < want-1.0/65536-1e-9 {
			t.Fatalf("log2(%d) = %v, got %v", v, want, got)
		}
	})
}
