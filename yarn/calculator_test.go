package yarn

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

var (
	byMemory  = Calculator{Kinds: 2}
	dominant2 = Calculator{Dominant: true, Kinds: 2}
	dominant3 = Calculator{Dominant: true, Kinds: 3}
)

func r3(m, v, g int64) Resource { return Resource{m, v, g} }

func TestCompare(t *testing.T) {
	for _, c := range []struct {
		name        string
		calc        Calculator
		total, a, b Resource
		want        int
	}{
		{"memory alone", byMemory, r3(10, 10, 0), r3(4, 9, 0), r3(5, 1, 0), -1},
		{"memory equal, vcores differ", byMemory, r3(10, 10, 0), r3(4, 9, 0), r3(4, 1, 0), 0},
		{"largest share decides", dominant2, r3(100, 10, 0), r3(50, 1, 0), r3(10, 6, 0), -1},
		{"tie in the largest, next decides", dominant2, r3(100, 10, 0), r3(50, 4, 0), r3(30, 5, 0), 1},
		{"all shares equal across kinds", dominant2, r3(100, 10, 0), r3(50, 3, 0), r3(30, 5, 0), 0},
		{"kind without total is skipped", dominant3, r3(100, 10, 0), r3(50, 3, 9), r3(50, 4, 0), -1},
		{"no total: dominated", dominant3, Resource{}, r3(1, 1, 1), r3(1, 1, 0), 1},
		{"no total: dominates", dominant3, Resource{}, r3(0, 1, 1), r3(1, 1, 1), -1},
		{"no total: neither", dominant3, Resource{}, r3(2, 1, 1), r3(1, 1, 2), 0},
		{"equal", dominant2, r3(7, 7, 0), r3(3, 3, 0), r3(3, 3, 0), 0},
		{"negative is smaller", dominant2, r3(10, 10, 0), r3(-5, 0, 0), r3(-4, 0, 0), -1},
		{"products above 64 bits", dominant2, r3(1<<62, 1<<61, 0), r3(1<<61, 1<<60-1, 0), r3(1<<61, 1<<60, 0), -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.calc.Compare(c.total, c.a, c.b); got != c.want {
				t.Errorf("Compare(%v, %v) = %d, want %d", c.a, c.b, got, c.want)
			}
			if got := c.calc.Compare(c.total, c.b, c.a); got != -c.want {
				t.Errorf("Compare(%v, %v) = %d, want %d", c.b, c.a, got, -c.want)
			}
		})
	}
}

// TestCompareAgainstRationals compares the comparison without divisions with one that uses big
// rationals.
func TestCompareAgainstRationals(t *testing.T) {
	small := rapid.Int64Range(-4, 12)
	draw := func(t *rapid.T, n string, g *rapid.Generator[int64]) Resource {
		return r3(g.Draw(t, n), g.Draw(t, n), g.Draw(t, n))
	}
	rapid.Check(t, func(t *rapid.T) {
		total := draw(t, "total", rapid.Int64Range(1, 9))
		a, b := draw(t, "a", small), draw(t, "b", small)
		if got, want := dominant3.Compare(total, a, b), slowCompare(total, a, b); got != want {
			t.Fatalf("Compare(total %v, %v, %v) = %d, want %d", total, a, b, got, want)
		}
	})
}

func slowCompare(total, a, b Resource) int {
	shares := func(r Resource) []*big.Rat {
		var out []*big.Rat
		for i := range 3 {
			s := big.NewRat(r[i], total[i])
			k := len(out)
			out = append(out, s)
			for ; k > 0 && s.Cmp(out[k-1]) > 0; k-- {
				out[k] = out[k-1]
			}
			out[k] = s
		}
		return out
	}
	sa, sb := shares(a), shares(b)
	for i := range sa {
		if d := sa[i].Cmp(sb[i]); d != 0 {
			return d
		}
	}
	return 0
}

