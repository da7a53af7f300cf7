package plot

import (
	"math"
	"strconv"
	"time"
)

// Axis maps values to positions on one side of a chart.
type Axis struct {
	Label    string
	Min, Max float64 // values at the ends; equal ends are treated as different
	Ticks    []float64
	Format   func(float64) string  // formats a tick; nil: as a number
	Scale    func(float64) float64 // increasing function; nil: linear
	Clock    bool                  // values are Unix milliseconds, shown in UTC; a page may show another zone
}

// text formats a tick.
func (a Axis) text(v float64) string {
	if a.Format != nil {
		return a.Format(v)
	}
	return strconv.FormatFloat(v, 'g', 6, 64)
}

// at returns the position of a value between the ends, 0 to 1. Values beyond an end are moved to
// it.
func (a Axis) at(v float64) float64 {
	f := a.Scale
	if f == nil {
		f = func(v float64) float64 { return v }
	}
	lo, hi := f(a.Min), f(a.Max)
	if !(hi > lo) {
		hi = lo + 1
	}
	return min(max((f(v)-lo)/(hi-lo), 0), 1)
}

// Linear returns an axis from 0 with ticks at round numbers.
func Linear(most float64) Axis {
	ticks := roundTicks(most, 4)
	return Axis{Max: max(most, ticks[len(ticks)-1]), Ticks: ticks}
}

// Shares returns an axis from 0 to most, at most 1, in per cent.
func Shares(most float64) Axis {
	a := Linear(min(max(most, 0.01), 1))
	a.Max = min(a.Max, 1)
	a.Format = func(v float64) string { return strconv.FormatFloat(math.Round(v*1000)/10, 'f', -1, 64) + "%" }
	return a
}

// roundTicks returns about n multiples of 1, 2 or 5 times a power of ten. The last one is at or
// above most.
func roundTicks(most float64, n int) []float64 {
	if !(most > 0) || math.IsInf(most, 0) {
		most = 1
	}
	step := math.Pow(10, math.Floor(math.Log10(most/float64(n))))
	for _, m := range []float64{1, 2, 5, 10} {
		if most/(step*m) <= float64(n) {
			step *= m
			break
		}
	}
	var out []float64
	for i := 0; ; i++ {
		v := float64(i) * step
		out = append(out, v)
		if v >= most*(1-1e-9) {
			return out
		}
	}
}

// spanSteps are the possible distances of ticks on a time axis, in milliseconds.
var spanSteps = []float64{1, 10, 100, 1000, 2000, 5000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000,
	900_000, 1_800_000,
	3_600_000, 7_200_000, 10_800_000, 21_600_000, 43_200_000, 86_400_000, 172_800_000, 604_800_000, 2_592_000_000}

// spanStep returns the smallest of spanSteps that divides a span into at most n parts.
func spanStep(span, n float64) float64 {
	for _, s := range spanSteps {
		if span/s <= n {
			return s
		}
	}
	return spanSteps[len(spanSteps)-1]
}

// Clock returns an axis of Unix milliseconds with a few ticks at round times of day, in UTC.
func Clock(from, to float64) Axis {
	step := spanStep(to-from, 4)
	layout := "15:04"
	switch {
	case step < 60_000:
		layout = "15:04:05"
	case step >= 86_400_000:
		layout = "01-02"
	}
	a := Axis{Label: "UTC", Clock: true, Min: from, Max: to, Format: func(v float64) string {
		return time.UnixMilli(int64(v)).UTC().Format(layout)
	}}
	for v := math.Ceil(from/step) * step; v <= to; v += step {
		a.Ticks = append(a.Ticks, v)
	}
	return a
}

// Times returns an axis of milliseconds from 0. format formats a duration.
func Times(label string, most float64, format func(millis int64) string) Axis {
	step := spanStep(most, 8)
	a := Axis{Label: label, Max: max(most, 1), Format: func(v float64) string { return format(int64(v)) }}
	for v := 0.0; v <= most && len(a.Ticks) < 100; v += step {
		a.Ticks = append(a.Ticks, v)
	}
	return a
}

// Waits returns a logarithmic axis of milliseconds from 0, on which a second, a minute, an hour and
// a day have similar distances.
func Waits(label string, most float64, format func(millis int64) string) Axis {
	return decades(label, most, 1000, []float64{0, 1000, 10_000, 60_000, 600_000, 3_600_000, 21_600_000, 86_400_000,
		604_800_000}, format)
}

// Latencies returns such an axis for durations from fractions of a millisecond to seconds.
func Latencies(most float64) Axis {
	a := decades("", most, 0.3, []float64{0, 1, 3, 10, 30, 100, 300, 1000, 3000, 10_000, 30_000, 60_000}, nil)
	a.Format = func(v float64) string {
		if v >= 1000 {
			return strconv.FormatFloat(v/1000, 'f', -1, 64) + "s"
		}
		return strconv.FormatFloat(v, 'f', -1, 64) + "ms"
	}
	return a
}

func decades(label string, most, unit float64, ticks []float64, format func(int64) string) Axis {
	a := Axis{Label: label, Max: most, Scale: func(v float64) float64 { return math.Log1p(max(v, 0) / unit) }}
	if format != nil {
		a.Format = func(v float64) string { return format(int64(v)) }
	}
	for i, t := range ticks {
		a.Ticks = append(a.Ticks, t)
		if t >= most || i == len(ticks)-1 {
			a.Max = max(t, most)
			break
		}
	}
	return a
}
