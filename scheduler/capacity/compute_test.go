package capacity

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"rmd/scheduler/capacity/share"
	"rmd/yarn"
)

// TestPercentFloorExact checks that floor() is applied to the exact product: 8.5 % of 16384 MiB are
// 1392, and the third of a child loses no unit.
func TestPercentFloorExact(t *testing.T) {
	c := parse(t, `root.queues = a,b
root.a.capacity = 8.5
root.b.capacity = 91.5
root.b.queues = x,y
root.b.x.capacity = 33.333
root.b.x.maximum-capacity = 50
root.b.y.capacity = 66.667`)
	tree := c.Compute(yarn.NewResource(16384, 16))
	for path, want := range map[string][2]yarn.Resource{
		"root":     {yarn.NewResource(16384, 16), yarn.NewResource(16384, 16)},
		"root.a":   {yarn.NewResource(1392, 1), yarn.NewResource(16384, 16)},
		"root.b":   {yarn.NewResource(14991, 14), yarn.NewResource(16384, 16)},
		"root.b.x": {yarn.NewResource(4997, 4), yarn.NewResource(8192, 8)},
		"root.b.y": {yarn.NewResource(9994, 9), yarn.NewResource(16384, 16)},
	} {
		e := tree.Capacities[index(t, c, path)]
		if e.EffMin != want[0] || e.EffMax != want[1] {
			t.Errorf("%s: %v … %v, want %v", path, e.EffMin, e.EffMax, want)
		}
	}
	x := tree.Capacities[index(t, c, "x")]
	if got := x.AbsCapacity.Percent(4); got != "30.4997" {
		t.Errorf("x has %s %% of the cluster", got)
	}
	if x.Capacity != yarn.NewFraction(33333, 100000) || x.MaxCapacity != yarn.NewFraction(1, 2) {
		t.Errorf("shares of the parent: %v, %v", x.Capacity, x.MaxCapacity)
	}
}

func TestWeights(t *testing.T) {
	c := parse(t, `root.queues = a,b,c
root.a.capacity = 1w
root.b.capacity = 1.5w
root.b.maximum-capacity = 60
root.c.queues = d
root.c.capacity = 0.5w
root.c.d.capacity = 100`)
	tree := c.Compute(mem(30))
	for path, want := range map[string]int64{"a": 10, "b": 15, "c": 5, "d": 5} {
		if e := tree.Capacities[index(t, c, path)]; e.EffMin[yarn.Memory] != want*gib {
			t.Errorf("%s: %v, want %dG", path, e.EffMin, want)
		}
	}
	if e := tree.Capacities[index(t, c, "b")]; e.EffMax[yarn.Memory] != 18*gib || e.Capacity != yarn.NewFraction(1, 2) {
		t.Errorf("b: %+v", e)
	}
}

// TestAbsoluteScaling is scenario 37, and checks that the children below scale as well.
func TestAbsoluteScaling(t *testing.T) {
	c := parse(t, `root.queues = a,b
root.a.capacity = [memory=100Gi]
root.b.capacity = [memory=102400,vcores=8]
root.b.maximum-capacity = [memory=150Gi,vcores=100]
root.b.queues = x,y
root.b.x.capacity = [memory=25Gi]
root.b.y.capacity = [memory=75Gi,vcores=4]`)
	for _, tc := range []struct{ cluster, each int64 }{{200, 100}, {100, 50}, {200, 100}, {400, 100}} {
		tree := c.Compute(yarn.NewResource(tc.cluster*gib, 100))
		want := map[string]int64{"a": tc.each * gib, "b": tc.each * gib, "x": tc.each * gib / 4, "y": tc.each * gib * 3 / 4}
		for path, w := range want {
			if e := tree.Capacities[index(t, c, path)]; e.EffMin[yarn.Memory] != w {
				t.Errorf("cluster %dG: %s has %v, want %d", tc.cluster, path, e.EffMin, w)
			}
		}
		b := tree.Capacities[index(t, c, "b")]
		if b.EffMin[yarn.VCores] != 8 || b.EffMax != yarn.NewResource(min(tc.cluster, 150)*gib, 100) {
			t.Errorf("cluster %dG: b %v … %v", tc.cluster, b.EffMin, b.EffMax)
		}
		if b.Capacity.Cmp(yarn.NewFraction(tc.each, tc.cluster)) != 0 || b.ConfiguredMin[yarn.Memory] != 100*gib {
			t.Errorf("cluster %dG: b is %v of its parent, configured %v", tc.cluster, b.Capacity, b.ConfiguredMin)
		}
		if y := tree.Capacities[index(t, c, "y")]; y.EffMax != b.EffMax {
			t.Errorf("y has no maximum but not its parent's: %v", y.EffMax)
		}
	}
}

