package raftstore

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// ErrNotEmpty means that a directory contains something.
var ErrNotEmpty = errors.New("not empty")

// dirUnfinished is the folder in which the content of a new data directory is prepared.
const dirUnfinished = "unfinished.tmp"

// NewDir makes a data directory with the content that fill writes into a folder. It moves the
// identity last: without the identity the directory has no replica. If the process is killed before
// that, the next call removes what is left.
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

// moveUp moves the content of the folder tmp into path.
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
		if name == fileIdentity { // the other files must be durable before the identity
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

// removeUnfinished empties a directory in which NewDir was interrupted. It returns ErrNotEmpty for
// any other directory that is not empty.
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
