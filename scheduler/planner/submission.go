package planner

import (
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/scheduler/input"
	"rmd/scheduler/placement"
	"rmd/yarn"
)

func (ap *applications) submit(in *input.SubmitApplication) input.Reply {
	if in.ID != (yarn.ApplicationID{}) && ap.st.Apps.ByID(in.ID) != 0 {
		// As in YARN, a repeated submission changes nothing. The id identifies it.
		a := ap.st.Apps.Get(ap.st.Apps.ByID(in.ID))
		return &input.SubmitApplicationReply{ID: in.ID, Queue: ap.st.QueueOf(a)}
	}
	to, fault := ap.admit(in)
	if fault != nil {
		return input.Refuse(in, fault)
	}
	priority, fault := ap.priority(in, to.queue)
	if fault != nil {
		return input.Refuse(in, fault)
	}
	reply := &input.SubmitApplicationReply{Queue: to.queue.Path}
	seq, reserved := ap.nextID()
	if in.ID.Seq != 0 {
		seq, reserved = in.ID.Seq, false
	}
	if seq > maxApplication {
		return input.Refuse(in, noMoreIDs())
	}
	reply.ID = yarn.ApplicationID{ClusterTimestamp: ap.st.Meta.ClusterTimestamp, Seq: seq}
	if in.DryRun {
		return reply
	}
	if reserved {
		ap.ids.next++
	}
	leaf := ap.dynamic.create(to)
	ap.sched.Emit(ap.submitted(in, leaf, seq, priority))
	if e := ap.labels.ofApplication(in, leaf, seq); e.Label != "" || e.AMLabel != "" {
		ap.sched.Emit(e)
	}
	if e := ap.placed(to.placed, seq); e != nil {
		ap.sched.Emit(e)
	}
	slot := ap.st.Apps.Find(seq)
	ap.gangs.declareTagged(slot, in.Tags)
	if !renewals(ap.sched, ap.ends).Submitted(seq, &in.Tokens) {
		ap.sched.StartAttempt(slot)
	}
	ap.forget()
	return reply
}

func (ap *applications) submitted(in *input.SubmitApplication, leaf int, seq uint32,
	priority int32) *event.ApplicationSubmitted {
	e := &event.ApplicationSubmitted{
		App: seq, Name: in.Name, User: in.User, Queue: ap.sched.Config.Queues[leaf].Path, Type: in.Type, Tags: in.Tags,
		Priority: priority, Unmanaged: in.Unmanaged, KeepContainers: in.KeepContainers,
		MaxAttempts: ap.maxAttempts(in.MaxAttempts), LifetimeMillis: ap.lifetime(in.LifetimeMillis, leaf),
		ValidityMillis: max(in.ValidityMillis, 0), Context: in.Context,
	}
	if !in.Unmanaged {
		e.AM, e.AMPlaces, e.AMStrict = ap.sizes.normalize(in.AM, leaf), in.AMPlaces, in.AMStrict
	}
	return e
}

