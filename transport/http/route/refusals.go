package route

import (
	"fmt"
	"sync"
	"time"

	"rmd/transport/http/auth"
)

// What one caller is refused again and again is recorded once, and then with the
// number of repetitions at growing pauses. All callers together fill a budget: who is
// refused must not fill the log.
const (
	refusedPause    = time.Minute // to the second record of one refusal
	refusedPauseMax = time.Hour
	refusedMax      = 4096 // refusals that are told apart
	refusedRate     = 1
	refusedBurst    = 20
)

// refusedCall is a caller, what it asked for and why it was not done.
type refusedCall struct{ who, action, code string }

// repetition is how often a refusal came since it was recorded.
type repetition struct {
	missed int
	again  time.Time // it is recorded from then on
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

// take says whether a failure is recorded, and how many like it were not.
func (f *refusals) take(what refusedCall) (missed int, ok bool) {
	now := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.of[what]
	if r == nil {
		f.forget(now)
		if len(f.of) >= refusedMax {
			what = refusedCall{} // newcomers share one
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

// forget drops what has not come again for long, when there is much.
func (f *refusals) forget(now time.Time) {
	if len(f.of) < refusedMax {
		return
	}
	for what, r := range f.of { // each for itself: order is harmless
		if now.After(r.again.Add(refusedPauseMax)) {
			delete(f.of, what)
		}
	}
}

// withMissed adds to a target how many failures were not recorded.
func withMissed(target string, missed int) string {
	if missed == 0 {
		return target
	}
	return fmt.Sprintf("%s (and %d times more since the entry before)", target, missed)
}
