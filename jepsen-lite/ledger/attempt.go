package ledger

import (
	"slices"

	"rmd/fsm/event"
	"rmd/yarn"
)

// attempt moves the current attempt from one stage to the next.
func (l *apps) attempt(seq uint32, what string, from, to stage) *app {
	a := l.app(seq)
	if a == nil {
		return nil
	}
	if a.state.Ended() {
		l.violate("S10", a.chain(l.nouns), "the attempt of application %d is %s after the application is %s", seq,
			what, a.state)
		return nil
	}
	if a.stage != from {
		l.violate(Audit, a.chain(l.nouns), "attempt %d of application %d is %s while it is %s", a.attempt, seq, what, a.stage)
	}
	a.stage = to
	return a
}

func (l *apps) attemptStarted(e *event.AttemptStarted) {
	a := l.app(e.App)
	if a == nil {
		return
	}
	if a.state.Ended() {
		l.violate("S10", a.chain(l.nouns), "application %d is %s and begins attempt %d", e.App, a.state, e.Attempt)
		return
	}
	runnable := a.stage == nonRunnable && e.Attempt == a.attempt && !e.NonRunnable
	if !runnable {
		if (a.stage != none && a.stage != over) || e.Attempt != a.attempt+1 {
			l.violate(Audit, a.chain(l.nouns), "application %d begins attempt %d while attempt %d is %s", e.App, e.Attempt,
				a.attempt, a.stage)
		}
		a.attempt, a.lastNumber, a.response, a.black = e.Attempt, 0, 0, nil
	}
	a.stage = pending
	if e.NonRunnable {
		a.stage = nonRunnable
	}
	l.setAppState(a, yarn.AppAccepted)
}

func (l *apps) attemptEnded(e *event.AttemptEnded) {
	a := l.app(e.App)
	if a == nil {
		return
	}
	if a.stage == none || a.stage == over {
		l.violate("S10", a.chain(l.nouns), "attempt %d of application %d ends, it is %s", a.attempt, e.App, a.stage)
		return
	}
	l.noReservations(a, "ends its attempt")
	if !e.Keep && a.live > 0 {
		l.violate(Audit, a.chain(l.nouns), "attempt %d of application %d ends with %d live containers that it does not keep",
			a.attempt, e.App, a.live)
	}
	a.dropAsks()
	a.dropGang()
	a.stage = over
}

// noReservations checks that a reservation does not outlive its demand (S8).
func (l *apps) noReservations(a *app, what string) {
	if a.holds == 0 {
		return
	}
	for _, r := range l.reservations.list {
		if l.list[r.app].seq == a.seq {
			l.violate("S8", r.chain(l.nouns), "application %d %s and r%d goes on holding node %s", a.seq, what, r.number,
				l.nodes.nodeName(r.node))
			return
		}
	}
}

func (a *app) dropAsks() {
	a.asks = a.asks[:0]
	for i := range a.containers {
		a.containers[i].more = zero
	}
}

// ask returns the ask under a key, or nil.
func (a *app) ask(key yarn.SchedulerKey) *ask {
	for i := range a.asks {
		if a.asks[i].key == key {
			return &a.asks[i]
		}
	}
	return nil
}

func (l *apps) asked(e *event.AskChanged) {
	a := l.goingOn(e.App, "asks")
	if a == nil {
		return
	}
	if a.stage < pending || a.stage > registered {
		l.violate(Audit, a.chain(l.nouns), "application %d asks while its attempt is %s", e.App, a.stage)
		return
	}
	k := a.ask(e.Key)
	if e.Name != yarn.Any {
		if k != nil {
			k.put(e.Name, e.Count)
		}
		return
	}
	if k == nil {
		if e.Count == 0 {
			return
		}
		a.asks = append(a.asks, ask{key: e.Key})
		k = &a.asks[len(a.asks)-1]
	}
	k.count, k.size, k.relax = e.Count, e.Size, e.Relax
	a.prune(k)
	l.reservations.changed(a)
}

// put sets the count of a node or rack.
func (k *ask) put(name string, count int64) {
	i := slices.IndexFunc(k.where, func(p place) bool { return p.name == name })
	switch {
	case i < 0 && count > 0:
		k.where = append(k.where, place{name, count})
	case i >= 0 && count > 0:
		k.where[i].count = count
	case i >= 0:
		k.where = slices.Delete(k.where, i, i+1)
	}
}

func (k *ask) at(name string) int64 {
	for _, p := range k.where {
		if p.name == name {
			return p.count
		}
	}
	return 0
}

// prune removes what an ask with count 0 does not need: its places, and the ask itself if there is
// no reservation for it.
func (a *app) prune(k *ask) {
	if k.count != 0 {
		return
	}
	k.where = k.where[:0]
	if k.holds == 0 {
		key := k.key
		a.asks = slices.DeleteFunc(a.asks, func(k ask) bool { return k.key == key })
	}
}

// use subtracts one container from an ask, and from the places that match the locality.
func (a *app) use(k *ask, n *node, loc yarn.Locality) {
	if loc == yarn.NodeLocal {
		if c := k.at(n.id.Host); c > 0 {
			k.put(n.id.Host, c-1)
		}
	}
	if loc == yarn.NodeLocal || loc == yarn.RackLocal {
		if c := k.at(n.rack); c > 0 {
			k.put(n.rack, c-1)
		}
	}
	k.count--
	a.prune(k)
}

// putBack adds a container back to its ask. It was lost before its AM received it.
func (a *app) putBack(c *container, n *node) {
	k := a.ask(c.key)
	if k == nil {
		a.asks = append(a.asks, ask{key: c.key, size: c.size, relax: true, label: c.asked})
		k = &a.asks[len(a.asks)-1]
	}
	k.count++
	if c.locality == yarn.NodeLocal {
		k.put(n.id.Host, k.at(n.id.Host)+1)
	}
	if c.locality == yarn.NodeLocal || c.locality == yarn.RackLocal {
		k.put(n.rack, k.at(n.rack)+1)
	}
}

func (l *apps) blacklisted(e *event.BlacklistChanged) {
	a := l.app(e.App)
	if a == nil {
		return
	}
	a.black = slices.DeleteFunc(a.black, func(s string) bool { return slices.Contains(e.Remove, s) })
	l.reservations.changed(a)
	for _, name := range e.Add {
		if !slices.Contains(a.black, name) {
			a.black = append(a.black, name)
		}
	}
}
