// Package gridlock finds out whether a cluster can progress. It asks a planner over a copy of the state.
package gridlock

import (
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/scheduler/planner"
	"rmd/yarn"
)

// lockRounds is the number of heartbeats of each node that are tried: more than any locality delay.
const lockRounds = 100

// Find reports whether nothing can progress: AMs use the resources for which others wait, or
// reservations fill the queues up to their limits, and none of these AMs will end. This can also
// happen in YARN, where an operator must then kill an application; victim is such an application.
// gridlock asks a planner what heartbeats would start, so it changes st. If the planner would start
// something, there is no gridlock.
func Find(st *state.State, eager bool) (victim yarn.ApplicationID, locked bool) {
	if runsTasks(st) || wouldStart(st, eager) {
		return victim, false
	}
	return Victim(st)
}

// Victim returns an application whose AM runs and waits for containers; found is false if there is none.
func Victim(st *state.State) (victim yarn.ApplicationID, found bool) {
	st.Asks.Each(func(_ state.AskSlot, k *state.Ask) bool {
		if a := st.Apps.Get(k.App); k.Count > 0 && a.AttemptState == state.AttemptRegistered {
			victim, found = a.ID, true
		}
		return !found
	})
	return victim, found
}

// runsTasks reports whether a node runs a task, or an AM that has not registered. Such a container
// will end.
func runsTasks(st *state.State) (found bool) {
	st.Containers.Each(func(_ state.ContainerSlot, c *state.Container) bool {
		found = c.OnNode && !(c.AM && st.Apps.Get(c.App).AttemptState == state.AttemptRegistered)
		return !found
	})
	return found
}

// wouldStart reports whether heartbeats of the nodes would start a container.
func wouldStart(st *state.State, eager bool) bool {
	var nodes []yarn.NodeID
	st.Nodes.Each(func(_ state.NodeSlot, n *state.Node) bool {
		if n.TakesContainers() {
			nodes = append(nodes, n.ID)
		}
		return true
	})
	p, err := planner.New(st, planner.Options{Eager: eager})
	if err != nil {
		return true // unknown, so no application is killed
	}
	now := st.Meta.NowMillis // Plan changes it
	for range lockRounds {
		now += 1000
		for _, id := range nodes {
			_, events := p.Plan(now, input.Request{Input: &input.NodeHeartbeat{ID: id}})
			for _, e := range events {
				switch e.(type) {
				case *event.ContainerAllocated, *event.ContainerLent, *event.ReservationFulfilled:
					return true
				}
			}
		}
	}
	return false
}
