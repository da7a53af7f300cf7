package logsim

import (
	"fmt"

	"github.com/hashicorp/raft"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/internal/codec"
	"rmd/scheduler/input"
	"rmd/snapshot"
	"rmd/yarn"
)

// recoveryRounds limits the rounds of the recovery phase.
const recoveryRounds = 120_000

// awaitRecovery ends all faults, waits until all work has ended (L3), and then compares all
// replicas with each other and checks that no resources leak.
func (w *world) awaitRecovery() {
	w.recovering = true
	w.check.note("all faults end")
	w.opt.Lost, w.stale, w.log.late, w.wire.past = 0, nil, nil, nil
	for w.leads == nil && !w.check.broken() {
		w.elect()
	}
	if w.check.broken() {
		return
	}
	w.op.busy = true // it sends no more inputs
	w.makeRoom()
	left := ""
	for n := 0; n < recoveryRounds && !w.check.broken(); n++ {
		w.round()
		if n%64 == 0 {
			if n%2048 == 0 {
				w.makeRoom()
				if n > 0 { // not at once: a restored backup may have brought old warnings back
					w.check.overdue()
				}
			}
			if left = w.unfinished(); left == "" {
				break
			}
		}
	}
	if left != "" && !w.check.broken() {
		w.check.fail("L3", "after %d rounds without a fault there is still %s", recoveryRounds, left)
	}
	for _, late := range w.check.tokens.Overdue(60_000) {
		w.check.fail("tokens", "%s", late)
	}
	w.compareReplicas()
}

// makeRoom changes queues and nodes so that all remaining work can run.
func (w *world) makeRoom() {
	if w.leads == nil {
		return
	}
	ins := []input.Input{&input.SetHosts{}, &input.SetQueues{Properties: w.opt.properties(0, false, w.opt.Selector),
		Author: "recovery"}}
	for _, q := range append([]string{"root", "root.a"}, leaves...) {
		ins = append(ins, &input.SetQueueState{Queue: q, State: yarn.QueueRunning})
	}
	ins = append(ins, w.labelAgain()...)
	for _, a := range w.agents {
		big := yarn.NewResource(16384, 16)
		if w.opt.Kinds == 3 {
			big[2] = 4
		}
		ins = append(ins, &input.DrainNode{ID: a.id, Back: true}, &input.SetNodeResource{ID: a.id, Total: big})
	}
	for _, in := range ins { // the planner refuses what is already so
		w.leads.step(nil, input.Request{Input: in})
	}
	w.leads.propose()
}

// labelAgain assigns the labels to the nodes in rotation, so that each label has a node in turn,
// also if there are fewer nodes than labels.
func (w *world) labelAgain() []input.Input {
	if !w.opt.has(LoadLabels) {
		return nil
	}
	set, nodes := &input.SetLabels{Change: true}, &input.LabelNodes{}
	for _, name := range labels {
		set.Labels = append(set.Labels, input.Label{Name: name})
	}
	for i, a := range w.agents {
		n := input.LabelledNode{ID: yarn.NodeID{Host: a.id.Host}}
		if at := (i + w.labelTurn) % (len(labels) + 1); at > 0 {
			n.Labels = labels[at-1 : at]
		}
		nodes.Nodes = append(nodes.Nodes, n)
	}
	w.labelTurn++
	return []input.Input{set, nodes}
}

// unfinished describes work that has not ended. It returns an empty string when all has ended.
func (w *world) unfinished() string {
	if len(w.masters) > 0 {
		m := w.masters[0]
		return fmt.Sprintf("the AM of %s: phase %d, %d left, waiting for %v, holding %v, dead %v; %s", m.id, m.at,
			m.am.Left(), m.am.Waiting(), m.am.Held(), m.dead, w.describeApp(m.id.App))
	}
	for _, c := range w.clients {
		if c.busy || c.live > 0 {
			return fmt.Sprintf("client %d at work", c.id)
		}
	}
	if w.leads != nil && w.leads.core.State().AppTokens.Records() > 0 {
		return "a token of applications"
	}
	if w.leads == nil || !w.leads.core.Idle() {
		return "something in flight"
	}
	if n := w.check.ledger.Warnings(); n > 0 {
		return fmt.Sprintf("%d containers that are warned", n)
	}
	st := w.leads.core.State()
	text := ""
	st.Apps.Each(func(_ state.AppSlot, a *state.App) bool {
		if !a.State.Ended() {
			text = fmt.Sprintf("%s, %s, attempt %d in state %d, %d outstanding, %d live", a.ID, a.State, a.Attempt,
				a.AttemptState, a.Outstanding, a.Live) + w.describeAsks(a)
		}
		return text == ""
	})
	st.Nodes.Each(func(_ state.NodeSlot, n *state.Node) bool {
		if text == "" && (n.Allocated != yarn.Resource{} || n.Reservation != 0 || n.Count != 0) {
			text = fmt.Sprintf("node %s, which gives %s to nobody", n.ID, n.Allocated)
		}
		return text == ""
	})
	return text
}

