package local

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// Instance is one run of the library's Raft. A restart in place ends one and starts the next with
// the same stores, transport and FSM.
type Instance struct {
	Raft     *raft.Raft
	Context  context.Context // ends after raft has stopped
	Cancel   context.CancelFunc
	Notify   chan bool
	Events   chan raft.Observation
	Observer *raft.Observer
	Wg       sync.WaitGroup // the leadership watcher, and the one of stop

	Interrupt func() // ends raft's calls in progress
}

// stopGrace is how long raft's calls in progress may take before stop interrupts them.
const stopGrace = 500 * time.Millisecond

// Stop ends raft and then everything that waits for its futures. Raft waits for its calls, and
// those to a replica that is frozen, or whose machine has vanished, would take many seconds: each
// has the timeout of the transport, and heartbeats go on until the call with entries ends.
func (in *Instance) Stop() {
	in.Raft.DeregisterObserver(in.Observer)
	ended := make(chan struct{})
	in.Wg.Go(func() {
		for {
			select {
			case <-time.After(stopGrace):
				in.Interrupt()
			case <-ended:
				return
			}
		}
	})
	_ = in.Raft.Shutdown().Error()
	close(ended)
	in.Cancel()
	in.Wg.Wait()
}
