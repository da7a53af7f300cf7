package yarn

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

func TestParseFraction(t *testing.T) {
	for in, want := range map[string]Fraction{
		"50.1": {501, 10}, "8.5": {17, 2}, "33.333": {33333, 1000}, "100": {100, 1}, "0": {0, 1}, "0.0": {0, 1},
		" 10 ": {10, 1}, "2f": {2, 1}, "2.5F": {5, 2}, "5.": {5, 1}, ".5": {1, 2}, "+5": {5, 1},
		"-0.5": {-1, 2}, "-5": {-5, 1}, "-.25": {-1, 4}, "0.123456789": {123456789, 1000000000},
		"33.333333333333336": {33333333333, 1000000000}, "007": {7, 1},
	} {
		got, err := ParseFraction(in)
		if err != nil || got != want {
			t.Errorf("ParseFraction(%q) = %v, %v; want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"", " ", ".", "-", "+", "f", "1e3", "1.5e2", "ten", "1,5", "--5", "-+5", "5ff",
		"1.2.3", "0x10",
		"1.000000000xyz", "1_000", "٣", "1234567890123456789", "1.-5"} {
		if got, err := ParseFraction(in); err == nil {
			t.Errorf("ParseFraction(%q) = %v, want an error", in, got)
		}
	}
}

func TestFractionMultiplies(t *testing.T) {
	percent := func(s string) Fraction {
		f, err := ParseFraction(s)
		if err != nil {
			t.Fatal(err)
		}
		return NewFraction(f.Num, f.Den*100)
	}
	for _, c := range []struct {
		name string
		f    Fraction
		v    int64
		floor, round,
		ceil int64
	}{
		{"8.5 % of 16384", percent("8.5"), 16384, 1392, 1393, 1393},
		{"50.1 % of 1000", percent("50.1"), 1000, 501, 501, 501},
		{"50.1 % of 1024", percent("50.1"), 1024, 513, 513, 514},
		{"half of 5", Fraction{1, 2}, 5, 2, 3, 3},
		{"half of -5", Fraction{1, 2}, -5, -3, -2, -2},
		{"third of 10", Fraction{1, 3}, 10, 3, 3, 4},
		{"nothing", Fraction{0, 1}, 1 << 62, 0, 0, 0},
		{"unset", Fraction{}, 7, 0, 0, 0},
		{"beyond 64 bits on the way", Fraction{999999999, 1000000000}, 1 << 60, 1152921503453925471, 1152921503453925471,
			1152921503453925472},
		{"saturates", Fraction{1 << 40, 1}, 1 << 40, 1<<63 - 1, 1<<63 - 1, 1<<63 - 1},
		{"saturates below", Fraction{1 << 40, 1}, -1 << 40, -1 << 63, -1 << 63, -1 << 63},
	} {
		if got := [3]int64{c.f.MulFloor(c.v), c.f.MulRound(c.v), c.f.MulCeil(c.v)}; got != [3]int64{c.floor,
			c.round, c.ceil} {
			t.Errorf("%s: floor, round, ceil = %v, want %v", c.name, got, [3]int64{c.floor, c.round, c.ceil})
		}
	}
}

// TestFractionAgainstRationals compares the integer arithmetic with big rationals.
func TestFractionAgainstRationals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := NewFraction(rapid.Int64Range(-1e12, 1e12).Draw(t, "num"), rapid.Int64Range(1, 1e11).Draw(t, "den"))
		v := rapid.Int64Range(-1e15, 1e15).Draw(t, "v")
		exact := new(big.Rat).Mul(f.Rat(), new(big.Rat).SetInt64(v))
		for _, c := range []struct {
			name string
			got  int64
			want *big.Int
		}{
			{"floor", f.MulFloor(v), floorOf(exact)},
			{"round", f.MulRound(v), floorOf(new(big.Rat).Add(exact, big.NewRat(1, 2)))},
			{"ceil", f.MulCeil(v), new(big.Int).Neg(floorOf(new(big.Rat).Neg(exact)))},
		} {
			if want := saturated(c.want); c.got != want {
				t.Fatalf("%s of %d·%v = %d, want %d", c.name, v, f, c.got, want)
			}
		}
	})
}

func floorOf(r *big.Rat) *big.Int { return new(big.Int).Div(r.Num(), r.Denom()) }

func saturated(v *big.Int) int64 {
	switch {
	case v.IsInt64():
		return v.Int64()
	case v.Sign() < 0:
		return -1 << 63
	}
	return 1<<63 - 1
}

func TestNewFractionReducesAndKeepsTheSignAbove(t *testing.T) {
	for _, c := range []struct {
		num, den int64
		want     Fraction
	}{{4, 8, Fraction{1, 2}}, {-5, 10, Fraction{-1, 2}}, {5, -10, Fraction{-1, 2}}, {-5, -10, Fraction{1, 2}},
		{0, 7, Fraction{0, 1}}, {-7, 1, Fraction{-7, 1}}} {
		if got := NewFraction(c.num, c.den); got != c.want {
			t.Errorf("NewFraction(%d, %d) = %v, want %v", c.num, c.den, got, c.want)
		}
	}
}

func TestFractionComparesAndPrints(t *testing.T) {
	a, b := Fraction{1, 3}, Fraction{333, 1000}
	if a.Cmp(b) != 1 || b.Cmp(a) != -1 || a.Cmp(Fraction{2, 6}) != 0 || (Fraction{-1, 2}).Cmp(Fraction{0, 1}) != -1 {
		t.Error("fractions compare wrongly")
	}
	for f, want := range map[Fraction]string{{501, 10}: "50.1", {1, 3}: "1/3", {100, 1}: "100", {}: "0", {-1, 4}: "-0.25",
		{17, 2}: "8.5"} {
		if f.String() != want {
			t.Errorf("%d/%d prints as %q, want %q", f.Num, f.Den, f, want)
		}
	}
	if !(Fraction{}).IsZero() || !(Fraction{0, 1}).IsZero() || One.IsZero() {
		t.Error("IsZero is wrong")
	}
}

func FuzzParseFraction(f *testing.F) {
	for _, s := range []string{"50.1", "-0.5", "33.333333333333336", "2f", "1.000000000xyz"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, err := ParseFraction(s)
		if err != nil {
			return
		}
		if v.Den <= 0 {
			t.Fatalf("%q gives the denominator %d", s, v.Den)
		}
		if back, err := ParseFraction(v.String()); err != nil || back != v {
			t.Fatalf("%q gives %v, which reads back as %v, %v", s, v, back, err)
		}
	})
}

// TestLargeDenominators checks denominators above 2^62, for which rounding could overflow.
func TestLargeDenominators(t *testing.T) {
	const den = 1<<63 - 1
	for _, c := range []struct {
		f                  Fraction
		v                  int64
		floor, ceil, round int64
	}{
		{Fraction{1, den}, 1, 0, 1, 0},
		{Fraction{den - 1, den}, 1, 0, 1, 1},
		{Fraction{den - 1, den}, -1, -1, 0, -1},
		{Fraction{1 << 62, den}, 1, 0, 1, 1},
		{Fraction{1, den}, 0, 0, 0, 0},
		{Fraction{den, den}, den, den, den, den},
	} {
		if a, b, r := c.f.MulFloor(c.v), c.f.MulCeil(c.v), c.f.MulRound(c.v); a != c.floor || b != c.ceil || r != c.round {
			t.Errorf("%d/%d of %d: floor %d, ceil %d, round %d; want %d, %d, %d", c.f.Num, c.f.Den, c.v, a, b, r, c.floor,
				c.ceil, c.round)
		}
	}
}
