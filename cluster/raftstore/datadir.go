package raftstore

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/hashicorp/go-hclog"

	"rmd/cluster/identity"
)

// The layout of a data directory. Names are part of the format.
const (
	fileIdentity = "replica.json"
	fileLog      = "raft.db"
	fileLock     = "lock"
	fileRunning  = "running" // exists while a process is at work, and after a crash
	dirSnapshots = "snapshots"
	removedMax   = 256
)

// Dir is an open and locked data directory; path is empty for a replica without disk.
type Dir struct {
	Path     string
	lock     *os.File
	readOnly bool                          // nothing may be changed in it
	Unclean  bool                          // the last process did not close it
	keep     func(identity.Identity) error // without a path, where there is one
	used     atomic.Bool                   // this replica has stored a term or an entry

	updateMu Mutex // one change at a time

	mu sync.Mutex
	id identity.Identity
}

// OpenDir locks the directory, checks its permissions and reads or makes the identity.
func OpenDir(path string, want identity.Identity) (*Dir, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	if err := checkModes(path); err != nil {
		return nil, err
	}
	lock, err := lockDir(path, os.O_CREATE|os.O_RDWR)
	if err != nil {
		return nil, err
	}
	d := &Dir{Path: path, lock: lock, updateMu: NewMutex()}
	if err := d.load(want); err != nil {
		_ = lock.Close()
		return nil, err
	}
	running := filepath.Join(path, fileRunning)
	if _, err := os.Stat(running); err == nil {
		d.Unclean = true
	} else if err := writeSynced(running, nil); err != nil {
		_ = lock.Close()
		return nil, err
	}
	return d, nil
}

// MemoryDir is the identity of a replica without a disk. keep, which may be nil, is called with
// each change.
func MemoryDir(id identity.Identity, keep func(identity.Identity) error) *Dir {
	return &Dir{id: id, keep: keep, updateMu: NewMutex()}
}

// CheckLog walks the pages of the log's file, which nobody may have open.
func (d *Dir) CheckLog() error { return checkBolt(filepath.Join(d.Path, fileLog)) }

// OpenExisting opens a directory that any replica has used.
func OpenExisting(path string, readOnly bool) (*Dir, error) {
	if _, err := os.Stat(filepath.Join(path, fileIdentity)); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is %w: no %s is in it", path, ErrNoData, fileIdentity)
	} else if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	if err := checkModes(path); err != nil {
		return nil, err
	}
	flags := os.O_CREATE | os.O_RDWR
	if readOnly {
		flags = os.O_RDONLY
	}
	lock, err := lockDir(path, flags)
	switch {
	case readOnly && errors.Is(err, fs.ErrNotExist): // without the file nobody holds it
	case err != nil:
		return nil, err
	}
	d := &Dir{Path: path, lock: lock, readOnly: readOnly, updateMu: NewMutex()}
	b, err := os.ReadFile(filepath.Join(path, fileIdentity))
	if err == nil {
		err = d.decode(b)
	}
	if err == nil {
		err = d.loadTrust()
	}
	if err != nil {
		return nil, errors.Join(err, d.Close(false))
	}
	if _, err := os.Stat(filepath.Join(path, fileRunning)); err == nil {
		d.Unclean = true
	}
	return d, nil
}

// lockDir takes the directory for this process.
func lockDir(path string, flags int) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(path, fileLock), flags, 0o600)
	if err != nil {
		return nil, fmt.Errorf("data directory lock: %w", err)
	}
	if err := flock(f); err != nil {
		_ = f.Close()
		if errors.Is(err, syscall.EAGAIN) {
			return nil, fmt.Errorf("%s: %w", path, ErrInUse)
		}
		return nil, fmt.Errorf("%s cannot be locked: %w", path, err)
	}
	return f, nil
}

