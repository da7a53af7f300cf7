package main

import (
	"context"
	"fmt"
	"io"
	"math"

	"rmd/bench/gotest"
	"rmd/internal/thousands"
)

// measured has the values of a kind: for each size, by unit.
type measured struct {
	kind
	values []map[string]float64
}

func measure(ctx context.Context, runner *gotest.Runner, k kind) (m measured, err error) {
	m.kind = k
	for _, size := range k.sizes {
		v, err := runner.Run(ctx, gotest.Bench{Package: k.pkg, Name: fmt.Sprintf("%s/%s=%d", k.bench, k.name, size),
			Time: k.time(size)})
		if err != nil {
			return m, err
		}
		for _, f := range k.figures {
			if _, ok := v[f.unit]; !ok {
				return m, fmt.Errorf("%s reports nothing in %s", k.bench, f.unit)
			}
		}
		m.values = append(m.values, v)
	}
	return m, nil
}

// print writes a table with a line for each size, and a line with the exponents of growth.
func (m measured) print(w io.Writer) {
	fmt.Fprintf(w, "%s\n%14s", m.what, "SIZE")
	for _, f := range m.figures {
		fmt.Fprintf(w, "%15s", f.unit)
	}
	for i, size := range m.sizes {
		fmt.Fprintf(w, "\n%14s", thousands.Format(int64(size)))
		for _, f := range m.figures {
			fmt.Fprintf(w, "%15s", amount(m.values[i][f.unit]))
		}
	}
	fmt.Fprintf(w, "\n%14s", "GROWS AS")
	for _, f := range m.figures {
		fmt.Fprintf(w, "%15s", fmt.Sprintf("n^%.2f", m.exponent(f.unit)))
	}
	fmt.Fprint(w, "\n\n")
}

// exponent returns x such that n^x grows as the figure does between the first and the last size.
func (m measured) exponent(unit string) float64 {
	last := len(m.sizes) - 1
	x := math.Log(m.values[last][unit]/m.values[0][unit]) / math.Log(float64(m.sizes[last])/float64(m.sizes[0]))
	if math.Abs(x) < 0.005 {
		return 0 // not -0.00
	}
	return x
}

// amount formats a value with three significant figures.
func amount(v float64) string {
	if v >= 100 {
		return thousands.Format(int64(math.Round(v)))
	}
	return fmt.Sprintf("%.3g", v)
}
