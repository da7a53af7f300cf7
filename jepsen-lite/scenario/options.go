package scenario

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"rmd/jepsen-lite/harness"
)

// Options are how a scenario is run.
type Options struct {
	Scenario   Scenario
	Binary     string   // the program
	Old        string   // an earlier version of it; empty: none
	Env        []string // of every process, beside this one's
	Seed       uint64
	Duration   time.Duration // of the faults; 0: the scenario's
	Out        string        // where history, logs and report go
	Network    string        // auto, loopback or namespaces; empty: the scenario's
	Disk       string        // auto, directory or loop; empty: the scenario's
	Replicas   int
	Keep       bool     // data directories, also when all is well
	Commit     string   // of the build, for the report
	Failpoints []string // named places of the program's code, for the report
	// Note is told what goes on, for people; may be nil.
	Note func(format string, args ...any)
}

// DefaultOptions are three replicas and what the machine offers.
func DefaultOptions() Options { return Options{Seed: 1, Replicas: 3} }

// Validate tells which field is out of its bounds.
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
