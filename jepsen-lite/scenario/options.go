package scenario

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"rmd/jepsen-lite/harness"
)

// Options are the settings of a run.
type Options struct {
	Scenario   Scenario
	Binary     string   // path of rmd
	Old        string   // path of an earlier version; empty means none
	Env        []string // of every process, in addition to the environment of this one
	Seed       uint64
	Duration   time.Duration // of the faults; 0 means the scenario's
	Out        string        // directory for history, logs and report
	Network    string        // auto, loopback or namespaces; empty means the scenario's
	Disk       string        // auto, directory or loop; empty means the scenario's
	Replicas   int
	Keep       bool     // keep the data directories even if the run passes
	Commit     string   // of the build, for the report
	Failpoints []string // all failpoints of rmd, for the report
	// Note is called with messages for people. It may be nil.
	Note func(format string, args ...any)
}

// DefaultOptions returns options with seed 1 and three replicas.
func DefaultOptions() Options { return Options{Seed: 1, Replicas: 3} }

// Validate returns an error that names an invalid field.
func (o Options) Validate() error {
	switch {
	case o.Scenario.Name == "":
		return errors.New("the scenario is missing")
	case o.Binary == "":
		return errors.New("scenario: the program to test is missing")
	case !filepath.IsAbs(o.Out):
		return fmt.Errorf("scenario: output directory %q is not absolute", o.Out)
	case o.Duration < 0 || o.Duration > 30*24*time.Hour:
		return fmt.Errorf("scenario: duration %s; expected 0 to 30 days", o.Duration)
	case o.Network != "" && o.Network != harness.Auto && o.Network != harness.Loopback && o.Network != harness.Namespaces:
		return fmt.Errorf("scenario: network %q; expected auto, loopback or namespaces", o.Network)
	case o.Disk != "" && o.Disk != harness.Auto && o.Disk != harness.Directory && o.Disk != harness.Loop:
		return fmt.Errorf("scenario: disk %q; expected auto, directory or loop", o.Disk)
	case o.Replicas != 3 && o.Replicas != 5:
		return fmt.Errorf("scenario: %d replicas; expected 3 or 5", o.Replicas)
	}
	return nil
}

func (o Options) note(format string, args ...any) {
	if o.Note != nil {
		o.Note(format, args...)
	}
}
