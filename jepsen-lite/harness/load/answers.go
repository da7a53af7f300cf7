package load

import (
	"slices"
	"sync"
	"time"
)

// answers are the times at which a call that is repeated all the time was answered.
type answers struct {
	mu sync.Mutex
	at []time.Time
}

func (a *answers) add() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.at = append(a.at, time.Now())
}

// gap returns the longest time without an answer that overlaps the time between from and to. A gap
// that has not ended lasts until now.
func (a *answers) gap(from, to time.Time) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	i, _ := slices.BinarySearchFunc(a.at, from, time.Time.Compare)
	last := from
	if i > 0 {
		last = a.at[i-1]
	}
	var longest time.Duration
	for ; i < len(a.at) && last.Before(to); i++ {
		longest, last = max(longest, a.at[i].Sub(last)), a.at[i]
	}
	if i == len(a.at) && last.Before(to) {
		longest = max(longest, time.Since(last))
	}
	return longest
}

// count returns the number of answers.
func (a *answers) count() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return int64(len(a.at))
}

// next returns the time of the first answer after from, or zero if there was none.
func (a *answers) next(from time.Time) time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	i, _ := slices.BinarySearchFunc(a.at, from, time.Time.Compare)
	if i == len(a.at) {
		return time.Time{}
	}
	return a.at[i]
}