// TestMaximumByKind checks that a maximum limits each kind for itself, and that, as in YARN, a kind
// that the vector does not name has the maximum 0.
func TestMaximumByKind(t *testing.T) {
	c := parse(t, `root.queues = a
root.a.capacity = [memory=1024,vcores=1]
root.a.maximum-capacity = [memory=10Gi,vcores=99]
root.a.queues = x,y
root.a.x.capacity = [memory=1024]
root.a.x.maximum-capacity = [memory=99Gi,vcores=5]
root.a.y.capacity = [memory=0]
root.a.y.maximum-capacity = [memory=5Gi]`)
	tree := c.Compute(yarn.NewResource(100*gib, 10))
	for path, want := range map[string]yarn.Resource{"a": yarn.NewResource(10*gib, 10), "x": yarn.NewResource(10*gib, 5),
		"y": yarn.NewResource(5*gib, 0)} {
		if e := tree.Capacities[index(t, c, path)]; e.EffMax != want {
			t.Errorf("%s may have %v, want %v", path, e.EffMax, want)
		}
	}
}

const mixedHead = "legacy-queue-mode.enabled = false\nyarn.resource-types = yarn.io/gpu\n" +
	"resource-calculator = org.apache.hadoop.yarn.util.resource.DominantResourceCalculator\n"

// TestMixedUnits checks that absolute capacities come first, then percentages, then weights of the
// rest.
func TestMixedUnits(t *testing.T) {
	c := parse(t, mixedHead+`root.queues = a,b,c,d
root.a.capacity = [memory=20Gi,vcores=10,yarn.io/gpu=2]
root.b.capacity = 25
root.c.capacity = 1w
root.d.capacity = [memory=2w,vcores=50%,yarn.io/gpu=1w]`)
	tree := c.Compute(yarn.Resource{100 * gib, 50, 10})
	for path, want := range map[string]yarn.Resource{
		"a": {20 * gib, 10, 2},
		"b": {20 * gib, 10, 2}, // a quarter of 80G, 40 vcores and 8 GPUs
		"c": {20 * gib, 10, 3}, // a third of 60G; all 10 vcores that are left; half of 6 GPUs
		"d": {40 * gib, 20, 3}, // two thirds of 60G; half of 40 vcores; half of 6 GPUs
	} {
		if e := tree.Capacities[index(t, c, path)]; e.EffMin != want {
			t.Errorf("%s: %v, want %v", path, e.EffMin, want)
		}
	}
	if len(tree.Warnings) != 0 {
		t.Errorf("warnings %v", tree.Warnings)
	}
}

// TestMaximumBelowCapacity checks that, as in YARN, a percentage may be above the maximum, with a
// warning, and that a vector without memory counts for nothing.
func TestMaximumBelowCapacity(t *testing.T) {
	for text, want := range map[string]string{
		twoQueues + "root.a.maximum-capacity = 39": "39% is below the queue's capacity of 40%",
		labelsOn + twoQueues +
			"root.a.accessible-node-labels.gpu.capacity = 100\nroot.a.accessible-node-labels.gpu.maximum-capacity = 90": "90% is below the queue's capacity of 100%",
		"root.queues = a\nroot.a.capacity = [vcores=4]": "states no memory, so the queue is guaranteed nothing",
		twoQueues +
			"root.a.maximum-capacity = [memory=10Gi]": "has no effect, as in YARN: one of capacity and maximum-capacity is a vector, the other is not",
		"root.queues = a\nroot.a.capacity = [memory=1]\nroot.a.maximum-capacity = 50": "has no effect, as in YARN: one of capacity and maximum-capacity is a vector, the other is not",
		twoQueues +
			"root.a.maximum-allocation = memory-mb=2048,vcores=2\nroot.a.maximum-allocation-mb = 1024": "has no effect, because yarn.scheduler.capacity.root.a.maximum-allocation is set",
		twoQueues + "root.a.maximum-capacity = [memory=0,vcores=4]": "states no memory, so it has no effect",
	} {
		if c := parse(t, text); len(c.Warnings) != 1 || c.Warnings[0].What != want {
			t.Errorf("%q: %v", text, c.Warnings)
		}
	}
}

