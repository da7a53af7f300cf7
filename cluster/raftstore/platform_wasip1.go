package raftstore

import (
	"errors"
	"os"
)

// flock does nothing: there is no other process on this platform.
func flock(*os.File) error { return nil }

// FreeSpace fails. The simulation passes in its own function.
func FreeSpace(dir string) (uint64, error) {
	return 0, errors.New("free space of " + dir + " is not known on this platform")
}
