package sim

import (
	"context"
	"runtime/pprof"
	"sync"
	"time"
	"unsafe"
)

// owner is the mark that all goroutines of one simulated process carry, so that
// what is global in a real process (points, metrics) can be told apart here. It is
// a profiler's label: the runtime hands it down to every goroutine that a marked
// one starts. The network marks those that serve a request as the server's.
type owner struct{ ctx context.Context }

// owners maps a mark to its process.
var owners sync.Map // unsafe.Pointer to *process

//go:linkname profLabel runtime/pprof.runtime_getProfLabel
func profLabel() unsafe.Pointer

// mark makes a process's mark and gives it to the calling goroutine.
func mark(l *process, name string) owner {
	o := owner{pprof.WithLabels(context.Background(), pprof.Labels("replica", name))}
	o.own()
	owners.Store(profLabel(), l)
	return o
}

// own marks the calling goroutine.
func (o owner) own() {
	if o.ctx != nil {
		pprof.SetGoroutineLabels(o.ctx)
	}
}

// forget ends the use of a mark.
func (o owner) forget() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		o.own()
		owners.Delete(profLabel())
	}()
	<-done
}

// current is the process that the calling goroutine belongs to, nil for none: the
// load, the faults and the checker are nobody's.
func current() *process {
	p := profLabel()
	if p == nil {
		return nil
	}
	l, ok := owners.Load(p)
	if !ok {
		return nil
	}
	return l.(*process)
}

// commandMax is how long a command is waited for: longer than the product's own
// limits, and not for ever, since a disk that hangs keeps a snapshot for as long.
const commandMax = 30 * time.Second

// snapshot has a process take one, as its operator would.
func (l *process) snapshot() error { return l.within(l.cluster.Snapshot) }

// within runs a command in a process, as its admin port would.
func (l *process) within(f func() error) error {
	done := make(chan error, 1)
	go func() {
		l.owner.own()
		done <- f()
	}()
	t := time.NewTimer(commandMax)
	defer t.Stop()
	select {
	case err := <-done:
		return err
	case <-t.C:
		return errLost
	}
}
