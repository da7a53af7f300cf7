package state

import (
	"testing"

	"rmd/fsm/event"
	"rmd/yarn"
)

// TestRecoveryRefusals has an event for every check of the events that take over applications.
func TestRecoveryRefusals(t *testing.T) {
	taken := func() *State { // application 3 was taken over and runs; its AM is container 1
		s := world(t)
		s.Meta.Epoch, s.Meta.ImportEpoch = 2, 2
		apply(t, s, submit(3, "cid", "root.a"), &event.AttemptStarted{App: 3, Attempt: 1}, &event.AttemptActivated{App: 3},
			&event.AttemptRecovered{App: 3, Master: 1}, &event.ContainerRecovered{Container: ref(3, 2), Node: 1, Size: gb(1)},
			submit(4, "cid", "root.a"), &event.ApplicationEnded{App: 4, State: yarn.AppKilled},
			submit(5, "cid", "root.a"), &event.AttemptStarted{App: 5, Attempt: 1}, nodeUp(3, "h3", gb(2)),
			&event.NodeStateChanged{Node: 3, State: yarn.NodeLost})
		return s
	}
	other := ref(3, 3)
	other.Attempt = 2
	for name, e := range map[string]event.Event{
		"attempt of an unknown application": &event.AttemptRecovered{App: 9, Master: 1},
		"attempt of an ended application":   &event.AttemptRecovered{App: 4, Master: 1},
		"attempt twice":                     &event.AttemptRecovered{App: 3, Master: 1},
		"attempt with a container of ours":  &event.AttemptRecovered{App: 5, Master: 2 << 40},
		"attempt without a container":       &event.AttemptRecovered{App: 5},
		"attempt that gave time back":       &event.AttemptRecovered{App: 5, Master: 1, ResourceSeconds: gb(-1)},
		"container of an unknown app":       &event.ContainerRecovered{Container: ref(9, 1), Node: 1},
		"container of an ended app":         &event.ContainerRecovered{Container: ref(4, 1), Node: 1},
		"container of a waiting attempt":    &event.ContainerRecovered{Container: ref(5, 1), Node: 1},
		"container of another attempt":      &event.ContainerRecovered{Container: other, Node: 1},
		"container twice":                   &event.ContainerRecovered{Container: ref(3, 2), Node: 1},
		"container of ours":                 &event.ContainerRecovered{Container: ref(3, 2<<40|7), Node: 1},
		"container on an unknown node":      &event.ContainerRecovered{Container: ref(3, 3), Node: 9},
		"container on a lost node":          &event.ContainerRecovered{Container: ref(3, 3), Node: 3},
		"container of negative size":        &event.ContainerRecovered{Container: ref(3, 3), Node: 1, Size: gb(-1)},
		"container of the future":           &event.ContainerRecovered{Container: ref(3, 3), Node: 1, StartedMillis: 1 << 45},
		"files of an unknown app":           &event.NodeApplicationRecovered{App: 9, Node: 1},
		"files of an ended app":             &event.NodeApplicationRecovered{App: 4, Node: 1},
		"files on a simulated node":         &event.NodeApplicationRecovered{App: 3, Node: 1},
		"files on an unknown node":          &event.NodeApplicationRecovered{App: 3, Node: 9},
	} {
		t.Run(name, func(t *testing.T) { refuse(t, taken(), e) })
	}
	s := world(t)
	apply(t, s, submit(3, "cid", "root.a"), &event.AttemptStarted{App: 3, Attempt: 1}, &event.AttemptActivated{App: 3})
	refuse(t, s, &event.AttemptRecovered{App: 3, Master: 1}) // nothing was taken over
	refuse(t, s, &event.ContainerRecovered{Container: ref(3, 1), Node: 1})
}
