package summary

import (
	"sync"
	"time"

	"rmd/fsm/state"
)

// idleTime is the time for which an unused summary is kept. A summary keeps a version of the state
// in memory.
const idleTime = 30 * time.Second

// Keeper makes summaries, each from the last one. The zero value is ready to use. A Keeper is safe
// for concurrent use.
type Keeper struct {
	mu   sync.Mutex
	last *Summary
	idle *time.Timer
}

// At returns the summary of a version of the state. It only reads the state.
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

// Have returns the last summary, or nil if it was dropped.
func (k *Keeper) Have() *Summary {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.last
}

// wake ensures that there is a last summary, and restarts the timer. The caller holds the lock.
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

// rest drops the last summary.
func (k *Keeper) rest() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.last = nil
}

// Close stops the timer and drops the last summary.
func (k *Keeper) Close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.idle != nil {
		k.idle.Stop()
	}
	k.last = nil
}
