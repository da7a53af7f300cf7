package main

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

// goTests runs benchmarks. It builds the tests of a package once.
type goTests struct {
	dir   string            // of the built tests
	built map[string]string // by package
}

// measure runs the benchmarks of a row by turns.
func (g *goTests) measure(ctx context.Context, r row, rounds int) (m measured, err error) {
	for range rounds {
		mine, err := g.run(ctx, r.rmd, nil)
		if err != nil {
			return m, err
		}
		var env []string
		for _, unit := range r.pass {
			v, err := of(mine, unit)
			if err != nil {
				return m, err
			}
			env = append(env, variable(unit)+"="+strconv.FormatFloat(v, 'g', -1, 64))
		}
		limit, err := g.sum(ctx, r.limit, mine, env)
		if err != nil {
			return m, err
		}
		v, err := of(mine, r.rmd.unit)
		if err != nil {
			return m, err
		}
		m.rmd, m.limit = append(m.rmd, v), append(m.limit, limit)
	}
	return m, nil
}

// sum adds the figures of a limit up.
func (g *goTests) sum(ctx context.Context, parts []figure, mine map[string]float64, env []string) (sum float64, err error) {
	for _, part := range parts {
		values, err := g.run(ctx, part, env)
		if err != nil {
			return 0, err
		}
		v, err := of(values, part.unit)
		if err != nil {
			return 0, err
		}
		times := 1.0
		if part.times != "" {
			if times, err = of(mine, part.times); err != nil {
				return 0, err
			}
		}
		sum += v * times
	}
	return sum, nil
}

func of(values map[string]float64, unit string) (float64, error) {
	v, ok := values[unit]
	if !ok {
		return 0, fmt.Errorf("the benchmark reports nothing in %s", unit)
	}
	return v, nil
}

// variable is the name of the environment variable that hands a figure on.
func variable(unit string) string {
	return "RMD_BENCH_" + strings.ToUpper(strings.ReplaceAll(unit, "/", "_PER_"))
}

// run runs one benchmark in its package's folder and returns what it reports, by unit.
func (g *goTests) run(ctx context.Context, f figure, env []string) (map[string]float64, error) {
	program, err := g.build(ctx, f.pkg)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, program, "-test.run=^$", "-test.bench=^"+strings.TrimSuffix(f.bench, "$")+"$", "-test.benchtime="+f.time, "-test.benchmem", "-test.timeout=30m")
	cmd.Dir, cmd.Env = f.pkg, append(os.Environ(), env...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s in %s: %w\n%s%s", f.bench, f.pkg, err, out.String(), said.String())
	}
	return parse(out.String())
}

func (g *goTests) build(ctx context.Context, pkg string) (string, error) {
	if program, ok := g.built[pkg]; ok {
		return program, nil
	}
	program := filepath.Join(g.dir, strings.ReplaceAll(strings.TrimPrefix(pkg, "./"), "/", "-")+".test")
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

// parse reads the one line of results that a benchmark prints: a name, a count, then values with
// their units.
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
