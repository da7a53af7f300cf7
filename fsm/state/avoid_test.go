package state

import (
	"fmt"
	"slices"
	"testing"

	"rmd/fsm/event"
	"rmd/fsm/state/record"
	"rmd/yarn"
)

// giver returns a world in which application 1 has an ask for many containers.
func giver(t failer) *State {
	s := world(t)
	apply(t, s, nodeUp(3, "h3", gb(1000)), ask(1, k1, 500, 1), ask(1, k2, 500, 1))
	return s
}

// give allocates a container on node 3 and ends it with an exit status after some milliseconds.
func give(t failer, s *State, number uint64, key yarn.SchedulerKey, exit int32, after int64, launch bool) {
	apply(t, s, allocated(1, number, key, 3))
	if launch {
		apply(t, s, &event.ContainerLaunched{Container: ref(1, number)})
	}
	apply(t, s, &event.TimeAdvanced{NowMillis: s.Meta.NowMillis + after},
		&event.ContainerCompleted{Container: ref(1, number), ExitStatus: exit})
}

// TestWhatIsAvoided checks after which ends an ask avoids the node, for how long, and that other
// keys and applications do not.
func TestWhatIsAvoided(t *testing.T) {
	for _, c := range []struct {
		name   string
		exit   int32
		after  int64
		launch bool
		want   bool
	}{
		{"given back at once", yarn.ExitAborted, 0, true, true},
		{"given back after a while", yarn.ExitAborted, GivenBackMillis, true, false},
		{"given back before the node reported it", yarn.ExitAborted, 3 * GivenBackMillis, false, true},
		{"not localized", -1000, 3 * GivenBackMillis, true, true},
		{"disks failed", -101, 0, true, true},
		{"command not found", 127, 3 * GivenBackMillis, true, true},
		{"succeeded at once", yarn.ExitSuccess, 0, true, false},
		{"failed", 1, 0, true, false},
		{"preempted", yarn.ExitPreempted, 0, false, false},
		{"killed by the ResourceManager", yarn.ExitKilledByRM, 0, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := giver(t)
			before := s.Meta.NowMillis + c.after
			give(t, s, 1, k1, c.exit, c.after, c.launch)
			if got := s.Avoided.Avoids(1, k1, 3, before); got != c.want {
				t.Errorf("avoided: %v", got)
			}
			if s.Avoided.Avoids(1, k2, 3, before) || s.Avoided.Avoids(2, k1, 3, before) || s.Avoided.Avoids(1, k1, 2, before) {
				t.Error("another key, application or node is avoided")
			}
			if s.Avoided.Avoids(1, k1, 3, before+AvoidMillis) {
				t.Error("it is avoided for too long")
			}
			r, err := decode(encode(s))
			if err != nil || !slices.Equal(r.Avoided, s.Avoided) {
				t.Errorf("after a snapshot %v, was %v (%v)", r.Avoided, s.Avoided, err)
			}
		})
	}
}

// TestAvoidedIsBounded checks the bounds of an ask and of all, that the oldest go first, and that a
// fork keeps its own entries.
func TestAvoidedIsBounded(t *testing.T) {
	s := giver(t)
	for n := range NodeSlot(2 * record.AvoidedByKey) {
		apply(t, s, nodeUp(4+n, fmt.Sprint("m", n), gb(8)))
	}
	fork := s.Fork()
	for n := range NodeSlot(2 * record.AvoidedByKey) {
		e := allocated(1, uint64(n+1), k1, 4+n)
		apply(t, s, e, &event.ContainerCompleted{Container: ref(1, uint64(n+1)), ExitStatus: yarn.ExitAborted})
	}
	if len(fork.Avoided) != 0 || len(s.Avoided) != record.AvoidedByKey || s.Avoided[0].Node != 4+record.AvoidedByKey {
		t.Errorf("%d entries, the first for node %d; in the fork %d", len(s.Avoided), s.Avoided[0].Node, len(fork.Avoided))
	}
	number := uint64(2 * record.AvoidedByKey)
	for p := range int32(record.AvoidedMax + 50) {
		key := yarn.SchedulerKey{Priority: 100 + p}
		number++
		apply(t, s, ask(1, key, 1, 1), allocated(1, number, key, 3),
			&event.ContainerCompleted{Container: ref(1, number), ExitStatus: yarn.ExitAborted})
	}
	if len(s.Avoided) != record.AvoidedMax || s.Avoided.Avoids(1, k1, 5+record.AvoidedByKey, s.Meta.NowMillis) {
		t.Errorf("%d entries", len(s.Avoided))
	}
	if err := s.Check(); err != nil {
		t.Error(err)
	}
	apply(t, s, &event.TimeAdvanced{NowMillis: s.Meta.NowMillis + AvoidMillis})
	give(t, s, number+1, k1, -1000, 0, false)
	if len(s.Avoided) != 1 {
		t.Errorf("%d entries after the others have expired", len(s.Avoided))
	}
}
