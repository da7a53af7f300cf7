package disk

import (
	"math/rand"
	"slices"

	"github.com/hashicorp/raft"
)

// Faults are the current faults of a disk.
type Faults struct {
	stall    chan struct{} // closed when the disk continues; nil while it works
	stalls   int           // number of faults that stall it
	Slow     int           // factor of the latency; 0 means 1
	Hindered bool          // the disk has been slow or stalled since the process started
	Failing  bool          // the next sync fails
	Poisoned bool          // a sync has failed: no further write is allowed
	Lying    bool          // syncs return without syncing
	Tearing  bool          // a write that was not synced may become durable in part
	torn     bool          // one did
	Full     bool          // writes fail with ENOSPC
	Crowded  bool          // no file can be created, so that snapshots fail with ENOSPC
	Free     uint64        // free bytes that the file system reports; 0 means plenty
	Misread  int           // this many reads from now, one returns the record of another index
	mixed    int           // number of reads that did
	rotten   []rot         // flipped bits
	SetBack  bool          // the disk is an older copy of itself
	Lost     bool          // synced data is lost: the disk must not be used under its old identity

	Steps  int               // this many steps of writes from now, cut is called; 0 means never
	Cut    func()            // kills the process with a power cut
	Failed func()            // called when a sync has failed
	Accuse func(what string) // reports a fault of rmd to the checker
}

// rot is one flipped bit.
type rot struct {
	log   uint64 // index of an entry
	value string // key of a stored value
	snap  string // id of a snapshot
}

// Corrupt reports whether rmd may have read what it did not write.
func (f Faults) Corrupt() bool {
	return f.mixed > 0 || f.torn || f.SetBack || len(f.rotten) > 0
}

// remaining returns the faults that remain for the next process.
func (f Faults) remaining() Faults {
	return Faults{Slow: f.Slow, Lying: false, Tearing: f.Tearing, Full: f.Full, Crowded: f.Crowded, Free: f.Free,
		rotten: f.rotten, Lost: f.Lost || f.Lying, Accuse: f.Accuse}
}

// SetFaults changes the faults with the lock held.
func (d *Disk) SetFaults(f func(*Faults)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f(&d.faults)
}

// HasFault returns the result of f on the faults.
func (d *Disk) HasFault(f func(Faults) bool) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return f(d.faults)
}

// reportFault reports a fault of rmd to the checker.
func (d *Disk) reportFault(what string) {
	d.mu.Lock()
	f := d.faults.Accuse
	d.mu.Unlock()
	if f != nil {
		f(what)
	}
}

// step is called between two parts of a write. The process may crash there.
func (d *Disk) step() {
	d.mu.Lock()
	var cut func()
	if d.faults.Steps > 0 {
		if d.faults.Steps--; d.faults.Steps == 0 {
			cut = d.faults.Cut
		}
	}
	d.mu.Unlock()
	if cut != nil {
		cut()
	}
}

// Freeze stalls every write until the returned function, and that of every other freeze, was
// called.
func (d *Disk) Freeze() (thaw func()) {
	d.SetFaults(func(f *Faults) {
		if f.stall == nil {
			f.stall = make(chan struct{})
		}
		f.stalls++
		f.Hindered = true
	})
	return func() {
		d.SetFaults(func(f *Faults) {
			if f.stalls--; f.stalls == 0 {
				close(f.stall)
				f.stall = nil
			}
		})
	}
}

// sector is the number of bytes that a drive writes atomically.
const sector = 512

// tear returns a write of which only some sectors became durable. Which ones, and where the first
// record begins in its sector, is random.
func tear(rng *rand.Rand, logs []*raft.Log) write {
	out := make([]*raft.Log, len(logs))
	at := rng.Intn(sector)
	gone := map[int]bool{}
	for i, l := range logs {
		c := *l
		c.Data = slices.Clone(l.Data)
		for k := range c.Data {
			s := (at + k) / sector
			lost, drawn := gone[s]
			if !drawn {
				lost = rng.Intn(2) == 0
				gone[s] = lost
			}
			if lost {
				c.Data[k] = 0
			}
		}
		at += len(c.Data)
		out[i] = &c
	}
	return storing(out)
}

