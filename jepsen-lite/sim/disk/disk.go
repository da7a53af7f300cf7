// Package disk simulates the disk of one replica in virtual time: the stores of Raft's log, of its
// stable values and of snapshots, and rmd's identity file, all below rmd's guard.
//
//	d := disk.New(seed, identity)
//	d.SetFaults(func(f *disk.Faults) { f.Failing = true }) // the next sync fails
//	next := d.Reopened(true)                               // what a power cut leaves
//
// Begin with disk.go: what is visible, what is durable, and how a write becomes either. faults.go has
// what can go wrong, snapshots.go the store of snapshots, and membership.go reads Raft's memberships
// from the log. The package knows neither replicas nor the network.
package disk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/raft"

	"rmd/cluster"
)

// Disk simulates the log, stable and snapshot stores of one replica and its identity file, below
// rmd's guard. It is a journal: a write is visible at once and durable after its sync. After a
// kill, the next process finds all visible writes; after a power cut, the durable ones and possibly
// some others.
//
// Each process has its own disk. The next process gets a copy, so it cannot see what goroutines of
// a dead process still write.
type Disk struct {
	mu    sync.Mutex
	rng   *rand.Rand
	seen  image         // the visible contents
	safe  image         // the durable contents
	loose []write       // visible but not durable, in order
	dead  chan struct{} // closed when the process is killed
	made  int           // number of snapshots taken

	faults Faults
}

// image is the content of a disk.
type image struct {
	logs  map[uint64]*raft.Log // as the guard encodes them
	first uint64               // first and last are 0 if the log is empty
	last  uint64
	kv    map[string][]byte
	snaps []*snap // oldest first
	who   cluster.Identity
}

// snap is one finished snapshot.
type snap struct {
	meta raft.SnapshotMeta
	data []byte
	sum  uint32 // checksum of data as it was written
}

// write is one change of the contents.
type write struct {
	apply func(*image)
	logs  []*raft.Log // entries that it stores: these may be torn
}

const snapsKept = 2

// New returns an empty disk with an identity file.
func New(seed int64, who cluster.Identity) *Disk {
	d := &Disk{rng: rand.New(rand.NewSource(seed)), seen: newImage(), safe: newImage(), dead: make(chan struct{})}
	d.seen.who, d.safe.who = who, who
	return d
}

func newImage() image { return image{logs: map[uint64]*raft.Log{}, kv: map[string][]byte{}} }

func (i image) clone() image {
	i.logs, i.kv, i.snaps = maps.Clone(i.logs), maps.Clone(i.kv), slices.Clone(i.snaps)
	return i
}

// Reopened returns the disk for the next process, after a kill or a power cut.
func (d *Disk) Reopened(power bool) *Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	next := &Disk{rng: rand.New(rand.NewSource(d.rng.Int63())), made: d.made, dead: make(chan struct{})}
	next.faults = d.faults.remaining()
	if !power {
		next.seen = d.seen.clone()
	} else {
		next.seen = d.safe.clone()
		d.survive(&next.seen)
		next.faults.torn = d.faults.torn
	}
	next.safe = next.seen.clone()
	return next
}

// survive applies the writes that become durable although they were not synced. Each write is one
// transaction, and they become durable in order; the number is random.
func (d *Disk) survive(to *image) {
	if d.faults.Lying {
		return // writes remained in the disk's cache, which is lost
	}
	n := 0
	if len(d.loose) > 0 {
		n = d.rng.Intn(len(d.loose) + 1)
	}
	for i, w := range d.loose[:n] {
		if d.faults.Tearing && i == n-1 && len(w.logs) > 0 {
			d.faults.torn = true
			tear(d.rng, w.logs).apply(to)
			continue
		}
		w.apply(to)
	}
}

// Rollback returns a copy of the disk as it would be after a power cut. A test puts it back later.
func (d *Disk) Rollback() *Disk { return d.Reopened(true) }

// Kill ends the waiting for the disk.
func (d *Disk) Kill() {
	d.mu.Lock()
	defer d.mu.Unlock()
	select {
	case <-d.dead:
	default:
		close(d.dead)
	}
}

// commit runs one transaction: it writes and syncs. When it returns nil, the write is durable,
// unless the disk lies.
func (d *Disk) commit(w write) error {
	d.step()
	d.mu.Lock()
	if d.faults.Poisoned {
		d.mu.Unlock()
		d.reportFault("a disk is written to after a sync on it has failed")
		return syscall.EIO
	}
	if d.faults.Full {
		d.mu.Unlock()
		return fmt.Errorf("write: %w", syscall.ENOSPC)
	}
	w.apply(&d.seen)
	d.loose = append(d.loose, w)
	d.mu.Unlock()
	d.step()
	d.syncDelay()
	d.mu.Lock()
	if d.faults.Failing {
		d.faults.Failing, d.faults.Poisoned = false, true
		d.seen, d.loose = d.safe.clone(), nil // the kernel drops the written pages
		failed := d.faults.Failed
		d.mu.Unlock()
		if failed != nil {
			failed()
		}
		return fmt.Errorf("fsync: %w", syscall.EIO)
	}
	if d.faults.Poisoned { // the failed sync of another goroutine has dropped this write
		d.mu.Unlock()
		return fmt.Errorf("fsync: %w", syscall.EIO)
	}
	if !d.faults.Lying {
		for _, w := range d.loose {
			w.apply(&d.safe)
		}
		d.loose = d.loose[:0]
	}
	d.mu.Unlock()
	d.step()
	return nil
}

