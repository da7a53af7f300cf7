package ipc

import (
	"context"
	"net/netip"
	"sync"

	"golang.org/x/sync/semaphore"
)

// What all connections share is bounded twice, over all of them and for each address: one host must
// not take what the others need.

// budget bounds the bytes of buffers beyond the ordinary size.
type budget struct {
	max, each int64 // over all connections, and over those of one address

	mu   sync.Mutex
	used int64
	by   map[netip.Prefix]int64
}

// take takes bytes if there is room for them.
func (b *budget) take(from netip.Prefix, n int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.used+int64(n) > b.max || b.by[from]+int64(n) > b.each {
		return false
	}
	b.addLocked(from, int64(n))
	return true
}

// add takes bytes without asking, or gives them back.
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

// turns has callers wait for a part of something. Those of one address first wait for their address's
// part, and so are not in the way of others.
type turns struct {
	all  *semaphore.Weighted
	each int64

	mu sync.Mutex
	by map[netip.Prefix]*part
}

// part is what one address may have.
type part struct {
	free  *semaphore.Weighted
	users int // who have some of it, or wait
}

func newTurns(all, each int64) *turns {
	return &turns{all: semaphore.NewWeighted(all), each: each, by: map[netip.Prefix]*part{}}
}

// acquire waits for n, or for the end of ctx.
func (t *turns) acquire(ctx context.Context, from netip.Prefix, n int64) error {
	t.mu.Lock()
	p := t.by[from]
	if p == nil {
		p = &part{free: semaphore.NewWeighted(t.each)}
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

// release gives back what acquire has taken.
func (t *turns) release(from netip.Prefix, n int64) {
	t.all.Release(n)
	t.mu.Lock()
	p := t.by[from]
	t.mu.Unlock()
	p.free.Release(n)
	t.leave(from, p)
}

func (t *turns) leave(from netip.Prefix, p *part) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p.users--; p.users == 0 {
		delete(t.by, from)
	}
}
