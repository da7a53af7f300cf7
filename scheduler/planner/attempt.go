package planner

import (
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler"
	"rmd/scheduler/input"
	"rmd/scheduler/planner/lifecycle"
	"rmd/scheduler/planner/token"
	"rmd/yarn"
)

// attempts plans the calls of AMs, and what else is said about attempts.
type attempts struct {
	sched   *scheduler.Scheduler
	st      *state.State
	ends    lifecycle.Ends
	sizes   sizeRules
	asks    asks
	resizes resizes
	gangs   gangs
	answers answers
	windows []responseWindow // by application slot
}

// current returns the application of an attempt, or a fault if it is not the running attempt.
func (at *attempts) current(id yarn.AttemptID) (state.AppSlot, *input.Refusal) {
	slot := at.st.Apps.ByID(id.App)
	if slot == 0 {
		return 0, input.NoSuchApp(id.App)
	}
	if a := at.st.Apps.Get(slot); a.Attempt != id.Attempt || !a.Activated() {
		return 0, input.Refusef(input.NoSuchAttempt, "stop this AM", "%s is not the running attempt of its application", id)
	}
	return slot, nil
}

func (at *attempts) register(in *input.RegisterAttempt) input.Reply {
	slot, fault := at.current(in.Attempt)
	if fault != nil {
		return input.Refuse(in, fault)
	}
	a := at.st.Apps.Get(slot)
	leaf := at.sched.LeafOf(a)
	reply := &input.RegisterAttemptReply{Queue: at.sched.Config.Queues[leaf].Path,
		Maximum: at.sizes.largest(&at.sched.Config.Queues[leaf])}
	switch {
	case a.AttemptState == state.AttemptRegistered && a.Response > 0 && in.HasResponse && in.Response != a.Response:
		return input.Refuse(in, input.Refusef(input.WrongResponse, "register again",
			"%s was told response %d since this registration was sent", in.Attempt, a.Response))
	case a.AttemptState == state.AttemptRegistered && a.Response > 0:
		at.resync(slot)
	case a.AttemptState == state.AttemptActive:
		e := &event.AttemptRegistered{App: a.ID.Seq, Host: in.Host, RPCPort: in.RPCPort, TrackingURL: in.TrackingURL}
		e.ClientKey, e.ClientAlgorithm = token.ClientKey(in.Entropy, &at.sched.Config.Tokens)
		at.sched.Emit(e)
		at.window(slot).count(0)
	}
	// An unmanaged AM that restarts has the same attempt. As in YARN, with KeepContainers it gets what
	// it had.
	restarts := a.Unmanaged && a.KeepContainers
	for _, k := range at.st.Containers.Of(at.st.Apps.Get(slot)) {
		if (k.Attempt != in.Attempt.Attempt || restarts) && k.State.Live() {
			reply.Kept = append(reply.Kept, at.answers.granted(k))
			if v := at.st.Resizes.Version(k); v > 0 || len(reply.KeptVersions) > 0 {
				reply.KeptVersions = append(reply.KeptVersions, make([]int32, len(reply.Kept)-len(reply.KeptVersions))...)
				reply.KeptVersions[len(reply.Kept)-1] = v
			}
		}
	}
	return reply
}

