package planner

import (
	"slices"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/internal/boolint"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// current returns the application of an attempt, or a fault if it is not the running attempt.
func (p *Planner) current(id yarn.AttemptID) (state.AppSlot, *input.Fault) {
	slot := p.st.Apps.ByID(id.App)
	if slot == 0 {
		return 0, input.NoSuchApp(id.App)
	}
	if a := p.st.Apps.Get(slot); a.Attempt != id.Attempt || !a.Activated() {
		return 0, input.Faultf(input.NoSuchAttempt, "stop this AM", "%s is not the running attempt of its application", id)
	}
	return slot, nil
}

func (p *Planner) registerAttempt(in *input.RegisterAttempt) input.Reply {
	slot, fault := p.current(in.Attempt)
	if fault != nil {
		return input.Refuse(in, fault)
	}
	a := p.st.Apps.Get(slot)
	leaf := p.sched.LeafOf(a)
	reply := &input.RegisterAttemptReply{Queue: p.Config().Queues[leaf].Path, Maximum: p.sizes.largest(&p.Config().Queues[leaf])}
	switch {
	case a.AttemptState == state.AttemptRegistered && a.Response > 0 && in.HasResponse && in.Response != a.Response:
		return input.Refuse(in, input.Faultf(input.WrongResponse, "register again", "%s was told response %d since this registration was sent", in.Attempt, a.Response))
	case a.AttemptState == state.AttemptRegistered && a.Response > 0:
		p.resync(slot)
	case a.AttemptState == state.AttemptActive:
		e := &event.AttemptRegistered{App: a.ID.Seq, Host: in.Host, RPCPort: in.RPCPort, TrackingURL: in.TrackingURL}
		if t := &p.Config().Tokens; len(in.Entropy) >= entropySize {
			e.ClientKey, e.ClientAlgorithm = keyBytes(in.Entropy, yarn.KeyKinds, 0, t.KeyBytes), t.Algorithm
		}
		p.sched.Emit(e)
		p.window(slot).count(0)
	}
	// An unmanaged AM that restarts has the same attempt. As in YARN, with KeepContainers it gets what
	// it had.
	restarts := a.Unmanaged && a.KeepContainers
	for _, k := range p.st.Containers.Of(p.st.Apps.Get(slot)) {
		if (k.Attempt != in.Attempt.Attempt || restarts) && k.State.Live() {
			reply.Kept = append(reply.Kept, p.granted(k))
			if v := p.st.Resizes.Version(k); v > 0 || len(reply.KeptVersions) > 0 {
				reply.KeptVersions = append(reply.KeptVersions, make([]int32, len(reply.Kept)-len(reply.KeptVersions))...)
				reply.KeptVersions[len(reply.Kept)-1] = v
			}
		}
	}
	return reply
}

func (p *Planner) granted(c *state.Container) input.Granted {
	n := p.st.Nodes.Get(c.Node)
	return input.Granted{Container: p.st.Apps.ContainerID(c), Key: c.Key, Node: n.ID, Rack: n.Rack, HTTPPort: n.HTTPPort, Size: c.Size, AllocatedMillis: c.AllocatedMillis}
}

// allocate handles an AM's heartbeat. Response numbers let each call take effect once: a call that
// repeats the last number gets the last response again. Idle responses are not written to the log;
// response.go explains what follows for the numbers.
func (p *Planner) allocate(in *input.Allocate) input.Reply {
	slot, fault := p.current(in.Attempt)
	if fault != nil {
		if slot := p.finishing(in.Attempt); slot != 0 { // a heartbeat that was sent before the AM unregistered
			return &input.AllocateReply{Response: max(in.Response, 0) + 1, Nodes: p.sched.ClusterNodes(p.st.Apps.Get(slot)), Priority: p.st.Apps.Get(slot).Priority}
		}
		return input.Refuse(in, fault)
	}
	a := p.st.Apps.Get(slot)
	if a.AttemptState != state.AttemptRegistered {
		return input.Refuse(in, input.Faultf(input.NotRegistered, "register first", "the AM of %s has not registered", in.Attempt))
	}
	window := p.window(slot)
	kind, response := window.classify(in, a, p.now)
	switch kind {
	case callRetry:
		if in.FromAM && in.Response == 0 { // the AM may have registered again with a later leader
			p.sched.Confirm()
		}
		r := p.answer(slot, response)
		r.UpdateErrors = p.update(slot, in, true)
		return r
	case callWrong:
		return input.Refuse(in, input.Faultf(input.WrongResponse, "resynchronize", "response %d of %s is not the last one, %d", in.Response, in.Attempt, max(window.last, a.Response)))
	}
	if fault := p.checkReleases(slot, in); fault != nil {
		return input.Refuse(in, fault)
	}
	if fault := p.asks.check(slot, in); fault != nil {
		return input.Refuse(in, fault)
	}
	if in.Gang != "" {
		if fault := p.gangs.declare(slot, in.Gang); fault != nil {
			return input.Refuse(in, fault)
		}
	}
	p.report(slot, in)
	errs := p.update(slot, in, false)
	p.release(slot, in.Releases)
	admitted := p.sched.AdmitNames(a.User, len(in.BlacklistAdd)+len(in.Asks))
	p.asks.blacklist(slot, in, admitted)
	p.asks.store(slot, in.Asks, admitted)
	p.sched.RunEagerPasses()
	a = p.st.Apps.Get(slot)
	if kind == callStale && p.unheard(slot, a.Response) {
		window.answersTo, window.payload, window.idle = in.Response, payloadOf(in), false
		r := p.answer(slot, a.Response)
		r.UpdateErrors = errs
		return r
	}
	changed := len(p.sched.Events()) > 0
	if changed || a.Undelivered != 0 || window.mustWrite(in, a, response) {
		p.sched.Emit(&event.ResponseRecorded{App: in.Attempt.App.Seq, Response: response})
	}
	r := p.answer(slot, response)
	r.UpdateErrors = errs
	window.give(in, kind, response, !changed && len(r.Granted)+len(r.Completed)+len(r.Resized)+len(r.Preempted) == 0)
	return r
}

// answer builds response n from the state. Built again, it has the same content.
func (p *Planner) answer(slot state.AppSlot, n int32) *input.AllocateReply {
	a := p.st.Apps.Get(slot)
	r := &input.AllocateReply{Response: n, Nodes: p.sched.ClusterNodes(a), Headroom: p.sched.Headroom(slot), Priority: a.Priority}
	granted := 0
	for _, k := range p.st.Containers.UndeliveredTo(a) {
		granted += boolint.Of[int](k.GrantedIn == n)
	}
	if granted > 0 {
		r.Granted = make([]input.Granted, 0, granted)
	}
	for c, k := range p.st.Containers.UndeliveredTo(a) {
		if k.GrantedIn == n && k.CompletedIn != n {
			r.Granted = append(r.Granted, p.granted(k))
		}
		if z, ok := p.resized(k, n); ok {
			r.Resized = append(r.Resized, z)
		}
		if w, ok := p.preempting(c, k, n); ok {
			r.Preempted = append(r.Preempted, w)
		}
		if k.CompletedIn == n {
			r.Completed = append(r.Completed, input.ContainerStatus{Container: p.st.Apps.ContainerID(k), State: yarn.ContainerCompleted,
				ExitStatus: k.ExitStatus, Diagnostics: p.diagnosticsOf(k)})
		}
	}
	slices.Reverse(r.Granted)
	slices.Reverse(r.Resized)
	slices.Reverse(r.Preempted)
	p.unitsOfPreempted(r)
	return r
}

func (p *Planner) diagnosticsOf(c *state.Container) string {
	if c.Diagnostics == 0 {
		return ""
	}
	return p.st.Diagnostics.Get(c.Diagnostics).Text
}

func (p *Planner) finishAttempt(in *input.FinishAttempt) input.Reply {
	slot, fault := p.current(in.Attempt)
	if fault != nil {
		if s := p.st.Apps.ByID(in.Attempt.App); s != 0 {
			if a := p.st.Apps.Get(s); a.Shown() == yarn.AppFinished && a.Attempt == in.Attempt.Attempt {
				return in.NewReply() // a repeated call
			}
		}
		return input.Refuse(in, fault)
	}
	a := p.st.Apps.Get(slot)
	switch {
	case a.AttemptState != state.AttemptRegistered:
		return input.Refuse(in, input.Faultf(input.NotRegistered, "register first", "the AM of %s has not registered", in.Attempt))
	case in.Final > yarn.FinalEnded:
		return input.Refuse(in, input.Faultf(input.InvalidRequest, "", "there is no final status %d", in.Final))
	}
	p.sched.CancelAll(slot, yarn.CancelAttemptEnded)
	p.sched.Emit(&event.AttemptUnregistered{App: a.ID.Seq, Final: in.Final, Diagnostics: in.Diagnostics, TrackingURL: in.TrackingURL})
	if !p.endsByItself(slot) {
		p.ends.Finish(slot)
	}
	return in.NewReply()
}

func (p *Planner) expireAttempt(in *input.ExpireAttempt) input.Reply {
	if slot := p.finishing(in.Attempt); slot != 0 {
		p.ends.Finish(slot)
		return in.NewReply()
	}
	slot, fault := p.current(in.Attempt)
	if fault != nil {
		return input.Refuse(in, fault)
	}
	p.ends.AttemptFailed(slot, "ApplicationMaster for attempt "+in.Attempt.String()+" timed out", true)
	return in.NewReply()
}

// exitUnknown is YARN's ContainerExitStatus.INVALID: the AM stopped, and its exit status is not
// known.
const exitUnknown int32 = -1000
