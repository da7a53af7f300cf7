package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"rmd/internal/failpoint"
	"rmd/internal/nearest"
	"rmd/jepsen-lite/scenario"
)

const runHelp = `rmd-chaos run: inject the faults of a scenario under load and verify the history

Usage: rmd-chaos run SCENARIO [FLAGS]

The program starts real rmd processes in a new directory, with simulated nodes,
ApplicationMasters, operators and readers. Some faults require network
namespaces, loop devices or strace. If this machine does not support them, the
program uses a substitute, or skips the faults and lists them. The exit code is
9 if a check failed.

Flags:
   --bin FILE             the rmd to test (default: the one in the directory of
                          this program, else the one in PATH)
   --old FILE             an rmd of an earlier version, for the scenario upgrade
   --seed N               determines the order of the faults and their targets
                          (default: from the clock)
   --duration SPAN        how long to inject faults (default: the scenario's)
   --only NAME,NAME       inject only these faults of the scenario
   --out DIR              write history, logs and report here (default: a new
                          temporary directory)
   --network KIND         auto|loopback|namespaces (default: the scenario's)
   --disk KIND            auto|directory|loop (default: the scenario's)
   --replicas N           3 or 5 (default: 3)
   --keep                 keep the data directories even if the run passes
   -o, --output FORMAT    table|json|yaml (default: table)
   -q, --quiet            print no progress

Examples:
   rmd-chaos run smoke
   rmd-chaos run leader-kills --duration 10m --out kills
   rmd-chaos run nightly --only delay,loss --network loopback
`

// runFlags are the flags of run that need more than parsing.
type runFlags struct {
	bin, old, only, out string
}

func runScenario(ctx context.Context, c *call) error {
	opt, err := runOptions(ctx, c)
	if err != nil {
		return err
	}
	began := time.Now()
	opt.Note = func(format string, args ...any) {
		c.printProgress("%6.1fs  "+format, append([]any{time.Since(began).Seconds()}, args...)...)
	}
	c.printProgress("seed %d, %s %s, results in %s", opt.Seed, opt.Binary, opt.Commit, opt.Out)
	res, err := scenario.Run(ctx, opt)
	if err != nil {
		return failed(exitFailure, "FAILED", "rmd-chaos list shows what this machine supports", "%v", err)
	}
	if err := errors.Join(res.WritePage(), res.WriteResult(),
		c.write(res.WriteText, json.RawMessage(res.JSON()))); err != nil {
		return err
	}
	if !res.OK() {
		return failed(exitCheckFailed, "CHECK_FAILED", "read "+filepath.Join(res.Out, "index.html")+" and the logs beside it",
			"scenario %s failed with seed %d", res.Scenario, res.Seed)
	}
	return nil
}

// runOptions reads the command line of run.
func runOptions(ctx context.Context, c *call) (scenario.Options, error) {
	opt := scenario.DefaultOptions()
	var f runFlags
	c.flags.StringVar(&f.bin, "bin", "", "")
	c.flags.StringVar(&f.old, "old", "", "")
	c.flags.StringVar(&f.only, "only", "", "")
	c.flags.StringVar(&f.out, "out", "", "")
	c.flags.Uint64Var(&opt.Seed, "seed", 0, "")
	c.flags.Var((*span)(&opt.Duration), "duration", "")
	c.flags.StringVar(&opt.Network, "network", "", "")
	c.flags.StringVar(&opt.Disk, "disk", "", "")
	c.flags.IntVar(&opt.Replicas, "replicas", opt.Replicas, "")
	c.flags.BoolVar(&opt.Keep, "keep", false, "")
	if err := c.parse(1); err != nil {
		return opt, err
	}
	if !c.isSet("seed") {
		opt.Seed = uint64(time.Now().UnixNano()) % 1_000_000
	}
	for _, name := range failpoint.All() {
		opt.Failpoints = append(opt.Failpoints, string(name))
	}
	var err error
	if opt.Scenario, err = chosen(c.args, f.only); err != nil {
		return opt, err
	}
	if opt.Binary, opt.Commit, err = serverProgram(ctx, f.bin); err != nil {
		return opt, err
	}
	if opt.Old, err = oldProgram(opt.Scenario, f.old); err != nil {
		return opt, err
	}
	if opt.Out, err = outputDir(f.out); err != nil {
		return opt, err
	}
	if err := opt.Validate(); err != nil {
		_ = os.Remove(opt.Out) // remove the empty directory that outputDir may have created
		return opt, usagef("run rmd-chaos run --help", "%v", err)
	}
	return opt, nil
}

// chosen returns the scenario that the command line names, with only the faults of --only.
func chosen(args []string, only string) (scenario.Scenario, error) {
	if len(args) == 0 {
		return scenario.Scenario{}, usagef("rmd-chaos list shows the scenarios; the shortest is smoke",
			"the scenario is missing")
	}
	s, ok := scenario.Find(args[0])
	if !ok {
		var known []string
		for _, s := range scenario.All() {
			known = append(known, s.Name)
		}
		do := "use one of " + strings.Join(known, ", ")
		if near := nearest.Name(args[0], known); near != "" {
			do = fmt.Sprintf("did you mean %q?", near)
		}
		return s, failed(exitNotFound, "USAGE", do, "unknown scenario %q", args[0])
	}
	if only == "" {
		return s, nil
	}
	s, err := s.Only(strings.Split(only, ","))
	if err != nil {
		return s, usagef("rmd-chaos list shows the scenarios and faults", "%v", err)
	}
	return s, nil
}

// oldProgram returns the path of --old, the rmd with which a rolling upgrade begins.
func oldProgram(s scenario.Scenario, named string) (string, error) {
	if named == "" {
		if slices.Contains(s.Faults, "upgrade") {
			return "", usagef("name an rmd of an earlier version with --old; make chaos-upgrade builds one",
				"scenario %s requires two versions of rmd", s.Name)
		}
		return "", nil
	}
	return executable(named, "--old")
}

// outputDir returns the directory of a run: a new one, or the empty one that --out names.
func outputDir(named string) (string, error) {
	if named == "" {
		return os.MkdirTemp("", "rmd-chaos-*")
	}
	dir, err := filepath.Abs(named)
	if err != nil {
		return "", err
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", filef("name another directory with --out", "%v", err)
	}
	if len(entries) > 0 {
		return "", failed(exitRefused, "EXISTS", "name another directory, or empty this one",
			"directory %s is not empty", dir)
	}
	return dir, nil
}
