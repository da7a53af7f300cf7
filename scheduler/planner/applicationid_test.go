package planner

import (
	"testing"

	"pgregory.net/rapid"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// leadership is one leader, with its planner and the state that its entries have built so far. A
// deposed leader still plans, but commits nothing more.
type leadership struct {
	p         *Planner
	committed *state.State
}

// TestIDsAreUnique checks that no two leaders, deposed ones included, give the same application ID,
// and that no given ID equals the ID of an application that was submitted without one. Elections,
// restarts and restored snapshots happen in between.
func TestIDsAreUnique(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		first := newRig(t).p
		leaders := []*leadership{{p: first, committed: first.st.Fork()}}
		given := map[yarn.ApplicationID]bool{}
		take := func(id yarn.ApplicationID) {
			if given[id] {
				rt.Fatalf("%s is handed out twice", id)
			}
			given[id] = true
		}
		// plan plans an input and commits the events. A deposed leader cannot commit: its reply
		// counts only if the input led to no events.
		plan := func(l *leadership, in input.Input) input.Reply {
			reply, events := l.p.Plan(int64(len(given))+1000, input.Request{Input: in})
			if len(events) > 0 && l != leaders[len(leaders)-1] {
				l.p = nil // The batch fails, and the leader learns that it was deposed.
				return nil
			}
			for _, e := range events {
				if err := l.committed.Apply(e); err != nil {
					rt.Fatal(err)
				}
			}
			return reply
		}
		id := func(l *leadership, most int) {
			for range rapid.IntRange(1, most).Draw(rt, "ids") {
				if reply := plan(l, &input.NewApplication{}); reply == nil {
					return
				} else if r := reply.(*input.NewApplicationReply); r.Refused() != nil || r.ID.Seq >= l.committed.Meta.NextApp {
					rt.Fatalf("%+v, and the next id of the committed state is %d", r, l.committed.Meta.NextApp)
				} else {
					take(r.ID)
				}
			}
		}
		elect := func(st *state.State) {
			leaders = append(leaders, &leadership{p: must(New(st.Fork(), Options{})), committed: st})
		}
		rt.Repeat(map[string]func(*rapid.T){
			"leader": func(*rapid.T) { id(leaders[len(leaders)-1], 2*idBlockSize) },
			"deposed": func(t *rapid.T) {
				if l := leaders[rapid.IntRange(0, len(leaders)-1).Draw(t, "which")]; l.p != nil {
					id(l, 10)
				}
			},
			"submit": func(*rapid.T) {
				take(plan(leaders[len(leaders)-1], &input.SubmitApplication{User: "ann", Queue: "a",
					AM: yarn.NewResource(1024, 1)}).(*input.SubmitApplicationReply).ID)
			},
			"election": func(*rapid.T) { elect(leaders[len(leaders)-1].committed.Fork()) },
			"restart":  func(*rapid.T) { elect(reencode(rt, leaders[len(leaders)-1].committed)) },
			"restore": func(t *rapid.T) { // a snapshot of any leader, with a new cluster timestamp
				st := leaders[rapid.IntRange(0, len(leaders)-1).Draw(t, "which")].committed.Fork()
				newest := leaders[len(leaders)-1].committed.Meta
				st.Meta.Epoch = newest.Epoch // as rmd does on restore: continue the newest epoch
				if err := st.Apply(&event.EpochRaised{Epoch: newest.Epoch + 1,
					ClusterTimestamp: newest.ClusterTimestamp + 1}); err != nil {
					rt.Fatal(err)
				}
				elect(st)
			},
		})
	})
}
