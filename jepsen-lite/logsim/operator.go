package logsim

import (
	"fmt"

	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// operator is an administrator. It changes queues, nodes, labels, tokens and host lists, and
// cancels reservations.
type operator struct {
	w      *world
	busy   bool
	tree   int
	lazy   bool
	wanted int // the tree of the last SetQueues
	tokens int
	join   []byte // the hash of the newest join token
	issued []uint32
}

// act implements party.
func (p *operator) act() {
	w := p.w
	if p.busy || w.recovering {
		return
	}
	var in input.Input
	switch n := w.rng.IntN(100); {
	case w.opt.has(LoadLabels) && n%3 == 0:
		in = p.labels()
	case w.opt.has(LoadPreempt) && n%10 == 5:
		in = p.shrink()
	case w.opt.has(LoadQueues) && n < 30:
		in = p.queues()
	case w.opt.has(LoadChurn) && n < 60:
		in = p.nodes()
	case w.opt.has(LoadAdmin) && n < 80:
		in = p.admin()
	case n < 90:
		in = p.cancel()
	case n < 93:
		in = p.queues()
	case n < 96:
		in = p.nodes()
	}
	if in != nil {
		p.busy = true
		w.wire.send(p, input.Request{Input: in})
	}
}

func (p *operator) queues() input.Input {
	w := p.w
	switch w.rng.IntN(6) {
	case 0, 1:
		p.wanted = w.rng.IntN(len(trees))
		p.lazy = w.rng.IntN(2) == 0
		selector := ""
		if w.opt.has(LoadPreempt) && w.rng.IntN(4) > 0 {
			selector = pick(w.rng, append(selectors, w.opt.Selector)...)
		}
		return &input.SetQueues{Properties: w.opt.properties(p.wanted, p.lazy, selector), Author: "op"}
	case 2:
		return &input.SetQueueState{Queue: w.queue(), State: yarn.QueueStopped}
	case 3:
		return &input.RollbackQueues{To: 1 + w.rng.Uint64N(8), Author: "op"}
	}
	return &input.SetQueueState{Queue: w.queue(), State: yarn.QueueRunning}
}

func (w *world) queue() string {
	return append([]string{"root.a", "root", "root.c", "root.c"}, leaves...)[w.rng.IntN(4+len(leaves))]
}

func (p *operator) nodes() input.Input {
	w := p.w
	a := w.agents[w.rng.IntN(len(w.agents))]
	switch w.rng.IntN(7) {
	case 6:
		return &input.ForgetNode{ID: a.id}
	case 0:
		deadline := epochMillis + w.now + w.rng.Int64N(20_000)
		if w.rng.IntN(2) == 0 {
			return &input.DrainNodes{IDs: []yarn.NodeID{a.id, w.agents[w.rng.IntN(len(w.agents))].id}, DeadlineMillis: deadline}
		}
		return &input.DrainNode{ID: a.id, DeadlineMillis: deadline}
	case 1:
		return &input.DrainNode{ID: a.id, Now: true}
	case 2, 3:
		return &input.DrainNode{ID: a.id, Back: true}
	case 4:
		return &input.SetNodeResource{ID: a.id, Total: w.size(10)}
	}
	return &input.SetNodeResource{ID: a.id, Total: a.own}
}

// shrink reduces a node with a warned container. The end of that container may then not free enough
// room.
func (p *operator) shrink() input.Input {
	if p.w.leads == nil {
		return nil
	}
	st := p.w.leads.core.State()
	var in input.Input
	st.Preemptions.Each(func(slot state.ContainerSlot, _ *state.Preemption) bool {
		n := st.Nodes.Get(st.Containers.Get(slot).Node)
		in = &input.SetNodeResource{ID: n.ID, Total: n.Total.Sub(yarn.NewResource(min(2048, n.Total[yarn.Memory]/2), 0))}
		return false
	})
	return in
}

// labels adds, changes and removes labels, and changes the labels of nodes. The leader refuses many
// of these inputs.
func (p *operator) labels() input.Input {
	w := p.w
	some := labels[w.rng.IntN(len(labels))]
	switch n := w.rng.IntN(12); {
	case n < 2 || n < 9 && w.leads != nil && w.leads.core.State().Labels.Len() == 0:
		in := &input.SetLabels{Change: w.rng.IntN(2) == 0}
		for _, name := range labels {
			in.Labels = append(in.Labels, input.Label{Name: name, Exclusive: w.rng.IntN(2) == 0})
		}
		return in
	case n == 2:
		return &input.RemoveLabels{Names: []string{some}}
	}
	in := &input.LabelNodes{KnownOnly: w.rng.IntN(2) == 0, FromNode: w.rng.IntN(3) == 0}
	for range 1 + w.rng.IntN(3) {
		n := input.LabelledNode{ID: w.agents[w.rng.IntN(len(w.agents))].id}
		if !in.FromNode && w.rng.IntN(2) == 0 {
			n.ID.Port = 0
		}
		if w.rng.IntN(4) > 0 {
			n.Labels = []string{some}
		}
		in.Nodes = append(in.Nodes, n)
	}
	return in
}

func (p *operator) admin() input.Input {
	w := p.w
	p.tokens++
	switch w.rng.IntN(14) {
	case 0:
		p.join = p.hash()
		return &input.CreateJoinToken{Hash: p.join, Voter: true, TTLMillis: 60_000, Who: "op"}
	case 1:
		return &input.Audit{Who: "op", Action: "look", Result: "ok"}
	case 2:
		in := &input.SetHosts{Exclude: []string{w.agents[w.rng.IntN(len(w.agents))].id.Host}, Graceful: w.rng.IntN(2) == 0,
			TimeoutMillis: 5000}
		if w.rng.IntN(2) == 0 { // a deadline for this host: shorter, longer, or none
			in.Timeouts = []input.HostTimeout{{Host: in.Exclude[0], Millis: w.rng.Int64N(3) * 4000}}
		}
		return in
	case 3:
		return &input.SetHosts{}
	case 4:
		return &input.IssueDelegationToken{Owner: "u0", Renewer: "u1"}
	case 5:
		return &input.NewApplication{}
	case 6, 9, 10:
		return &input.SetAccessToken{Name: fmt.Sprintf("t%d", w.rng.IntN(2)), Hash: p.hash(), Role: 1, Who: "op",
			ExpiresMillis: epochMillis + w.now + 3_600_000, Replace: w.rng.IntN(4) > 0, Force: true}
	case 7:
		if p.join == nil {
			p.join = p.hash() // a token that does not exist
		}
		return &input.UseJoinToken{Hash: p.join, By: fmt.Sprintf("r%d", w.rng.IntN(3))}
	case 8:
		return &input.SetAutopilot{CleanupDeadServers: true, MinQuorum: 3, DeadServerMillis: 60_000,
			LastContactMillis: 200 + w.rng.Int64N(9), StabilizationMillis: 1000}
	case 11:
		return &input.RevokeAccessToken{Name: fmt.Sprintf("t%d", w.rng.IntN(2)), Force: true}
	case 12:
		return p.signal()
	}
	if len(p.issued) > 0 && w.rng.IntN(2) == 0 {
		return &input.CancelDelegationToken{Sequence: p.issued[w.rng.IntN(len(p.issued))], By: "u0"}
	}
	if len(p.issued) > 0 {
		return &input.RenewDelegationToken{Sequence: p.issued[w.rng.IntN(len(p.issued))], By: "u1"}
	}
	return nil
}

// signal sends a signal to a running container.
func (p *operator) signal() input.Input {
	a := p.w.agents[p.w.rng.IntN(len(p.w.agents))]
	running := a.manager.Running()
	if len(running) == 0 {
		return nil
	}
	return &input.SignalContainer{Container: running[p.w.rng.IntN(len(running))], Command: 1 + uint8(p.w.rng.IntN(3))}
}

func (p *operator) hash() []byte {
	b := make([]byte, 32)
	copy(b, fmt.Sprintf("hash %d", p.tokens))
	return b
}

// cancel cancels a random reservation.
func (p *operator) cancel() input.Input {
	w := p.w
	if w.leads == nil || w.rng.IntN(4) > 0 {
		return nil
	}
	var numbers []uint64
	w.leads.core.State().Reservations.Each(func(_ state.ReservationSlot, r *state.Reservation) bool {
		numbers = append(numbers, r.Number)
		return true
	})
	if len(numbers) == 0 {
		return nil
	}
	return &input.CancelReservation{Number: numbers[w.rng.IntN(len(numbers))], Who: "op"}
}

// answered implements party.
func (p *operator) answered(in input.Input, r input.Reply) {
	p.busy = false
	if r.Refused() != nil {
		return
	}
	switch r := r.(type) {
	case *input.SetQueuesReply:
		p.tree = p.wanted
	case *input.IssueDelegationTokenReply:
		p.issued = append(p.issued, r.Sequence)
	}
}
