package planner

import (
	"fmt"
	"strings"

	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/yarn"
)

const gangGrammar = "write priority=P,count=N, or priority=P,per-node=K,nodes=M; docs/operations/gangs.md has all keys"

// taggedGang returns the gang that the tags of an application declare, or nil if they declare none.
func taggedGang(tags []string) (*yarn.Gang, *input.Fault) {
	var found *yarn.Gang
	for _, t := range tags {
		text, is := strings.CutPrefix(t, yarn.GangTag)
		if !is {
			continue
		}
		if found != nil {
			return nil, input.Faultf(input.InvalidGang, "leave all but one out", "the application has two tags %s", yarn.GangTag)
		}
		g, fault := parseGang(text)
		if fault != nil {
			return nil, fault
		}
		found = g
	}
	return found, nil
}

func parseGang(text string) (*yarn.Gang, *input.Fault) {
	g, err := yarn.ParseGang(text)
	if err != nil {
		return nil, input.Faultf(input.InvalidGang, gangGrammar, "the gang %q is not valid: %v", text, err)
	}
	return &g, nil
}

// checkGang refuses a gang that can never start in a queue or below it, even with members of the
// smallest size.
func (p *Planner) checkGang(g *yarn.Gang, queue int32) *input.Fault {
	if !p.sched.GangMayFit(queue, g.Count) {
		return input.Faultf(input.NeverFits, "ask for fewer containers, or raise the queue's maximum-capacity",
			"%d containers of at least %s can never run together in %s", g.Count, p.Config().Kinds.Format(p.Config().MinAlloc), p.Config().Queues[queue].Path)
	}
	return nil
}

// checkTaggedGang checks the gang in the tags of a submission. A leaf to be created can use no more
// than its parent, so the parent is checked.
func (p *Planner) checkTaggedGang(tags []string, to destination) *input.Fault {
	g, fault := taggedGang(tags)
	if fault != nil || g == nil {
		return fault
	}
	if len(to.create) > 0 {
		return p.checkGang(g, int32(to.create[0].Parent))
	}
	return p.checkGang(g, int32(to.leaf))
}

// declareTagged declares the gang in the tags of a new application. The tags must have been
// checked.
func (p *Planner) declareTagged(slot state.AppSlot, tags []string) {
	if g, _ := taggedGang(tags); g != nil {
		p.sched.DeclareGang(slot, *g)
	}
}

// setGang declares or withdraws an application's gang.
func (p *Planner) setGang(in *input.SetGang) input.Reply {
	slot := p.st.Apps.ByID(in.ID)
	if slot == 0 {
		return input.Refuse(in, input.NoSuchApp(in.ID))
	}
	if a := p.st.Apps.Get(slot); a.Shown().Ended() {
		return input.Refuse(in, alreadyEnded(a))
	}
	if in.Gang == "" {
		if p.st.Gangs.Has(slot) {
			p.sched.EndGang(slot, yarn.GangWithdrawn)
		}
		return in.NewReply()
	}
	if fault := p.declareGang(slot, in.Gang); fault != nil {
		return input.Refuse(in, fault)
	}
	return in.NewReply()
}

// declareGang declares an application's gang. Declaring the same gang again changes nothing.
func (p *Planner) declareGang(slot state.AppSlot, text string) *input.Fault {
	g, fault := p.readGang(slot, text)
	if fault == nil && !(p.st.Gangs.Has(slot) && p.st.Gangs.Get(slot).Spec == *g) {
		p.sched.DeclareGang(slot, *g)
	}
	return fault
}

func (p *Planner) readGang(slot state.AppSlot, text string) (*yarn.Gang, *input.Fault) {
	g, fault := parseGang(text)
	if fault == nil {
		fault = p.checkGang(g, p.sched.LeafOf(p.st.Apps.Get(slot)))
	}
	return g, fault
}

// gangTimeout returns when a gang has waited for too long.
func gangTimeout(g *state.Gang) int64 {
	if !g.HoldsBack() || g.Spec.TimeoutMillis <= 0 || g.AskedMillis <= 0 {
		return never
	}
	return g.AskedMillis + g.Spec.TimeoutMillis
}

// gangsDue ends the gangs that have waited longer than their timeout.
func (p *Planner) gangsDue() {
	for _, app := range passed(&p.st.Gangs, gangTimeout, p.now) {
		p.gangTimedOut(app)
	}
}

func (p *Planner) gangTimedOut(app state.AppSlot) {
	if g := p.st.Gangs.Get(app); !g.Spec.Ordinary {
		text := timedOut(g)
		p.ends.Attempt(app, yarn.FinalFailed, text, "", false, false)
		p.ends.Application(app, yarn.AppFailed, yarn.FinalFailed, text)
		return
	}
	p.sched.EndGang(app, yarn.GangTimedOut)
}

func timedOut(g *state.Gang) string {
	why := "there was no room for all of them at once"
	if g.State == state.GangAsking {
		why = "not all of them were asked for"
	}
	return fmt.Sprintf("The gang of %d containers at priority %d did not start within %d s: %s.",
		g.Spec.Count, g.Spec.Priority, g.Spec.TimeoutMillis/1000, why)
}

// gangTarget is targetOf for SetGang.
func (p *Planner) gangTarget(in *input.SetGang) string {
	before, after := "none", in.Gang
	if slot := p.st.Apps.ByID(in.ID); slot != 0 && p.st.Gangs.Has(slot) {
		before = p.st.Gangs.Get(slot).Spec.String()
	}
	if after == "" {
		after = "none"
	}
	return p.appTarget(in.ID, "gang", func(*state.App) string { return before }, after)
}
