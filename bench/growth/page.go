package main

import (
	"fmt"
	"math"

	"rmd/internal/plot"
)

// page returns a page with a chart of each figure. Both axes are logarithmic, so growth as n^x is a
// straight line.
func page(done []measured) plot.Page {
	p := plot.Page{
		Title: "What larger clusters cost",
		Lead:  "Each figure by size, both on logarithmic axes. A line that rises by one decade in one decade grows as the size; a flat one does not depend on it.",
	}
	for _, m := range done {
		s := plot.Section{Title: m.what}
		for _, f := range m.figures {
			s.Figures = append(s.Figures, m.chart(f))
		}
		p.Sections = append(p.Sections, s)
	}
	return p
}

func (m measured) chart(f figure) plot.Chart {
	var x, y []float64
	line := plot.Line{Ink: plot.Blue}
	for i, size := range m.sizes {
		x, y = append(x, float64(size)), append(y, m.values[i][f.unit])
		line.Points = append(line.Points, plot.Point{X: x[i], Y: y[i]})
	}
	return plot.Chart{Title: f.what, Note: fmt.Sprintf("%s; grows as n^%.2f", f.unit, m.exponent(f.unit)), X: decades(x),
		Y: decades(y), Lines: []plot.Line{line}}
}

// decades returns a logarithmic axis with ticks at the powers of ten around the values, at least
// two.
func decades(values []float64) plot.Axis {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		lo, hi = min(lo, math.Floor(math.Log10(v))), max(hi, math.Ceil(math.Log10(v)))
	}
	hi = max(hi, lo+1)
	a := plot.Axis{Min: math.Pow(10, lo), Max: math.Pow(10, hi), Scale: math.Log10, Format: text}
	for d := lo; d <= hi; d++ {
		a.Ticks = append(a.Ticks, math.Pow(10, d))
	}
	return a
}

// text formats a power of ten: 10k, 1M.
func text(v float64) string {
	switch {
	case v >= 1e6:
		return fmt.Sprintf("%gM", math.Round(v/1e6))
	case v >= 1e3:
		return fmt.Sprintf("%gk", math.Round(v/1e3))
	default:
		return fmt.Sprintf("%g", v)
	}
}
