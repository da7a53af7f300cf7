package raftstore

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc64"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/raft"
)

const fileState = "state.bin"

// snapshotFiles reads the library's snapshots and changes nothing. The library's own store creates
// the directory and writes a test file into it.
type snapshotFiles struct{ dir string }

// storedMeta is the content of meta.json.
type storedMeta struct {
	raft.SnapshotMeta
	CRC []byte
}

// finished returns the names of the directories of finished snapshots.
func (s snapshotFiles) finished() ([]string, error) {
	list, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, e := range list {
		if e.IsDir() && !strings.HasSuffix(e.Name(), ".tmp") {
			names = append(names, e.Name())
		}
	}
	return names, err
}

func (s snapshotFiles) meta(id string) (m storedMeta, err error) {
	b, err := os.ReadFile(filepath.Join(s.dir, id, fileMeta))
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(b, &m); err != nil {
		return m, fmt.Errorf("%s: %w: %w", fileMeta, err, ErrDamaged)
	}
	return m, nil
}

// List implements raft.SnapshotStore. It returns the snapshots with readable metadata, newest
// first, at most snapshotsKept.
func (s snapshotFiles) List() ([]*raft.SnapshotMeta, error) {
	names, err := s.finished()
	if err != nil {
		return nil, err
	}
	var list []*raft.SnapshotMeta
	for _, name := range names {
		if m, err := s.meta(name); err == nil {
			list = append(list, &m.SnapshotMeta)
		}
	}
	slices.SortFunc(list, func(a, b *raft.SnapshotMeta) int { return -compareSnapshots(a, b) })
	return list[:min(len(list), snapshotsKept)], nil
}

// compareSnapshots orders snapshots as the library does.
func compareSnapshots(a, b *raft.SnapshotMeta) int {
	if a.Term != b.Term {
		return cmp.Compare(a.Term, b.Term)
	}
	return cmp.Or(cmp.Compare(a.Index, b.Index), cmp.Compare(a.ID, b.ID))
}

// Open implements raft.SnapshotStore.
func (s snapshotFiles) Open(id string) (*raft.SnapshotMeta, io.ReadCloser, error) {
	m, err := s.meta(id)
	if err != nil {
		return nil, nil, err
	}
	f, err := os.Open(filepath.Join(s.dir, id, fileState))
	if err != nil {
		return nil, nil, err
	}
	sum := crc64.New(crc64.MakeTable(crc64.ECMA))
	if _, err = io.Copy(sum, f); err == nil && !slices.Equal(sum.Sum(nil), m.CRC) {
		err = fmt.Errorf("%s: checksum differs: %w", fileState, ErrDamaged)
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return &m.SnapshotMeta, struct {
		io.Reader
		io.Closer
	}{bufio.NewReader(f), f}, nil
}

// Create implements raft.SnapshotStore and always fails.
func (s snapshotFiles) Create(raft.SnapshotVersion, uint64, uint64, raft.Configuration, uint64,
	raft.Transport) (raft.SnapshotSink, error) {
	return nil, fmt.Errorf("create a snapshot in %s: %w", s.dir, fs.ErrPermission)
}

// AddressEncoder encodes addresses for a snapshot's metadata. It implements no other method of
// raft.Transport.
type AddressEncoder struct{ raft.Transport }

// EncodePeer returns the address.
func (AddressEncoder) EncodePeer(_ raft.ServerID, a raft.ServerAddress) []byte { return []byte(a) }
