package state

import (
	"runtime"
	"testing"
)

// BenchmarkCollect measures a full garbage collection with 1,000,000 containers. Their tables
// contain no pointers, so there is little to scan. Budget: 10 ms.
func BenchmarkCollect(b *testing.B) {
	s := bigState(b)
	runtime.GC() // collect the garbage of bigState
	for b.Loop() {
		runtime.GC()
	}
	runtime.KeepAlive(s)
}
