package yarn

import (
	"fmt"
	"math"
	"math/bits"
	"strings"
)

// MaxKinds is the number of resource kinds a Resource can carry: memory,
// vcores and four further countable kinds such as yarn.io/gpu.
const MaxKinds = 6

// The first two kinds are fixed; their names are YARN's.
const (
	Memory = 0 // MiB
	VCores = 1
)

// Names of the two kinds that always exist, as YARN writes them.
const (
	MemoryName = "memory-mb"
	VCoresName = "vcores"
	GPUName    = "yarn.io/gpu"
)

// MaxAmount is the most of one kind that a node, a container or an ask may have, and
// MaxDemand the most that one application may wait for in all. They leave room for
// sums: no cluster has so many nodes and applications that a sum passes 64 bits.
const (
	MaxAmount = int64(1) << 44
	MaxDemand = int64(1) << 46
)

// Resource is a vector of whole units: memory in MiB, vcores, then further
// kinds in the order of the cluster's Kinds. The zero value is no resource.
//
// What a component cannot hold becomes the number nearest to it: a sum that
// wrapped would turn a cluster with too much of a kind into one with less than none,
// and stop all scheduling. Inputs are bounded by MaxAmount and MaxDemand, so that
// this is met only where an older build took a larger number.
type Resource [MaxKinds]int64

// NewResource makes a resource of memory (MiB) and vcores.
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

// Saturated says whether some component is the largest number there is: it may stand
// for more.
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

// furthest is the end of the numbers on one side of zero.
func furthest(negative bool) int64 {
	if negative {
		return math.MinInt64
	}
	return math.MaxInt64
}

// IsZero says whether every component is zero.
func (r Resource) IsZero() bool { return r == Resource{} }

// Negative says whether some component is below zero.
func (r Resource) Negative() bool {
	for _, v := range r {
		if v < 0 {
			return true
		}
	}
	return false
}

// Within says whether every component of r is at most that of o.
func (r Resource) Within(o Resource) bool {
	for i := range r {
		if r[i] > o[i] {
			return false
		}
	}
	return true
}

// ComponentMin returns the smaller of each component.
func ComponentMin(a, b Resource) Resource {
	for i := range a {
		a[i] = min(a[i], b[i])
	}
	return a
}

// ComponentMax returns the larger of each component.
func ComponentMax(a, b Resource) Resource {
	for i := range a {
		a[i] = max(a[i], b[i])
	}
	return a
}

// String shows memory, vcores and every further kind that is not zero, as
// "4096MB 2vc +1[2]"; use Kinds.Format where the names are known.
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

// Kinds names the components of every Resource of a cluster, in order. The
// first two are always memory-mb and vcores.
type Kinds []string

// DefaultKinds is memory and vcores.
func DefaultKinds() Kinds { return Kinds{MemoryName, VCoresName} }

// Index returns the position of a kind's name, or −1. "memory" is accepted
// for memory-mb, as Hadoop does.
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
