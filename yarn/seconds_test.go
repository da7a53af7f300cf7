package yarn

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

func TestSeconds(t *testing.T) {
	for _, c := range []struct {
		r      Resource
		millis int64
		want   Resource
	}{
		{NewResource(1024, 1), 0, Resource{}},
		{NewResource(1024, 1), -5, Resource{}},
		{NewResource(1024, 1), 999, NewResource(1022, 0)},
		{NewResource(1024, 3), 2500, NewResource(2560, 7)},
		{NewResource(math.MaxInt64, 1), math.MaxInt64, NewResource(math.MaxInt64, math.MaxInt64/1000)},
		{NewResource(-1, 2), 1000, NewResource(0, 2)},
	} {
		if got := c.r.Seconds(c.millis); got != c.want {
			t.Errorf("%s for %d ms: %s, want %s", c.r, c.millis, got, c.want)
		}
	}
}

// TestSecondsAreExact compares Seconds with big integers.
func TestSecondsAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, ms := rapid.Int64Range(0, math.MaxInt64).Draw(t, "v"), rapid.Int64Range(0, math.MaxInt64).Draw(t, "ms")
		want := new(big.Int).Mul(big.NewInt(v), big.NewInt(ms))
		if want.Div(want, big.NewInt(1000)); want.Cmp(big.NewInt(math.MaxInt64)) > 0 {
			want.SetInt64(math.MaxInt64)
		}
		if got := NewResource(v, 0).Seconds(ms)[Memory]; got != want.Int64() {
			t.Fatalf("%d for %d ms: %d, want %s", v, ms, got, want)
		}
	})
}