// admit returns the queue that an application goes to, or a fault if it may not be submitted.
func (ap *applications) admit(in *input.SubmitApplication) (to destination, fault *input.Refusal) {
	if in.User == "" {
		return to, input.Refusef(input.InvalidRequest, "name the user it runs for", "the application has no user")
	}
	if in.ID != (yarn.ApplicationID{}) && (in.ID.ClusterTimestamp != ap.st.Meta.ClusterTimestamp || in.ID.Seq == 0 ||
		ap.st.Apps.Find(in.ID.Seq) != 0 || ap.ids.contains(in.ID.Seq)) {
		return to, input.Refusef(input.InvalidRequest, "submit without an id, the cluster gives one",
			"%s is not a new id of this cluster", in.ID)
	}
	if _, err := yarn.DeclaredLifetime(in.Tags); err != nil {
		return to, input.Refusef(input.InvalidRequest,
			"write "+yarn.LifetimeTag+"seconds=90, once, or leave the tag out", "%v", err)
	}
	if fault := ap.roomForUser(in.User); fault != nil {
		return to, fault
	}
	if to, fault = ap.destinations.of(in); fault != nil {
		return to, fault
	}
	if ap.sched.Config.ACLEnabled && !ap.destinations.maySubmit(to, in.User, in.Groups) {
		return to, input.Refusef(input.NotAllowed, "ask for the queue's acl_submit_applications",
			"user %s may not submit to %s", in.User, to.queue.Path)
	}
	if most := ap.sched.Config.MaximumApplications; int64(ap.st.Apps.Len())-int64(ap.st.Meta.EndedApps) >= most {
		return to, input.Refusef(input.QueueFull, "wait for applications to end",
			"the cluster holds its maximum of %d applications", most)
	}
	if fault := ap.destinations.roomAt(to, in.User); fault != nil {
		return to, fault
	}
	if fault := ap.gangs.checkTagged(in.Tags, to); fault != nil {
		return to, fault
	}
	if !in.Unmanaged {
		if in.AM.Negative() || in.AM[yarn.Memory] == 0 {
			return to, input.Refusef(input.InvalidRequest, "ask memory and vcores above zero for the AM", "the AM asks %s",
				ap.sched.Config.Kinds.Format(in.AM))
		}
		if fault := ap.sizes.neverFits(in.AM, to.queue, "the AM"); fault != nil {
			return to, fault
		}
		if fault := checkPlaces(in.AMPlaces); fault != nil {
			return to, fault
		}
		if fault := ap.labels.checkAM(in, to.queue); fault != nil {
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

// placed returns the event for the rule that placed an application; nil if no rule did.
func (ap *applications) placed(r placement.Result, seq uint32) *event.ApplicationPlaced {
	if r.Rule == 0 {
		return nil
	}
	return &event.ApplicationPlaced{App: seq, Rule: uint32(r.Rule), Text: input.Cut(r.Text, placementTextMax),
		Why: input.Cut(r.Steps[len(r.Steps)-1].Why, placementTextMax), For: input.Cut(r.TagUser, placementUserMax)}
}

// priority returns the priority of a submission: the one that it asks for, or else the user's
// default in the leaf. If the application belongs to a workflow with a priority, that priority
// counts instead. As in YARN, the user must be allowed to have both.
func (ap *applications) priority(in *input.SubmitApplication, q *capacity.Queue) (int32, *input.Refusal) {
	asked := in.Priority
	if !in.PrioritySet {
		asked = ap.sched.Config.DefaultPriority(q, in.User, in.Groups...)
	}
	granted, fault := ap.mayHavePriority(in.ID, q, asked, in.User, in.Groups)
	if mapped, ok := ap.sched.Config.WorkflowPriority(q, in.Tags); ok && fault == nil {
		return ap.mayHavePriority(in.ID, q, mapped, in.User, in.Groups)
	}
	return granted, fault
}

// mayHavePriority lowers a priority to the cluster's maximum, and checks that the user may have it.
func (ap *applications) mayHavePriority(id yarn.ApplicationID, q *capacity.Queue, asked int32, user string,
	groups []string) (int32, *input.Refusal) {
	granted := min(asked, ap.sched.Config.MaxPriority)
	if ap.sched.Config.MayHavePriority(q, granted, user, groups...) {
		return granted, nil
	}
	name := "an application"
	if id.Seq != 0 {
		name = id.String()
	}
	return 0, input.Refusef(input.PriorityTooHigh,
		"ask for a lower priority, or for acl_application_max_priority of "+q.Path,
		"user %s does not have permission to submit/update %s for %d", user, name, granted)
}

func (ap *applications) maxAttempts(asked uint32) uint32 {
	if asked == 0 {
		return uint32(max(ap.sched.Config.AMMaxAttempts, 1))
	}
	return min(asked, uint32(max(ap.sched.Config.AMGlobalMaxAttempts, 1)))
}

// roomForUser refuses an unknown user if the state has too many names.
func (ap *applications) roomForUser(user string) *input.Refusal {
	if ap.st.Names.Find(user) == 0 && ap.st.Names.Len() >= maxNames {
		return input.Refusef(input.TooLarge,
			"wait for applications of other users to be forgotten, or submit as a user that has some",
			"the cluster has its maximum of %d names of users, hosts and racks", maxNames)
	}
	return nil
}

func alreadyEnded(a *state.App) *input.Refusal {
	return input.Refusef(input.AlreadyEnded, "", "application %s is %s", a.ID, a.Shown())
}

// checkPlaces checks that each place is a host or rack, and is named once.
func checkPlaces(places []yarn.Place) *input.Refusal {
	named := make(map[string]bool, len(places)) // looked up by key only
	for _, p := range places {
		if p.Name == "" || p.Name == yarn.Any || named[p.Name] {
			return input.Refusef(input.InvalidAsk, "name each host and rack once",
				"the AM is asked for at %q, which is not a host or rack, or is named twice", p.Name)
		}
		named[p.Name] = true
	}
	return nil
}