// checkModes refuses what others could read or own.
func checkModes(path string) error {
	var errs []error
	for _, name := range []string{"", fileIdentity, fileTrust, fileLog, fileLock, dirSnapshots} {
		p := filepath.Join(path, name)
		st, err := os.Stat(p)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("data directory: %w", err)
		}
		limit := fs.FileMode(0o600)
		if st.IsDir() {
			limit = 0o700
		}
		if st.Mode().Perm()&^limit != 0 {
			errs = append(errs, fmt.Errorf("%w: %s has mode %#o, wider than %#o: chmod %o %s", ErrModes, p, st.Mode().Perm(), limit, limit, p))
		}
		if sys, ok := st.Sys().(*syscall.Stat_t); ok && int(sys.Uid) != os.Geteuid() {
			errs = append(errs, fmt.Errorf("%w: %s belongs to uid %d, this process is %d", ErrModes, p, sys.Uid, os.Geteuid()))
		}
	}
	return errors.Join(errs...)
}

// load reads replica.json, or draws a new incarnation for an empty directory.
func (d *Dir) load(want identity.Identity) error {
	b, err := os.ReadFile(filepath.Join(d.Path, fileIdentity))
	if errors.Is(err, fs.ErrNotExist) {
		if left := d.leftovers(); left != "" {
			return fmt.Errorf("%s exists, but %s is missing: %w", left, fileIdentity, ErrDamaged)
		}
		want.Incarnation = want.Trust.NewKey()
		return d.save(want)
	}
	if err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	if err := d.decode(b); err != nil {
		return fmt.Errorf("%s: %w", d.Path, err)
	}
	if d.id.ID != want.ID || d.id.ClusterName != want.ClusterName {
		return fmt.Errorf("%s belongs to replica %s of cluster %s, not to %s of %s: %w", d.Path, d.id.ID, d.id.ClusterName, want.ID, want.ClusterName, ErrForeign)
	}
	if err := d.loadTrust(); err != nil || d.id.Trust.Seed != nil {
		return err
	}
	id := d.id // of an older program
	if incarnation := id.Trust.NewKey(); id.ClusterID == "" && d.leftovers() == "" {
		id.Incarnation = incarnation // it was in no cluster yet
	}
	return d.save(id)
}

// hasLog says whether raft.db is there. Without it this replica has forgotten its votes and entries
// on which others count, so that is an error unless it has never stored any: the file is there
// before the replica enters a cluster.
func (d *Dir) hasLog() (bool, error) {
	id, path := d.Identity(), filepath.Join(d.Path, fileLog)
	st, err := os.Stat(path)
	if err == nil && st.Size() > 0 {
		return true, nil
	}
	state := "empty"
	if errors.Is(err, fs.ErrNotExist) {
		state = "missing"
	} else if err != nil {
		return false, fmt.Errorf("data directory: %w", err)
	}
	if left := d.snapshotLeft(); id.ClusterID != "" || d.used.Load() || left != "" {
		return false, fmt.Errorf("%s is %s, but %s was a replica of cluster %s: it has forgotten its votes and the entries that it acknowledged: %w",
			path, state, id.ServerID(), strings.TrimSpace(id.ClusterName+" "+id.ClusterID), ErrDamaged)
	}
	return false, nil
}

// snapshotLeft names a snapshot that is here, "" for none.
func (d *Dir) snapshotLeft() string {
	found, _ := filepath.Glob(filepath.Join(d.Path, dirSnapshots, "*")) // the pattern is good
	if len(found) == 0 {
		return ""
	}
	return filepath.Join(dirSnapshots, filepath.Base(found[0]))
}

// leftovers names what a replica has left here, the log or a snapshot; empty: nothing.
func (d *Dir) leftovers() string {
	if _, err := os.Stat(filepath.Join(d.Path, fileLog)); err == nil {
		return fileLog
	}
	return d.snapshotLeft()
}

