package planner

import (
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler"
	"rmd/scheduler/input"
	"rmd/scheduler/planner/lifecycle"
	"rmd/yarn"
)

// containers plans what is ordered for single containers and reservations.
type containers struct {
	sched   *scheduler.Scheduler
	st      *state.State
	ends    lifecycle.Ends
	resizes resizes
}

// signals is the number of YARN's commands for containers: a thread dump, a graceful and a forceful
// shutdown.
const signals = 3

func (cs containers) signal(in *input.SignalContainer) input.Reply {
	id := in.Container
	slot := cs.st.Container(event.ContainerRef{App: id.App.Seq, Attempt: id.Attempt, Number: id.Number})
	if slot == 0 || cs.st.Apps.ContainerID(cs.st.Containers.Get(slot)) != id || !cs.st.Containers.Get(slot).OnNode {
		return input.Refuse(in, input.Refusef(input.NoSuchContainer, "list them with \"rmd app containers\"",
			"there is no container %s", id))
	}
	if in.Command < 1 || in.Command > signals {
		return input.Refuse(in, input.Refusef(input.InvalidRequest, "use 1 to 3",
			"there is no signal %d for containers", in.Command))
	}
	if c := cs.st.Containers.Get(slot); c.State.Live() && c.Signal != in.Command {
		cs.sched.Emit(&event.ContainerSignalled{Container: cs.st.Apps.Ref(c), Command: in.Command})
	}
	return in.NewReply()
}

// expire ends containers that were granted and never started, and takes back increases
// that were not used.
func (cs containers) expire(in *input.ExpireContainers) input.Reply {
	for _, id := range in.Containers {
		ref := event.ContainerRef{App: id.App.Seq, Attempt: id.Attempt, Number: id.Number}
		slot := cs.st.Container(ref)
		if slot == 0 || cs.st.Apps.ContainerID(cs.st.Containers.Get(slot)) != id {
			continue
		}
		switch c := cs.st.Containers.Get(slot); {
		case c.Unstarted():
			cs.ends.Complete(ref, yarn.ExitAborted, "Container expired since it was unused")
		case c.Unused():
			cs.resizes.rollBack(slot)
		}
	}
	return in.NewReply()
}

func (cs containers) cancelReservation(in *input.CancelReservation) input.Reply {
	if cs.st.Reservations.Find(in.Number) == 0 {
		return input.Refuse(in, input.Refusef(input.NoSuchReservation, "see \"rmd reservation list\"",
			"there is no reservation r%d", in.Number))
	}
	cs.sched.CancelReservation(in.Number)
	return in.NewReply()
}
