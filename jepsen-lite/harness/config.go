package harness

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"
)

// The kinds of Config.Network.
const (
	Auto       = "auto" // the first choice that the machine offers
	Loopback   = "loopback"
	Namespaces = "namespaces"
)

// The kinds of Config.Disk, beside Auto.
const (
	Directory = "directory"
	Loop      = "loop"
)

// Config describes a cluster.
type Config struct {
	Binary   string // the program
	Dir      string // of everything: configurations, logs, data
	Replicas int    // that bootstrap the cluster
	Spare    int    // further replicas, configured and empty
	Network  string // auto, loopback or namespaces
	Disk     string // auto, directory or loop
	DiskMB   int    // of a loop device

	// Raft's own settings, as in rmd.yaml.
	Heartbeat, Election, Lease time.Duration
	SnapshotEvery              uint // entries
	Trailing                   uint // entries kept behind a snapshot

	// Failpoints starts the program so that it reads failpoints from its standard input; one of an
	// earlier version may not know how.
	Failpoints bool

	Extra string   // appended to every rmd.yaml
	Env   []string // of every process, beside this one's
	// Note is told what is done, for people; may be nil.
	Note func(format string, args ...any)
}

// DefaultConfig is three replicas with the lowest timers advised.
func DefaultConfig() Config {
	return Config{
		Replicas: 3, Network: Auto, Disk: Auto, DiskMB: 512,
		Heartbeat: 150 * time.Millisecond, Election: 150 * time.Millisecond, Lease: 100 * time.Millisecond,
		SnapshotEvery: 1000, Trailing: 1_000_000, Failpoints: true,
	}
}

// Validate tells which field is out of its bounds.
func (c Config) Validate() error {
	switch {
	case c.Binary == "":
		return errors.New("harness: no program to run")
	case !filepath.IsAbs(c.Dir):
		return fmt.Errorf("harness: directory %q is not absolute", c.Dir)
	case c.Replicas < 1 || c.Replicas > 7 || c.Spare < 0 || c.Replicas+c.Spare > 9:
		return fmt.Errorf("harness: %d replicas and %d spare ones; expected 1 to 7, and 9 in all at most", c.Replicas, c.Spare)
	case c.Network != Auto && c.Network != Loopback && c.Network != Namespaces:
		return fmt.Errorf("harness: network %q; expected auto, loopback or namespaces", c.Network)
	case c.Disk != Auto && c.Disk != Directory && c.Disk != Loop:
		return fmt.Errorf("harness: disk %q; expected auto, directory or loop", c.Disk)
	case c.DiskMB < 128 || c.DiskMB > 65536:
		return fmt.Errorf("harness: disks of %d MiB; expected 128 to 65536", c.DiskMB)
	case c.Heartbeat < 100*time.Millisecond || c.Election < c.Heartbeat || c.Lease <= 0 || c.Lease > c.Heartbeat:
		return fmt.Errorf("harness: timers %s/%s/%s; expected 100ms or more, and lease ≤ heartbeat ≤ election", c.Heartbeat, c.Election, c.Lease)
	case c.SnapshotEvery < 1 || c.Trailing < 1024:
		return fmt.Errorf("harness: a snapshot every %d entries, %d behind it; expected 1, and 1024 or more", c.SnapshotEvery, c.Trailing)
	}
	return nil
}

func (c Config) note(format string, args ...any) {
	if c.Note != nil {
		c.Note(format, args...)
	}
}
