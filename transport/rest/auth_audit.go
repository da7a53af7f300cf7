package rest

import (
	"fmt"
	"sync"
	"time"
)

// Failures are recorded one a second, after the first few: whoever is refused
// must not fill the log.
const (
	refusedRate  = 1
	refusedBurst = 20
)

// refusals decides which failures are recorded, and counts the others.
type refusals struct {
	budget  *bucket
	mu      sync.Mutex
	missing int
}

func newRefusals() *refusals { return &refusals{budget: newBucket(refusedRate, refusedBurst)} }

// take says whether a failure is recorded, and how many before it were not.
func (f *refusals) take() (missed int, ok bool) {
	ok = f.budget.take(time.Now()) == 0
	f.mu.Lock()
	defer f.mu.Unlock()
	if !ok {
		f.missing++
		return 0, false
	}
	missed, f.missing = f.missing, 0
	return missed, true
}

// auditRefused records that an administrator's call was not admitted or failed,
// when its handler has not done so. It does not keep the caller waiting.
func (c *call) auditRefused(err error) {
	if err == nil || c.audited || !c.route.administrative() {
		return
	}
	target, ok := c.auditable(clip(c.r.URL.Path), err) // in the order of the failures
	if !ok {
		return
	}
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if c.s.closed {
		return
	}
	c.s.wg.Go(func() { c.record(c.route.method+" "+c.route.pattern, target, err) })
}

// withMissed adds to a target how many failures were not recorded.
func withMissed(target string, missed int) string {
	if missed == 0 {
		return target
	}
	return fmt.Sprintf("%s (and %d further failures that are not recorded)", target, missed)
}
