package summary

import (
	"sync"
	"time"

	"rmd/fsm/state"
)

// idleTime is how long a summary is kept that nobody asks for: it keeps a version
// of the state alive.
const idleTime = 30 * time.Second

// Keeper makes summaries, each from the last. The zero value is ready to use, and
// is safe for concurrent use.
type Keeper struct {
	mu   sync.Mutex
	last *Summary
	idle *time.Timer
}

// At is the summary of a version of the state, which is only read.
func (k *Keeper) At(st *state.State, index uint64) *Summary {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.wake()
	if k.last.st == st {
		return k.last
	}
	c := k.last.step(st, index)
	if index >= k.last.index {
		k.last = c
	}
	return c
}

// Have is the last summary; nil when it was let go.
func (k *Keeper) Have() *Summary {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.last
}

// wake makes sure that there is a summary to begin with. The lock is held.
func (k *Keeper) wake() {
	if k.last == nil {
		k.last = nothing
	}
	if k.idle == nil {
		k.idle = time.AfterFunc(idleTime, k.rest)
		return
	}
	k.idle.Reset(idleTime)
}

// rest lets the last summary go.
func (k *Keeper) rest() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.last = nil
}

// Close stops the clock.
func (k *Keeper) Close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.idle != nil {
		k.idle.Stop()
	}
	k.last = nil
}
