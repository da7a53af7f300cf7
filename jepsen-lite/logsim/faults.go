package logsim

import (
	"slices"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/yarn"
)

// Fault is a kind of fault.
type Fault string

// The kinds of fault.
const (
	FaultDepose      Fault = "depose"       // leadership moves
	FaultCrash       Fault = "crash"        // a replica restarts
	FaultWipe        Fault = "wipe"         // a replica restarts with an empty disk
	FaultRefuse      Fault = "refuse"       // the log refuses a batch and accepts the next one
	FaultLate        Fault = "late"         // a batch is appended long after its leadership has ended
	FaultStaleLeader Fault = "stale-leader" // a leader does not know that it was deposed
	FaultSnapshot    Fault = "snapshot"     // a replica makes a snapshot at any index
	FaultJump        Fault = "jump"         // a wall clock jumps
	FaultReplay      Fault = "replay"       // an old call arrives again
	FaultBackup      Fault = "backup"       // all replicas are restored from a backup
)

var allFaults = []Fault{FaultDepose, FaultCrash, FaultWipe, FaultRefuse, FaultLate, FaultStaleLeader, FaultSnapshot,
	FaultJump, FaultReplay, FaultBackup}

func (o Options) enabled(f Fault) bool { return slices.Contains(o.Faults, f) }

// fault draws one of the faults that are enabled for the seed.
func (w *world) fault() {
	if len(w.opt.Faults) == 0 {
		return
	}
	f := w.opt.Faults[w.rng.IntN(len(w.opt.Faults))]
	w.trace.bytes([]byte(f))
	r := w.rs[w.rng.IntN(len(w.rs))]
	switch f {
	case FaultDepose, FaultLate, FaultStaleLeader:
		if w.leads != nil {
			w.check.note("leadership of term %d ends", w.leads.term)
			w.leads.depose()
		}
	case FaultRefuse:
		if w.leads != nil {
			w.check.note("the log refuses a batch")
			w.leads.refuse()
		}
	case FaultCrash:
		w.crash(r, false)
	case FaultWipe:
		w.crash(r, w.sparable(r))
	case FaultSnapshot:
		if r.up && r.pending == nil {
			r.snapshot()
		}
	case FaultJump:
		w.check.note("the clock of replica %d jumps", r.id)
		r.offset += w.rng.Int64N(20_000) - 10_000
		if w.rng.IntN(16) == 0 { // more than a day ahead, so that the idempotency table forgets its calls
			r.offset += 30 * 60 * 60 * 1000
		}
	case FaultReplay:
		w.wire.replayPast()
	case FaultBackup:
		w.backUp()
	}
}

// crash stops a replica and starts it again.
func (w *world) crash(r *replica, wipe bool) {
	w.check.note("replica %d crashes, disk lost: %v", r.id, wipe)
	w.counts.Crashes++
	if w.leads != nil && w.leads.r == r {
		w.leads.depose()
		w.stale = nil
	}
	if w.stale != nil && w.stale.r == r {
		w.stale = nil
	}
	r.crash(wipe)
	r.start()
}

// sparable reports whether the log is complete without a replica's disk.
func (w *world) sparable(r *replica) bool {
	if w.log.base == 0 {
		return true
	}
	for _, o := range w.rs {
		if o != r && o.snap.index >= w.log.base {
			return true
		}
	}
	return false
}

// backUp takes a backup. If there is one already, it may restore that backup on every replica
// instead. The entries after the backup are lost, and their ids must not be used again. As in the
// product, the epoch is raised before a leader plans on the restored state; here an entry raises
// it.
func (w *world) backUp() {
	if w.leads == nil {
		return
	}
	if w.backup.index == 0 {
		w.backup = w.takeBackup()
		return
	}
	if w.rng.IntN(3) > 0 {
		return
	}
	w.check.note("everything is restored from the backup of index %d", w.backup.index)
	w.counts.Rollbacks++
	running, _ := w.leads.r.m.Fork()
	w.leads.depose()
	w.stale = nil
	w.log.late = nil
	w.check.rollback(w.backup.index)
	w.log.entries, w.log.base = nil, w.backup.index
	for _, r := range w.rs {
		r.crash(true)
		r.snap = w.backup
		r.start()
	}
	for _, c := range w.wire.calls {
		c.heard = nil
	}
	st, _ := w.rs[0].m.Fork()
	for _, a := range w.agents { // the nodes removed the containers that the backup does not contain
		for _, id := range a.manager.Running() {
			if !hasContainer(st, id) {
				a.exit(id, yarn.ExitAborted)
			}
		}
	}
	raised := &event.EpochRaised{Epoch: max(st.Meta.Epoch, running.Meta.Epoch) + 1, Why: "restored",
		ClusterTimestamp: max(w.rs[0].clock(), st.Meta.ClusterTimestamp+1, running.Meta.ClusterTimestamp+1)}
	w.log.append(w.log.term, (&event.Batch{Level: st.Meta.Level, Events: []event.Event{raised}}).Encode())
	if w.rng.IntN(2) == 0 { // else the same backup may be restored again
		w.backup = saved{}
	}
}

// takeBackup returns a snapshot of the leader's state.
func (w *world) takeBackup() saved {
	r := w.leads.r
	f, err := r.m.Snapshot()
	if err != nil {
		w.check.fail("S15", "no backup can be taken: %v", err)
		return saved{}
	}
	var s sink
	if err := f.Persist(&s); err != nil {
		w.check.fail("S15", "no backup can be written: %v", err)
		return saved{}
	}
	w.check.backedUp(r.applied)
	return saved{r.applied, s.Bytes()}
}

// hasContainer reports whether a state has a container.
func hasContainer(st *state.State, id yarn.ContainerID) bool {
	slot := st.Container(event.ContainerRef{App: id.App.Seq, Attempt: id.Attempt, Number: id.Number})
	return slot != 0 && st.Apps.ContainerID(st.Containers.Get(slot)) == id
}
