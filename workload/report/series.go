package report

import (
	"slices"

	"rmd/internal/plot"
)

// Series is the data of a run over time. The collector owns its slices; they are read-only.
type Series struct {
	Node       Resource // the largest node, which is the measure of sizes
	Containers []Container
	Samples    []Sample
	Counts     []Count
}

// Count is what had happened to reservations until AtMillis.
type Count struct {
	AtMillis                          int64
	Made, Moved, Fulfilled, Cancelled int64
}

// Held returns the number of current reservations.
func (c Count) Held() int64 { return max(c.Made-c.Fulfilled-c.Cancelled, 0) }

// buckets is the maximum number of points in a line over time: about one for two pixels.
const buckets = 260

// overTime averages a value of the samples over equal intervals. A sample is valid until the next.
func overTime(samples []Sample, end int64, of func(Sample) float64) []plot.Point {
	steps := make([]step, len(samples))
	for i, s := range samples {
		steps[i] = step{s.AtMillis, of(s)}
	}
	return averaged(steps, end)
}

// step is a value that is valid from a time on.
type step struct {
	at    int64
	value float64
}

// averaged returns the time-weighted average in each of equal intervals from 0 to end.
func averaged(steps []step, end int64) []plot.Point {
	if len(steps) == 0 || end <= 0 {
		return nil
	}
	width := max((end+buckets-1)/buckets, 1)
	out := make([]plot.Point, 0, buckets)
	i, value := 0, 0.0
	for from := int64(0); from < end; from += width {
		to := min(from+width, end)
		sum, at := 0.0, from
		for ; i < len(steps) && steps[i].at < to; i++ {
			if steps[i].at > at {
				sum += value * float64(steps[i].at-at)
				at = steps[i].at
			}
			value = steps[i].value
		}
		sum += value * float64(to-at)
		out = append(out, plot.Point{X: float64(from), Y: sum / float64(to-from)})
	}
	return out
}

// waitingOverTime counts the waiting containers that pick selects.
func waitingOverTime(all []Container, end int64, pick func(Container) bool) []plot.Point {
	var turns []step
	for _, k := range all {
		if !pick(k) {
			continue
		}
		turns = append(turns, step{k.AskedMillis, 1})
		if k.AllocatedMillis != Unset {
			turns = append(turns, step{k.AllocatedMillis, -1})
		}
	}
	slices.SortStableFunc(turns, func(a, b step) int { return int(min(max(a.at-b.at, -1), 1)) })
	n := 0.0
	for i := range turns {
		n += turns[i].value
		turns[i].value = n
	}
	return averaged(turns, end)
}

// sizeClass is a range of sizes, as shares of the largest node.
type sizeClass struct {
	name     string
	from, to float64 // from ≤ share < to
}

// sizeClasses are the classes in the chart. The last two are the large containers.
var sizeClasses = []sizeClass{
	{"up to ⅛ of a node", 0, 0.125}, {"⅛ to ¼ of a node", 0.125, 0.25}, {"¼ to ½ of a node", 0.25, 0.5},
	{"½ to a whole node", 0.5, 1}, {"a whole node", 1, 1e9},
}

// waitsOfSize returns the waits of the containers of a class.
func (s *Series) waitsOfSize(c sizeClass, end int64) Waits {
	var m meter
	for _, k := range s.Containers {
		if share := k.Size.DominantShare(s.Node); share >= c.from && share < c.to {
			wait, served := k.wait(end)
			m.add(wait, served)
		}
	}
	return m.waits()
}

// wait returns how long a container waited. If it was not allocated, wait returns the wait until
// end.
func (k Container) wait(end int64) (millis int64, served bool) {
	if k.AllocatedMillis == Unset {
		return end - k.AskedMillis, false
	}
	return k.AllocatedMillis - k.AskedMillis, true
}

// distribution returns for each wait, up to most, the share of the containers that waited no
// longer.
func (s *Series) distribution(end int64, most float64, pick func(Container) bool) []plot.Point {
	var waits []int64
	for _, k := range s.Containers {
		if pick(k) {
			wait, _ := k.wait(end)
			waits = append(waits, wait)
		}
	}
	slices.Sort(waits)
	var out []plot.Point
	every := max(len(waits)/400, 1)
	for i := 0; i < len(waits); i += every {
		out = append(out, plot.Point{X: float64(waits[i]), Y: float64(i+1) / float64(len(waits))})
	}
	if n := len(waits); n > 0 {
		out = append([]plot.Point{{X: 0, Y: 0}},
			append(out, plot.Point{X: float64(waits[n-1]), Y: 1}, plot.Point{X: most, Y: 1})...)
	}
	return out
}
