package yarn

import (
	"fmt"
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

// Resource is a vector of whole units: memory in MiB, vcores, then further
// kinds in the order of the cluster's Kinds. The zero value is no resource.
type Resource [MaxKinds]int64

// NewResource makes a resource of memory (MiB) and vcores.
func NewResource(memoryMB, vcores int64) Resource {
	return Resource{Memory: memoryMB, VCores: vcores}
}

// Add returns r + o, component by component.
func (r Resource) Add(o Resource) Resource {
	for i := range r {
		r[i] += o[i]
	}
	return r
}

// Sub returns r − o, component by component.
func (r Resource) Sub(o Resource) Resource {
	for i := range r {
		r[i] -= o[i]
	}
	return r
}

// Times returns r multiplied by n.
func (r Resource) Times(n int64) Resource {
	for i := range r {
		r[i] *= n
	}
	return r
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

// Format writes a resource with the cluster's names: "4096MB 2vc 1gpu".
func (k Kinds) Format(r Resource) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%dMB %dvc", r[Memory], r[VCores])
	for i := VCores + 1; i < MaxKinds && i < len(k); i++ {
		if r[i] != 0 {
			name := k[i]
			if j := strings.LastIndexByte(name, '/'); j >= 0 {
				name = name[j+1:]
			}
			fmt.Fprintf(&b, " %d%s", r[i], name)
		}
	}
	return b.String()
}
