package harness

import (
	"errors"
	"fmt"
	"path/filepath"

	"rmd/cluster/timers"
)

// The values of Config.Network.
const (
	Auto       = "auto" // the best one that the machine supports
	Loopback   = "loopback"
	Namespaces = "namespaces"
)

// The values of Config.Disk, in addition to Auto.
const (
	Directory = "directory"
	Loop      = "loop"
)

// Config describes a cluster.
type Config struct {
	Binary   string // the path of rmd
	Dir      string // the absolute path of the directory for configurations, logs and data
	Replicas int    // the replicas that bootstrap the cluster
	Spare    int    // further replicas, which are configured and have no data
	Network  string // auto, loopback or namespaces
	Disk     string // auto, directory or loop
	DiskMB   int    // the size of a loop device, in MiB

	// Raft's own settings, as in rmd.yaml.
	timers.Timers
	SnapshotEvery uint // entries
	Trailing      uint // entries kept after a snapshot

	// Failpoints starts the program with --failpoints, so that it reads failpoints from its
	// standard input. A program of an earlier version may not know the flag.
	Failpoints bool

	Extra string   // appended to every rmd.yaml
	Env   []string // added to the environment of every process
	// Note receives messages for people. It may be nil.
	Note func(format string, args ...any)
}

// DefaultConfig returns a configuration with three replicas and the shortest recommended timers.
func DefaultConfig() Config {
	return Config{
		Replicas: 3, Network: Auto, Disk: Auto, DiskMB: 512,
		Timers:        timers.Lowest(),
		SnapshotEvery: 1000, Trailing: 1_000_000, Failpoints: true,
	}
}

// Validate returns an error that names the first field with an invalid value.
func (c Config) Validate() error {
	switch {
	case c.Binary == "":
		return errors.New("harness: no program to run")
	case !filepath.IsAbs(c.Dir):
		return fmt.Errorf("harness: directory %q is not absolute", c.Dir)
	case c.Replicas < 1 || c.Replicas > 7 || c.Spare < 0 || c.Replicas+c.Spare > 9:
		return fmt.Errorf("harness: %d replicas and %d spare ones; expected 1 to 7, and 9 in all at most",
			c.Replicas, c.Spare)
	case c.Network != Auto && c.Network != Loopback && c.Network != Namespaces:
		return fmt.Errorf("harness: network %q; expected auto, loopback or namespaces", c.Network)
	case c.Disk != Auto && c.Disk != Directory && c.Disk != Loop:
		return fmt.Errorf("harness: disk %q; expected auto, directory or loop", c.Disk)
	case c.DiskMB < 128 || c.DiskMB > 65536:
		return fmt.Errorf("harness: disks of %d MiB; expected 128 to 65536", c.DiskMB)
	case len(c.Timers.Check()) > 0:
		return fmt.Errorf("harness: %w", c.Timers.Check()[0])
	case c.SnapshotEvery < 1 || c.Trailing < 1024:
		return fmt.Errorf("harness: a snapshot every %d entries, %d behind it; expected 1, and 1024 or more",
			c.SnapshotEvery, c.Trailing)
	}
	return nil
}

func (c Config) note(format string, args ...any) {
	if c.Note != nil {
		c.Note(format, args...)
	}
}
