package sim

import (
	"context"
	"hash/fnv"
	"math/rand"
	"time"

	"rmd/internal/sleep"
	"rmd/scheduler/input"
)

// Cluster is what a caller asks. at is the number of a member, modulo the number of members.
type Cluster interface {
	// Try makes a call once at a member. It returns false if the outcome is unknown.
	Try(ctx context.Context, at int, req input.Request) (input.Reply, bool)
	// Read makes a linearizable read at a member. It returns the index of the state, or 0 if the read
	// failed.
	Read(ctx context.Context, at int) uint64
	// ReadStale reads the state of a member as soon as it is not older than an index.
	ReadStale(ctx context.Context, at int, session uint64) uint64
}

// caller is a client of the cluster. It calls the same replica as long as that one answers. If the
// outcome of a call is unknown, it repeats the same call at another replica.
type caller struct {
	cluster Cluster
	name    string
	rng     *rand.Rand
	at      int // number of its replica, modulo the number of members
	seq     int // number of calls with an idempotency key
}

// newCaller returns a client that begins with the first member.
func newCaller(c Cluster, name string, rng *rand.Rand) *caller {
	return &caller{cluster: c, name: name, rng: rng}
}

// startAt lets a caller begin with another member.
func (c *caller) startAt(n int) *caller {
	c.at = n
	return c
}

// keyed returns a request with a new idempotency key of this caller.
func (c *caller) keyed(in input.Input) input.Request {
	c.seq++
	body := input.EncodeRequest(nil, input.Request{Input: in})
	h := fnv.New64a()
	_, _ = h.Write(body)
	return input.Request{Key: c.name + "/" + string(rune('0'+c.seq/100%10)) + string(rune('0'+c.seq/10%10)) + string(rune('0'+c.seq%10)), BodyHash: h.Sum64(), Input: in}
}

// call repeats a call until a replica answers. It returns false if ctx ends first.
func (c *caller) call(ctx context.Context, req input.Request) (input.Reply, bool) {
	for ctx.Err() == nil {
		if reply, ok := c.try(ctx, req); ok {
			return reply, true
		}
		c.at = c.rng.Intn(64)
		if !sleep.For(ctx, time.Duration(20+c.rng.Intn(200))*time.Millisecond) {
			break
		}
	}
	return nil, false
}

// try makes a call once. It returns false if the outcome is unknown.
func (c *caller) try(ctx context.Context, req input.Request) (input.Reply, bool) {
	return c.cluster.Try(ctx, c.at, req)
}

// read makes a linearizable read at the caller's replica.
func (c *caller) read(ctx context.Context) uint64 { return c.cluster.Read(ctx, c.at) }
