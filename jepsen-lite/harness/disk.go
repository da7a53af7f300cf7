package harness

import (
	"errors"
	"os"
)

// ErrNoDisk says that a directory of the machine's own file system cannot do
// what a disk of its own can.
var ErrNoDisk = errors.New("the replica has no file system of its own")

// Disk is what a replica's data directory lies on.
type Disk interface {
	// Kind is Directory or Loop.
	Kind() string
	// Dir is the data directory.
	Dir() string
	// PowerCut loses everything that was not synced; every access fails until
	// Remount, before which the process must have ended.
	PowerCut() error
	// Remount takes the file system off and mounts it again.
	Remount(readOnly bool) error
	// Fill leaves so many bytes free; Free gives the rest back.
	Fill(leave int64) error
	Free() error
	// Freeze blocks every write until Thaw.
	Freeze() error
	Thaw() error
	Close() error
}

// directory is a Disk of a machine that offers nothing.
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

// Free implements Disk.
func (directory) Free() error { return ErrNoDisk }

// Freeze implements Disk.
func (directory) Freeze() error { return ErrNoDisk }

// Thaw implements Disk.
func (directory) Thaw() error { return ErrNoDisk }

// Close implements Disk.
func (directory) Close() error { return nil }

// newDirectory makes the data directory.
func newDirectory(dir string) (Disk, error) { return directory(dir), os.MkdirAll(dir, 0o700) }
