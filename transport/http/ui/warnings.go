package ui

import (
	"strings"

	"rmd/fsm/state"
)

// warnings sum up the containers that are warned: they are to end for others.
type warnings struct {
	Containers int
	LastMillis int64 // the last of their deadlines
}

// warnings are those of the containers that pass.
func (q *query) warnings(pass func(c *state.Container, w *state.Preemption) bool) (sum warnings) {
	st := q.v.State
	st.Preemptions.Each(func(slot uint32, w *state.Preemption) bool {
		if pass(st.Containers.Get(slot), w) {
			sum.Containers++
			sum.LastMillis = max(sum.LastMillis, w.DeadlineMillis)
		}
		return true
	})
	return sum
}

// warnedOf are those of a queue's applications, and those of others whose room it gets; of a parent, those
// of all queues below it.
func (q *query) warnedOf(path string) (loses, gains warnings) {
	within := func(queue string) bool { return queue == path || strings.HasPrefix(queue, path+".") }
	st := q.v.State
	of := func(c *state.Container) bool { return within(st.Queues.Get(st.Apps.Get(c.App).Queue).Path) }
	loses = q.warnings(func(c *state.Container, _ *state.Preemption) bool { return of(c) })
	gains = q.warnings(func(c *state.Container, w *state.Preemption) bool { return within(w.Queue) && !of(c) })
	return loses, gains
}
