package ui

import (
	"cmp"

	"rmd/api"
)

// add returns a + b.
func add(a, b api.Resource) api.Resource {
	out := api.Resource{}
	for name, v := range a { // the order does not matter: each name has its own place
		out[name] += v
	}
	for name, v := range b {
		out[name] += v
	}
	return out
}

// sub returns a − b, but at least 0 in each kind.
func sub(a, b api.Resource) api.Resource {
	out := api.Resource{}
	for name, v := range a { // the order does not matter: each name has its own place
		out[name] = max(v-b[name], 0)
	}
	return out
}

// compareSizes compares resources by memory and then by vcores.
func compareSizes(a, b api.Resource) int {
	return cmp.Or(cmp.Compare(a[api.MemoryMB], b[api.MemoryMB]), cmp.Compare(a[api.VCores], b[api.VCores]))
}
