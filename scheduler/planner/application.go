package planner

import (
	"slices"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler"
	"rmd/scheduler/input"
	"rmd/scheduler/planner/due"
	"rmd/scheduler/planner/lifecycle"
	"rmd/yarn"
)

// applications plans inputs about applications.
type applications struct {
	sched        *scheduler.Scheduler
	st           *state.State
	ends         lifecycle.Ends
	sizes        sizeRules
	labels       labelRules
	gangs        gangs
	destinations destinations
	dynamic      dynamicQueues
	ids          idBlock // the ids that may be given
}

func (ap *applications) kill(in *input.KillApplication) input.Reply {
	slot := ap.st.Apps.ByID(in.ID)
	if slot == 0 {
		return input.Refuse(in, input.NoSuchApp(in.ID))
	}
	if a := ap.st.Apps.Get(slot); a.State.Ended() {
		return in.NewReply() // as in YARN, killing an ended application succeeds
	}
	if ap.st.Apps.Get(slot).AttemptState == state.AttemptFinishing {
		ap.ends.Finish(slot) // the final status that its AM sent remains
		return in.NewReply()
	}
	text := in.Diagnostics
	if text == "" {
		text = "Application " + in.ID.String() + " was killed by user " + in.User
	}
	ap.ends.Attempt(slot, yarn.FinalKilled, text, "", false, false)
	ap.ends.Application(slot, yarn.AppKilled, yarn.FinalKilled, text)
	return in.NewReply()
}

func (ap *applications) move(in *input.MoveApplication) input.Reply {
	slot := ap.st.Apps.ByID(in.ID)
	if slot == 0 {
		return input.Refuse(in, input.NoSuchApp(in.ID))
	}
	a := ap.st.Apps.Get(slot)
	if a.Shown().Ended() {
		return input.Refuse(in, alreadyEnded(a))
	}
	to, fault := ap.destinations.leafNamed(in.Queue)
	if fault == nil && ap.sched.Config.ACLEnabled && in.User != "" &&
		!ap.sched.Config.MaySubmit(to, in.User, in.Groups...) {
		fault = input.Refusef(input.NotAllowed, "ask for the queue's acl_submit_applications", "user %s may not submit to %s",
			in.User, ap.sched.Config.Queues[to].Path)
	}
	if fault == nil && int32(to) == ap.sched.LeafOf(a) {
		return in.NewReply()
	}
	if fault == nil {
		fault = ap.destinations.roomInQueue(to, ap.st.Names.Text(a.User))
	}
	if fault == nil {
		fault = ap.roomToRun(a, to)
	}
	if fault == nil {
		fault = ap.labels.checkMove(a, to)
	}
	if fault != nil {
		return input.Refuse(in, fault)
	}
	from := ap.sched.LeafOf(a)
	ap.sched.WithdrawMoved(slot)
	ap.sched.Emit(&event.ApplicationMoved{App: a.ID.Seq, Queue: ap.sched.Config.Queues[to].Path})
	ap.ends.LeftQueue(from)
	ap.sched.ActivateArrival(int32(to))
	ap.sched.AsksMore(slot)
	return in.NewReply()
}

// roomToRun refuses to move a running application below a queue that already has its maximum of
// parallel applications. Queues above both leaves already count it.
func (ap *applications) roomToRun(a *state.App, to int) *input.Refusal {
	if !a.Runnable() {
		return nil
	}
	for i := int32(to); i >= 0 && !ap.above(i, ap.sched.LeafOf(a)); i = int32(ap.sched.Config.Queues[i].Parent) {
		q := ap.sched.Queue(i)
		if most := ap.sched.Config.Queues[i].MaxParallelApps; most >= 0 && int64(q.Runnable) >= most {
			return input.Refusef(input.QueueFull, "wait for applications to end, or raise max-parallel-apps",
				"queue %s runs its maximum of %d applications", q.Path, most)
		}
	}
	return nil
}

// above reports whether queue i is queue k or is above it.
func (ap *applications) above(i, k int32) bool {
	for ; k >= 0; k = int32(ap.sched.Config.Queues[k].Parent) {
		if i == k {
			return true
		}
	}
	return false
}

func (ap *applications) setPriority(in *input.SetPriority) input.Reply {
	slot := ap.st.Apps.ByID(in.ID)
	if slot == 0 {
		return input.Refuse(in, input.NoSuchApp(in.ID))
	}
	a := ap.st.Apps.Get(slot)
	if a.Shown().Ended() {
		return input.Refuse(in, alreadyEnded(a))
	}
	granted := min(in.Priority, ap.sched.Config.MaxPriority)
	if in.User != "" {
		var fault *input.Refusal
		if granted, fault = ap.mayHavePriority(in.ID, &ap.sched.Config.Queues[ap.sched.LeafOf(a)], in.Priority, in.User,
			in.Groups); fault != nil {
			return input.Refuse(in, fault)
		}
	}
	if granted != a.Priority {
		ap.sched.Emit(&event.ApplicationReprioritized{App: a.ID.Seq, Priority: granted})
	}
	return &input.SetPriorityReply{Priority: granted}
}

// forget removes the oldest ended applications beyond the number to keep.
func (ap *applications) forget() {
	over := int64(ap.st.Meta.EndedApps) - ap.sched.Config.MaxCompletedApps
	if over <= 0 {
		return
	}
	// Finding the oldest ones reads all applications, so they are removed in batches.
	if batch := max(ap.sched.Config.MaxCompletedApps/8, 1); over < batch {
		return
	}
	var seqs []uint32
	ap.st.Apps.Each(func(_ state.AppSlot, a *state.App) bool {
		if a.State.Ended() && a.Containers == 0 && ap.st.AppTokens.Holder(a.ID.Seq) == nil {
			seqs = append(seqs, a.ID.Seq)
		}
		return true
	})
	slices.Sort(seqs)
	for _, seq := range seqs[:min(over, int64(len(seqs)))] {
		ap.sched.Emit(&event.ApplicationForgotten{App: seq})
	}
}

// startsAt returns 0 if an application that waits could start now. Whatever has lifted its limit,
// no other input need come: another queue may use less, or fewer users may ask, and neither changes
// anything in the application's queue.
func (ap *applications) startsAt() int64 {
	if ap.sched.MayStart() {
		return 0
	}
	return due.Never
}

func (ap *applications) startWaiting() {
	ap.sched.ActivateAll()
	ap.sched.StartNonRunnable()
}
