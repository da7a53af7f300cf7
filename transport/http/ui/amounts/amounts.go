// Package amounts computes with the resources of documents.
package amounts

import (
	"cmp"

	"rmd/api"
)

// Add returns a + b.
func Add(a, b api.Resource) api.Resource {
	out := api.Resource{}
	for name, v := range a { // the order does not matter: each name has its own place
		out[name] += v
	}
	for name, v := range b {
		out[name] += v
	}
	return out
}

// Sub returns a − b, but at least 0 in each kind.
func Sub(a, b api.Resource) api.Resource {
	out := api.Resource{}
	for name, v := range a { // the order does not matter: each name has its own place
		out[name] = max(v-b[name], 0)
	}
	return out
}

// Compare compares resources by memory and then by vcores.
func Compare(a, b api.Resource) int {
	return cmp.Or(cmp.Compare(a[api.MemoryMB], b[api.MemoryMB]), cmp.Compare(a[api.VCores], b[api.VCores]))
}
