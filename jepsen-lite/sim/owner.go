package sim

import (
	"context"
	"runtime/pprof"
	"sync"
	"unsafe"
)

// owner is the mark of all goroutines of one simulated process. The zero value marks none.
type owner struct{ ctx context.Context }

// owners maps a mark to what it stands for.
var owners sync.Map // by unsafe.Pointer

//go:linkname profLabel runtime/pprof.runtime_getProfLabel
func profLabel() unsafe.Pointer

// newOwner creates a mark that stands for of, and marks the calling goroutine.
func newOwner(name string, of any) owner {
	o := owner{pprof.WithLabels(context.Background(), pprof.Labels("replica", name))}
	o.markGoroutine()
	owners.Store(profLabel(), of)
	return o
}

// markGoroutine marks the calling goroutine.
func (o owner) markGoroutine() {
	if o.ctx != nil {
		pprof.SetGoroutineLabels(o.ctx)
	}
}

// forget makes the mark stand for nothing.
func (o owner) forget() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		o.markGoroutine()
		owners.Delete(profLabel())
	}()
	<-done
}

// currentOwner returns what the mark of the calling goroutine stands for, or nil if it has none.
func currentOwner() any {
	p := profLabel()
	if p == nil {
		return nil
	}
	of, _ := owners.Load(p)
	return of
}