func TestMinMaxTakeTheFirstOnATie(t *testing.T) {
	total, a, b := r3(10, 10, 0), r3(4, 9, 0), r3(4, 1, 0)
	if byMemory.Min(total, a, b) != a || byMemory.Max(total, a, b) != a {
		t.Error("a tie must give the first operand")
	}
	if dominant2.Min(total, a, b) != b || dominant2.Max(total, b, a) != a {
		t.Error("the whole smaller or larger operand must be given")
	}
	if ComponentMin(r3(1, 5, 2), r3(4, 3, 2)) != r3(1, 3, 2) || ComponentMax(r3(1, 5, 2), r3(4, 3, 2)) != r3(4, 5, 2) {
		t.Error("component-wise minimum or maximum is wrong")
	}
}

func TestFits(t *testing.T) {
	small, big := r3(4, 9, 0), r3(5, 1, 0)
	if !byMemory.FitsIn(small, big) || dominant2.FitsIn(small, big) {
		t.Error("memory alone decides for the default calculator, every kind for the dominant one")
	}
	if !dominant2.FitsIn(small, small) {
		t.Error("equal fits")
	}
	for _, c := range []struct {
		calc Calculator
		r    Resource
		want bool
	}{
		{byMemory, r3(0, 5, 0), false}, {byMemory, r3(1, 0, 0), true},
		{dominant2, r3(0, 5, 0), true}, {dominant2, r3(0, 0, 5), false}, {dominant3, r3(-1, 0, 5), true},
		{dominant3, r3(-1, 0, 0), false},
	} {
		if got := c.calc.AnyAboveZero(c.r); got != c.want {
			t.Errorf("%+v AnyAboveZero(%v) = %v", c.calc, c.r, got)
		}
	}
}

func TestAvailableContainers(t *testing.T) {
	for _, c := range []struct {
		calc       Calculator
		avail, req Resource
		want       int64
	}{
		{byMemory, r3(10, 0, 0), r3(3, 99, 0), 3},
		{byMemory, r3(10, 0, 0), r3(0, 1, 0), 0},
		{byMemory, r3(-10, 0, 0), r3(3, 1, 0), 0},
		{dominant2, r3(10, 5, 0), r3(3, 2, 0), 2},
		{dominant2, r3(10, 5, 0), r3(3, 0, 0), 3},
		{dominant2, r3(10, 5, 0), r3(0, 0, 0), 0},
		{dominant2, r3(10, -1, 0), r3(3, 1, 0), 0},
		{dominant2, r3(10, -1, 0), r3(3, 0, 0), 3},
		{dominant3, r3(100, 50, 1), r3(1, 1, 1), 1},
		{dominant3, r3(100, 50, 0), r3(1, 1, 1), 0},
	} {
		if got := c.calc.AvailableContainers(c.avail, c.req); got != c.want {
			t.Errorf("%+v AvailableContainers(%v, %v) = %d, want %d", c.calc, c.avail, c.req, got, c.want)
		}
	}
}

