package yarn

import (
	"encoding/json"
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// nearest returns the int64 nearest to v.
func nearest(v *big.Int) int64 {
	switch {
	case v.IsInt64():
		return v.Int64()
	case v.Sign() < 0:
		return math.MinInt64
	}
	return math.MaxInt64
}

// TestResourceArithmeticDoesNotWrap compares sums, differences, products and roundings of any
// numbers with big integers.
func TestResourceArithmeticDoesNotWrap(t *testing.T) {
	number := rapid.OneOf(rapid.Int64(), rapid.SampledFrom(
		[]int64{math.MinInt64, math.MinInt64 + 1, -1, 0, 1, math.MaxInt64 - 1, math.MaxInt64}))
	rapid.Check(t, func(t *rapid.T) {
		a, b := number.Draw(t, "a"), number.Draw(t, "b")
		x, y := big.NewInt(a), big.NewInt(b)
		for _, c := range []struct {
			name string
			got  int64
			want *big.Int
		}{
			{"sum", NewResource(a, 0).Add(NewResource(b, 0))[Memory], new(big.Int).Add(x, y)},
			{"difference", NewResource(a, 0).Sub(NewResource(b, 0))[Memory], new(big.Int).Sub(x, y)},
			{"product", NewResource(a, 0).Times(b)[Memory], new(big.Int).Mul(x, y)},
			{"fraction", Fraction{b, 3}.MulFloor(a), new(big.Int).Div(new(big.Int).Mul(x, y), big.NewInt(3))},
		} {
			if c.got != nearest(c.want) {
				t.Fatalf("%s of %d and %d: %d, want %d", c.name, a, b, c.got, nearest(c.want))
			}
		}
		if a > 0 && b > 0 {
			up := (Calculator{Dominant: true, Kinds: 2}).RoundUp(NewResource(a, 0), NewResource(b, 0))[Memory]
			steps := new(big.Int).Div(new(big.Int).Add(x, new(big.Int).Sub(y, big.NewInt(1))), y)
			if want := nearest(steps.Mul(steps, y)); up != want {
				t.Fatalf("%d rounded up to %d: %d, want %d", a, b, up, want)
			}
		}
		if got := NewResource(a, b).Saturated(); got != (a == math.MaxInt64 || b == math.MaxInt64) {
			t.Fatalf("%d, %d saturated: %v", a, b, got)
		}
	})
}

// TestSumsOfLegalAmountsHaveRoom checks that 2^18 nodes of the largest size, or 2^17-1 applications
// of the largest demand, do not saturate a sum.
func TestSumsOfLegalAmountsHaveRoom(t *testing.T) {
	if NewResource(MaxAmount, MaxAmount).Times(1<<18).Saturated() || NewResource(MaxDemand, 0).Times(1<<17-1).Saturated() {
		t.Error("a sum of what inputs may carry does not fit 64 bits")
	}
}

func TestResourceAlgebra(t *testing.T) {
	a, b := Resource{5, 3, 1}, Resource{2, 4, 1}
	for _, c := range []struct {
		name      string
		got, want Resource
	}{
		{"add", a.Add(b), Resource{7, 7, 2}},
		{"sub", a.Sub(b), Resource{3, -1, 0}},
		{"times", a.Times(-2), Resource{-10, -6, -2}},
		{"operands are left alone", a, Resource{5, 3, 1}},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
	if a.Within(b) || !b.Within(Resource{2, 4, 1, 0, 0, 1}) || !a.Sub(b).Negative() || a.Negative() ||
		!a.Sub(a).IsZero() || a.IsZero() {
		t.Error("a comparison is wrong")
	}
}

func TestResourcePrints(t *testing.T) {
	k := Kinds{MemoryName, VCoresName, GPUName, "example.com/fpga"}
	r := Resource{4096, 2, 1, 0, 7}
	if got := r.String(); got != "4096MB 2vc +1[2] +7[4]" {
		t.Errorf("String: %q", got)
	}
	if got := k.Format(Resource{4096, 2, 1, 3}); got != "4 GiB · 2 vc · 1 gpu · 3 fpga" {
		t.Errorf("Format: %q", got)
	}
	if k.Index("memory") != 0 || k.Index("memory-mb") != 0 || k.Index("vcores") != 1 || k.Index(GPUName) != 2 ||
		k.Index("gpu") != -1 {
		t.Error("Index is wrong")
	}
}

func TestStatesHaveYARNsNames(t *testing.T) {
	doc, err := json.Marshal(map[string]any{"app": AppRunning, "final": FinalUndefined, "container": ContainerReleasing,
		"node": NodeDecommissioning, "queue": QueueDraining, "locality": OffSwitch, "cause": CancelOperator,
		"odd": NodeState(99)})
	want := `{"app":"RUNNING","cause":"OPERATOR","container":"RELEASING","final":"UNDEFINED","locality":"OFF_SWITCH","node":"DECOMMISSIONING","odd":"UNKNOWN_99","queue":"DRAINING"}`
	if err != nil || string(doc) != want {
		t.Errorf("%s, %v\nwant %s", doc, err, want)
	}
	if AppRunning.Ended() || !AppFinished.Ended() || !AppKilled.Ended() || ContainerReleasing.Live() ||
		!ContainerRunning.Live() ||
		!NodeDecommissioning.Usable() || NodeLost.Usable() {
		t.Error("a method of a state is wrong")
	}
}
