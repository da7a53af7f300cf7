package harness

import (
	"errors"
	"os"
)

// ErrNoDisk means that the fault needs a disk of the replica's own.
var ErrNoDisk = errors.New("the replica has no file system of its own")

// Disk is the disk with a replica's data directory.
type Disk interface {
	// Kind is Directory or Loop.
	Kind() string
	// Dir is the data directory.
	Dir() string
	// PowerCut discards everything that was not synced. Every access fails until Remount. The
	// process must end before Remount.
	PowerCut() error
	// Remount unmounts the file system and mounts it again.
	Remount(readOnly bool) error
	// Fill fills the disk until leave bytes are free. FillInodes takes all inodes, so that no file
	// can be created. Free removes the filling of both.
	Fill(leave int64) error
	FillInodes() error
	Free() error
	// Freeze blocks every write until Thaw.
	Freeze() error
	Thaw() error
	Close() error
}

// directory is a Disk without faults: a directory of the machine's file system.
type directory string

// Kind implements Disk.
func (directory) Kind() string { return Directory }

// Dir implements Disk.
func (d directory) Dir() string { return string(d) }

// PowerCut implements Disk.
func (directory) PowerCut() error { return ErrNoDisk }

// Remount implements Disk.
func (directory) Remount(bool) error { return ErrNoDisk }

// Fill implements Disk.
func (directory) Fill(int64) error { return ErrNoDisk }

// FillInodes implements Disk.
func (directory) FillInodes() error { return ErrNoDisk }

// Free implements Disk.
func (directory) Free() error { return ErrNoDisk }

// Freeze implements Disk.
func (directory) Freeze() error { return ErrNoDisk }

// Thaw implements Disk.
func (directory) Thaw() error { return ErrNoDisk }

// Close implements Disk.
func (directory) Close() error { return nil }

// newDirectory creates the data directory.
func newDirectory(dir string) (Disk, error) { return directory(dir), os.MkdirAll(dir, 0o700) }
