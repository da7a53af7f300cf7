package rafttransport

import "time"

// Something that goes on is logged at once, then after paceMin, twice that and so on up to paceMax.
const (
	paceMin = 10 * time.Second
	paceMax = 10 * time.Minute
)

// pace says when something that goes on is logged again.
type pace struct {
	next  time.Time
	pause time.Duration
}

// newPace returns a pace whose first line is due at a time.
func newPace(first time.Time) pace { return pace{next: first, pause: paceMin} }

// due reports whether a line is due, and then sets the time of the next one.
func (p *pace) due(now time.Time) bool {
	if now.Before(p.next) {
		return false
	}
	p.next = now.Add(p.pause)
	p.pause = min(2*p.pause, paceMax)
	return true
}
