package planner

import (
	"slices"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/scheduler/input"
	"rmd/scheduler/placement"
	"rmd/yarn"
)

func (p *Planner) submitApplication(in *input.SubmitApplication) input.Reply {
	if in.ID != (yarn.ApplicationID{}) && p.st.Apps.ByID(in.ID) != 0 {
		// As in YARN, a repeated submission changes nothing. The id identifies it.
		a := p.st.Apps.Get(p.st.Apps.ByID(in.ID))
		return &input.SubmitApplicationReply{ID: in.ID, Queue: p.st.QueueOf(a)}
	}
	to, fault := p.admit(in)
	if fault != nil {
		return input.Refuse(in, fault)
	}
	priority, fault := p.priority(in, to.queue)
	if fault != nil {
		return input.Refuse(in, fault)
	}
	reply := &input.SubmitApplicationReply{Queue: to.queue.Path}
	seq, reserved := p.nextID()
	if in.ID.Seq != 0 {
		seq, reserved = in.ID.Seq, false
	}
	if seq > maxApplication {
		return input.Refuse(in, noMoreIDs())
	}
	reply.ID = yarn.ApplicationID{ClusterTimestamp: p.st.Meta.ClusterTimestamp, Seq: seq}
	if in.DryRun {
		return reply
	}
	if reserved {
		p.ids.next++
	}
	leaf := p.dynamicQueues.create(to)
	p.sched.Emit(p.submitted(in, leaf, seq, priority))
	if e := p.askLabels.ofApplication(in, leaf, seq); e.Label != "" || e.AMLabel != "" {
		p.sched.Emit(e)
	}
	if e := p.applicationPlaced(to.placed, seq); e != nil {
		p.sched.Emit(e)
	}
	slot := p.st.Apps.Find(seq)
	p.gangs.declareTagged(slot, in.Tags)
	if !renewals(p.sched, p.ends).Submitted(seq, &in.Tokens) {
		p.sched.StartAttempt(slot)
	}
	p.forget()
	return reply
}

func (p *Planner) submitted(in *input.SubmitApplication, leaf int, seq uint32, priority int32) *event.ApplicationSubmitted {
	e := &event.ApplicationSubmitted{
		App: seq, Name: in.Name, User: in.User, Queue: p.Config().Queues[leaf].Path, Type: in.Type, Tags: in.Tags,
		Priority: priority, Unmanaged: in.Unmanaged, KeepContainers: in.KeepContainers,
		MaxAttempts: p.maxAttempts(in.MaxAttempts), LifetimeMillis: p.lifetime(in.LifetimeMillis, leaf),
		ValidityMillis: max(in.ValidityMillis, 0), Context: in.Context,
	}
	if !in.Unmanaged {
		e.AM, e.AMPlaces, e.AMStrict = p.sizes.normalize(in.AM, leaf), in.AMPlaces, in.AMStrict
	}
	return e
}

// admit returns the queue that an application goes to, or a fault if it may not be submitted.
func (p *Planner) admit(in *input.SubmitApplication) (to destination, fault *input.Fault) {
	if in.User == "" {
		return to, input.Faultf(input.InvalidRequest, "name the user it runs for", "the application has no user")
	}
	if in.ID != (yarn.ApplicationID{}) && (in.ID.ClusterTimestamp != p.st.Meta.ClusterTimestamp || in.ID.Seq == 0 || p.st.Apps.Find(in.ID.Seq) != 0 || p.ids.contains(in.ID.Seq)) {
		return to, input.Faultf(input.InvalidRequest, "submit without an id, the cluster gives one", "%s is not a new id of this cluster", in.ID)
	}
	if _, err := yarn.DeclaredLifetime(in.Tags); err != nil {
		return to, input.Faultf(input.InvalidRequest, "write "+yarn.LifetimeTag+"seconds=90, once, or leave the tag out", "%v", err)
	}
	if fault := p.roomForUser(in.User); fault != nil {
		return to, fault
	}
	if to, fault = p.destinations.of(in); fault != nil {
		return to, fault
	}
	if p.Config().ACLEnabled && !p.destinations.maySubmit(to, in.User, in.Groups) {
		return to, input.Faultf(input.NotAllowed, "ask for the queue's acl_submit_applications", "user %s may not submit to %s", in.User, to.queue.Path)
	}
	if most := p.Config().MaximumApplications; int64(p.st.Apps.Len())-int64(p.st.Meta.EndedApps) >= most {
		return to, input.Faultf(input.QueueFull, "wait for applications to end", "the cluster holds its maximum of %d applications", most)
	}
	if fault := p.destinations.roomAt(to, in.User); fault != nil {
		return to, fault
	}
	if fault := p.gangs.checkTagged(in.Tags, to); fault != nil {
		return to, fault
	}
	if !in.Unmanaged {
		if in.AM.Negative() || in.AM[yarn.Memory] == 0 {
			return to, input.Faultf(input.InvalidRequest, "ask memory and vcores above zero for the AM", "the AM asks %s", p.Config().Kinds.Format(in.AM))
		}
		if fault := p.sizes.neverFits(in.AM, to.queue, "the AM"); fault != nil {
			return to, fault
		}
		if fault := checkPlaces(in.AMPlaces); fault != nil {
			return to, fault
		}
		if fault := p.askLabels.checkAM(in, to.queue); fault != nil {
			return to, fault
		}
	}
	return to, nil
}

