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
	"rmd/internal/filemode"
)

// The layout of a data directory. The names are part of the format.
const (
	fileIdentity = "replica.json"
	fileLog      = "raft.db"
	fileLock     = "lock"
	fileRunning  = "running" // exists while a process uses the directory, and after a crash
	dirSnapshots = "snapshots"
	removedMax   = 256
)

// Dir is an open and locked data directory. Path is empty for a replica without a disk.
type Dir struct {
	Path     string
	lock     *os.File
	readOnly bool                          // nothing may be changed
	Unclean  bool                          // the last process did not close the directory
	keep     func(identity.Identity) error // stores the identity if Path is empty; may be nil
	used     atomic.Bool                   // this replica has stored a term or an entry

	updateMu Mutex // held during a change of the identity

	mu sync.Mutex
	id identity.Identity
}

// OpenDir locks the directory, checks its permissions, and reads or creates the identity.
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

// MemoryDir returns a Dir that keeps the identity in memory. keep is called with each change; it
// may be nil.
func MemoryDir(id identity.Identity, keep func(identity.Identity) error) *Dir {
	return &Dir{id: id, keep: keep, updateMu: NewMutex()}
}

// CheckLog checks the pages of the log's file. No process may have the file open.
func (d *Dir) CheckLog() error { return checkBolt(filepath.Join(d.Path, fileLog)) }

// OpenExisting opens a directory that a replica has used. It returns ErrNoData for any other one.
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
	case readOnly && errors.Is(err, fs.ErrNotExist): // without the lock file no process uses the directory
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

// lockDir locks the directory for this process.
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

// checkModes returns an error if other users could read or change the directory, or own it. The
// group of a shared directory may use what has this group: Kubernetes gives it these modes whenever
// it mounts a volume with fsGroup.
func checkModes(path string) error {
	var errs []error
	var group uint32
	shared := false
	if st, err := os.Stat(path); err == nil {
		group, shared = filemode.Shared(st)
	}
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
		sys, known := st.Sys().(*syscall.Stat_t)
		if known && shared && sys.Gid == group {
			limit |= limit >> 3
		}
		if st.Mode().Perm()&^limit != 0 {
			errs = append(errs, fmt.Errorf("%w: %s has mode %#o, wider than %#o: chmod %o %s", ErrModes, p, st.Mode().Perm(),
				limit, limit, p))
		}
		if known && int(sys.Uid) != os.Geteuid() {
			errs = append(errs, fmt.Errorf("%w: %s belongs to uid %d, this process is %d", ErrModes, p, sys.Uid, os.Geteuid()))
		}
	}
	return errors.Join(errs...)
}

// load reads replica.json. For an empty directory it generates a new incarnation.
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
		return fmt.Errorf("%s belongs to replica %s of cluster %s, not to %s of %s: %w", d.Path, d.id.ID, d.id.ClusterName,
			want.ID, want.ClusterName, ErrForeign)
	}
	if err := d.loadTrust(); err != nil || d.id.Trust.Seed != nil {
		return err
	}
	id := d.id // an older program wrote it
	if incarnation := id.Trust.NewKey(); id.ClusterID == "" && d.leftovers() == "" {
		id.Incarnation = incarnation // the replica was not in a cluster yet
	}
	return d.save(id)
}

// hasLog reports whether raft.db exists. A replica without it has forgotten its votes and the
// entries that it acknowledged. So a missing file is an error unless the replica has never stored
// any: the file exists before the replica enters a cluster.
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
		return false,
			fmt.Errorf("%s is %s, but %s was a replica of cluster %s: it has forgotten its votes and the entries that it acknowledged: %w",
				path, state, id.ServerID(), strings.TrimSpace(id.ClusterName+" "+id.ClusterID), ErrDamaged)
	}
	return false, nil
}

// snapshotLeft returns the path of a snapshot in the directory, or "" if there is none.
func (d *Dir) snapshotLeft() string {
	found, _ := filepath.Glob(filepath.Join(d.Path, dirSnapshots, "*")) // the pattern is well-formed
	if len(found) == 0 {
		return ""
	}
	return filepath.Join(dirSnapshots, filepath.Base(found[0]))
}

// leftovers returns the path of the log or of a snapshot that a replica has left here, or "" if
// there is neither.
func (d *Dir) leftovers() string {
	if _, err := os.Stat(filepath.Join(d.Path, fileLog)); err == nil {
		return fileLog
	}
	return d.snapshotLeft()
}

// CheckInPlace returns an error if the path no longer leads to the files that this process has
// open. Then the directory was removed, moved or unmounted, and nothing that is synced from now on
// would be found. A disk that does not answer is not an error here.
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

// storedIdentity is the content of replica.json. The checksum covers the identity's compact JSON.
// Without it a damaged incarnation would silently make this another replica. Used is not part of
// the identity, so that an older program can still read the file.
type storedIdentity struct {
	identity.Identity
	Used bool   `json:"used,omitempty"` // raft.db has contained a term or an entry
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

// decode reads the content of replica.json.
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

// Identity returns a copy of the identity.
func (d *Dir) Identity() identity.Identity {
	d.mu.Lock()
	defer d.mu.Unlock()
	id := d.id
	id.RemovedPeers, id.Trust = slices.Clone(id.RemovedPeers), id.Trust.Clone()
	return id
}

// Update changes the identity and makes the change durable.
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

// save writes the identity: temporary file, sync, rename, sync of the directory.
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

// write replaces replica.json. The caller holds d.mu.
func (d *Dir) write(id identity.Identity, used bool) error {
	b, err := encodeIdentity(id, used)
	if err != nil {
		return err
	}
	return writeSynced(filepath.Join(d.Path, fileIdentity), b)
}

// MarkUsed records that raft.db has contained something, so that its loss is detected. If the write
// fails, MarkUsed tries again after the next write of a term.
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

// Close releases the directory. clean means that all stores were closed properly.
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

// writeSynced replaces a file. After a crash the file has the old or the new content.
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

// fileSize returns the size of raft.db, or 0 if it is unknown.
func fileSize(dir string) int64 {
	st, err := os.Stat(filepath.Join(dir, fileLog))
	if err != nil {
		return 0
	}
	return st.Size()
}

// RemoveLeftovers removes the temporary files of a process that did not finish.
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
