package state

import (
	"runtime"
	"testing"
)

// BenchmarkCollect is a full collection of garbage with 1,000,000 containers
// alive. Their tables hold no pointers, so it has little to look at. Budget:
// 10 ms.
func BenchmarkCollect(b *testing.B) {
	s := bigState(b)
	runtime.GC() // what building it left
	for b.Loop() {
		runtime.GC()
	}
	runtime.KeepAlive(s)
}