// Limits, in bytes, of the texts in ApplicationPlaced.
const (
	placementTextMax = 200
	placementUserMax = 100
)

// applicationPlaced returns the event for the rule that placed an application; nil if no rule did.
func (p *Planner) applicationPlaced(r placement.Result, seq uint32) *event.ApplicationPlaced {
	if r.Rule == 0 {
		return nil
	}
	return &event.ApplicationPlaced{App: seq, Rule: uint32(r.Rule), Text: cut(r.Text, placementTextMax),
		Why: cut(r.Steps[len(r.Steps)-1].Why, placementTextMax), For: cut(r.TagUser, placementUserMax)}
}

// priority returns the priority of a submission: the one that it asks for, or else the user's
// default in the leaf. If the application belongs to a workflow with a priority, that priority
// counts instead. As in YARN, the user must be allowed to have both.
func (p *Planner) priority(in *input.SubmitApplication, q *capacity.Queue) (int32, *input.Fault) {
	asked := in.Priority
	if !in.PrioritySet {
		asked = p.Config().DefaultPriority(q, in.User, in.Groups...)
	}
	granted, fault := p.mayHavePriority(in.ID, q, asked, in.User, in.Groups)
	if mapped, ok := p.Config().WorkflowPriority(q, in.Tags); ok && fault == nil {
		return p.mayHavePriority(in.ID, q, mapped, in.User, in.Groups)
	}
	return granted, fault
}

// mayHavePriority lowers a priority to the cluster's maximum, and checks that the user may have it.
func (p *Planner) mayHavePriority(id yarn.ApplicationID, q *capacity.Queue, asked int32, user string, groups []string) (int32, *input.Fault) {
	granted := min(asked, p.Config().MaxPriority)
	if p.Config().MayHavePriority(q, granted, user, groups...) {
		return granted, nil
	}
	name := "an application"
	if id.Seq != 0 {
		name = id.String()
	}
	return 0, input.Faultf(input.PriorityTooHigh, "ask for a lower priority, or for acl_application_max_priority of "+q.Path,
		"user %s does not have permission to submit/update %s for %d", user, name, granted)
}

func (p *Planner) maxAttempts(asked uint32) uint32 {
	if asked == 0 {
		return uint32(max(p.Config().AMMaxAttempts, 1))
	}
	return min(asked, uint32(max(p.Config().AMGlobalMaxAttempts, 1)))
}

// lifetime returns the lifetime of an application in milliseconds: what it asks for, up to the
// maximum of its queue. 0 means no limit.
func (p *Planner) lifetime(asked int64, leaf int) int64 {
	q := &p.Config().Queues[leaf]
	out := asked
	if out <= 0 {
		out = max(q.DefaultLifetime, 0) * 1000
		if q.DefaultLifetime < 0 {
			out = max(q.MaxLifetime, 0) * 1000
		}
	}
	if most := q.MaxLifetime * 1000; most > 0 && (out == 0 || out > most) {
		out = most
	}
	return out
}

func (p *Planner) killApplication(in *input.KillApplication) input.Reply {
	slot := p.st.Apps.ByID(in.ID)
	if slot == 0 {
		return input.Refuse(in, input.NoSuchApp(in.ID))
	}
	if a := p.st.Apps.Get(slot); a.State.Ended() {
		return in.NewReply() // as in YARN, killing an ended application succeeds
	}
	if p.st.Apps.Get(slot).AttemptState == state.AttemptFinishing {
		p.ends.Finish(slot) // the final status that its AM sent remains
		return in.NewReply()
	}
	text := in.Diagnostics
	if text == "" {
		text = "Application " + in.ID.String() + " was killed by user " + in.User
	}
	p.ends.Attempt(slot, yarn.FinalKilled, text, "", false, false)
	p.ends.Application(slot, yarn.AppKilled, yarn.FinalKilled, text)
	return in.NewReply()
}

