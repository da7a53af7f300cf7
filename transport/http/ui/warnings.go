package ui

import (
	"strings"

	"rmd/fsm/state"
)

// warnings summarizes containers with a preemption warning.
type warnings struct {
	Containers int
	LastMillis int64 // their last deadline
}

// warnings summarizes the warned containers that pass.
func (q *query) warnings(pass func(c *state.Container, w *state.Preemption) bool) (sum warnings) {
	st := q.v.State
	st.Preemptions.Each(func(slot state.ContainerSlot, w *state.Preemption) bool {
		if pass(st.Containers.Get(slot), w) {
			sum.Containers++
			sum.LastMillis = max(sum.LastMillis, w.DeadlineMillis)
		}
		return true
	})
	return sum
}

// warnedOf returns the warnings of a queue's own applications, and those of other queues'
// applications whose room it gets. For a parent they include the queues below it.
func (q *query) warnedOf(path string) (loses, gains warnings) {
	within := func(queue string) bool { return queue == path || strings.HasPrefix(queue, path+".") }
	st := q.v.State
	of := func(c *state.Container) bool { return within(st.Queues.Get(st.Apps.Get(c.App).Queue).Path) }
	loses = q.warnings(func(c *state.Container, _ *state.Preemption) bool { return of(c) })
	gains = q.warnings(func(c *state.Container, w *state.Preemption) bool { return within(w.Queue) && !of(c) })
	return loses, gains
}
