// Package gotest runs benchmarks of this repository as "go test" does, one at a time, and returns
// what they report. Programs that compare benchmarks use it.
package gotest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// Runner runs benchmarks. It builds the test program of a package once.
type Runner struct {
	Dir   string            // directory for the test programs
	built map[string]string // test programs by package
}

// Bench is a benchmark, or one of its parts: "BenchmarkPage/apps=200".
type Bench struct {
	Package string // relative to the root of the repository: "./fsm"
	Name    string
	Time    string // -test.benchtime
}

// Run runs a benchmark in its package's directory, with additional environment variables. It
// returns the reported values by unit.
func (g *Runner) Run(ctx context.Context, f Bench, env ...string) (map[string]float64, error) {
	program, err := g.build(ctx, f.Package)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, program, "-test.run=^$", "-test.bench=^"+strings.TrimSuffix(f.Name, "$")+"$",
		"-test.benchtime="+f.Time, "-test.benchmem", "-test.timeout=30m")
	cmd.Dir, cmd.Env = f.Package, append(os.Environ(), env...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s in %s: %w\n%s%s", f.Name, f.Package, err, out.String(), said.String())
	}
	return parse(out.String())
}

func (g *Runner) build(ctx context.Context, pkg string) (string, error) {
	if program, ok := g.built[pkg]; ok {
		return program, nil
	}
	program := filepath.Join(g.Dir, strings.ReplaceAll(strings.TrimPrefix(pkg, "./"), "/", "-")+".test")
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-o", program, pkg)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("build the tests of %s: %w", pkg, err)
	}
	if g.built == nil {
		g.built = map[string]string{}
	}
	g.built[pkg] = program
	return program, nil
}

// parse parses the result line of a benchmark: a name, a count, then values with units. It uses the
// first such line.
func parse(out string) (map[string]float64, error) {
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		values := map[string]float64{}
		for i := 2; i+1 < len(fields); i += 2 {
			v, err := strconv.ParseFloat(fields[i], 64)
			if err != nil {
				return nil, fmt.Errorf("%q: %w", line, err)
			}
			values[fields[i+1]] = v
		}
		return values, nil
	}
	return nil, fmt.Errorf("no result in %q", out)
}
