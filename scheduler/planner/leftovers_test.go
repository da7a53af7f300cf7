package planner

import (
	"fmt"
	"testing"

	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// ownSections are the sections of the state in which the work of users may leave something behind
// after it has ended and was forgotten. The value says why that is bounded.
var ownSections = map[string]string{
	"meta":              "counters",
	"configuration":     "of operators",
	"join-tokens":       "of operators",
	"names":             "the hosts and racks of nodes; see leavesNothing",
	"queues":            "of operators; dynamic ones go when they are idle",
	"dynamic-queues":    "go when they are idle; YARN's keys bound their number",
	"nodes":             "of operators",
	"node-times":        "of operators",
	"hosts":             "of operators",
	"access-tokens":     "of operators",
	"autopilot":         "of operators",
	"audit":             "MaxAuditChanges and MaxAuditRefusals, apart from each other",
	"labels":            "of operators",
	"labelled-hosts":    "of operators",
	"preemption-totals": "counters",
	"lengths":           "lengthSets*lengthWays histories",
	"large-containers":  "one for each label",
	"debts":             "one for each queue and label; the next round of preemption removes those of idle queues",
	"kept":              "one for each queue and label; the rounds of preemption remove those of idle queues",
	"avoided":           "avoidedMax, for AvoidMillis",
	"removals":          "one for each node, without containers",
	"reservation-bans":  "of operators; go when the free room of their node changes",
}

// seenSections collects the sections that had records during the scenarios.
type seenSections map[string]bool

func (s seenSections) look(st *state.State) {
	for _, sec := range state.Sections() {
		if !s[sec.Name] && sec.Len(st) > 0 {
			s[sec.Name] = true
		}
	}
}

// leavesNothing ends all work of users, lets the state forget it, and checks that nothing of it is

// leavesNothing checks a state in which all work of users has ended and was forgotten: nothing of it
// may be left in any section.
func leavesNothing(t testing.TB, st *state.State) {
	t.Helper()
	for _, sec := range state.Sections() {
		if n := sec.Len(st); n > 0 && ownSections[sec.Name] == "" {
			t.Errorf("all work has ended and is forgotten, and %d %s are left", n, sec.Name)
		}
	}
	nodes := map[string]bool{}
	st.Nodes.Each(func(_ state.NodeSlot, n *state.Node) bool { nodes[n.ID.Host], nodes[n.Rack] = true, true; return true })
	st.Names.Each(func(_ state.NameSlot, n *state.Name) bool {
		if !nodes[n.Text] {
			t.Errorf("all work has ended and is forgotten, and the name %q is left", n.Text)
		}
		return true
	})
	st.Removable.Each(func(_ state.RemovalsSlot, r *state.Removals) bool {
		if len(r.Containers) > 0 {
			t.Errorf("all work has ended and is forgotten, and a node has yet to remove %v", r.Containers)
		}
		return true
	})
	if err := st.Check(); err != nil {
		t.Error(err)
	}
}

// endAll ends all applications of a scenario and loses all nodes. Then it waits until all that is
// kept for some time is forgotten.
func (w *world) endAll() {
	if w.p.Config() == nil {
		return
	}
	w.twins = nil
	w.strange()
	w.set("yarn.resourcemanager.max-completed-applications", "0")
	if f := w.plan(&input.SetQueues{Properties: w.props}).Refused(); f != nil {
		w.t.Fatal(f)
	}
	var apps []yarn.ApplicationID
	w.p.st.Apps.Each(func(_ state.AppSlot, a *state.App) bool { apps = append(apps, a.ID); return true })
	for _, id := range apps {
		w.plan(&input.KillApplication{ID: id})
	}
	var nodes []yarn.NodeID
	w.p.st.Nodes.Each(func(_ state.NodeSlot, n *state.Node) bool { nodes = append(nodes, n.ID); return true })
	for _, id := range nodes {
		w.plan(&input.ExpireNode{ID: id})
	}
	const days = 24 * 60 * 60 * 1000
	w.now += 8 * days // the longest life of a delegation token, and more
	w.plan(&input.Tick{})
	w.direct(func(p *Planner) { p.apps.forget() })
}

// strange does as a user what scenarios have no verb for. The state of the scenario may refuse parts
// of it.
func (w *world) strange() {
	w.plan(&input.Tick{Entropy: testEntropy})
	w.plan(&input.IssueDelegationToken{Owner: "mallory", Renewer: "mallory"})
	leaf := ""
	w.p.st.Queues.Each(func(_ state.QueueSlot, q *state.Queue) bool {
		if q.Leaf {
			leaf = q.Path
		}
		return true
	})
	r, ok := w.request(input.Request{Key: "once",
		Input: &input.SubmitApplication{User: "mallory", Queue: leaf, Unmanaged: true}}).(*input.SubmitApplicationReply)
	if !ok {
		return
	}
	at, key := yarn.AttemptID{App: r.ID, Attempt: 1}, yarn.SchedulerKey{Priority: 1}
	w.plan(&input.RegisterAttempt{Attempt: at})
	in := &input.Allocate{Attempt: at, BlacklistAdd: []string{"blacklisted", "asked1"},
		Asks: []input.Ask{{Key: key, Name: yarn.Any, Count: 1, Size: yarn.NewResource(1, 1)}}}
	for i := range 70 {
		in.Asks = append(in.Asks, input.Ask{Key: key, Name: fmt.Sprint("asked", i), Count: 1, Size: yarn.NewResource(1, 1)})
	}
	w.plan(in)
	w.plan(&input.SubmitApplication{User: "mallory", Queue: leaf, Unmanaged: true,
		Tokens: input.AppTokens{Keep: true, List: []input.AppToken{{Kind: "kms-dt", Service: "kms"}}}})
}
