package sim

import (
	"math/rand"
	"slices"

	"github.com/hashicorp/raft"
)

// faults are what is wrong with a disk.
type faults struct {
	stall    chan struct{} // closed to go on; nil while the disk works
	stalls   int           // how many faults stall it
	slow     int           // times the usual latency; 0 is 1
	hindered bool          // it was slow or hung since the process began
	failing  bool          // the next sync fails
	poisoned bool          // a sync has failed: nobody may write any more
	lying    bool          // syncs return and do nothing
	tearing  bool          // a loose write may arrive in part
	torn     bool          // one has
	full     bool          // writes fail for want of space
	free     uint64        // bytes that the file system says are free; 0 is plenty
	misread  int           // so many reads from now, one returns another index's record
	mixed    int           // reads that did
	rotten   []rot         // bits that were flipped
	setBack  bool          // it is an older copy of itself
	lost     bool          // something that was synced is gone: never to be used under its old identity

	steps  int // so many steps of writes from now the process dies; 0 never
	cut    func()
	failed func() // told of a sync that has failed
	accuse func(what string)
}

// rot is one flipped bit.
type rot struct {
	log   uint64 // index of an entry
	value string // key of a stored value
	snap  string // id of a snapshot
}

// after is what stays wrong for the next process.
func (f faults) after() faults {
	return faults{slow: f.slow, lying: false, tearing: f.tearing, full: f.full, free: f.free,
		rotten: f.rotten, lost: f.lost || f.lying, accuse: f.accuse}
}

// wrong changes what is wrong.
func (d *disk) wrong(f func(*faults)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f(&d.faults)
}

// is reads what is wrong.
func (d *disk) is(f func(faults) bool) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return f(d.faults)
}

// tell accuses the product.
func (d *disk) tell(what string) {
	d.mu.Lock()
	f := d.accuse
	d.mu.Unlock()
	if f != nil {
		f(what)
	}
}

// step is between two writes: a crash may fall there.
func (d *disk) step() {
	d.mu.Lock()
	var cut func()
	if d.steps > 0 {
		if d.steps--; d.steps == 0 {
			cut = d.cut
		}
	}
	d.mu.Unlock()
	if cut != nil {
		cut()
	}
}

// freeze stalls every write until the func returned is called, and those of all
// others who stall it.
func (d *disk) freeze() (thaw func()) {
	d.wrong(func(f *faults) {
		if f.stall == nil {
			f.stall = make(chan struct{})
		}
		f.stalls++
		f.hindered = true
	})
	return func() {
		d.wrong(func(f *faults) {
			if f.stalls--; f.stalls == 0 {
				close(f.stall)
				f.stall = nil
			}
		})
	}
}

// sector is what a drive writes at once.
const sector = 512

// tear makes a write of which only some sectors have arrived. Where its records
// begin in a sector is drawn.
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

// rotLog flips a bit of a stored entry; false when there is none.
func (d *disk) rotLog() bool {
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
	if d.seen.logs[index] == l { // and not deleted or written over, which is yet to be synced
		d.seen.logs[index] = &c
	}
	d.safe.logs[index] = &c
	d.rotten = append(d.rotten, rot{log: index})
	return true
}

// rotValue flips a bit of the stored term or vote.
func (d *disk) rotValue() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	const key = "CurrentTerm"
	v, ok := d.safe.kv[key]
	if !ok || len(d.loose) > 0 {
		return false
	}
	v = flip(d.rng, v)
	d.seen.kv[key], d.safe.kv[key] = v, v
	d.rotten = append(d.rotten, rot{value: key})
	return true
}

// rotSnapshot flips a bit of the newest snapshot.
func (d *disk) rotSnapshot() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.safe.snaps) == 0 || len(d.seen.snaps) != len(d.safe.snaps) {
		return false
	}
	n := len(d.safe.snaps) - 1
	s := *d.safe.snaps[n]
	s.data = flip(d.rng, s.data)
	d.seen.snaps[n], d.safe.snaps[n] = &s, &s
	d.rotten = append(d.rotten, rot{snap: s.meta.ID})
	return true
}

func flip(rng *rand.Rand, b []byte) []byte {
	b = slices.Clone(b)
	b[rng.Intn(len(b))] ^= 1 << rng.Intn(8)
	return b
}

// damaged says whether a flipped or torn bit still lies where the next start will
// read it: in the log, or in term and vote. Damaged snapshots may be passed over.
func (d *disk) damaged() (surely, maybe bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range d.rotten {
		switch {
		case r.value != "":
			surely = surely || !wholeValue(r.value, d.seen.kv[r.value])
		case r.log != 0:
			if l, ok := d.seen.logs[r.log]; ok && !whole(l.Data) {
				surely = true
			}
		default:
			for _, s := range d.seen.snaps {
				maybe = maybe || s.meta.ID == r.snap
			}
		}
	}
	for _, l := range d.seen.logs {
		if d.torn && !whole(l.Data) {
			surely = true
		}
	}
	return surely, maybe
}

// repair takes away what can be taken away: bits stay flipped, and what is lost is
// lost.
func (d *disk) repair() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.slow, d.full, d.free, d.misread, d.steps, d.tearing, d.failing = 0, false, 0, 0, 0, false, false
	if d.lying {
		d.lying = false
		for _, w := range d.loose {
			w.apply(&d.safe)
		}
		d.loose = nil
	}
}
