package load

import (
	"slices"
	"sync"
	"time"
)

// answers are the moments at which something that is asked all the time was
// answered.
type answers struct {
	mu sync.Mutex
	at []time.Time
}

func (a *answers) add() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.at = append(a.at, time.Now())
}

// gap is the longest time without an answer that touches the span from one moment
// to another; one that has not ended counts to now.
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

// count is how many there were.
func (a *answers) count() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return int64(len(a.at))
}

// next is the first answer after a moment; zero when there was none.
func (a *answers) next(from time.Time) time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	i, _ := slices.BinarySearchFunc(a.at, from, time.Time.Compare)
	if i == len(a.at) {
		return time.Time{}
	}
	return a.at[i]
}