func TestMixedGuardRails(t *testing.T) {
	c := parse(t, mixedHead+`root.queues = a,b,c,d
root.a.capacity = 60
root.b.capacity = 60
root.c.capacity = [memory=0,vcores=50%]
root.d.capacity = [memory=10Gi,vcores=1]
root.d.maximum-capacity = [memory=5Gi,vcores=200]`)
	tree := c.Compute(yarn.Resource{100 * gib, 100, 0})
	var warned []string
	for _, w := range tree.Warnings {
		warned = append(warned, strings.TrimPrefix(w.String(), Prefix+"root."))
	}
	for path, want := range map[string]yarn.Resource{
		"d": {5 * gib, 1, 0},   // minimum lowered to the maximum
		"a": {57 * gib, 59, 0}, // 60 % of what d leaves
		"b": {38 * gib, 40, 0}, // the rest, not 60 %
		"c": {},                // no memory, so no guarantee
	} {
		if e := tree.Capacities[index(t, c, path)]; e.EffMin != want {
			t.Errorf("%s: %v, want %v", path, e.EffMin, want)
		}
	}
	if d := tree.Capacities[index(t, c, "d")]; d.EffMax != (yarn.Resource{5 * gib, 100, 0}) {
		t.Errorf("d may have %v", d.EffMax)
	}
	want := []string{
		"d.maximum-capacity: vcores of 200 is above the parent's 100 and is lowered to it",
		"d.capacity: memory-mb of 10240 is above the queue's maximum of 5120 and is lowered to it",
		"b.capacity: memory-mb of 58368 is more than the 38912 that remain under the parent: over-utilized",
		"b.capacity: vcores of 59 is more than the 40 that remain under the parent: over-utilized",
	}
	if strings.Join(warned, "\n") != strings.Join(want, "\n") {
		t.Errorf("warnings:\n%s", strings.Join(warned, "\n"))
	}
}

// drawQueues returns a random valid configuration, up to three levels deep. The children of each
// parent use percentages, weights or vectors, some with maxima.
func drawQueues(t *rapid.T) string {
	var b strings.Builder
	legacy := rapid.Bool().Draw(t, "legacy")
	fmt.Fprintf(&b, "legacy-queue-mode.enabled = %v\n", legacy)
	fmt.Fprintf(&b, "resource-calculator = %s\n",
		rapid.SampledFrom([]string{"DominantResourceCalculator", "DefaultResourceCalculator"}).Draw(t, "calculator"))
	var grow func(path, unit string, depth int, have [2]int64)
	grow = func(path, unit string, depth int, have [2]int64) {
		n := rapid.IntRange(1, 4).Draw(t, "children")
		if unit == "" || !legacy {
			unit = rapid.SampledFrom([]string{"%", "w", "["}).Draw(t, "unit")
		} else if unit != "[" {
			unit = rapid.SampledFrom([]string{"%", "w"}).Draw(t, "unit")
		}
		left := int64(10_000)
		var names []string
		for k := range n {
			name := fmt.Sprintf("q%d", k)
			names = append(names, name)
			full := path + "." + name
			give := [2]int64{}
			switch unit {
			case "%":
				part := left
				if k < n-1 {
					part = rapid.Int64Range(0, left).Draw(t, "part")
				}
				left -= part
				fmt.Fprintf(&b, "%s.capacity = %d.%02d\n", full, part/100, part%100)
				fmt.Fprintf(&b, "%s.maximum-capacity = %d\n", full, rapid.Int64Range((part+99)/100, 100).Draw(t, "max"))
			case "w":
				fmt.Fprintf(&b, "%s.capacity = %dw\n", full, rapid.Int64Range(1, 9).Draw(t, "weight"))
			default:
				for i := range give {
					give[i] = rapid.Int64Range(0, have[i]/int64(n)).Draw(t, "units")
				}
				fmt.Fprintf(&b, "%s.capacity = [memory=%d,vcores=%d]\n", full, give[0], give[1])
				if rapid.Bool().Draw(t, "limited") {
					fmt.Fprintf(&b, "%s.maximum-capacity = [memory=%d,vcores=%d]\n", full,
						give[0]+rapid.Int64Range(0, 5000).Draw(t, "more"), give[1])
				}
			}
			if depth < 3 && rapid.Bool().Draw(t, "parent") && (unit != "[" || give != [2]int64{}) {
				grow(full, unit, depth+1, give)
			}
		}
		fmt.Fprintf(&b, "%s.queues = %s\n", path, strings.Join(names, ","))
	}
	grow("root", "", 1, [2]int64{200_000, 500})
	return b.String()
}

