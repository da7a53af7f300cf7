package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"rmd/bench/gotest"
)

// goTests runs the benchmarks of rows.
type goTests struct{ gotest.Runner }

// measure runs the benchmarks of a row alternately.
func (g *goTests) measure(ctx context.Context, r row, rounds int) (m measured, err error) {
	for range rounds {
		mine, err := g.run(ctx, r.rmd)
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

// sum adds up the figures of a limit. mine has the values of rmd's benchmark in the same round.
func (g *goTests) sum(ctx context.Context, parts []figure, mine map[string]float64,
	env []string) (sum float64, err error) {
	for _, part := range parts {
		values := mine
		if !part.same {
			if values, err = g.run(ctx, part, env...); err != nil {
				return 0, err
			}
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

func (g *goTests) run(ctx context.Context, f figure, env ...string) (map[string]float64, error) {
	return g.Run(ctx, gotest.Bench{Package: f.pkg, Name: f.bench, Time: f.time}, env...)
}

func of(values map[string]float64, unit string) (float64, error) {
	v, ok := values[unit]
	if !ok {
		return 0, fmt.Errorf("the benchmark reports nothing in %s", unit)
	}
	return v, nil
}

// variable returns the name of the environment variable that passes a figure to a benchmark.
func variable(unit string) string {
	return "RMD_BENCH_" + strings.ToUpper(strings.ReplaceAll(unit, "/", "_PER_"))
}
