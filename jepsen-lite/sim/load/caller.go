package load

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

// Caller is a client of the cluster. It calls the same replica as long as that one answers. If the
// outcome of a call is unknown, it repeats the same call at another replica.
type Caller struct {
	cluster Cluster
	Name    string
	Rng     *rand.Rand
	At      int // number of its replica, modulo the number of members
	seq     int // number of calls with an idempotency key
}

// NewCaller returns a client that begins with the first member.
func NewCaller(c Cluster, name string, rng *rand.Rand) *Caller {
	return &Caller{cluster: c, Name: name, Rng: rng}
}

// StartAt lets a caller begin with another member.
func (c *Caller) StartAt(n int) *Caller {
	c.At = n
	return c
}

// Keyed returns a request with a new idempotency key of this caller.
func (c *Caller) Keyed(in input.Input) input.Request {
	c.seq++
	body := input.EncodeRequest(nil, input.Request{Input: in})
	h := fnv.New64a()
	_, _ = h.Write(body)
	return input.Request{Key: c.Name + "/" +
		string(rune('0'+c.seq/100%10)) + string(rune('0'+c.seq/10%10)) + string(rune('0'+c.seq%10)),
		BodyHash: h.Sum64(), Input: in}
}

// Call repeats a call until a replica answers. It returns false if ctx ends first.
func (c *Caller) Call(ctx context.Context, req input.Request) (input.Reply, bool) {
	for ctx.Err() == nil {
		if reply, ok := c.Try(ctx, req); ok {
			return reply, true
		}
		c.At = c.Rng.Intn(64)
		if !sleep.For(ctx, time.Duration(20+c.Rng.Intn(200))*time.Millisecond) {
			break
		}
	}
	return nil, false
}

// Try makes a call once. It returns false if the outcome is unknown.
func (c *Caller) Try(ctx context.Context, req input.Request) (input.Reply, bool) {
	return c.cluster.Try(ctx, c.At, req)
}

// Read makes a linearizable read at the caller's replica.
func (c *Caller) Read(ctx context.Context) uint64 { return c.cluster.Read(ctx, c.At) }
