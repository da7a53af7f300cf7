package route

import (
	"fmt"
	"sync"
	"time"

	"rmd/transport/http/auth"
)

// If a caller gets the same refusal again and again, the audit has one record of the first, and
// then records with the number of repetitions, at growing intervals. All callers share a budget of
// records, so that refused callers cannot fill the log.
const (
	refusedPause    = time.Minute // until the second record of a refusal
	refusedPauseMax = time.Hour
	refusedMax      = 4096 // refusals that are counted separately
	refusedRate     = 1
	refusedBurst    = 20
)

// refusedCall is a caller, the action and the code of the refusal.
type refusedCall struct{ who, action, code string }

// repetition counts a refusal since its last record.
type repetition struct {
	missed int
	again  time.Time // time from which it may be recorded again
	pause  time.Duration
}

// refusals decides which failures are recorded, and counts the others.
type refusals struct {
	budget *auth.Bucket
	mu     sync.Mutex
	of     map[refusedCall]*repetition
}

func newRefusals() *refusals {
	return &refusals{budget: auth.NewBucket(refusedRate, refusedBurst), of: map[refusedCall]*repetition{}}
}

// take reports whether to record a failure, and how many equal ones were not recorded since the
// last record.
func (f *refusals) take(what refusedCall) (missed int, ok bool) {
	now := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.of[what]
	if r == nil {
		f.forget(now)
		if len(f.of) >= refusedMax {
			what = refusedCall{} // new refusals share one count
		}
		if r = f.of[what]; r == nil {
			r = &repetition{}
			f.of[what] = r
		}
	}
	if now.Before(r.again) || f.budget.Take(now) != 0 {
		r.missed++
		return 0, false
	}
	r.pause = min(max(2*r.pause, refusedPause), refusedPauseMax)
	missed, r.missed, r.again = r.missed, 0, now.Add(r.pause)
	return missed, true
}

// forget drops refusals that have not occurred for a long time, if there are too many.
func (f *refusals) forget(now time.Time) {
	if len(f.of) < refusedMax {
		return
	}
	for what, r := range f.of { // the order does not matter
		if now.After(r.again.Add(refusedPauseMax)) {
			delete(f.of, what)
		}
	}
}

// withMissed adds the number of failures that were not recorded to a target.
func withMissed(target string, missed int) string {
	if missed == 0 {
		return target
	}
	return fmt.Sprintf("%s (and %d times more since the entry before)", target, missed)
}
