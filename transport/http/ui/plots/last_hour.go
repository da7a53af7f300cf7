// Package plots shows samples, waits and lifetimes over time.
package plots

import (
	"math"
	"strconv"
	"time"

	"rmd/api"
	"rmd/internal/plot"
	"rmd/transport/http/ui/format"
)

// Hour has the plots of a replica's last hour, day or week.
type Hour struct {
	ID      string
	Figures []plot.Chart
	Whole   string         // of which percentages are
	Changes []api.Failover // the last few, newest first
	Room    bool           // there is a plot of the largest free room
	Begins  int64          // in Unix milliseconds; 0 if before the plots
}

// plotLeast is the least time on the axis of a plot, so that a replica that has just started does
// not show a single point over the whole width. plotPoints is the largest number of points on a
// line. changesTold is the number of leader changes that are listed in words.
const (
	plotLeast   = 5 * time.Minute
	plotPoints  = 120
	changesTold = 4
)

// The size of a plot. A wide screen has room for three side by side, a narrow one for two.
const (
	Width  = 280
	Height = 160
)

// OfHour returns the plots of a queue or a node, or of the cluster if both are empty. Those of an hour
// without a gap at its end go on until the present, so that they say the same as the page around them.
func OfHour(h *api.History, present func() (api.HistorySample, bool), at time.Time, queue, node string) Hour {
	d := Hour{}
	if len(h.Samples) == 0 {
		return d
	}
	p := hourPlots{h: h, current: current(h)}
	if p.current {
		if last, ok := present(); ok {
			h.Samples = append(h.Samples, last)
		}
	}
	now := at.UnixMilli()
	from := now - h.SpanMillis
	d.ID = h.ID
	if h.BeginsMillis > from {
		d.Begins = h.BeginsMillis
		from = min(h.BeginsMillis, now-plotLeast.Milliseconds())
	}
	p.x = plot.Clock(float64(from), float64(now))
	for i := len(h.LeaderChanges) - 1; i >= 0; i-- {
		f := h.LeaderChanges[i]
		p.marks = append(p.marks, plot.Mark{At: float64(f.AtMillis) - f.Millis, Until: float64(f.AtMillis),
			Text: clockText(f.AtMillis) + " UTC: " + format.Change(f)})
		if len(d.Changes) < changesTold {
			d.Changes = append(d.Changes, f)
		}
	}
	d.Whole = "cluster"
	if node != "" {
		d.Whole = "node"
	}
	d.Figures = []plot.Chart{
		p.shares("Used", plot.Blue, 1, func(s *api.HistorySample) float64 { return s.Used / 100 }),
		p.shares("Reserved", plot.Orange, 0, func(s *api.HistorySample) float64 { return s.Reserved / 100 })}
	if node == "" {
		d.Figures = append(d.Figures, p.counts("Waiting for their ApplicationMaster", plot.Violet,
			func(s *api.HistorySample) float64 { return float64(*s.Waiting) }))
	}
	if d.Room = node == "" && queue == ""; d.Room {
		d.Figures = append(d.Figures, p.counts("Decisions a second", plot.Green, func(s *api.HistorySample) float64 {
			if s.Decisions == nil {
				return math.NaN()
			}
			return *s.Decisions
		}), p.rooms(), p.counts("Empty nodes", plot.Yellow,
			func(s *api.HistorySample) float64 { return float64(*s.EmptyNodes) }))
	}
	return d
}

func clockText(millis int64) string { return time.UnixMilli(millis).UTC().Format("15:04:05") }

// hourPlots makes the plots of one history, which share the time axis.
type hourPlots struct {
	h       *api.History
	current bool // the last sample tells how things are now
	x       plot.Axis
	marks   []plot.Mark
}

// shares returns a plot of shares. Its axis goes up to at least least.
func (p *hourPlots) shares(title string, ink plot.Ink, least float64,
	value func(*api.HistorySample) float64) plot.Chart {
	most := p.highest(value)
	return p.chart(title, ink, plot.Shares(max(most, least)), most, value,
		func(f float64) string { return format.Percent(f * 100) })
}