// TornWrite returns the disk as it may be after a power cut during the write of an entry. torn is
// false if the entry is whole there, or missing.
func (d *Disk) TornWrite() (after *Disk, torn bool) {
	d.mu.Lock()
	d.faults.Tearing = true
	next := *d.seen.logs[d.seen.last]
	next.Index++
	d.loose = []write{storing([]*raft.Log{&next})}
	d.loose[0].apply(&d.seen)
	d.mu.Unlock()
	after = d.Reopened(true)
	return after, after.faults.torn && !checksumOK(after.seen.logs[next.Index].Data)
}

// RotLog flips a bit of a stored entry. It returns false if there is no entry.
func (d *Disk) RotLog() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.safe.last == 0 || d.safe.first == 0 {
		return false
	}
	index := d.safe.first + uint64(d.rng.Int63n(int64(d.safe.last-d.safe.first+1)))
	l, ok := d.safe.logs[index]
	if !ok {
		return false
	}
	c := *l
	c.Data = flip(d.rng, l.Data)
	if d.seen.logs[index] == l { // not deleted or overwritten by a write that is not durable yet
		d.seen.logs[index] = &c
	}
	d.safe.logs[index] = &c
	d.faults.rotten = append(d.faults.rotten, rot{log: index})
	return true
}

// RotValue flips a bit of the stored term. It returns false if there is none.
func (d *Disk) RotValue() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	const key = "CurrentTerm"
	v, ok := d.safe.kv[key]
	if !ok || len(d.loose) > 0 {
		return false
	}
	v = flip(d.rng, v)
	d.seen.kv[key], d.safe.kv[key] = v, v
	d.faults.rotten = append(d.faults.rotten, rot{value: key})
	return true
}

// RotSnapshot flips a bit of the newest snapshot. It returns false if there is none.
func (d *Disk) RotSnapshot() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.safe.snaps) == 0 || len(d.seen.snaps) != len(d.safe.snaps) {
		return false
	}
	n := len(d.safe.snaps) - 1
	s := *d.safe.snaps[n]
	s.data = flip(d.rng, s.data)
	d.seen.snaps[n], d.safe.snaps[n] = &s, &s
	d.faults.rotten = append(d.faults.rotten, rot{snap: s.meta.ID})
	return true
}

func flip(rng *rand.Rand, b []byte) []byte {
	b = slices.Clone(b)
	b[rng.Intn(len(b))] ^= 1 << rng.Intn(8)
	return b
}

// Damaged reports whether the next start must notice damage: surely if the log or the stored term
// is damaged, maybe if a snapshot is damaged, because a start may ignore that snapshot.
func (d *Disk) Damaged() (surely, maybe bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range d.faults.rotten {
		switch {
		case r.value != "":
			surely = surely || !wholeValue(r.value, d.seen.kv[r.value])
		case r.log != 0:
			if l, ok := d.seen.logs[r.log]; ok && !checksumOK(l.Data) {
				surely = true
			}
		default:
			for _, s := range d.seen.snaps {
				maybe = maybe || s.meta.ID == r.snap
			}
		}
	}
	for _, l := range d.seen.logs {
		if d.faults.torn && !checksumOK(l.Data) {
			surely = true
		}
	}
	return surely, maybe
}

// Repair ends the faults that can end. Flipped bits and lost data remain.
func (d *Disk) Repair() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.faults.Crowded = false
	f := &d.faults
	f.Slow, f.Full, f.Free, f.Misread, f.Steps, f.Tearing, f.Failing = 0, false, 0, 0, 0, false, false
	if d.faults.Lying {
		d.faults.Lying = false
		for _, w := range d.loose {
			w.apply(&d.safe)
		}
		d.loose = nil
	}
}
