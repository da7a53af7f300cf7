package sim

import (
	"time"

	"rmd/internal/sleep"
)

// readers is the number of clients that only read.
const readers = 2

// reader reads from changing replicas. A linearizable read must return everything that any client
// has seen before it began; a stale read only what this reader has seen.
func (l *load) reader(c *caller) {
	session := uint64(0)
	for sleep.For(l.ctx, time.Duration(300+c.rng.Intn(1500))*time.Millisecond) {
		if c.rng.Intn(4) == 0 {
			c.at = c.rng.Intn(64)
		}
		if c.rng.Intn(2) == 0 {
			session = max(session, c.read(l.ctx))
		} else {
			session = max(session, c.cluster.ReadStale(l.ctx, c.at, session))
		}
	}
}
