package sim

import (
	"context"
	"fmt"
	"math/rand"
	"slices"
	"time"

	"rmd/internal/failpoint"
	"rmd/jepsen-lite/sim/load"
	"rmd/jepsen-lite/sim/network"
	"rmd/scheduler/input"
)

// Faults of processes, network, clocks and membership.

func (d *driver) kill()       { d.randomMember().crash() }
func (d *driver) killLeader() { d.leading().crash() }

func (d *driver) blackout() {
	if !d.oneIn(4) {
		return
	}
	for _, r := range d.w.members() {
		if d.oneIn(2) {
			r.cutPower()
		} else {
			r.crash()
		}
	}
	time.Sleep(time.Duration(d.rng.Intn(1000)) * time.Millisecond)
	d.w.heal()
}

// crashAtPoint crashes the next process that reaches a failpoint, or the one that reaches it some
// times later.
func (d *driver) crashAtPoint() {
	all := failpoint.All()
	name, power, after := all[d.rng.Intn(len(all))], d.oneIn(2), d.rng.Intn(3)
	d.note("the next process that reaches %s crashes", name)
	hit := func(l *process, n failpoint.Name) {
		if n != name {
			return
		}
		d.w.mu.Lock()
		after--
		now := after < 0
		d.w.mu.Unlock()
		if !now {
			return
		}
		d.w.armed.Store(nil)
		d.w.check.Achieved("crash at " + string(name))
		l.r.end(power)
	}
	d.w.armed.Store(&hit)
	d.provoke(name)
}

// provoke causes events that lead to failpoints that are rarely reached otherwise.
func (d *driver) provoke(name failpoint.Name) {
	switch name {
	case failpoint.TransferBegun, failpoint.LeadershipEnded, failpoint.LeadershipBarrier, failpoint.LeadershipBegun:
		d.transfer()
	case failpoint.CrashStand:
		d.killLeader()
	case failpoint.SnapshotFinished, failpoint.SnapshotVerified, failpoint.StateForked, failpoint.EntriesDeleted:
		d.snapshot()
	case failpoint.SnapshotApplied, failpoint.StateRead:
		d.randomMember().crash()
		time.Sleep(time.Second)
		d.w.heal()
	case failpoint.MemberChanged:
		d.join()
	case failpoint.MemberLeft, failpoint.RemovedHere:
		d.remove()
	}
}

func (d *driver) isolate() {
	r, way := d.victim(), d.rng.Intn(3)
	d.note("%s is cut off (in %v, out %v)", r.id, way != 1, way != 0)
	d.w.net.Isolate(r.id, way != 1, way != 0)
}

// cutLink cuts one direction between two replicas. Both still reach the others.
func (d *driver) cutLink() {
	a, b := d.victim(), d.randomMember()
	if a != b {
		d.note("nothing goes from %s to %s", a.id, b.id)
		d.w.net.Sever(a.id, b.id)
	}
}

func (d *driver) loss() {
	d.note("messages are lost")
	n := 2 + d.rng.Intn(20)
	d.w.net.SetWeather(func(w *network.Weather) { w.Loss = n })
}

func (d *driver) double() {
	d.note("messages come twice")
	n := 1 + d.rng.Intn(10)
	d.w.net.SetWeather(func(w *network.Weather) { w.Double = n })
}

func (d *driver) reorder() {
	d.note("messages overtake each other")
	n, most := 1+d.rng.Intn(10), time.Duration(1+d.rng.Intn(400))*time.Millisecond
	d.w.net.SetWeather(func(w *network.Weather) { w.Late, w.Lateness = n, most })
}

func (d *driver) slowLink() {
	a, b := d.victim(), d.randomMember()
	if a == b {
		return
	}
	w := network.Weather{Delay: time.Duration(d.rng.Intn(200)) * time.Millisecond,
		Jitter:  time.Duration(1+d.rng.Intn(200)) * time.Millisecond,
		PerByte: time.Duration(d.rng.Intn(20)) * time.Microsecond}
	d.note("the way from %s to %s is slow: %+v", a.id, b.id, w)
	d.w.net.TurnLink(a.id, b.id, w)
}

func (d *driver) reset() {
	for range 1 + d.rng.Intn(20) {
		d.w.net.Reset(d.randomMember().id, d.randomMember().id)
		time.Sleep(time.Duration(d.rng.Intn(50)) * time.Millisecond)
	}
}

func (d *driver) pause() {
	r := d.victim()
	if _, up := r.currentProcess(); !up {
		return
	}
	d.note("%s stands still", r.id)
	d.w.freeze(r)
	time.Sleep(time.Duration(100+d.rng.Intn(3500)) * time.Millisecond)
	d.note("%s goes on", r.id)
	d.w.thaw()
}

func (d *driver) slowApply() {
	r := d.randomMember()
	d.note("%s applies slowly", r.id)
	d.w.slowDown(r.id, time.Duration(1+d.rng.Intn(100))*time.Millisecond)
}

