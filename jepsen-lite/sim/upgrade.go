package sim

import (
	"context"
	"math/rand"
	"slices"
	"time"

	"rmd/fsm/event"
	"rmd/jepsen-lite/sim/load"
	"rmd/scheduler/input"
)

// nextLevel is the feature level of the new program. It is the same program with another number,
// since this build knows no event above its own level.
const nextLevel = event.Level + 1

// announceTime is how long a rolling upgrade waits until the leader knows the level of all members.
const announceTime = 10 * time.Second

// upgrade does the next step of a rolling upgrade, or undoes one while the upgrade is not final: it
// restarts a replica with the other program. When all replicas run the new program, it finalizes
// the upgrade. In one of four cases it does all steps that are left.
func (d *driver) upgrade() {
	final, all := d.w.levels()
	switch {
	case final:
		return
	case all:
		d.finalize()
		return
	case d.oneIn(4):
		d.upgradeAll()
		return
	}
	r, level := d.victim(), uint32(nextLevel)
	if d.oneIn(3) && !d.raising {
		level = event.Level
	}
	d.restartAs(r, level)
}

// upgradeAll does what an operator does: each replica that runs the old program is restarted with
// the new one, the leader last, and then the upgrade is finalized.
func (d *driver) upgradeAll() {
	leader := d.leading()
	order := slices.DeleteFunc(slices.Clone(d.w.members()), func(r *replica) bool { return r == leader })
	for _, r := range append(order, leader) {
		if r.locked(func(r *replica) bool { return r.level < nextLevel }) {
			d.restartAs(r, nextLevel)
			d.sleep(time.Second, time.Second)
		}
	}
	for end := time.Now().Add(announceTime); time.Now().Before(end); time.Sleep(time.Second) {
		if _, all := d.w.levels(); all {
			d.finalize()
			return
		}
	}
}

// restartAs restarts a replica with a program of a feature level.
func (d *driver) restartAs(r *replica, level uint32) {
	d.note("%s is restarted with feature level %d", r.id, level)
	r.set(func(r *replica) { r.level = level })
	r.crash()
	d.sleep(time.Millisecond, 500*time.Millisecond)
	if err := r.start(); err != nil {
		d.note("%v", err)
	}
	d.w.mu.Lock()
	defer d.w.mu.Unlock()
	d.w.newest = max(d.w.newest, level)
}

// finalize raises the cluster's feature level, as `rmd upgrade finalize` does after it has checked
// all members.
func (d *driver) finalize() {
	d.note("the upgrade is made final")
	d.raising = true
	c := load.NewCaller(d.w, "upgrade", rand.New(rand.NewSource(d.rng.Int63())))
	ctx, cancel := context.WithTimeout(d.w.ctx, 20*time.Second)
	defer cancel()
	if reply, ok := c.Call(ctx, input.Request{Input: &input.RaiseLevel{Level: nextLevel}}); ok && reply.Refused() == nil {
		d.w.check.Achieved("upgraded")
	}
}
