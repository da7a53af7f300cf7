package sim

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"rmd/cluster"
	"rmd/jepsen-lite/sim/disk"
	"rmd/jepsen-lite/sim/network"
)

// Faults of disks.

func (d *driver) powerCut() { d.victim().cutPower() }

// crashAtWrite cuts the power between two steps of one of the next writes.
func (d *driver) crashAtWrite() { d.cutSoon(false) }

// tornWrite does the same, and the last write may become durable in part.
func (d *driver) tornWrite() {
	if d.w.mayLose() {
		d.cutSoon(true)
	}
}

func (d *driver) cutSoon(torn bool) {
	r, n := d.victim(), 1+d.rng.Intn(40)
	l, up := r.currentProcess()
	if !up {
		return
	}
	d.note("the power of %s fails after %d steps of writes (torn %v)", r.id, n, torn)
	l.disk.SetFaults(func(f *disk.Faults) { f.Steps, f.Tearing = n, torn })
}

func (d *driver) syncError() {
	if l, up := d.victim().currentProcess(); up {
		d.note("the next sync of %s fails", l.r.id)
		l.disk.SetFaults(func(f *disk.Faults) { f.Failing = true })
	}
}

// syncLies lets syncs do nothing for a while and then cuts the power. Synced data is lost, so the
// replica must not return under the same identity.
func (d *driver) syncLies() {
	if !d.w.mayLose() {
		return
	}
	r := d.victim()
	l, up := r.currentProcess()
	if !up {
		return
	}
	d.note("the disk of %s lies", r.id)
	l.disk.SetFaults(func(f *disk.Faults) { f.Lying = true })
	d.sleep(100*time.Millisecond, 4*time.Second)
	if now, up := r.currentProcess(); up && now == l {
		r.cutPower()
	}
	d.w.heal()
}

// noSpace leaves too little space to lead, too little to write, none, or no inode.
func (d *driver) noSpace() {
	if d.oneIn(4) {
		d.noInodes()
		return
	}
	l, up := d.victim().currentProcess()
	if !up {
		return
	}
	free := []uint64{disk.Reserve - 1, disk.Stop - 1, 1}[d.rng.Intn(3)]
	none := free == 1 && d.oneIn(2)
	d.note("%s has %d bytes left (writes fail %v)", l.r.id, free, none)
	l.disk.SetFaults(func(f *disk.Faults) { f.Free, f.Full = free, none })
	d.sleep(time.Second, 4*time.Second)
}

// noInodes leaves a file system without inodes: no snapshot can be written, and the log goes on. The
// replica must say so.
func (d *driver) noInodes() {
	if l, up := d.victim().currentProcess(); up {
		d.crowd(l)
	}
}

// crowd lets snapshots of a process fail, and checks that it says so.
func (d *driver) crowd(l *process) {
	d.note("%s has no inode left", l.r.id)
	l.disk.SetFaults(func(f *disk.Faults) { f.Crowded = true })
	if err := l.snapshot(); err == nil || !strings.Contains(err.Error(), syscall.ENOSPC.Error()) {
		return // there was nothing new, or the process is ending
	}
	d.w.check.Achieved("snapshot without an inode")
	silent := l.command(func() error {
		m, _ := memberOf(l.cluster.Members(), l.r.id)
		if m.State == cluster.StateAlive && !strings.Contains(m.Problem, "cannot write snapshots") {
			return fmt.Errorf("it says %q", m.Problem)
		}
		return nil
	})
	if silent != nil && !errors.Is(silent, network.ErrLost) && l.alive() {
		d.w.check.Fail("%s cannot write snapshots and does not say so: %v", l.r.id, silent)
	}
	d.sleep(time.Second, 4*time.Second)
}

func (d *driver) slowDisk() {
	l, up := d.victim().currentProcess()
	if !up {
		return
	}
	times := []int{10, 100}[d.rng.Intn(2)]
	d.note("the disk of %s is %d times slower", l.r.id, times)
	l.disk.SetFaults(func(f *disk.Faults) { f.Slow, f.Hindered = times, true })
}

// hungDisk stalls all writes. After 5 s the leader must give up its leadership, and after 20 s the
// process must stop (L5).
func (d *driver) hungDisk() {
	r := d.victim()
	l, up := r.currentProcess()
	if !up {
		return
	}
	d.note("the disk of %s hangs", r.id)
	d.w.addThaws(l.disk.Freeze())
	if !d.oneIn(3) {
		return
	}
	// The watchdog notices the stall only when the replica writes, and a follower may have nothing
	// to write for a long time.
	d.sleep(20*time.Second, 10*time.Second)
}

// bitRot flips a bit on the disk of a running or stopped replica, and restarts the replica.
func (d *driver) bitRot() {
	if !d.w.mayLose() {
		return
	}
	r := d.victim()
	if d.oneIn(2) {
		r.crash()
	}
	k := r.locked(func(r *replica) bool { return r.up })
	drive := r.disk
	if l, up := r.currentProcess(); up {
		drive = l.disk
	}
	what := "the log"
	switch d.rng.Intn(3) {
	case 0:
		if !drive.RotLog() {
			drive.RotValue()
			what = "term or vote"
		}
	case 1:
		drive.RotValue()
		what = "term or vote"
	default:
		drive.RotSnapshot()
		what = "a snapshot"
	}
	d.note("a bit flips in %s of %s (running %v)", what, r.id, k)
	d.sleep(100*time.Millisecond, time.Second)
	r.crash() // the next start must notice the damage
	d.w.heal()
}

// misread restarts a replica. One read returns the record of another index.
func (d *driver) misread() {
	r := d.randomMember()
	r.crash()
	n := 1 + d.rng.Intn(50)
	r.mu.Lock()
	drive := r.disk
	r.mu.Unlock()
	d.note("a read of %s will return another record", r.id)
	drive.SetFaults(func(f *disk.Faults) { f.Misread = n })
	if err := r.start(); err != nil { // the start reads all of the log
		d.note("%v", err)
	}
	drive.SetFaults(func(f *disk.Faults) { f.Misread = 0 })
}

// lostDisk takes the disk of a replica away.
func (d *driver) lostDisk() {
	if !d.w.mayLose() {
		return
	}
	r := d.victim()
	d.note("the disk of %s is lost", r.id)
	r.crash()
	r.set(func(r *replica) { r.disk.SetFaults(func(f *disk.Faults) { f.Lost = true }) })
	d.w.heal()
}
