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

// turns limits how much of a resource is in use. A caller first waits for its address's part and
// then for the whole, so the waiting callers of one address do not delay others.
type turns struct {
	all  *semaphore.Weighted
	each int64

	mu sync.Mutex
	by map[netip.Prefix]*addressShare
}

// addressShare is what one address may use.
type addressShare struct {
	free  *semaphore.Weighted
	users int // callers that use some of it or wait for it
}

func newTurns(all, each int64) *turns {
	return &turns{all: semaphore.NewWeighted(all), each: each, by: map[netip.Prefix]*addressShare{}}
}

// acquire takes n. It waits until n is free or ctx ends.
func (t *turns) acquire(ctx context.Context, from netip.Prefix, n int64) error {
	t.mu.Lock()
	p := t.by[from]
	if p == nil {
		p = &addressShare{free: semaphore.NewWeighted(t.each)}
		t.by[from] = p
	}
	p.users++
	t.mu.Unlock()
	err := p.free.Acquire(ctx, n)
	if err == nil {
		if err = t.all.Acquire(ctx, n); err == nil {
			return nil
		}
		p.free.Release(n)
	}
	t.leave(from, p)
	return err
}

// release gives n back.
func (t *turns) release(from netip.Prefix, n int64) {
	t.all.Release(n)
	t.mu.Lock()
	p := t.by[from]
	t.mu.Unlock()
	p.free.Release(n)
	t.leave(from, p)
}

func (t *turns) leave(from netip.Prefix, p *addressShare) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p.users--; p.users == 0 {
		delete(t.by, from)
	}
}
