package sim

import (
	"fmt"
	"math"
	"slices"
	"time"

	"rmd/cluster"
	"rmd/fsm/state"
	"rmd/jepsen-lite/sim/disk"
	"rmd/scheduler/explain"
)

// In which condition the cluster is: what faults ask before they begin, and the calm before it ends.

// changingMembers reports whether a member is being removed or replaced.
func (w *world) changingMembers() bool {
	w.mu.Lock()
	hurt := w.replacing != nil
	w.mu.Unlock()
	for _, r := range w.members() {
		hurt = hurt || r.locked(func(r *replica) bool { return r.leaving })
	}
	return hurt
}

// healthyMembers returns all members if all of them run and vote and no operation is changing the
// membership; otherwise nil.
func (w *world) healthyMembers() []*replica {
	all := w.members()
	if w.changingMembers() || w.operators.Load() > 0 || voters(w.membership()) != len(all) {
		return nil
	}
	for _, r := range all {
		if _, up := r.currentProcess(); !up || r.locked(func(r *replica) bool { return r.broken }) {
			return nil
		}
	}
	return all
}

// anyDown reports whether a member does not run.
func (w *world) anyDown() bool {
	down := func(r *replica) bool { return !r.up }
	return slices.ContainsFunc(w.members(), func(r *replica) bool { return r.locked(down) })
}

// mayLose reports whether one replica's disk may lose synced data: all members run on intact disks,
// and none is being removed or replaced. Then a majority has, or will have, every committed entry.
func (w *world) mayLose() bool {
	if w.changingMembers() {
		return false
	}
	for _, r := range w.members() {
		l, up := r.currentProcess()
		if !up || r.locked(func(r *replica) bool { return r.broken }) {
			return false
		}
		if surely, maybe := l.disk.Damaged(); surely || maybe || l.disk.HasFault(func(f disk.Faults) bool {
			return f.Lying || f.Tearing
		}) {
			return false
		}
	}
	return true
}

// caughtUp waits until every member follows closely, and reports whether they do.
func (w *world) caughtUp() bool {
	for end := time.Now().Add(stepTime); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		ms := w.membership()
		if len(ms) > 0 && !slices.ContainsFunc(ms,
			func(m cluster.Member) bool { return m.State != cluster.StateAlive || m.Lag > 100 }) {
			return true
		}
	}
	return false
}

// handTo transfers leadership to a replica. It returns its process, or nil.
func (w *world) handTo(to *replica) *process {
	for end := time.Now().Add(20 * election); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		now := w.leading()
		if now == nil {
			continue
		}
		l, up := now.currentProcess()
		if up && now == to {
			return l
		}
		if up {
			_ = l.command(func() error { return l.cluster.Transfer(to.id) })
		}
	}
	return nil
}

// levels reports whether any replica has applied the final upgrade, and whether all members run the
// new program according to the leader.
func (w *world) levels() (final, all bool) {
	final = w.check.FeatureLevel() >= nextLevel
	ms := w.membership()
	all = len(ms) > 0
	for _, m := range ms {
		all = all && m.Level >= nextLevel
	}
	for _, r := range w.members() { // some may not have joined yet
		all = all && r.locked(func(r *replica) bool { return r.level >= nextLevel })
	}
	return final, all
}

// operatorsDone waits for replacements, joins and removals. In the calm each of them must end.
func (w *world) operatorsDone() bool {
	over := make(chan struct{})
	go func() {
		w.ops.Wait()
		close(over)
	}()
	for end := time.NewTimer(2 * operatorTime); ; {
		select {
		case <-time.After(operatorTime / 4): // an operator may have crashed the leader at the start of the calm
			if w.anyDown() {
				w.heal()
			}
		case <-over:
			end.Stop()
			return w.noneLeft()
		case <-end.C:
			w.check.Fail("L2: operators do not come to an end: %s", w.describeProgress())
			return false
		}
	}
}

// noneLeft restarts the operations that were given up before the calm, and reports whether all of
// them ended.
func (w *world) noneLeft() bool {
	for range 3 { // operations may be given up once more while others end
		down := w.anyDown()
		if down {
			w.heal()
		}
		if again := w.resume(); !again && !down {
			return true
		}
		w.ops.Wait()
	}
	w.check.Fail("L2: not all operators have come to their end: %s; members %+v; %s", w.undone(), w.membership(),
		w.describeProgress())
	return false
}

// led returns a copy of the state that the leader has applied; nil without a leader.
func (w *world) led() *state.State {
	r := w.leading()
	if r == nil {
		return nil
	}
	l, up := r.currentProcess()
	if !up {
		return nil
	}
	st, _, _ := l.machine.Planning(math.MaxUint64)
	return st
}

// waiting describes for a report what each node has, and why each application waits.
func (w *world) waiting() string {
	st := w.led()
	if st == nil {
		return ""
	}
	out := ""
	st.Nodes.Each(func(_ state.NodeSlot, n *state.Node) bool {
		out += fmt.Sprintf("\n%s (%s): %s of %s free, reserved: r%d", n.ID, n.State, n.Unallocated(), n.Total, n.Reservation)
		return true
	})
	var x explain.Explainer
	st.Apps.Each(func(_ state.AppSlot, a *state.App) bool {
		if a.State.Ended() {
			return true
		}
		if e, err := x.Explain(st, a.ID); err != nil {
			out += fmt.Sprintf("\n%s: %v", a.ID, err)
		} else {
			out += fmt.Sprintf("\n%s in %s, uses %s: %s: %s; asks %v, holds %v", a.ID, e.Queue, a.Used, e.Reason, e.Text,
				e.Asks, e.Reserved)
		}
		return true
	})
	return out
}
