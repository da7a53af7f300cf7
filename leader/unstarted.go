package leader

import (
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/yarn"
)

const (
	// roundMillis is the time in which every container is checked once.
	roundMillis = 60_000
	// unstartedAtOnce limits the containers in one input.
	unstartedAtOnce = 200
)

// unstarted finds containers that an AM has received and that do not start in time. Every tick
// checks a part of the table. The time of a container begins when it is checked first, at most one
// round after the AM received it.
type unstarted struct {
	next state.ContainerSlot // slot
	met  map[state.ContainerSlot]sighting
	due  []yarn.ContainerID
}

type sighting struct {
	id yarn.ContainerID
	at int64
}

// look checks the next part of the table. An interval of 0 means that containers do not expire.
func (u *unstarted) look(st *state.State, now, interval, tick int64) {
	size := st.Containers.Cap()
	if interval <= 0 || size == 0 {
		return
	}
	if u.met == nil {
		u.met = map[state.ContainerSlot]sighting{}
	}
	ticks := max(min(roundMillis, interval/4)/max(tick, 1), 1)
	for n := int64(size)/ticks + 1; n > 0; n-- {
		if u.next >= size {
			u.next = 0
		}
		u.meet(st, u.next, now, interval)
		u.next++
	}
}

func (u *unstarted) meet(st *state.State, slot state.ContainerSlot, now, interval int64) {
	if !st.Containers.Has(slot) || !st.Containers.Get(slot).Unused() {
		delete(u.met, slot)
		return
	}
	id := st.Apps.ContainerID(st.Containers.Get(slot))
	switch s, ok := u.met[slot]; {
	case !ok || s.id != id:
		u.met[slot] = sighting{id, now}
	case now-s.at >= interval:
		u.met[slot] = sighting{id, now}
		u.due = append(u.due, id)
	}
}

// take returns the next input with expired containers, or nil.
func (u *unstarted) take() input.Input {
	if len(u.due) == 0 {
		u.due = nil
		return nil
	}
	n := min(len(u.due), unstartedAtOnce)
	in := &input.ExpireContainers{Containers: u.due[:n:n]}
	u.due = u.due[n:]
	return in
}
