package tracker

import (
	"math/bits"
	"sync"

	"rmd/fsm/state"
)

// idleNodes collects the numbers of nodes with idle heartbeats. A node is in it at most once, so it
// needs one bit per node while there is no leader.
type idleNodes struct {
	wake chan struct{} // filled when a node is added after the last batch

	mu   sync.Mutex
	bits []uint64
	n    int
}

func newIdleNodes() idleNodes { return idleNodes{wake: make(chan struct{}, 1)} }

func (h *idleNodes) add(node state.NodeSlot) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := int(node / 64)
	if w >= len(h.bits) {
		h.bits = append(h.bits, make([]uint64, w+1-len(h.bits))...)
	}
	bit := uint64(1) << (node % 64)
	if h.bits[w]&bit != 0 {
		return
	}
	h.bits[w] |= bit
	h.n++
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// take removes and returns the numbers of at most limit nodes, sorted.
func (h *idleNodes) take(limit int) []state.NodeSlot {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make([]state.NodeSlot, 0, min(h.n, limit))
	for w := 0; w < len(h.bits) && len(out) < cap(out); w++ {
		for h.bits[w] != 0 && len(out) < cap(out) {
			i := bits.TrailingZeros64(h.bits[w])
			h.bits[w] &^= 1 << i
			out = append(out, state.NodeSlot(w*64+i))
		}
	}
	h.n -= len(out)
	return out
}