// describeAsks describes what an application waits for and the nodes that there are.
func (w *world) describeAsks(a *state.App) string {
	st := w.leads.core.State()
	out := ", in " + st.Queues.Get(a.Queue).Path
	for _, k := range st.Asks.Of(a) {
		out += fmt.Sprintf(", %d of %s for label %q", k.Count, k.Size, st.Labels.Name(k.Label))
	}
	st.Nodes.Each(func(_ state.NodeSlot, n *state.Node) bool {
		out += fmt.Sprintf("; %s is %s of label %q with %s of %s", n.ID.Host, n.State, st.Labels.Name(n.Label),
			n.Allocated, n.Total)
		return true
	})
	return out
}

// describeApp describes an application in the planning state.
func (w *world) describeApp(id yarn.ApplicationID) string {
	if w.leads == nil {
		return ""
	}
	st := w.leads.core.State()
	slot := st.Apps.ByID(id)
	if slot == 0 {
		return "it is not there"
	}
	a := st.Apps.Get(slot)
	out := fmt.Sprintf("it is %s, attempt %d in state %d, %d outstanding", a.State, a.Attempt, a.AttemptState,
		a.Outstanding)
	for _, k := range st.Containers.Of(a) {
		out += fmt.Sprintf(", container %d %s on %s", k.Number, k.State, st.Nodes.Get(k.Node).ID.Host)
	}
	return out
}

// compareReplicas applies the whole log on all replicas and compares their states.
func (w *world) compareReplicas() {
	if w.check.broken() {
		return
	}
	var first [32]byte
	for i, r := range w.rs {
		if !r.up {
			r.start()
		}
		r.catchUp(1 << 30)
		if w.check.broken() {
			return
		}
		w.check.compare(r)
		st, index := r.m.Fork()
		if index != w.log.last() {
			w.check.fail("L2", "replica %d is at %d, the log at %d", r.id, index, w.log.last())
		}
		if sum := snapshot.Sum(st); i == 0 {
			first = sum
		} else if sum != first {
			base, _ := w.rs[0].m.Fork()
			w.check.fail("S1", "contents of replicas 0 and %d differ at %d: %v", r.id, index, snapshot.Diff(base, st))
		}
		st.Queues.Each(func(_ state.QueueSlot, q *state.Queue) bool {
			if q.Used != (yarn.Resource{}) || q.Reserved != (yarn.Resource{}) || q.Pending != (yarn.Resource{}) ||
				q.AMUsed != (yarn.Resource{}) || q.Runnable != 0 {
				w.check.fail("S9", "in the end queue %s uses %s, %s reserved, %s pending, %s for AMs, %d runnable", q.Path, q.Used,
					q.Reserved, q.Pending, q.AMUsed, q.Runnable)
			}
			return true
		})
	}
	w.counts.Again = int(w.check.ledger.Counts.Resubmitted)
	w.counts.Debts = w.check.ledger.Owed().Counts
	w.trace.number(w.log.last())
	w.applyUnknown()
}

// unknownEvent is an event of a later build.
type unknownEvent struct{ n uint32 }

// Kind implements event.Event.
func (*unknownEvent) Kind() event.Kind { return 251 }

// Code implements event.Event.
func (e *unknownEvent) Code(c *codec.Coder) { c.U32(&e.n) }

// applyUnknown ends the run with an entry of a later build. A replica that skipped the unknown
// event would have another state than a replica that knows it. It must stop instead.
func (w *world) applyUnknown() {
	if w.check.broken() {
		return
	}
	data := (&event.Batch{Level: 1, Events: []event.Event{&event.Audited{Who: "later"}, &unknownEvent{7},
		&event.Audited{Who: "later"}}}).Encode()
	for _, r := range w.rs {
		r.expectStop = true
		res := r.m.Apply(&raft.Log{Index: w.log.last() + 1, Term: w.log.term, Type: raft.LogCommand, Data: data})
		if err, _ := res.(error); err == nil || r.m.Failure() == nil {
			w.check.fail("S1", "replica %d goes on past an event that it does not know and that a later build applies: %v", r.id,
				res)
		}
	}
}
