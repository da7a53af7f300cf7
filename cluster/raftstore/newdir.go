package raftstore

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// ErrNotEmpty says that a directory has something in it.
var ErrNotEmpty = errors.New("not empty")

// dirUnfinished is where the content of a new data directory is made.
const dirUnfinished = "unfinished.tmp"

// NewDir makes a data directory with the content that fill gives a folder. The identity is the last
// that gets its place: without it there is no replica, and a process that is killed leaves what the
// next call removes.
func NewDir(path string, fill func(folder string) error) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return err
	}
	if err := removeUnfinished(path); err != nil {
		return err
	}
	tmp := filepath.Join(path, dirUnfinished)
	if err := os.Mkdir(tmp, 0o700); err != nil {
		return err
	}
	err := fill(tmp)
	if err == nil {
		err = moveUp(path, tmp)
	}
	if err != nil {
		return errors.Join(err, removeUnfinished(path))
	}
	return nil
}

// moveUp moves the content of a folder into the directory above it.
func moveUp(path, tmp string) error {
	entries, err := os.ReadDir(tmp)
	if err != nil {
		return err
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	names = append(slices.DeleteFunc(names, func(n string) bool { return n == fileIdentity }), fileIdentity)
	for _, name := range names {
		if name == fileIdentity { // what it stands for must be there before it
			if err := syncDir(path); err != nil {
				return err
			}
		}
		if err := os.Rename(filepath.Join(tmp, name), filepath.Join(path, name)); err != nil {
			return err
		}
	}
	return errors.Join(syncDir(path), os.Remove(tmp))
}

// removeUnfinished empties a directory in which a NewDir has not ended. Any other must be empty.
func removeUnfinished(path string) error {
	_, errTmp := os.Stat(filepath.Join(path, dirUnfinished))
	_, errIdentity := os.Stat(filepath.Join(path, fileIdentity))
	entries, err := os.ReadDir(path)
	switch {
	case err != nil || len(entries) == 0:
		return err
	case errTmp != nil || !errors.Is(errIdentity, fs.ErrNotExist):
		return ErrNotEmpty
	}
	for _, e := range entries {
		if e.Name() == dirUnfinished { // removed last: it marks the rest as unfinished
			continue
		}
		if err := os.RemoveAll(filepath.Join(path, e.Name())); err != nil {
			return err
		}
	}
	return os.RemoveAll(filepath.Join(path, dirUnfinished))
}
