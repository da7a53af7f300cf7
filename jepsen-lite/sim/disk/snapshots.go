package disk

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"syscall"

	"github.com/hashicorp/raft"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksumOK reports whether a stored entry is as the guard encoded it: its last four bytes are the
// checksum of all bytes before them.
func checksumOK(b []byte) bool {
	n := len(b) - 4
	return n > 0 && crc32.Checksum(b[:n], castagnoli) == binary.BigEndian.Uint32(b[n:])
}

// wholeValue reports the same for a stored value: version, value, and the checksum of key and
// value.
func wholeValue(key string, b []byte) bool {
	n := len(b) - 4
	if n < 1 {
		return len(b) == 0
	}
	sum := crc32.Update(crc32.Checksum([]byte(key), castagnoli), castagnoli, b[1:n])
	return b[0] == 1 && sum == binary.BigEndian.Uint32(b[n:])
}

// snapshots is the raft.SnapshotStore of a disk. Like the library's own store, it writes and syncs
// a snapshot under a temporary name and then renames it. The snapshot is durable when the directory
// is synced.
type snapshots struct{ d *Disk }

// Snapshots returns the snapshot store.
func (d *Disk) Snapshots() raft.SnapshotStore { return snapshots{d} }

type sink struct {
	d    *Disk
	meta raft.SnapshotMeta
	b    bytes.Buffer
	done bool
}

// Create implements raft.SnapshotStore.
func (s snapshots) Create(v raft.SnapshotVersion, index, term uint64, conf raft.Configuration, confIndex uint64,
	_ raft.Transport) (raft.SnapshotSink, error) {
	s.d.step()
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	if s.d.faults.Crowded {
		return nil, fmt.Errorf("create a directory: %w", syscall.ENOSPC)
	}
	s.d.made++
	return &sink{d: s.d, meta: raft.SnapshotMeta{Version: v, ID: fmt.Sprintf("%d-%d-%d", term, index, s.d.made),
		Index: index, Term: term, Configuration: conf.Clone(), ConfigurationIndex: confIndex}}, nil
}

// List implements raft.SnapshotStore. The newest snapshot comes first.
func (s snapshots) List() ([]*raft.SnapshotMeta, error) {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	var out []*raft.SnapshotMeta
	for _, p := range slices.Backward(s.d.seen.snaps) {
		m := p.meta
		out = append(out, &m)
	}
	return out, nil
}

// Open implements raft.SnapshotStore. Like the library's own store, it compares the checksum.
func (s snapshots) Open(id string) (*raft.SnapshotMeta, io.ReadCloser, error) {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	for _, p := range s.d.seen.snaps {
		if p.meta.ID != id {
			continue
		}
		if crc32.Checksum(p.data, castagnoli) != p.sum {
			return nil, nil, errors.New("CRC mismatch")
		}
		m := p.meta
		return &m, io.NopCloser(bytes.NewReader(p.data)), nil
	}
	return nil, nil, fmt.Errorf("no snapshot %s", id)
}

// Write implements raft.SnapshotSink.
func (s *sink) Write(b []byte) (int, error) {
	s.d.step()
	if s.d.HasFault(func(f Faults) bool { return f.Full }) {
		return 0, fmt.Errorf("write state: %w", syscall.ENOSPC)
	}
	return s.b.Write(b)
}

// ID implements raft.SnapshotSink.
func (s *sink) ID() string { return s.meta.ID }

// Cancel implements raft.SnapshotSink.
func (s *sink) Cancel() error {
	s.done = true
	return nil
}

// Close implements raft.SnapshotSink.
func (s *sink) Close() error {
	if s.done {
		return nil
	}
	s.done = true
	for range 2 { // sync state; write and sync meta
		s.d.syncDelay()
		s.d.step()
		if s.d.HasFault(func(f Faults) bool { return f.Failing }) {
			s.d.SetFaults(func(f *Faults) { f.Failing, f.Poisoned = false, true })
			return fmt.Errorf("sync snapshot: %w", syscall.EIO)
		}
	}
	s.meta.Size = int64(s.b.Len())
	p := &snap{s.meta, s.b.Bytes(), crc32.Checksum(s.b.Bytes(), castagnoli)}
	return s.d.commit(write{apply: func(i *image) { // rename, and sync of the directory
		i.snaps = append(slices.Clone(i.snaps), p)
		slices.SortStableFunc(i.snaps, func(a, b *snap) int {
			if a.meta.Term != b.meta.Term {
				return int(int64(a.meta.Term) - int64(b.meta.Term))
			}
			return int(int64(a.meta.Index) - int64(b.meta.Index))
		})
		i.snaps = i.snaps[max(0, len(i.snaps)-snapsKept):]
	}})
}
