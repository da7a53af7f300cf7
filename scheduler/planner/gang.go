package planner

import (
	"fmt"
	"strings"

	"rmd/fsm/state"
	"rmd/scheduler"
	"rmd/scheduler/input"
	"rmd/scheduler/planner/due"
	"rmd/scheduler/planner/lifecycle"
	"rmd/yarn"
)

// gangs plans inputs about gangs.
type gangs struct {
	sched *scheduler.Scheduler
	st    *state.State
	ends  lifecycle.Ends
}

const gangGrammar = "write priority=P,count=N, or priority=P,per-node=K,nodes=M; docs/operations/gangs.md has all keys"

// taggedGang returns the gang that the tags of an application declare, or nil if they declare none.
func taggedGang(tags []string) (*yarn.Gang, *input.Refusal) {
	var found *yarn.Gang
	for _, t := range tags {
		text, is := strings.CutPrefix(t, yarn.GangTag)
		if !is {
			continue
		}
		if found != nil {
			return nil, input.Refusef(input.InvalidGang, "leave all but one out",
				"the application has two tags %s", yarn.GangTag)
		}
		g, fault := parseGang(text)
		if fault != nil {
			return nil, fault
		}
		found = g
	}
	return found, nil
}

func parseGang(text string) (*yarn.Gang, *input.Refusal) {
	g, err := yarn.ParseGang(text)
	if err != nil {
		return nil, input.Refusef(input.InvalidGang, gangGrammar, "the gang %q is not valid: %v", text, err)
	}
	return &g, nil
}

// check refuses a gang that can never start in a queue or below it, even with members of the
// smallest size.
func (gs gangs) check(g *yarn.Gang, queue int32) *input.Refusal {
	if !gs.sched.GangMayFit(queue, g.Count) {
		return input.Refusef(input.NeverFits, "ask for fewer containers, or raise the queue's maximum-capacity",
			"%d containers of at least %s can never run together in %s", g.Count,
			gs.sched.Config.Kinds.Format(gs.sched.Config.MinAlloc), gs.sched.Config.Queues[queue].Path)
	}
	return nil
}

// checkTagged checks the gang in the tags of a submission. A leaf to be created can use no more
// than its parent, so the parent is checked.
func (gs gangs) checkTagged(tags []string, to destination) *input.Refusal {
	g, fault := taggedGang(tags)
	if fault != nil || g == nil {
		return fault
	}
	if len(to.create) > 0 {
		return gs.check(g, int32(to.create[0].Parent))
	}
	return gs.check(g, int32(to.leaf))
}

// declareTagged declares the gang in the tags of a new application. The tags must have been
// checked.
func (gs gangs) declareTagged(slot state.AppSlot, tags []string) {
	if g, _ := taggedGang(tags); g != nil {
		gs.sched.DeclareGang(slot, *g)
	}
}

// set declares or withdraws an application's gang.
func (gs gangs) set(in *input.SetGang) input.Reply {
	slot := gs.st.Apps.ByID(in.ID)
	if slot == 0 {
		return input.Refuse(in, input.NoSuchApp(in.ID))
	}
	if a := gs.st.Apps.Get(slot); a.Shown().Ended() {
		return input.Refuse(in, alreadyEnded(a))
	}
	if in.Gang == "" {
		if gs.st.Gangs.Has(slot) {
			gs.sched.EndGang(slot, yarn.GangWithdrawn)
		}
		return in.NewReply()
	}
	if fault := gs.declare(slot, in.Gang); fault != nil {
		return input.Refuse(in, fault)
	}
	return in.NewReply()
}

// declare declares an application's gang. Declaring the same gang again changes nothing.
func (gs gangs) declare(slot state.AppSlot, text string) *input.Refusal {
	g, fault := gs.read(slot, text)
	if fault == nil && !(gs.st.Gangs.Has(slot) && gs.st.Gangs.Get(slot).Spec == *g) {
		gs.sched.DeclareGang(slot, *g)
	}
	return fault
}

func (gs gangs) read(slot state.AppSlot, text string) (*yarn.Gang, *input.Refusal) {
	g, fault := parseGang(text)
	if fault == nil {
		fault = gs.check(g, gs.sched.LeafOf(gs.st.Apps.Get(slot)))
	}
	return g, fault
}

// gangTimeout returns when a gang has waited for too long.
func gangTimeout(g *state.Gang) int64 {
	if !g.HoldsBack() || g.Spec.TimeoutMillis <= 0 || g.AskedMillis <= 0 {
		return due.Never
	}
	return g.AskedMillis + g.Spec.TimeoutMillis
}

// due ends the gangs that have waited longer than their timeout.
func (gs gangs) due() {
	for _, app := range due.Passed(&gs.st.Gangs, gangTimeout, gs.sched.Now()) {
		gs.timedOut(app)
	}
}

func (gs gangs) timedOut(app state.AppSlot) {
	if g := gs.st.Gangs.Get(app); !g.Spec.Ordinary {
		text := whyTimedOut(g)
		gs.ends.Attempt(app, yarn.FinalFailed, text, "", false, false)
		gs.ends.Application(app, yarn.AppFailed, yarn.FinalFailed, text)
		return
	}
	gs.sched.EndGang(app, yarn.GangTimedOut)
}

func whyTimedOut(g *state.Gang) string {
	why := "there was no room for all of them at once"
	if g.State == state.GangAsking {
		why = "not all of them were asked for"
	}
	return fmt.Sprintf("The gang of %d containers at priority %d did not start within %d s: %s.",
		g.Spec.Count, g.Spec.Priority, g.Spec.TimeoutMillis/1000, why)
}
