package yarn

import (
	"fmt"
	"math"
	"math/bits"
	"strings"
)

// MaxKinds is the number of resource kinds that a Resource has: memory, vcores, and four more
// countable kinds such as yarn.io/gpu.
const MaxKinds = 6

// Indexes of the first two kinds, which are fixed.
const (
	Memory = 0 // MiB
	VCores = 1
)

// Names of resource kinds, as in YARN. Memory and vcores always exist.
const (
	MemoryName = "memory-mb"
	VCoresName = "vcores"
	GPUName    = "yarn.io/gpu"
)

// MaxAmount is the largest amount of one kind that a node, a container or an ask may have.
// MaxDemand is the largest amount for which one application may wait in total. With these limits no
// sum over a real cluster exceeds 64 bits.
const (
	MaxAmount = int64(1) << 44
	MaxDemand = int64(1) << 46
)

// Resource is a vector of whole units: memory in MiB, vcores, then further kinds in the order of
// the cluster's Kinds. The zero value is no resource.
//
// The arithmetic saturates. If a sum wrapped around, a cluster with too much of a kind would seem
// to have less than none, and scheduling would stop. Inputs are bounded by MaxAmount and MaxDemand,
// so saturation occurs only with larger numbers that an old build accepted.
type Resource [MaxKinds]int64

// NewResource returns a resource of memory (MiB) and vcores.
func NewResource(memoryMB, vcores int64) Resource {
	return Resource{Memory: memoryMB, VCores: vcores}
}

// Add returns r + o, component by component.
func (r Resource) Add(o Resource) Resource {
	for i := range r {
		r[i] = add(r[i], o[i])
	}
	return r
}

// Sub returns r − o, component by component.
func (r Resource) Sub(o Resource) Resource {
	for i := range r {
		r[i] = sub(r[i], o[i])
	}
	return r
}

// Times returns r multiplied by n.
func (r Resource) Times(n int64) Resource {
	for i := range r {
		r[i] = mul(r[i], n)
	}
	return r
}

// Saturated reports whether some component is the largest int64, which may stand for a larger
// number.
func (r Resource) Saturated() bool {
	for _, v := range r {
		if v == math.MaxInt64 {
			return true
		}
	}
	return false
}

func add(a, b int64) int64 {
	s := a + b
	if (a < 0) == (b < 0) && (s < 0) != (a < 0) {
		return furthest(a < 0)
	}
	return s
}

func sub(a, b int64) int64 {
	d := a - b
	if (a < 0) != (b < 0) && (d < 0) != (a < 0) {
		return furthest(a < 0)
	}
	return d
}

func mul(a, b int64) int64 {
	hi, lo := bits.Mul64(magnitude(a), magnitude(b))
	negative := (a < 0) != (b < 0)
	switch {
	case hi == 0 && lo <= math.MaxInt64 && negative:
		return -int64(lo)
	case hi == 0 && lo <= math.MaxInt64:
		return int64(lo)
	}
	return furthest(negative)
}

func magnitude(v int64) uint64 {
	if v < 0 {
		return -uint64(v)
	}
	return uint64(v)
}

// furthest returns the smallest or the largest int64.
func furthest(negative bool) int64 {
	if negative {
		return math.MinInt64
	}
	return math.MaxInt64
}

// IsZero reports whether every component is zero.
func (r Resource) IsZero() bool { return r == Resource{} }

// Negative reports whether some component is below zero.
func (r Resource) Negative() bool {
	for _, v := range r {
		if v < 0 {
			return true
		}
	}
	return false
}

// First returns the amounts of the first kinds, and 0 of the others.
func (r Resource) First(kinds int) Resource {
	clear(r[min(kinds, MaxKinds):])
	return r
}

// Within reports whether every component of r is at most that of o.
func (r Resource) Within(o Resource) bool {
	for i := range r {
		if r[i] > o[i] {
			return false
		}
	}
	return true
}

// ComponentMin returns the minimum of each component.
func ComponentMin(a, b Resource) Resource {
	for i := range a {
		a[i] = min(a[i], b[i])
	}
	return a
}

// ComponentMax returns the maximum of each component.
func ComponentMax(a, b Resource) Resource {
	for i := range a {
		a[i] = max(a[i], b[i])
	}
	return a
}

// String returns memory, vcores and every other kind that is not zero, as in "4096MB 2vc +1[2]".
// Use Kinds.Format where the names are known.
func (r Resource) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%dMB %dvc", r[Memory], r[VCores])
	for i := VCores + 1; i < MaxKinds; i++ {
		if r[i] != 0 {
			fmt.Fprintf(&b, " +%d[%d]", r[i], i)
		}
	}
	return b.String()
}

// Kinds has the names of the components of every Resource of a cluster, in order. The first two are
// always memory-mb and vcores.
type Kinds []string

// DefaultKinds returns the kinds memory and vcores.
func DefaultKinds() Kinds { return Kinds{MemoryName, VCoresName} }

// Index returns the index of a kind, or −1. As in Hadoop, "memory" means memory-mb.
func (k Kinds) Index(name string) int {
	if name == "memory" {
		return Memory
	}
	for i, n := range k {
		if n == name {
			return i
		}
	}
	return -1
}
