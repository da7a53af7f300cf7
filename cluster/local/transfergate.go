package local

import (
	"sync"
	"time"
)

// TransferGate counts our own transfers, and knows since when the library refuses requests although
// none of them runs.
type TransferGate struct {
	mu      sync.Mutex
	running int
	since   time.Time // the first such refusal; zero if there is none
}

// Begin records that a transfer of ours begins.
func (g *TransferGate) Begin() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running++
	g.since = time.Time{}
}

// End records that it has ended.
func (g *TransferGate) End() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running--
}

// refused records that the library refused a request because of a transfer.
func (g *TransferGate) refused(now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.running == 0 && g.since.IsZero() {
		g.since = now
	}
}

// Clear forgets the refusals.
func (g *TransferGate) Clear() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.since = time.Time{}
}

// Suspect returns since when the library refuses requests without a transfer of ours, or zero.
func (g *TransferGate) Suspect() time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.since
}