// allocate handles an AM's heartbeat. Response numbers let each call take effect once: a call that
// repeats the last number gets the last response again. Idle responses are not written to the log;
// response.go explains what follows for the numbers.
func (at *attempts) allocate(in *input.Allocate) input.Reply {
	slot, fault := at.current(in.Attempt)
	if fault != nil {
		if slot := at.finishing(in.Attempt); slot != 0 { // a heartbeat that was sent before the AM unregistered
			return &input.AllocateReply{Response: max(in.Response, 0) + 1, Nodes: at.sched.ClusterNodes(at.st.Apps.Get(slot)),
				Priority: at.st.Apps.Get(slot).Priority}
		}
		return input.Refuse(in, fault)
	}
	a := at.st.Apps.Get(slot)
	if a.AttemptState != state.AttemptRegistered {
		return input.Refuse(in, input.Refusef(input.NotRegistered, "register first",
			"the AM of %s has not registered", in.Attempt))
	}
	window := at.window(slot)
	kind, response := window.classify(in, a, at.sched.Now())
	switch kind {
	case callRetry:
		if in.FromAM && in.Response == 0 { // the AM may have registered again with a later leader
			at.sched.Barrier()
		}
		r := at.answers.response(slot, response)
		r.UpdateErrors = at.resizes.update(slot, in, true)
		return r
	case callWrong:
		return input.Refuse(in, input.Refusef(input.WrongResponse, "resynchronize",
			"response %d of %s is not the last one, %d", in.Response, in.Attempt, max(window.last, a.Response)))
	}
	if fault := at.checkReleases(slot, in); fault != nil {
		return input.Refuse(in, fault)
	}
	if fault := at.asks.check(slot, in); fault != nil {
		return input.Refuse(in, fault)
	}
	if in.Gang != "" {
		if fault := at.gangs.declare(slot, in.Gang); fault != nil {
			return input.Refuse(in, fault)
		}
	}
	at.report(slot, in)
	errs := at.resizes.update(slot, in, false)
	at.release(slot, in.Releases)
	admitted := at.sched.AdmitNames(a.User, len(in.BlacklistAdd)+len(in.Asks))
	at.asks.blacklist(slot, in, admitted)
	at.asks.store(slot, in.Asks, admitted)
	at.sched.RunEagerPasses()
	a = at.st.Apps.Get(slot)
	if kind == callStale && at.answers.unheard(slot, a.Response) {
		window.answersTo, window.payload, window.idle = in.Response, payloadOf(in), false
		r := at.answers.response(slot, a.Response)
		r.UpdateErrors = errs
		return r
	}
	changed := len(at.sched.Events()) > 0
	if changed || a.Undelivered != 0 || window.mustWrite(in, a, response) {
		at.sched.Emit(&event.ResponseRecorded{App: in.Attempt.App.Seq, Response: response})
	}
	r := at.answers.response(slot, response)
	r.UpdateErrors = errs
	window.give(in, kind, response, !changed && len(r.Granted)+len(r.Completed)+len(r.Resized)+len(r.Preempted) == 0)
	return r
}

func (at *attempts) finish(in *input.FinishAttempt) input.Reply {
	slot, fault := at.current(in.Attempt)
	if fault != nil {
		if s := at.st.Apps.ByID(in.Attempt.App); s != 0 {
			if a := at.st.Apps.Get(s); a.Shown() == yarn.AppFinished && a.Attempt == in.Attempt.Attempt {
				return in.NewReply() // a repeated call
			}
		}
		return input.Refuse(in, fault)
	}
	a := at.st.Apps.Get(slot)
	switch {
	case a.AttemptState != state.AttemptRegistered:
		return input.Refuse(in, input.Refusef(input.NotRegistered, "register first",
			"the AM of %s has not registered", in.Attempt))
	case in.Final > yarn.FinalEnded:
		return input.Refuse(in, input.Refusef(input.InvalidRequest, "", "there is no final status %d", in.Final))
	}
	at.sched.CancelAll(slot, yarn.CancelAttemptEnded)
	at.sched.Emit(&event.AttemptUnregistered{App: a.ID.Seq, Final: in.Final, Diagnostics: in.Diagnostics,
		TrackingURL: in.TrackingURL})
	if !at.endsByItself(slot) {
		at.ends.Finish(slot)
	}
	return in.NewReply()
}

func (at *attempts) expire(in *input.ExpireAttempt) input.Reply {
	if slot := at.finishing(in.Attempt); slot != 0 {
		at.ends.Finish(slot)
		return in.NewReply()
	}
	slot, fault := at.current(in.Attempt)
	if fault != nil {
		return input.Refuse(in, fault)
	}
	at.ends.AttemptFailed(slot, "ApplicationMaster for attempt "+in.Attempt.String()+" timed out", true)
	return in.NewReply()
}

// exitUnknown is YARN's ContainerExitStatus.INVALID: the AM stopped, and its exit status is not
// known.
const exitUnknown int32 = -1000
