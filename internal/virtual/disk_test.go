package virtual

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// disk plays log, stable and snapshot store of one replica. What a call returned
// from is durable. A crash clones it: the process that died goes on with the old
// one and nobody sees what it still writes.
type disk struct {
	mu    sync.Mutex
	rng   *rand.Rand
	logs  map[uint64]*raft.Log
	first uint64 // 0, 0 when empty
	last  uint64
	kv    map[string][]byte
	snaps []*snap // oldest first
	made  int
	stall chan struct{} // closed to go on; nil while the disk works
}

// snap is one finished snapshot.
type snap struct {
	meta raft.SnapshotMeta
	data []byte
}

const snapsKept = 2

func newDisk(seed int64) *disk {
	return &disk{rng: rand.New(rand.NewSource(seed)), logs: map[uint64]*raft.Log{}, kv: map[string][]byte{}}
}

// clone is what the next process finds.
func (d *disk) clone() *disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	return &disk{rng: rand.New(rand.NewSource(d.rng.Int63())), logs: maps.Clone(d.logs), first: d.first, last: d.last,
		kv: maps.Clone(d.kv), snaps: slices.Clone(d.snaps), made: d.made}
}

// freeze stalls every write until the func returned is called.
func (d *disk) freeze() (thaw func()) {
	ch := make(chan struct{})
	d.mu.Lock()
	d.stall = ch
	d.mu.Unlock()
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.stall == ch {
			d.stall = nil
			close(ch)
		}
	}
}

// sync takes the time of one write.
func (d *disk) sync() {
	d.mu.Lock()
	stall := d.stall
	t := time.Duration(200+d.rng.Intn(2000)) * time.Microsecond
	if d.rng.Intn(200) == 0 {
		t += time.Duration(d.rng.Intn(100)) * time.Millisecond
	}
	d.mu.Unlock()
	time.Sleep(t)
	if stall != nil {
		<-stall
	}
}

// FirstIndex implements raft.LogStore.
func (d *disk) FirstIndex() (uint64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.first, nil
}

// LastIndex implements raft.LogStore.
func (d *disk) LastIndex() (uint64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.last, nil
}

// GetLog implements raft.LogStore.
func (d *disk) GetLog(index uint64, l *raft.Log) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	have, ok := d.logs[index]
	if !ok {
		return raft.ErrLogNotFound
	}
	*l = *have
	l.Data = bytes.Clone(have.Data)
	return nil
}

// StoreLog implements raft.LogStore.
func (d *disk) StoreLog(l *raft.Log) error { return d.StoreLogs([]*raft.Log{l}) }

// StoreLogs implements raft.LogStore: all or, when the process dies meanwhile, none.
func (d *disk) StoreLogs(logs []*raft.Log) error {
	d.sync()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, l := range logs {
		c := *l
		c.Data, c.Extensions = bytes.Clone(l.Data), bytes.Clone(l.Extensions)
		d.logs[l.Index] = &c
		if d.first == 0 {
			d.first = l.Index
		}
		d.last = max(d.last, l.Index)
	}
	return nil
}

// DeleteRange implements raft.LogStore.
func (d *disk) DeleteRange(lo, hi uint64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := lo; i <= hi; i++ {
		delete(d.logs, i)
	}
	switch {
	case lo <= d.first && hi >= d.last:
		d.first, d.last = 0, 0
	case lo <= d.first:
		d.first = hi + 1
	case hi >= d.last:
		d.last = lo - 1
	default:
		return fmt.Errorf("delete %d to %d inside %d to %d", lo, hi, d.first, d.last)
	}
	return nil
}

var errNoValue = errors.New("not found") // the text that raft looks for

// Set implements raft.StableStore.
func (d *disk) Set(key, val []byte) error {
	d.sync()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.kv[string(key)] = bytes.Clone(val)
	return nil
}

// Get implements raft.StableStore.
func (d *disk) Get(key []byte) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	v, ok := d.kv[string(key)]
	if !ok {
		return nil, errNoValue
	}
	return bytes.Clone(v), nil
}

// SetUint64 implements raft.StableStore.
func (d *disk) SetUint64(key []byte, v uint64) error {
	return d.Set(key, binary.BigEndian.AppendUint64(nil, v))
}

// GetUint64 implements raft.StableStore.
func (d *disk) GetUint64(key []byte) (uint64, error) {
	v, err := d.Get(key)
	if err != nil {
		return 0, err
	}
	return binary.BigEndian.Uint64(v), nil
}

// snapshots is the raft.SnapshotStore of a disk: a snapshot is there when it is
// finished, not before.
type snapshots struct{ d *disk }

type sink struct {
	d    *disk
	meta raft.SnapshotMeta
	b    bytes.Buffer
}

// Create implements raft.SnapshotStore.
func (s snapshots) Create(v raft.SnapshotVersion, index, term uint64, conf raft.Configuration, confIndex uint64, _ raft.Transport) (raft.SnapshotSink, error) {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	s.d.made++
	return &sink{d: s.d, meta: raft.SnapshotMeta{Version: v, ID: fmt.Sprintf("%d-%d-%d", term, index, s.d.made),
		Index: index, Term: term, Configuration: conf, ConfigurationIndex: confIndex}}, nil
}

// List implements raft.SnapshotStore, newest first.
func (s snapshots) List() ([]*raft.SnapshotMeta, error) {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	var out []*raft.SnapshotMeta
	for _, p := range slices.Backward(s.d.snaps) {
		m := p.meta
		out = append(out, &m)
	}
	return out, nil
}

// Open implements raft.SnapshotStore.
func (s snapshots) Open(id string) (*raft.SnapshotMeta, io.ReadCloser, error) {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	for _, p := range s.d.snaps {
		if p.meta.ID == id {
			m := p.meta
			return &m, io.NopCloser(bytes.NewReader(p.data)), nil
		}
	}
	return nil, nil, fmt.Errorf("no snapshot %s", id)
}

// Write implements raft.SnapshotSink.
func (s *sink) Write(b []byte) (int, error) { return s.b.Write(b) }

// ID implements raft.SnapshotSink.
func (s *sink) ID() string { return s.meta.ID }

// Cancel implements raft.SnapshotSink.
func (s *sink) Cancel() error { return nil }

// Close implements raft.SnapshotSink.
func (s *sink) Close() error {
	s.d.sync()
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	s.meta.Size = int64(s.b.Len())
	s.d.snaps = append(s.d.snaps, &snap{s.meta, s.b.Bytes()})
	slices.SortFunc(s.d.snaps, func(a, b *snap) int {
		return int(int64(a.meta.Term)-int64(b.meta.Term))*1_000_000 + int(int64(a.meta.Index)-int64(b.meta.Index))
	})
	s.d.snaps = s.d.snaps[max(0, len(s.d.snaps)-snapsKept):]
	return nil
}
