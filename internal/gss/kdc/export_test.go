package kdc

import "time"

// Age moves the times of all tickets back, so that a share of the life of the one for a service has
// passed.
func (l *Login) Age(service string, share float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	back := func(p pass) pass {
		life := p.end.Sub(now)
		if p.fresh.After(now) { // a whole life is left
			p.fresh = now.Add(time.Duration(float64(life) * (0.8 - share)))
		}
		p.end = now.Add(time.Duration(float64(life) * (1 - share)))
		return p
	}
	l.granted = back(l.granted)
	l.tickets[service] = back(l.tickets[service])
}
