package load

import (
	"time"

	"rmd/internal/sleep"
)

// Readers is the number of clients that only read.
const Readers = 2

// reader reads from changing replicas. A linearizable read must return everything that any client
// has seen before it began; a stale read only what this reader has seen.
func (l *Load) reader(c *Caller) {
	session := uint64(0)
	for sleep.For(l.ctx, time.Duration(300+c.Rng.Intn(1500))*time.Millisecond) {
		if c.Rng.Intn(4) == 0 {
			c.At = c.Rng.Intn(64)
		}
		if c.Rng.Intn(2) == 0 {
			session = max(session, c.Read(l.ctx))
		} else {
			session = max(session, c.cluster.ReadStale(l.ctx, c.At, session))
		}
	}
}
