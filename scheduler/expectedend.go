package scheduler

import (
	"math"

	"rmd/fsm/state"
	"rmd/fsm/state/length"
	"rmd/yarn"
)

// This file estimates when containers end. Reservations, gangs, preemption and the order lifetime of
// nodes use these estimates. They follow from the state: from the lifetimes that applications declare,
// and from the lengths of similar containers.

// Never is the time of what is not expected to happen.
const Never = math.MaxInt64

// unknownLengthMillis is the assumed length of containers of which nothing is known.
const unknownLengthMillis = 60_000

// lengthGuesses estimates when containers end. It caches the history for the last application.
type lengthGuesses struct {
	s        *Scheduler
	now      int64
	compared int64 // containers
	app      state.AppSlot
	lengths  *state.Lengths
	ends     []containerEnd // of the current node
}

type containerEnd struct {
	at   int64
	size yarn.Resource
}

// endOf estimates when a container ends. It is the end that its application has declared, or
// otherwise the median remaining length of similar containers at its age, but never after the end
// of its application's lifetime. An AM ends with its application.
func (e *lengthGuesses) endOf(c *state.Container) int64 {
	a := e.s.State.Apps.Get(c.App)
	var end int64
	switch {
	case !c.State.Live():
		return e.now
	case c.AM:
		end = e.endOfMaster(a, c.App)
	case a.DeclaredLifetime() > e.now-c.AllocatedMillis:
		end = c.AllocatedMillis + a.DeclaredLifetime()
	default:
		if e.app != c.App {
			e.app, e.lengths = c.App, e.s.State.LengthsOf(a)
		}
		end = c.AllocatedMillis + medianLength(e.lengths, e.now-c.AllocatedMillis)
	}
	if a.LifetimeMillis > 0 {
		end = min(end, a.SubmittedMillis+a.LifetimeMillis)
	}
	return max(end, e.now)
}

// endOfMaster estimates when the AM of an application ends: with the newest container, which
// represents all, and not before one that the application has yet to get.
func (e *lengthGuesses) endOfMaster(a *state.App, app state.AppSlot) int64 {
	end := e.now
	for _, newest := range e.s.State.Containers.Of(a) {
		if !newest.AM {
			end = e.endOf(newest)
		}
		break
	}
	if a.Outstanding > 0 || a.Live <= 1 {
		end = max(end, e.endOfNew(app, false))
	}
	return end
}

// endOfNew estimates when a container would end that an application gets now.
func (e *lengthGuesses) endOfNew(app state.AppSlot, am bool) int64 {
	return e.endOf(&state.Container{App: app, AM: am, AllocatedMillis: e.now, State: yarn.ContainerAllocated})
}

// usualLength returns the median length of all containers.
func (s *rules) usualLength() int64 { return medianLength(s.State.Lengths.OfAll(), 0) }

// medianLength returns the median of those lengths of a history that are longer than age. If there
// are none, it returns twice the age, but at least unknownLengthMillis.
func medianLength(l *state.Lengths, age int64) int64 {
	var weights [length.Buckets]int64
	var sum int64
	if l != nil {
		for i, n := range l.Counts {
			if from, to := length.Bounds(i); to > age {
				weights[i] = int64(n) * 1024 * (to - max(from, age)) / (to - from)
				sum += weights[i]
			}
		}
	}
	if sum == 0 {
		return max(2*age, unknownLengthMillis)
	}
	left := (sum + 1) / 2
	for i, w := range weights {
		if left -= w; left <= 0 {
			from, to := length.Bounds(i)
			return (max(from, age) + to) / 2
		}
	}
	return Never // unreachable: the weights add up to sum
}
