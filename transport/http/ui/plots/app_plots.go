package plots

import (
	"math"
	"strconv"
	"time"

	"rmd/api"
	"rmd/internal/plot"
	"rmd/transport/http/ui/format"
)

// App has the plots of what an application used, had reserved and waited for.
type App struct {
	ID      string // the replica that took the samples
	Figures []plot.Chart
	Rows    []useRow // the same in numbers
	Ended   bool
	Step    int64 // milliseconds between two samples
	Gaps    int
	Begins  int64 // in Unix milliseconds; 0 if the samples begin with the application
}

// useRow has the amounts of one kind: of the last sample, and the most of all.
type useRow struct{ Kind, Used, Reserved, Pending, MostUsed, MostReserved, MostPending string }

// appLeast is the least time on the axis of an application's plot.
const appLeast = 10 * time.Second

// OfApp returns the plots of an application. There are none without samples. What it has now is the last
// one, so that they say the same as the page around them.
func OfApp(h *api.AppHistory, a *api.App, now time.Time) App {
	d := App{ID: h.ID, Ended: h.EndedMillis != 0, Step: h.StepMillis, Gaps: len(h.Gaps)}
	if len(h.Samples) == 0 {
		return d
	}
	if d.Gaps > 0 && h.Gaps[0].FromMillis == h.SubmittedMillis {
		d.Begins = h.Samples[0].AtMillis
	}
	to := h.EndedMillis
	if to == 0 {
		to = now.UnixMilli()
		h.Samples = append(h.Samples, api.AppHistorySample{AtMillis: to, Used: a.Used, Reserved: a.Reserved,
			Pending: a.Pending})
	}
	x := plot.Clock(float64(h.SubmittedMillis), float64(max(to, h.SubmittedMillis+appLeast.Milliseconds())))
	for _, kind := range format.KindsThere(most(h.Samples)) {
		p := usePlot{h, kind}
		d.Figures = append(d.Figures, p.chart(x))
		d.Rows = append(d.Rows, p.row())
	}
	return d
}

// most returns the largest amount of each kind that the samples have.
func most(samples []api.AppHistorySample) api.Resource {
	out := api.Resource{}
	for i := range samples {
		for _, r := range []api.Resource{samples[i].Used, samples[i].Reserved, samples[i].Pending} {
			for kind, v := range r { // the order does not matter: each kind has its own place
				out[kind] = max(out[kind], v)
			}
		}
	}
	return out
}

// usePlot draws one kind of resources.
type usePlot struct {
	h    *api.AppHistory
	kind string
}

// useLines are the lines of the plot, with the colors of the same things in the plots of the cluster.
var useLines = []struct {
	name string
	ink  plot.Ink
	of   func(*api.AppHistorySample) api.Resource
}{
	{"used", plot.Blue, func(s *api.AppHistorySample) api.Resource { return s.Used }},
	{"reserved", plot.Orange, func(s *api.AppHistorySample) api.Resource { return s.Reserved }},
	{"waiting", plot.Violet, func(s *api.AppHistorySample) api.Resource { return s.Pending }},
}

func (p usePlot) chart(x plot.Axis) plot.Chart {
	row := p.row()
	c := plot.Chart{Title: format.KindName(p.kind), Note: "at most " + row.MostUsed + " used", Empty: "no sample yet",
		X: x, Width: Width, Height: Height + 20}
	var highest int64
	for i, l := range useLines {
		highest = max(highest, p.highest(i))
		c.Lines = append(c.Lines, plot.Line{Name: l.name, Ink: l.ink, Points: p.points(i), Step: true, Fill: i == 0})
	}
	c.Y = amountAxis(p.kind, highest)
	return c
}

func (p usePlot) at(line int, s *api.AppHistorySample) int64 { return useLines[line].of(s)[p.kind] }

func (p usePlot) highest(line int) (most int64) {
	for i := range p.h.Samples {
		most = max(most, p.at(line, &p.h.Samples[i]))
	}
	return most
}

// points returns the values of a line, with a gap where samples are missing.
func (p usePlot) points(line int) []plot.Point {
	var out []plot.Point
	gaps := p.h.Gaps
	for i := range p.h.Samples {
		s := &p.h.Samples[i]
		out = append(out, plot.Point{X: float64(s.AtMillis), Y: float64(p.at(line, s))})
		for len(gaps) > 0 && gaps[0].FromMillis <= s.AtMillis {
			if gaps[0].FromMillis == s.AtMillis {
				out = append(out, plot.Point{X: float64(s.AtMillis), Y: math.NaN()})
			}
			gaps = gaps[1:]
		}
	}
	return out
}

func (p usePlot) row() useRow {
	last := &p.h.Samples[len(p.h.Samples)-1]
	v := func(n int64) string { return format.KindValue(p.kind, n) }
	return useRow{format.KindName(p.kind), v(p.at(0, last)), v(p.at(1, last)), v(p.at(2, last)), v(p.highest(0)),
		v(p.highest(1)), v(p.highest(2))}
}

// amountAxis returns an axis from 0 for amounts of a kind, with round numbers of the unit in which
// they are shown.
func amountAxis(kind string, most int64) plot.Axis {
	unit, name, least := 1.0, "", 4.0
	if kind == api.MemoryMB {
		unit, name, least = 1024, " GiB", 1
	}
	a := plot.Linear(max(float64(most)/unit, least))
	a.Max *= unit
	for i := range a.Ticks {
		a.Ticks[i] *= unit
	}
	a.Format = func(v float64) string { return strconv.FormatFloat(v/unit, 'g', 6, 64) + name }
	return a
}
