package sim

import "time"

// The faults of disks.

func (d *driver) powerCut() { d.victim().cutPower() }

// crashAtWrite lets the power fail between two of the next writes' steps.
func (d *driver) crashAtWrite() { d.cutSoon(false) }

// tornWrite is that with a write of which only some sectors arrive.
func (d *driver) tornWrite() {
	if d.mayLose() {
		d.cutSoon(true)
	}
}

func (d *driver) cutSoon(torn bool) {
	r, n := d.victim(), 1+d.rng.Intn(40)
	l, up := r.now()
	if !up {
		return
	}
	d.note("the power of %s fails after %d steps of writes (torn %v)", r.id, n, torn)
	l.disk.wrong(func(f *faults) { f.steps, f.tearing = n, torn })
}

func (d *driver) syncError() {
	if l, up := d.victim().now(); up {
		d.note("the next sync of %s fails", l.r.id)
		l.disk.wrong(func(f *faults) { f.failing = true })
	}
}

// mayLose says that one replica's disk may lose what was synced: all others are
// well, and everything committed is on a majority of them or will be.
func (d *driver) mayLose() bool {
	if d.busy() {
		return false
	}
	for _, r := range d.w.members() {
		l, up := r.now()
		if !up || r.is(func(r *replica) bool { return r.broken }) {
			return false
		}
		if surely, maybe := l.disk.damaged(); surely || maybe || l.disk.is(func(f faults) bool { return f.lying || f.tearing }) {
			return false
		}
	}
	return true
}

// syncLies lets syncs do nothing for a while, then the power fails. What was synced
// is gone, and the replica must never be itself again.
func (d *driver) syncLies() {
	if !d.mayLose() {
		return
	}
	r := d.victim()
	l, up := r.now()
	if !up {
		return
	}
	d.note("the disk of %s lies", r.id)
	l.disk.wrong(func(f *faults) { f.lying = true })
	d.sleep(100*time.Millisecond, 4*time.Second)
	if now, up := r.now(); up && now == l {
		r.cutPower()
	}
	d.w.heal()
}

// noSpace leaves too little space: for leading, for writing, or none at all.
func (d *driver) noSpace() {
	l, up := d.victim().now()
	if !up {
		return
	}
	free := []uint64{diskReserve - 1, diskStop - 1, 1}[d.rng.Intn(3)]
	none := free == 1 && d.oneIn(2)
	d.note("%s has %d bytes left (writes fail %v)", l.r.id, free, none)
	l.disk.wrong(func(f *faults) { f.free, f.full = free, none })
	d.sleep(time.Second, 4*time.Second)
}

func (d *driver) slowDisk() {
	l, up := d.victim().now()
	if !up {
		return
	}
	times := []int{10, 100}[d.rng.Intn(2)]
	d.note("the disk of %s is %d times slower", l.r.id, times)
	l.disk.wrong(func(f *faults) { f.slow, f.hindered = times, true })
}

// hungDisk lets no write return: after 5 s leadership must be given up, after 20 s
// the process must end (L5).
func (d *driver) hungDisk() {
	r := d.victim()
	l, up := r.now()
	if !up {
		return
	}
	d.note("the disk of %s hangs", r.id)
	d.w.later(l.disk.freeze())
	if !d.oneIn(3) {
		return
	}
	// Something must be written for the watchdog to see: a replica that stands may be
	// quiet for long.
	d.sleep(20*time.Second, 10*time.Second)
}

// bitRot flips a bit of a replica that runs, or is started on it.
func (d *driver) bitRot() {
	if !d.mayLose() {
		return
	}
	r := d.victim()
	if d.oneIn(2) {
		r.crash()
	}
	k := r.is(func(r *replica) bool { return r.up })
	disk := r.disk
	if l, up := r.now(); up {
		disk = l.disk
	}
	what := "the log"
	switch d.rng.Intn(3) {
	case 0:
		if !disk.rotLog() {
			disk.rotValue()
			what = "term or vote"
		}
	case 1:
		disk.rotValue()
		what = "term or vote"
	default:
		disk.rotSnapshot()
		what = "a snapshot"
	}
	d.note("a bit flips in %s of %s (running %v)", what, r.id, k)
	d.sleep(100*time.Millisecond, time.Second)
	r.crash() // the next start must notice
	d.w.heal()
}

// misread returns another index's record once.
func (d *driver) misread() {
	r := d.any()
	r.crash()
	n := 1 + d.rng.Intn(50)
	r.mu.Lock()
	disk := r.disk
	r.mu.Unlock()
	d.note("a read of %s will return another record", r.id)
	disk.wrong(func(f *faults) { f.misread = n })
	if err := r.start(); err != nil { // the start reads all of the log
		d.note("%v", err)
	}
	disk.wrong(func(f *faults) { f.misread = 0 })
}

// lostDisk takes a replica's disk away.
func (d *driver) lostDisk() {
	if !d.mayLose() {
		return
	}
	r := d.victim()
	d.note("the disk of %s is lost", r.id)
	r.crash()
	r.set(func(r *replica) { r.disk.wrong(func(f *faults) { f.lost = true }) })
	d.w.heal()
}
