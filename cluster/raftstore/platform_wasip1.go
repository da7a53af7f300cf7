package raftstore

import (
	"errors"
	"os"
)

// flock has nothing to do: nothing else runs on this platform.
func flock(*os.File) error { return nil }

// FreeSpace cannot be asked for here: the simulation hands its own in.
func FreeSpace(dir string) (uint64, error) {
	return 0, errors.New("free space of " + dir + " is not known on this platform")
}
