// Package owner tells apart the goroutines of simulated processes, where a real process has global
// state (failpoints, metrics).
//
// A mark is a profiler label. The runtime passes it on to every goroutine that a marked goroutine
// starts, so it is enough to mark the first goroutine of a process. A goroutine that serves a process
// for another one, as those of the network, must be marked by hand.
package owner

import (
	"context"
	"runtime/pprof"
	"sync"
	"unsafe"
)

// Mark is the mark of all goroutines of one simulated process. The zero value marks none.
type Mark struct{ ctx context.Context }

// owners maps a mark to what it stands for.
var owners sync.Map // by unsafe.Pointer

//go:linkname profLabel runtime/pprof.runtime_getProfLabel
func profLabel() unsafe.Pointer

// New creates a mark that stands for of, and marks the calling goroutine.
func New(name string, of any) Mark {
	o := Mark{pprof.WithLabels(context.Background(), pprof.Labels("replica", name))}
	o.MarkGoroutine()
	owners.Store(profLabel(), of)
	return o
}

// MarkGoroutine marks the calling goroutine.
func (o Mark) MarkGoroutine() {
	if o.ctx != nil {
		pprof.SetGoroutineLabels(o.ctx)
	}
}

// Forget makes the mark stand for nothing.
func (o Mark) Forget() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		o.MarkGoroutine()
		owners.Delete(profLabel())
	}()
	<-done
}

// Current returns what the mark of the calling goroutine stands for, or nil if it has none.
func Current() any {
	p := profLabel()
	if p == nil {
		return nil
	}
	of, _ := owners.Load(p)
	return of
}