// counts returns a plot of numbers.
func (p *hourPlots) counts(title string, ink plot.Ink, value func(*api.HistorySample) float64) plot.Chart {
	most := p.highest(value)
	return p.chart(title, ink, plot.Linear(max(most, 4)), most, value, func(f float64) string {
		if f < 10 && f != math.Trunc(f) {
			return strconv.FormatFloat(f, 'f', 1, 64)
		}
		return format.Number(int64(math.Round(f)))
	})
}

// roomInks are the colors of the kinds in the plot of rooms, as many as there are kinds.
var roomInks = []plot.Ink{plot.Blue, plot.Orange, plot.Violet, plot.Green, plot.Yellow, plot.Gray}

// rooms returns a plot of the largest free amounts on one node, with a line for each kind. The whole
// is the largest node, so 100% means that such a node is empty.
func (p *hourPlots) rooms() plot.Chart {
	of := p.h.LargestNode
	last := &p.h.Samples[len(p.h.Samples)-1]
	c := plot.Chart{Title: "Largest free room on a node", Empty: "no sample yet", X: p.x, Y: plot.Shares(1),
		Marks: p.marks, Width: Width, Height: Height}
	if p.current {
		c.Note = format.Amount(last.LargestFree) + " now"
	}
	for i, kind := range format.KindsThere(of) {
		c.Lines = append(c.Lines, plot.Line{Name: format.KindName(kind), Ink: roomInks[i%len(roomInks)],
			Points: p.points(func(s *api.HistorySample) float64 {
				return float64(s.LargestFree[kind]) / float64(max(of[kind], 1))
			})})
	}
	return c
}

// current reports whether the samples go on until now. Those of a day and a week are minutes apart.
func current(h *api.History) bool {
	return h.SpanMillis == api.HistoryHour.Milliseconds() &&
		(len(h.Gaps) == 0 || h.Gaps[len(h.Gaps)-1].FromMillis != h.Samples[len(h.Samples)-1].AtMillis)
}

func (p *hourPlots) chart(title string, ink plot.Ink, y plot.Axis, most float64, value func(*api.HistorySample) float64,
	text func(float64) string) plot.Chart {
	c := plot.Chart{Title: title, Note: "at most " + text(most), Empty: "no sample yet", X: p.x, Y: y, Marks: p.marks,
		Width: Width, Height: Height}
	c.Lines = []plot.Line{{Ink: ink, Points: p.points(value), Fill: true}}
	last := len(p.h.Samples) - 1
	v, when := value(&p.h.Samples[last]), " now, "
	if math.IsNaN(v) && last > 0 { // a rate is between two samples
		v, when = value(&p.h.Samples[last-1]), " over the last "+format.Span(p.h.StepMillis)+", "
	}
	if !math.IsNaN(v) && p.current {
		c.Note = text(v) + when + c.Note
	}
	return c
}

func (p *hourPlots) highest(value func(*api.HistorySample) float64) float64 {
	most := 0.0
	for i := range p.h.Samples {
		if v := value(&p.h.Samples[i]); !math.IsNaN(v) {
			most = max(most, v)
		}
	}
	return most
}

// points returns the values in the order of time, with a gap where samples are missing. It averages
// as many samples per point as needed to get at most plotPoints points.
func (p *hourPlots) points(value func(*api.HistorySample) float64) []plot.Point {
	group := (len(p.h.Samples) + plotPoints - 1) / plotPoints
	var out []plot.Point
	var sum float64
	var n, of int
	put := func(at int64) {
		if of > 0 {
			out = append(out, plot.Point{X: float64(at), Y: sum / float64(n)}) // 0/0 makes a gap
		}
		sum, n, of = 0, 0, 0
	}
	gaps := p.h.Gaps
	for i := range p.h.Samples {
		s := &p.h.Samples[i]
		if v := value(s); !math.IsNaN(v) {
			sum, n = sum+v, n+1
		}
		of++
		gap := len(gaps) > 0 && gaps[0].FromMillis == s.AtMillis
		if of == group || gap || i == len(p.h.Samples)-1 {
			put(s.AtMillis)
		}
		if gap {
			out = append(out, plot.Point{X: float64(s.AtMillis), Y: math.NaN()})
			gaps = gaps[1:]
		}
	}
	return out
}