func TestRounding(t *testing.T) {
	half := Fraction{1, 2}
	for _, c := range []struct {
		name      string
		got, want Resource
	}{
		{"up, memory", byMemory.RoundUp(r3(1500, 7, 0), r3(1024, 3, 0)), r3(2048, 1, 0)},
		{"up, every kind", dominant2.RoundUp(r3(1500, 7, 0), r3(1024, 3, 0)), r3(2048, 9, 0)},
		{"up, exact", dominant2.RoundUp(r3(2048, 9, 0), r3(1024, 3, 0)), r3(2048, 9, 0)},
		{"up, step 0 leaves the kind", dominant2.RoundUp(r3(1500, 7, 0), r3(1024, 0, 0)), r3(2048, 7, 0)},
		{"up, negative", dominant2.RoundUp(r3(-1500, -1, 0), r3(1024, 2, 0)), r3(-1024, 0, 0)},
		{"down, memory", byMemory.RoundDown(r3(1500, 7, 0), r3(1024, 3, 0)), r3(1024, 1, 0)},
		{"down to nothing", byMemory.RoundDown(r3(1000, 7, 0), r3(1024, 3, 0)), Resource{}},
		{"down, every kind", dominant2.RoundDown(r3(1500, 7, 0), r3(1024, 3, 0)), r3(1024, 6, 0)},
		{"divide ceil, memory", byMemory.DivideCeil(r3(10, 9, 0), 4), r3(3, 1, 0)},
		{"divide ceil, every kind", dominant2.DivideCeil(r3(10, 9, 0), 4), r3(3, 3, 0)},
		{"divide by a weight", dominant2.DivideCeilFraction(r3(10, 9, 0), Fraction{3, 2}), r3(7, 6, 0)},
		{"divide by no weight", dominant2.DivideCeilFraction(r3(10, 9, 0), Fraction{0, 1}), Resource{}},
		{"multiply, floor, both", byMemory.MultiplyRoundDown(r3(5, 3, 1), half), r3(2, 1, 0)},
		{"multiply, floor, both", dominant3.MultiplyRoundDown(r3(5, 3, 1), half), r3(2, 1, 0)},
		{"normalize up, memory half up", byMemory.MultiplyNormalizeUp(r3(2049, 5, 0), half, r3(1025, 1, 0)), r3(1025, 1, 0)},
		{"normalize up, memory half up, over", byMemory.MultiplyNormalizeUp(r3(2051, 5, 0), half, r3(1025, 1, 0)),
			r3(2050, 1, 0)},
		{"normalize up, ceil per kind", dominant2.MultiplyNormalizeUp(r3(2049, 5, 0), half, r3(1024, 2, 0)), r3(2048, 4, 0)},
		{"normalize down, memory", byMemory.MultiplyNormalizeDown(r3(4097, 5, 0), half, r3(1024, 1, 0)), r3(2048, 1, 0)},
		{"normalize down, per kind", dominant2.MultiplyNormalizeDown(r3(4095, 5, 0), half, r3(1024, 2, 0)), r3(1024, 2, 0)},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
}

func TestNormalize(t *testing.T) {
	least, most := r3(1024, 1, 0), r3(8192, 4, 2)
	for _, c := range []struct {
		calc      Calculator
		ask, want Resource
	}{
		{byMemory, r3(1, 9, 0), r3(1024, 1, 0)},
		{byMemory, r3(1025, 9, 0), r3(2048, 1, 0)},
		{byMemory, r3(9000, 9, 0), r3(8192, 1, 0)},
		{dominant3, r3(1, 0, 0), r3(1024, 1, 0)},
		{dominant3, r3(1025, 2, 1), r3(2048, 2, 1)},
		{dominant3, r3(9000, 9, 9), r3(8192, 4, 2)},
	} {
		if got := c.calc.Normalize(c.ask, least, most); got != c.want {
			t.Errorf("%+v Normalize(%v) = %v, want %v", c.calc, c.ask, got, c.want)
		}
	}
}

func TestShares(t *testing.T) {
	for _, c := range []struct {
		a, b int64
		want uint64
	}{
		{1, 2, 1 << 31}, {2, 1, 1 << 33}, {1, 3, (1 << 32) / 3}, {0, 5, 0}, {-1, 5, 0}, {5, 0, 0}, {5, -1, 0},
		{1 << 62, 1, 1<<64 - 1}, {1 << 62, 1 << 62, 1 << 32},
	} {
		if got := Share(c.a, c.b); got != c.want {
			t.Errorf("Share(%d, %d) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
	total := r3(100, 10, 0)
	if got := dominant2.DivideShare(total, r3(10, 5, 0), r3(25, 0, 0)); got != 2<<32 {
		t.Errorf("DivideShare = %d, want 2.0", got)
	}
	if got := dominant2.DivideShare(total, r3(10, 5, 0), Resource{}); got != 0 {
		t.Errorf("DivideShare by nothing = %d", got)
	}
	if got := byMemory.DivideShare(total, r3(10, 5, 0), r3(20, 0, 0)); got != 1<<31 {
		t.Errorf("DivideShare by memory = %d", got)
	}
}

func TestCompareProductsBeyond64Bits(t *testing.T) {
	big := int64(1<<63 - 1)
	if CompareProducts(big, big, big, big-1) != 1 || CompareProducts(big, big-1, big-1, big) != 0 ||
		CompareProducts(1, 2, 3, 4) != -1 {
		t.Error("128-bit products compare wrongly")
	}
}