func (p *Planner) moveApplication(in *input.MoveApplication) input.Reply {
	slot := p.st.Apps.ByID(in.ID)
	if slot == 0 {
		return input.Refuse(in, input.NoSuchApp(in.ID))
	}
	a := p.st.Apps.Get(slot)
	if a.Shown().Ended() {
		return input.Refuse(in, alreadyEnded(a))
	}
	to, fault := p.destinations.leafNamed(in.Queue)
	if fault == nil && p.Config().ACLEnabled && in.User != "" && !p.Config().MaySubmit(to, in.User, in.Groups...) {
		fault = input.Faultf(input.NotAllowed, "ask for the queue's acl_submit_applications", "user %s may not submit to %s", in.User, p.Config().Queues[to].Path)
	}
	if fault == nil && int32(to) == p.sched.LeafOf(a) {
		return in.NewReply()
	}
	if fault == nil {
		fault = p.destinations.roomInQueue(to, p.st.Names.Text(a.User))
	}
	if fault == nil {
		fault = p.roomToRun(a, to)
	}
	if fault == nil {
		fault = p.askLabels.checkMove(a, to)
	}
	if fault != nil {
		return input.Refuse(in, fault)
	}
	from := p.sched.LeafOf(a)
	p.sched.WithdrawMoved(slot)
	p.sched.Emit(&event.ApplicationMoved{App: a.ID.Seq, Queue: p.Config().Queues[to].Path})
	p.ends.LeftQueue(from)
	p.sched.ActivateArrival(int32(to))
	p.sched.AsksMore(slot)
	return in.NewReply()
}

// roomToRun refuses to move a running application below a queue that already has its maximum of
// parallel applications. Queues above both leaves already count it.
func (p *Planner) roomToRun(a *state.App, to int) *input.Fault {
	if !a.Runnable() {
		return nil
	}
	for i := int32(to); i >= 0 && !p.above(i, p.sched.LeafOf(a)); i = int32(p.Config().Queues[i].Parent) {
		q := p.sched.Queue(i)
		if most := p.Config().Queues[i].MaxParallelApps; most >= 0 && int64(q.Runnable) >= most {
			return input.Faultf(input.QueueFull, "wait for applications to end, or raise max-parallel-apps", "queue %s runs its maximum of %d applications", q.Path, most)
		}
	}
	return nil
}

// above reports whether queue i is queue k or is above it.
func (p *Planner) above(i, k int32) bool {
	for ; k >= 0; k = int32(p.Config().Queues[k].Parent) {
		if i == k {
			return true
		}
	}
	return false
}

func (p *Planner) setPriority(in *input.SetPriority) input.Reply {
	slot := p.st.Apps.ByID(in.ID)
	if slot == 0 {
		return input.Refuse(in, input.NoSuchApp(in.ID))
	}
	a := p.st.Apps.Get(slot)
	if a.Shown().Ended() {
		return input.Refuse(in, alreadyEnded(a))
	}
	granted := min(in.Priority, p.Config().MaxPriority)
	if in.User != "" {
		var fault *input.Fault
		if granted, fault = p.mayHavePriority(in.ID, &p.Config().Queues[p.sched.LeafOf(a)], in.Priority, in.User, in.Groups); fault != nil {
			return input.Refuse(in, fault)
		}
	}
	if granted != a.Priority {
		p.sched.Emit(&event.ApplicationReprioritized{App: a.ID.Seq, Priority: granted})
	}
	return &input.SetPriorityReply{Priority: granted}
}

// forget removes the oldest ended applications beyond the number to keep.
func (p *Planner) forget() {
	over := int64(p.st.Meta.EndedApps) - p.Config().MaxCompletedApps
	if over <= 0 {
		return
	}
	// Finding the oldest ones reads all applications, so they are removed in batches.
	if batch := max(p.Config().MaxCompletedApps/8, 1); over < batch {
		return
	}
	var seqs []uint32
	p.st.Apps.Each(func(_ state.AppSlot, a *state.App) bool {
		if a.State.Ended() && a.Containers == 0 && p.st.AppTokens.Holder(a.ID.Seq) == nil {
			seqs = append(seqs, a.ID.Seq)
		}
		return true
	})
	slices.Sort(seqs)
	for _, seq := range seqs[:min(over, int64(len(seqs)))] {
		p.sched.Emit(&event.ApplicationForgotten{App: seq})
	}
}
