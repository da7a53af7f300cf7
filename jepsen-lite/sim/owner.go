package sim

import (
	"context"
	"runtime/pprof"
	"sync"
	"time"
	"unsafe"
)

// owner is the mark of all goroutines of one simulated process. It tells processes apart where a
// real process has global state (failpoints, metrics). It is a profiler label: the runtime passes
// it on to every goroutine that a marked goroutine starts. The network marks goroutines that serve
// a request with the owner of the serving host.
type owner struct{ ctx context.Context }

// owners maps a mark to its process.
var owners sync.Map // unsafe.Pointer to *process

//go:linkname profLabel runtime/pprof.runtime_getProfLabel
func profLabel() unsafe.Pointer

// mark creates the mark of a process and marks the calling goroutine.
func mark(l *process, name string) owner {
	o := owner{pprof.WithLabels(context.Background(), pprof.Labels("replica", name))}
	o.markGoroutine()
	owners.Store(profLabel(), l)
	return o
}

// markGoroutine marks the calling goroutine.
func (o owner) markGoroutine() {
	if o.ctx != nil {
		pprof.SetGoroutineLabels(o.ctx)
	}
}

// forget removes a mark from owners.
func (o owner) forget() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		o.markGoroutine()
		owners.Delete(profLabel())
	}()
	<-done
}

// current returns the process of the calling goroutine, or nil for goroutines of the load, the
// faults and the checker.
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

// commandMax is how long an operator waits for a command. It is longer than rmd's own limits. It is
// finite, because a command such as a snapshot takes as long as the disk hangs.
const commandMax = 30 * time.Second

// snapshot makes a process take a snapshot, as its operator would.
func (l *process) snapshot() error { return l.command(l.cluster.Snapshot) }

// command runs a command in a process, as its admin port would. It returns errLost after
// commandMax.
func (l *process) command(f func() error) error {
	done := make(chan error, 1)
	go func() {
		l.owner.markGoroutine()
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
