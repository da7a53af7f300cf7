package scheduler

import (
	"slices"

	"rmd/fsm/state"
	"rmd/fsm/state/change"
	"rmd/scheduler/views"
	"rmd/yarn"
)

// Bounds on the additional passes that one input may cause.
const (
	eagerGrants = 128 // passes with an allocation or reservation; the next inputs go on with the rest
	eagerMisses = 8   // passes without one; the rest waits for heartbeats
)

// eagerWork is what eager passes have to look at.
type eagerWork struct {
	freed  []state.NodeSlot // nodes with freed room
	asking []state.AppSlot  // applications with new asks
}

// AsksMore records that an application has a new ask, for RunEagerPasses.
func (w *eagerWork) AsksMore(slot state.AppSlot) {
	if !slices.Contains(w.asking, slot) {
		w.asking = append(w.asking, slot)
	}
}

// NodeFreed records that a node has more room, for RunEagerPasses.
func (w *eagerWork) NodeFreed(node state.NodeSlot) { w.freed = append(w.freed, node) }

// add adds other work.
func (w *eagerWork) add(other eagerWork) {
	w.freed = append(w.freed, other.freed...)
	for _, app := range other.asking {
		w.AsksMore(app)
	}
}

// takeWork returns the work, each node and application once, and forgets it.
func (w *eagerWork) takeWork() (taken eagerWork) {
	taken = eagerWork{slices.Clone(w.freed), slices.Clone(w.asking)}
	slices.Sort(taken.freed)
	taken.freed = slices.Compact(taken.freed)
	w.forgetWork()
	return taken
}

func (w *eagerWork) forgetWork() { w.freed, w.asking = w.freed[:0], w.asking[:0] }

func (w *eagerWork) noWork() bool { return len(w.freed) == 0 && len(w.asking) == 0 }

// beginWork makes the input go on with what earlier ones have left.
func (s *Scheduler) beginWork() {
	s.grants = eagerGrants
	s.forgetWork()
	s.add(s.left)
	s.left.forgetWork()
}

// GoOnLike takes over what eager passes of another scheduler, with an equal state, have left.
func (s *Scheduler) GoOnLike(other *Scheduler) { s.left.add(other.left) }

// RunEagerPasses runs the passes that an input has made useful, and those that earlier inputs have
// left: on the nodes with freed room, and on nodes with room for the new asks. Without eager mode it
// does nothing.
func (s *Scheduler) RunEagerPasses() {
	if !s.eager {
		s.forgetWork()
		return
	}
	r := eagerRun{Scheduler: s, misses: eagerMisses}
	r.preferOthers()
	r.run()
}

// eagerRun is the additional passes of one input.
type eagerRun struct {
	*Scheduler
	misses int         // that are left of eagerMisses
	prefer *preference // of the passes
}

func (r *eagerRun) spent() bool { return r.grants <= 0 || r.misses <= 0 }

// run runs passes until nothing is left to do or a bound is reached.
func (r *eagerRun) run() {
	for !r.noWork() {
		work := r.takeWork()
		work.freed = unserved(r, work.freed, r.offer)
		work.asking = unserved(r, work.asking, r.servePending)
		if r.grants <= 0 {
			r.left.add(work)
			r.left.add(r.takeWork())
			return
		}
		if r.spent() {
			r.forgetWork()
		}
	}
}

// unserved calls serve for each of a list until a bound is reached. It returns the rest, which begins
// with the last one that was served, because serve may not have come to its end.
func unserved[T any](r *eagerRun, list []T, serve func(T)) []T {
	for i, x := range list {
		if !r.spent() {
			serve(x)
		}
		if r.spent() {
			return list[i:]
		}
	}
	return nil
}

// offer runs a pass on a node with freed room. The application that gets a container there goes on with
// its asks: the node may have room for more of them.
func (r *eagerRun) offer(node state.NodeSlot) {
	before := len(r.changes)
	r.pass(node)
	for _, c := range r.changes[before:] {
		if c.Kind == change.ContainerStarted {
			r.AsksMore(c.App)
		}
	}
}

// pass runs eagerPass within the bounds.
func (r *eagerRun) pass(node state.NodeSlot) bool {
	if r.spent() || !r.State.Nodes.Has(node) || !r.State.Nodes.Get(node).TakesContainers() || r.prefer.leftOut(node) {
		return false
	}
	granted := r.eagerPass(node, r.prefer)
	switch {
	case granted:
		r.grants--
	case !r.prefer.leftOut(node): // else it is not tried again before the other nodes
		r.misses--
	}
	return granted
}

// EagerPass runs passes on a node without counting missed opportunities. It reports whether a pass
// allocated or reserved something.
func (s *Scheduler) EagerPass(node state.NodeSlot) bool { return s.eagerPass(node, nil) }

func (s *Scheduler) eagerPass(node state.NodeSlot, prefer *preference) bool {
	n := s.State.Nodes.Get(node)
	if !n.TakesContainers() {
		return false
	}
	p := s.passOn(n)
	p.prefer = prefer
	prefer.lookAt(s.State, node)
	reserved := n.Reservation
	return p.serve(node) || reserved != 0 && s.State.Nodes.Get(node).Reservation != reserved
}

// servePending runs passes on the nodes that the order of nodes gives for an application's asks,
// until the application has everything that it can get now or the budget is spent.
func (r *eagerRun) servePending(app state.AppSlot) {
	for _, p := range r.Partitions {
		for !r.spent() && r.servePendingOn(p, app) {
		}
	}
}

// servePendingOn runs a pass for the first ask of an application that nodes of a partition can
// serve now. It reports whether a pass allocated or reserved something. If there is no room for an
// ask, it runs a pass that may reserve a node.
func (r *eagerRun) servePendingOn(p *views.Partition, app state.AppSlot) bool {
	if !r.State.Apps.Has(app) || !r.State.Apps.Get(app).Activated() {
		return false
	}
	for ask, k := range r.State.Asks.Of(r.State.Apps.Get(app)) {
		if k.Count == 0 || k.IncreaseOf != 0 || k.Label != p.Label && !(p.Lends && r.mayBorrow(k, k.Missed)) {
			continue
		}
		if r.serveAsk(p, ask) {
			return true
		}
		if r.spent() {
			return false
		}
	}
	return false
}

// serveAsk runs passes for one ask: on the first node of the order or, if no node has room, on
// reserved nodes that lend, and last on a node that the ask may reserve. It reports whether a pass
// allocated or reserved something.
func (r *eagerRun) serveAsk(p *views.Partition, ask state.AskSlot) bool {
	if free := r.nodesFor(p, ask, false, 1); len(free) > 0 {
		return r.pass(free[0].node)
	}
	if r.Backfills {
		for _, lent := range slices.Clone(r.nodesFor(p, ask, true, eagerMisses)) {
			if r.pass(lent.node) {
				return true
			}
		}
	}
	node := r.nodeToReserve(p, ask)
	return node != 0 && r.pass(node)
}

// nodeToReserve returns the emptiest node that an ask may reserve, or 0 if there is none.
func (s *Scheduler) nodeToReserve(p *views.Partition, ask state.AskSlot) state.NodeSlot {
	k := s.State.Asks.Get(ask)
	a := s.State.Apps.Get(k.App)
	if !s.needsMore(a, k) || s.State.Gangs.HoldsBack(k) {
		return 0
	}
	for node := range s.reservableNodes(p, a, ask, yarn.OffSwitch) {
		return node
	}
	return 0
}