// syncDelay sleeps as long as one sync takes.
func (d *Disk) syncDelay() {
	d.mu.Lock()
	stall := d.faults.stall
	t := time.Duration(200+d.rng.Intn(2000)) * time.Microsecond
	if d.rng.Intn(200) == 0 {
		t += time.Duration(d.rng.Intn(100)) * time.Millisecond
	}
	d.mu.Unlock()
	if stall == nil {
		time.Sleep(t)
		for i := 1; d.isSlow(i); i++ {
			time.Sleep(t)
		}
		return
	}
	select {
	case <-stall:
	case <-d.dead:
	}
}

// isSlow reports whether a sync that has waited n times must wait once more. If the disk is
// repaired while a sync waits, that sync ends soon.
func (d *Disk) isSlow(n int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return n < d.faults.Slow
}

// FirstIndex implements raft.LogStore.
func (d *Disk) FirstIndex() (uint64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.seen.first, nil
}

// LastIndex implements raft.LogStore.
func (d *Disk) LastIndex() (uint64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.seen.last, nil
}

// GetLog implements raft.LogStore.
func (d *Disk) GetLog(index uint64, l *raft.Log) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.faults.Misread > 0 {
		if d.faults.Misread--; d.faults.Misread == 0 && d.seen.first < d.seen.last {
			d.faults.mixed++
			if index++; index > d.seen.last {
				index = d.seen.first
			}
		}
	}
	have, ok := d.seen.logs[index]
	if !ok {
		return raft.ErrLogNotFound
	}
	*l = *have
	l.Data = slices.Clone(have.Data)
	return nil
}

// StoreLog implements raft.LogStore.
func (d *Disk) StoreLog(l *raft.Log) error { return d.StoreLogs([]*raft.Log{l}) }

// StoreLogs implements raft.LogStore. The disk keeps the entries without copying them, because the
// guard makes them for this call.
func (d *Disk) StoreLogs(logs []*raft.Log) error { return d.commit(storing(logs)) }

func storing(logs []*raft.Log) write {
	return write{logs: logs, apply: func(i *image) {
		for _, l := range logs {
			i.logs[l.Index] = l
			if i.first == 0 {
				i.first = l.Index
			}
			i.last = max(i.last, l.Index)
		}
	}}
}

// DeleteRange implements raft.LogStore.
func (d *Disk) DeleteRange(lo, hi uint64) error {
	first, _ := d.FirstIndex()
	last, _ := d.LastIndex()
	if lo > first && hi < last {
		return fmt.Errorf("delete %d to %d inside %d to %d", lo, hi, first, last)
	}
	return d.commit(write{apply: func(i *image) {
		if i.first == 0 || hi < i.first || lo > i.last {
			return
		}
		for k := max(lo, i.first); k <= min(hi, i.last); k++ {
			delete(i.logs, k)
		}
		switch {
		case lo <= i.first && hi >= i.last:
			i.first, i.last = 0, 0
		case lo <= i.first:
			i.first = hi + 1
		case hi >= i.last:
			i.last = lo - 1
		}
	}})
}

var errNoValue = errors.New("not found") // raft compares this text

// Set implements raft.StableStore.
func (d *Disk) Set(key, val []byte) error {
	k, v := string(key), slices.Clone(val)
	return d.commit(write{apply: func(i *image) { i.kv[k] = v }})
}

// Get implements raft.StableStore.
func (d *Disk) Get(key []byte) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	v, ok := d.seen.kv[string(key)]
	if !ok {
		return nil, errNoValue
	}
	return slices.Clone(v), nil
}

// SetUint64 implements raft.StableStore; the guard never calls it.
func (d *Disk) SetUint64([]byte, uint64) error { return errors.ErrUnsupported }

// GetUint64 implements raft.StableStore; the guard never calls it.
func (d *Disk) GetUint64([]byte) (uint64, error) { return 0, errors.ErrUnsupported }

// LogEnd returns the index at which the log or the newest snapshot ends, and the stored term.
// Damaged entries count, and a damaged term counts as the highest one: rmd itself must notice the
// damage.
func (d *Disk) LogEnd() (last, term uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	last = d.seen.last
	if n := len(d.seen.snaps); n > 0 {
		last = max(last, d.seen.snaps[n-1].meta.Index)
	}
	if v := d.seen.kv["CurrentTerm"]; len(v) == 13 && len(d.faults.rotten) == 0 { // version, value, checksum
		return last, binary.BigEndian.Uint64(v[1:])
	} else if len(v) > 0 {
		return last, ^uint64(0)
	}
	return last, 0
}

// Keep stores the identity durably, since rmd replaces the file and syncs it.
func (d *Disk) Keep(who cluster.Identity) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.seen.who, d.safe.who = who, who
	return nil
}

// Identity returns the contents of the identity file.
func (d *Disk) Identity() cluster.Identity {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.seen.who
}

// rmd's levels of free space, and the free space of a healthy disk.
const (
	Reserve = 256 << 20
	Stop    = 64 << 20
	plenty  = 1 << 40
)

// Space returns the free bytes that the file system reports.
func (d *Disk) Space(string) (uint64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.faults.Free == 0 {
		return plenty, nil
	}
	return d.faults.Free, nil
}
