package nodeindex

import (
	"cmp"
	"math"
	"slices"
	"testing"
	"unsafe"

	"pgregory.net/rapid"

	"rmd/fsm/state"
	"rmd/yarn"
)

// TestNodeIndexAgainstAList compares walks over an index with a sorted list of all nodes.
func TestNodeIndexAgainstAList(t *testing.T) {
	amounts := rapid.Custom(func(t *rapid.T) (r yarn.Resource) {
		for i := range r {
			r[i] = rapid.OneOf(rapid.Int64Range(0, 9), rapid.Int64Range(0, 1<<20)).Draw(t, "amount")
		}
		return r
	})
	rapid.Check(t, func(t *rapid.T) {
		kinds := rapid.IntRange(1, yarn.MaxKinds).Draw(t, "kinds")
		for order := range Layouts {
			l := &Layouts[order]
			x, free := Index{Layout: *l}, map[state.NodeSlot]yarn.Resource{}
			for range rapid.IntRange(1, 80).Draw(t, "changes") {
				node := state.NodeSlot(rapid.Uint32Range(1, 200).Draw(t, "node"))
				if x.Mark(node); rapid.IntRange(0, 4).Draw(t, "leaves") == 0 {
					delete(free, node)
					x.set(node, 0)
					continue
				}
				free[node] = amounts.Draw(t, "free")
				x.set(node, l.ShapeOf(nodeTotal, free[node], kinds))
			}
			size := amounts.Draw(t, "size")
			var want []state.NodeSlot
			for node := range free {
				if mayFit(size, free[node], kinds) {
					want = append(want, node)
				}
			}
			slices.SortFunc(want, func(a, b state.NodeSlot) int {
				return cmp.Or(compareNodes(order, free[a], free[b], kinds), cmp.Compare(a, b))
			})
			if got := slices.Collect(x.Walk(l.BoundsFor(size, kinds))); !slices.Equal(got, want) {
				t.Fatalf("order %d, %d kinds: %v walks %v, want %v", order, kinds, size, got, want)
			}
		}
	})
}

var nodeTotal = yarn.NewResource(1<<20, 1<<20)

// mayFit reports whether the class of no resource that counts is too small.
func mayFit(size, free yarn.Resource, kinds int) bool {
	for i := range kinds {
		if slowClass(free[i]) < slowClass(size[i]) {
			return false
		}
	}
	return true
}

// slowClass counts the classes from 0 up to an amount.
func slowClass(amount int64) (class int) {
	for from, to := int64(0), int64(1); from <= amount; class++ {
		from, to = to, to+max(int64(1)<<max(bitsOf(to)-2, 0), 1)
	}
	return class
}

func bitsOf(v int64) int { return int(math.Log2(float64(v))) }

// compareNodes compares the free resources of two nodes as the order of shapes does.
func compareNodes(order int, a, b yarn.Resource, kinds int) int {
	fewer := func(kind int) int {
		if kind >= kinds {
			return 0
		}
		return cmp.Compare(slowClass(a[kind]), slowClass(b[kind]))
	}
	further := cmp.Or(fewer(2), fewer(3), fewer(4), fewer(5))
	if order == Fullest {
		return cmp.Or(further, fewer(yarn.VCores), fewer(yarn.Memory))
	}
	return cmp.Or(cmp.Compare(used(a, kinds), used(b, kinds)), further, -fewer(yarn.VCores), -fewer(yarn.Memory))
}

// used returns the larger used share of memory and vcores in parts of 255.
func used(free yarn.Resource, kinds int) (most int64) {
	for i := range min(kinds, 2) {
		most = max(most, (nodeTotal[i]-free[i])*255/nodeTotal[i])
	}
	return most
}

func TestClassesGrow(t *testing.T) {
	last := uint8(0)
	for amount := int64(0); amount < 1<<40; amount = amount*5/4 + 1 {
		class := classOf(amount)
		if class < last || amount > 0 && class == 0 {
			t.Fatalf("%d is in class %d after %d", amount, class, last)
		}
		last = class
	}
	if classOf(math.MaxInt64) < last || classOf(math.MaxInt64) == 255 || classOf(-5) != 0 {
		t.Error("the ends are wrong")
	}
}

// BenchmarkNodeIndex moves a node in an index of 10,000 nodes and finds the first one for a
// container: with many shapes, and with equal nodes of which most are empty.
func BenchmarkNodeIndex(b *testing.B) {
	const nodes = 10_000
	for _, bench := range []struct {
		name  string
		order int
		free  func(i int) yarn.Resource
	}{
		{"many shapes", Fullest, func(i int) yarn.Resource {
			return yarn.Resource{int64(1024 * (1 + i*7919%380)), int64(i * 104729 % 97), int64(i * 31 % 9)}
		}},
		{"most empty/pack", Fullest, mostlyEmpty},
		{"most empty/spread", Emptiest, mostlyEmpty},
	} {
		b.Run(bench.name, func(b *testing.B) {
			l := &Layouts[bench.order]
			x := Index{Layout: *l}
			for i := range nodes {
				x.Mark(state.NodeSlot(i + 1))
				x.set(state.NodeSlot(i+1), l.ShapeOf(nodeTotal, bench.free(i), 3))
			}
			size := yarn.Resource{100 << 10, 40, 3}
			for i := 0; b.Loop(); i++ {
				node := i * 7 % nodes
				x.set(state.NodeSlot(node+1), l.ShapeOf(nodeTotal, bench.free(node+i), 3))
				for range x.Walk(l.BoundsFor(size, 3)) {
					break
				}
			}
			b.ReportMetric(float64(len(x.buckets)), "shapes")
			b.ReportMetric(float64(x.bytes())/nodes, "B/node")
		})
	}
}

// mostlyEmpty returns the free resources of one of many equal nodes. One in twenty runs containers.
func mostlyEmpty(i int) yarn.Resource {
	r := yarn.Resource{384 << 10, 96, 8}
	if k := i / 20; i%20 == 0 {
		r = r.Sub(yarn.Resource{int64(4096 * (1 + k*7919%90)), int64(1 + k*104729%90), int64(k * 31 % 9)})
	}
	return r
}

// bytes returns the memory that an index takes.
func (x *Index) bytes() uintptr {
	sum := uintptr(cap(x.shapes))*unsafe.Sizeof(Shape(0)) + uintptr(cap(x.buckets))*unsafe.Sizeof(bucket{}) +
		uintptr(cap(x.changed))*unsafe.Sizeof(uint32(0)) + uintptr(cap(x.marked))*unsafe.Sizeof(false)
	for i := range x.buckets {
		sum += uintptr(cap(x.buckets[i].nodes)) * unsafe.Sizeof(nodeWord{})
	}
	return sum
}