// delayBatches delays batches before Raft, so that leadership can change meanwhile.
func (d *driver) delayBatches() {
	d.note("batches come to Raft late")
	d.w.setTrap(func(string, []byte) { time.Sleep(d.w.drawn(2 * time.Second)) })
	for range 1 + d.rng.Intn(3) {
		d.transfer()
		time.Sleep(d.w.drawn(time.Second))
	}
	d.w.beforePropose.Store(nil)
}

func (w *world) setTrap(f func(id string, entry []byte)) { w.beforePropose.Store(&f) }

// clockStep sets a machine's clock forward or back.
func (d *driver) clockStep() {
	r := d.victim()
	steps := []time.Duration{time.Second, 10 * time.Second, time.Minute, time.Hour}
	step := steps[d.rng.Intn(len(steps))]
	if d.oneIn(2) {
		step = -step
	}
	d.note("the clock of %s jumps by %s", r.id, step)
	r.setClock(step, 0)
}

// clockDrift makes a machine's clock too fast or too slow, by at most ten per cent.
func (d *driver) clockDrift() {
	r := d.randomMember()
	drift := int64(d.rng.Intn(201) - 100)
	d.note("the clock of %s is too fast by %d per thousand", r.id, drift)
	r.setClock(0, drift)
}

// transfer transfers leadership. A refusal is allowed if the target is not suitable.
func (d *driver) transfer() {
	l, up := d.leading().currentProcess()
	if !up {
		return
	}
	id := ""
	if d.oneIn(2) {
		id = d.randomMember().id
	}
	d.note("leadership is handed over to %q", id)
	_ = l.command(func() error { return l.cluster.Transfer(id) })
}

func (d *driver) join() {
	if len(d.w.members()) < membersMax {
		d.w.enlarge()
	}
}

// remove removes a member, if enough healthy members remain.
func (d *driver) remove() {
	if voters(d.w.membership()) <= votersMin || d.w.changingMembers() {
		return
	}
	if r := d.victim(); !r.locked(func(r *replica) bool { return r.leaving }) {
		d.w.dismiss(r)
	}
}

// demote demotes a voter and promotes it again.
func (d *driver) demote() {
	if d.w.changingMembers() || voters(d.w.membership()) <= votersMin {
		return
	}
	r := d.randomMember()
	d.note("%s is to lose its vote and get it back", r.id)
	demoted := false
	d.w.operate(operation{"demote and promote " + r.id, func() bool {
		l := d.w.otherReplica(r)
		if l == nil {
			return false
		}
		m, member := memberOf(d.w.membership(), r.id)
		switch {
		case !demoted && member && m.Voter:
			err := l.command(func() error { return l.cluster.Demote(r.id) })
			demoted = err == nil
			d.noteError("not demoted", err)
		case demoted && member && m.Voter:
			return true
		case member && !m.Voter:
			demoted = true
			d.noteError("not promoted", l.command(func() error { return l.cluster.Promote(r.id, 1000) }))
		}
		return r.locked(func(r *replica) bool { return r.out || r.leaving })
	}})
}

func (d *driver) noteError(what string, err error) {
	if err != nil {
		d.note("%s: %v", what, err)
	}
}

// snapshot takes a snapshot. It may be refused if there is nothing new.
func (d *driver) snapshot() {
	if l, up := d.randomMember().currentProcess(); up {
		_ = l.snapshot()
	}
}

func (d *driver) silence() {
	n := d.l.Nodes[d.rng.Intn(len(d.l.Nodes))]
	d.note("node %s is silent", n.Id)
	n.Sleep(time.Duration(1+d.rng.Intn(30)) * time.Second)
}

// reconfigure changes the capacities of the queues while they are in use, and turns preemption on
// or off.
func (d *driver) reconfigure() {
	w := d.w
	shares := [][]string{{"50", "30", "20"}, {"10", "10", "80"}, {"34", "33", "33"}, {"90", "5", "5"}}
	pick := shares[d.rng.Intn(len(shares))]
	if len(w.opt.Queues) != len(pick) {
		return
	}
	queues := slices.Clone(w.opt.Queues)
	for i := range queues {
		queues[i].Capacity = pick[i]
	}
	d.changes++
	c := load.NewCaller(w, fmt.Sprintf("operator%d", d.changes), rand.New(rand.NewSource(d.rng.Int63())))
	preempt := w.opt.Preempt && !d.oneIn(3)
	req := c.Keyed(&input.SetQueues{Properties: w.opt.Properties(queues, preempt), Author: c.Name})
	d.note("the queues get the shares %v, preemption: %v", pick, preempt)
	w.ops.Go(func() {
		ctx, cancel := context.WithTimeout(w.ctx, operatorTime)
		defer cancel()
		if reply, ok := c.Call(ctx, req); ok && reply.Refused() != nil {
			w.check.Fail("the shares %v are refused: %v", pick, reply.Refused())
		} else if ok {
			w.check.Achieved("reconfigured")
		}
	})
}
