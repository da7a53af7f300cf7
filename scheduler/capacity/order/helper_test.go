package order

import "rmd/yarn"

const gib = 1024

// mem returns a memory size in GiB, for the default calculator.
func mem(g int64) yarn.Resource { return mib(g * gib) }

func mib(m int64) yarn.Resource {
	r := yarn.Resource{yarn.Memory: m}
	if m > 0 {
		r[yarn.VCores] = 1
	}
	return r
}

var memoryOnly = yarn.Calculator{Kinds: 2}
