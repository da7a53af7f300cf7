package ipc

import (
	"context"
	"net/netip"
	"sync"

	"golang.org/x/sync/semaphore"
)

// The memory that all connections share has two limits, one for all connections and one for those
// of each address. So one host cannot take what the others need.

// budget bounds the bytes of buffers beyond the ordinary size.
type budget struct {
	max, each int64 // limits for all connections and for those of one address

	mu   sync.Mutex
	used int64
	by   map[netip.Prefix]int64
}

// take takes n bytes. It returns false if that would exceed a limit.
func (b *budget) take(from netip.Prefix, n int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.used+int64(n) > b.max || b.by[from]+int64(n) > b.each {
		return false
	}
	b.addLocked(from, int64(n))
	return true
}

// add takes n bytes without a check. A negative n gives bytes back.
func (b *budget) add(from netip.Prefix, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.addLocked(from, int64(n))
}

func (b *budget) addLocked(from netip.Prefix, n int64) {
	if b.by == nil {
		b.by = map[netip.Prefix]int64{}
	}
	b.used += n
	if b.by[from] += n; b.by[from] == 0 {
		delete(b.by, from)
	}
}

// turns limits how much of a resource is in use. A caller first waits for its address's part, then
// for the part of callers without a token, and then for the whole. So the waiting callers of one
// address do not delay others, and callers without a token always leave some to those with one.
type turns struct {
	all, unproven *semaphore.Weighted
	each          int64 // for one address

	mu sync.Mutex
	by map[netip.Prefix]*addressShare
}

// addressShare is what one address may use.
type addressShare struct {
	free  *semaphore.Weighted
	users int // callers that use some of it or wait for it
}

// newTurns returns the turns of a port. One address may use half, or at least least. Callers without
// a token may use three quarters if the port also has others.
func newTurns(all, least int64, auth Auth) *turns {
	each, unproven := max(all/2, least), all
	if auth == AuthTokenSimple {
		unproven = max(all-all/4, each)
	}
	return &turns{all: semaphore.NewWeighted(all), unproven: semaphore.NewWeighted(unproven), each: each,
		by: map[netip.Prefix]*addressShare{}}
}

// levels returns what a caller must take, in this order.
func (t *turns) levels(p *addressShare, proven bool) []*semaphore.Weighted {
	if proven {
		return []*semaphore.Weighted{p.free, t.all}
	}
	return []*semaphore.Weighted{p.free, t.unproven, t.all}
}

// acquire takes n. It waits until n is free or ctx ends.
func (t *turns) acquire(ctx context.Context, from netip.Prefix, proven bool, n int64) error {
	t.mu.Lock()
	p := t.by[from]
	if p == nil {
		p = &addressShare{free: semaphore.NewWeighted(t.each)}
		t.by[from] = p
	}
	p.users++
	t.mu.Unlock()
	levels := t.levels(p, proven)
	for i, s := range levels {
		if err := s.Acquire(ctx, n); err != nil {
			giveBack(levels[:i], n)
			t.leave(from, p)
			return err
		}
	}
	return nil
}

// release gives n back.
func (t *turns) release(from netip.Prefix, proven bool, n int64) {
	t.mu.Lock()
	p := t.by[from]
	t.mu.Unlock()
	giveBack(t.levels(p, proven), n)
	t.leave(from, p)
}

func giveBack(levels []*semaphore.Weighted, n int64) {
	for _, s := range levels {
		s.Release(n)
	}
}

func (t *turns) leave(from netip.Prefix, p *addressShare) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p.users--; p.users == 0 {
		delete(t.by, from)
	}
}
