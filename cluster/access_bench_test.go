package cluster

import "testing"

// BenchmarkCallRule measures the access check of a call between replicas.
func BenchmarkCallRule(b *testing.B) {
	rs := trio(b, nil)
	from := string(rs[1].c.Identity().ServerID())
	for b.Loop() {
		if err := rs[0].c.access.AuthorizeCall(32, from); err != nil {
			b.Fatal(err)
		}
	}
}