// TestCapacitiesAddUp is invariant 27, for every unit and both calculators.
func TestCapacitiesAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := drawQueues(t)
		c, err := Parse(props(text))
		if err != nil {
			if strings.Contains(err.Error(), "absolute capacity must be used") || strings.Contains(err.Error(), "sum to 0 %") {
				t.Skip("the draw breaks a rule of legacy mode")
			}
			t.Fatalf("%v\n%s", err, text)
		}
		cluster := yarn.NewResource(rapid.Int64Range(0, 300_000).Draw(t, "memory"),
			rapid.Int64Range(0, 700).Draw(t, "vcores"))
		tree := c.Compute(cluster)
		for i := range c.Queues {
			e := &tree.Capacities[i]
			if e.EffMin.Negative() || !e.EffMin.Within(e.EffMax) {
				t.Fatalf("%s: %v is not within %v\n%s", c.Queues[i].Path, e.EffMin, e.EffMax, text)
			}
			var sum yarn.Resource
			for _, k := range c.Queues[i].Children {
				child := &tree.Capacities[k]
				sum = sum.Add(child.EffMin)
				if !child.EffMax.Within(e.EffMax) {
					t.Fatalf("%s: maximum %v is above the parent's %v\n%s", c.Queues[k].Path, child.EffMax, e.EffMax, text)
				}
			}
			if !sum.Within(e.EffMin) {
				t.Fatalf("%s: children have %v, the queue %v\n%s", c.Queues[i].Path, sum, e.EffMin, text)
			}
		}
	})
}

func TestShareArithmetic(t *testing.T) {
	third := share.New(1, 3)
	s := share.Whole
	for range 60 { // the intermediate values exceed 64 bits
		s = s.Mul(third)
	}
	if s.IsZero() || s.Fixed() != 1 || s.MulFloor(1<<50) != 0 {
		t.Errorf("3^-60: zero %v, fixed %d, of 2^50 %d, want false, 1, 0",
			s.IsZero(), s.Fixed(), s.MulFloor(1<<50))
	}
	for range 60 {
		s = s.Div(third)
	}
	if s.Cmp(share.Whole) != 0 || s.Fixed() != share.One {
		t.Errorf("3^-60·3^60 = %v with fixed %d, want 1 and %d", s.Rat(), s.Fixed(), share.One)
	}
	if got := third.Percent(2); got != "33.33" {
		t.Errorf("a third is %s %%", got)
	}
	if got := share.FixedPercent(share.One+share.One/2, 1); got != "150" {
		t.Errorf("one and a half is %s %%", got)
	}
	if !(share.Share{}).IsZero() || (share.Share{}).Cmp(third) >= 0 || (share.Share{}).Percent(0) != "0" {
		t.Error("the zero share is not 0")
	}
}

func BenchmarkCompute(b *testing.B) {
	var text strings.Builder
	var names []string
	for i := range 200 {
		names = append(names, fmt.Sprintf("q%d", i))
		fmt.Fprintf(&text, "root.q%d.capacity = 0.5\n", i)
	}
	c := parse(b, text.String()+"root.queues = "+strings.Join(names, ","))
	b.ReportAllocs()
	for b.Loop() {
		c.Compute(mem(1 << 20))
	}
}
