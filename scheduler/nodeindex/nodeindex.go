// Package nodeindex finds nodes by their free resources, without a look at all of them. It knows an
// order of nodes, and not which nodes an ask may use: its caller says which nodes are in an index.
package nodeindex

import (
	"iter"
	"math/bits"
	"slices"

	"rmd/fsm/state"
	"rmd/yarn"
)

// Index finds nodes by their free resources, in one order. Nodes whose free resources are in the
// same classes have the same shape. The index has a bucket for each shape that some node has,
// sorted by shape, and walks over the buckets and then over the nodes in slot order. A walk for an
// ask skips, by binary search, the shapes in which it does not fit.
//
// A node takes 13 bytes, and in its bucket 16 at most: 64 neighbors with one shape share them. A
// bucket takes 32 more. With the spare room of slices that is 21 to 55 bytes for a node in
// BenchmarkNodeIndex. The shapes of nodes that have changed are computed when the index is used
// next, so that many changes of a node cost one.
type Index struct {
	Layout Layout // of its shapes; it does not change

	shapes  []Shape // by node; 0: the node is in no bucket
	buckets []bucket
	changed []state.NodeSlot // nodes whose shapes are outdated
	marked  []bool           // by node: whether it is in changed
}

// bucket has the nodes of one shape.
type bucket struct {
	shape Shape
	nodes nodeSet
}

// Shape has the classes of the resources of a node, one byte for each property of a layout. The
// property that decides first has the most significant byte.
type Shape uint64

const (
	shapeBytes       = yarn.MaxKinds + 1
	present    Shape = 1 << (8 * shapeBytes) // set in the shapes of all nodes, so that no shape is 0
)

// At returns the i-th byte, from the most significant property down.
func (s Shape) At(i int) uint8 { return uint8(s >> shift(i)) }

// with returns the shape with another i-th byte.
func (s Shape) with(i int, class uint8) Shape {
	return s&^(0xff<<shift(i)) | Shape(class)<<shift(i)
}

func shift(i int) int { return 8 * (shapeBytes - 1 - i) }

// Layout has the properties of nodes in the bytes of a shape.
type Layout [shapeBytes]property

// property is a property of a node by which shapes are ordered.
type property struct {
	Of   PropertyKind
	Kind int // of resource
}

// PropertyKind says what a property is.
type PropertyKind uint8

// The kinds of properties.
const (
	anyNode  PropertyKind = iota // all nodes are equal
	LeastOf                      // a node with less of the kind free comes first
	MostOf                       // a node with more of the kind free comes first
	LeastUse                     // a node that uses a smaller share of its memory and vcores comes first
)

// Layouts are the layouts of the indexes: one for each order of shapes.
var Layouts = [...]Layout{
	Fullest: {{LeastOf, 2}, {LeastOf, 3}, {LeastOf, 4}, {LeastOf, 5}, {LeastOf, yarn.VCores}, {LeastOf, yarn.Memory}},
	Emptiest: {{Of: LeastUse}, {LeastOf, 2}, {LeastOf, 3}, {LeastOf, 4}, {LeastOf, 5}, {MostOf, yarn.VCores},
		{MostOf, yarn.Memory}},
}

// The orders of shapes.
const (
	Fullest  = iota // the nodes with the least free resources first
	Emptiest        // the nodes that use the smallest share of memory and vcores first
)

// ShapeOf returns the shape of a node with the given total and free resources. Only the first kinds
// count.
func (l *Layout) ShapeOf(total, free yarn.Resource, kinds int) Shape {
	s := present
	for i, p := range l {
		switch {
		case p.Of == LeastUse:
			s = s.with(i, useClass(total, free, kinds))
		case p.Kind >= kinds:
		case p.Of == LeastOf:
			s = s.with(i, classOf(free[p.Kind]))
		case p.Of == MostOf:
			s = s.with(i, 255-classOf(free[p.Kind]))
		}
	}
	return s
}

// classOf returns the class of an amount of a resource: 0 if there is none, and otherwise one of
// four classes for each doubling.
func classOf(amount int64) uint8 {
	if amount <= 0 {
		return 0
	}
	n := bits.Len64(uint64(amount)) - 1
	quarter := uint64(amount) << 2 >> n & 3 // the two bits after the first
	if n >= 2 {
		quarter = uint64(amount) >> (n - 2) & 3
	}
	return uint8(n*4 + int(quarter) + 1)
}

// useClasses is the number of classes of useClass.
const useClasses = 255

// useClass returns the larger one of the used shares of memory and vcores, as one of useClasses
// classes of equal width.
func useClass(total, free yarn.Resource, kinds int) (class uint8) {
	for i := yarn.Memory; i <= yarn.VCores && i < kinds; i++ {
		if total[i] > 0 {
			used := min(max(total[i]-free[i], 0), total[i])
			hi, lo := bits.Mul64(uint64(used), useClasses)
			share, _ := bits.Div64(hi, lo, uint64(total[i]))
			class = max(class, uint8(share))
		}
	}
	return class
}

// Bounds are the least and the greatest bytes of shapes.
type Bounds struct{ least, most [shapeBytes]uint8 }

// All has the bounds of all shapes.
var All = Bounds{most: [shapeBytes]uint8{255, 255, 255, 255, 255, 255, 255}}