// CheckInPlace returns an error when the path no longer leads to what this process has open:
// somebody has removed, moved or unmounted it, and nobody would find what is synced from here on. A
// disk that does not answer is no error here.
func (d *Dir) CheckInPlace() error {
	held, err := d.lock.Stat()
	if err != nil {
		return nil
	}
	there, err := os.Stat(filepath.Join(d.Path, fileLock))
	if err == nil {
		if !os.SameFile(held, there) {
			return fmt.Errorf("%s: another directory has replaced it", d.Path)
		}
		_, err = os.Stat(filepath.Join(d.Path, fileLog))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// storedIdentity is what replica.json holds. The checksum is over the identity's compact JSON: a
// changed incarnation would otherwise silently make it another replica. Used lies beside the
// identity, so that an older program can still read the file.
type storedIdentity struct {
	identity.Identity
	Used bool   `json:"used,omitempty"` // raft.db has held a term or an entry
	Sum  string `json:"crc32c"`
}

func identitySum(id identity.Identity) (string, error) {
	b, err := json.Marshal(id)
	return fmt.Sprintf("%08x", crc32.Checksum(b, castagnoli)), err
}

func encodeIdentity(id identity.Identity, used bool) ([]byte, error) {
	sum, err := identitySum(id)
	if err != nil {
		return nil, err
	}
	b, err := json.MarshalIndent(storedIdentity{id, used, sum}, "", "  ")
	return append(b, '\n'), err
}

// decode takes in what replica.json holds.
func (d *Dir) decode(b []byte) error {
	var s storedIdentity
	if err := json.Unmarshal(b, &s); err != nil {
		return fmt.Errorf("%s: %w: %w", fileIdentity, err, ErrDamaged)
	}
	if sum, err := identitySum(s.Identity); err != nil || sum != s.Sum || s.Incarnation == "" {
		return fmt.Errorf("%s: checksum differs: %w", fileIdentity, ErrDamaged)
	}
	d.id = s.Identity
	d.used.Store(s.Used)
	return nil
}

// Identity returns a copy.
func (d *Dir) Identity() identity.Identity {
	d.mu.Lock()
	defer d.mu.Unlock()
	id := d.id
	id.RemovedPeers, id.Trust = slices.Clone(id.RemovedPeers), id.Trust.Clone()
	return id
}

// Update edits the identity and makes it durable.
func (d *Dir) Update(edit func(*identity.Identity)) error {
	d.updateMu.Lock()
	defer d.updateMu.Unlock()
	id := d.Identity()
	edit(&id)
	if n := len(id.RemovedPeers) - removedMax; n > 0 {
		id.RemovedPeers = id.RemovedPeers[n:]
	}
	return d.save(id)
}

// save writes the identity: temporary name, sync, rename, sync of the directory.
func (d *Dir) save(id identity.Identity) error {
	if err := d.saveTrust(id.Trust); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.Path != "" {
		if err := d.write(id, d.used.Load()); err != nil {
			return err
		}
	}
	if d.Path == "" && d.keep != nil {
		if err := d.keep(id); err != nil {
			return err
		}
	}
	d.id = id
	return nil
}

// write replaces replica.json. The lock is held.
func (d *Dir) write(id identity.Identity, used bool) error {
	b, err := encodeIdentity(id, used)
	if err != nil {
		return err
	}
	return writeSynced(filepath.Join(d.Path, fileIdentity), b)
}

// MarkUsed remembers that raft.db has held something, so that its loss is noticed. Where that fails
// it is tried again after the next write.
func (d *Dir) MarkUsed(log hclog.Logger) {
	if d.Path == "" || d.used.Load() {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.used.Load() {
		return
	}
	if err := d.write(d.id, true); err != nil {
		log.Warn("cannot record that this replica has stored data", "error", err)
		return
	}
	d.used.Store(true)
}

// Close releases the directory; clean says that all stores were closed in order.
func (d *Dir) Close(clean bool) error {
	if d.Path == "" || d.lock == nil {
		return nil
	}
	var err error
	if clean {
		if err = os.Remove(filepath.Join(d.Path, fileRunning)); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	return errors.Join(err, d.lock.Close())
}

// writeSynced replaces a file so that a crash leaves the old or the new one.
func writeSynced(path string, b []byte) error {
	tmp := path + ".tmp"
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return syncDir(filepath.Dir(path))
}

func syncDir(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// fileSize is the size of the store, 0 when it is not known.
func fileSize(dir string) int64 {
	st, err := os.Stat(filepath.Join(dir, fileLog))
	if err != nil {
		return 0
	}
	return st.Size()
}

// RemoveLeftovers removes temporary files of a process that ended in the middle.
func RemoveLeftovers(dir string, log hclog.Logger) {
	for _, pattern := range []string{"restore-*.tmp", "recover-*.tmp"} {
		names, _ := filepath.Glob(filepath.Join(dir, pattern)) // the pattern is well-formed
		for _, n := range names {
			if err := os.Remove(n); err != nil {
				log.Warn("cannot remove a temporary file", "file", n, "error", err)
			}
		}
	}
}