// BoundsFor returns the bounds of the shapes in which a container of the given size may fit.
func (l *Layout) BoundsFor(size yarn.Resource, kinds int) Bounds {
	b := All
	for i, p := range l {
		switch {
		case p.Kind >= kinds:
		case p.Of == LeastOf:
			b.least[i] = classOf(size[p.Kind])
		case p.Of == MostOf:
			b.most[i] = 255 - classOf(size[p.Kind])
		}
	}
	return b
}

// next returns the least shape within the bounds that is not below s. ok is false if there is none.
func (b *Bounds) next(s Shape) (_ Shape, ok bool) {
	for i := range shapeBytes {
		switch class := s.At(i); {
		case class < b.least[i]:
			return b.from(s, i), true
		case class > b.most[i]:
			for i--; i >= 0; i-- {
				if class := s.At(i); class < b.most[i] {
					return b.from(s.with(i, class+1), i+1), true
				}
			}
			return 0, false
		}
	}
	return s, true
}

// from returns s with the least bytes from the i-th on.
func (b *Bounds) from(s Shape, i int) Shape {
	for ; i < shapeBytes; i++ {
		s = s.with(i, b.least[i])
	}
	return s
}

// Walk returns the nodes whose shapes are within the bounds, in order.
func (x *Index) Walk(b Bounds) iter.Seq[state.NodeSlot] {
	return func(yield func(state.NodeSlot) bool) {
		for i := 0; i < len(x.buckets); {
			at := x.buckets[i].shape
			next, ok := b.next(at)
			if !ok {
				return
			}
			if next != at {
				skipped, _ := slices.BinarySearchFunc(x.buckets[i:], next, bucket.compare)
				i += skipped
				continue
			}
			for node := range x.buckets[i].nodes.all() {
				if !yield(node) {
					return
				}
			}
			i++
		}
	}
}

func (b bucket) compare(s Shape) int {
	switch {
	case b.shape < s:
		return -1
	case b.shape > s:
		return 1
	}
	return 0
}

// New returns an empty index of an order of shapes.
func New(order int) *Index { return &Index{Layout: Layouts[order]} }

// Refresh computes the shapes of the nodes that have changed. shapeOf returns 0 for a node that is not
// in the index.
func (x *Index) Refresh(shapeOf func(node state.NodeSlot) Shape) {
	for _, node := range x.changed {
		x.marked[node] = false
		x.set(node, shapeOf(node))
	}
	x.changed = x.changed[:0]
}

// ShapeIn returns the shape of a node that is in the index.
func (x *Index) ShapeIn(node state.NodeSlot) Shape { return x.shapes[node] }

// Has reports whether a node is in the index.
func (x *Index) Has(node state.NodeSlot) bool {
	return int(node) < len(x.shapes) && x.shapes[node] != 0
}

// Mark records that a node has changed.
func (x *Index) Mark(node state.NodeSlot) {
	for int(node) >= len(x.marked) {
		x.marked, x.shapes = append(x.marked, false), append(x.shapes, 0)
	}
	if !x.marked[node] {
		x.marked[node] = true
		x.changed = append(x.changed, node)
	}
}

// set moves a node to the bucket of its shape. With shape 0 the node leaves the index.
func (x *Index) set(node state.NodeSlot, s Shape) {
	old := x.shapes[node]
	if old == s {
		return
	}
	x.shapes[node] = s
	if old != 0 {
		i, _ := slices.BinarySearchFunc(x.buckets, old, bucket.compare)
		if x.buckets[i].nodes.remove(node); len(x.buckets[i].nodes) == 0 {
			x.buckets = slices.Delete(x.buckets, i, i+1)
		}
	}
	if s != 0 {
		i, found := slices.BinarySearchFunc(x.buckets, s, bucket.compare)
		if !found {
			x.buckets = slices.Insert(x.buckets, i, bucket{shape: s})
		}
		x.buckets[i].nodes.add(node)
	}
}

// nodeSet is a set of slots of nodes: a bit for each, in sorted words of 64.
type nodeSet []nodeWord

type nodeWord struct {
	index uint32 // slot / 64
	bits  uint64
}

func (w nodeWord) compare(index uint32) int { return int(w.index) - int(index) }

func (s *nodeSet) add(node state.NodeSlot) {
	i, found := slices.BinarySearchFunc(*s, uint32(node/64), nodeWord.compare)
	if !found {
		*s = slices.Insert(*s, i, nodeWord{index: uint32(node / 64)})
	}
	(*s)[i].bits |= 1 << (node % 64)
}

func (s *nodeSet) remove(node state.NodeSlot) {
	i, _ := slices.BinarySearchFunc(*s, uint32(node/64), nodeWord.compare)
	if (*s)[i].bits &^= 1 << (node % 64); (*s)[i].bits == 0 {
		*s = slices.Delete(*s, i, i+1)
	}
}

// all returns the slots in ascending order.
func (s nodeSet) all() iter.Seq[state.NodeSlot] {
	return func(yield func(state.NodeSlot) bool) {
		for _, w := range s {
			for left := w.bits; left != 0; left &= left - 1 {
				if !yield(state.NodeSlot(w.index*64 + uint32(bits.TrailingZeros64(left)))) {
					return
				}
			}
		}
	}
}
