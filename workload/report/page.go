package report

import (
	"errors"
	"fmt"
	"io"

	"rmd/internal/plot"
)

// ErrNoSeries means that a page cannot be drawn, because the summary has no data over time.
var ErrNoSeries = errors.New("the run has no series to draw")

// Head describes a page.
type Head struct {
	Source  string // the trace, or what was measured
	Version string // of the program
	Date    string
}

func (h Head) foot() string {
	s := "Made by rmd " + h.Version
	if h.Date != "" {
		s += " on " + h.Date
	}
	return s + ". The page holds all it shows."
}

// WriteHTML writes one run, or two side by side, as one page. without may be nil.
func WriteHTML(w io.Writer, h Head, with, without *Summary) error {
	if with == nil || with.Series == nil || without != nil && without.Series == nil {
		return fmt.Errorf("write page: %w", ErrNoSeries)
	}
	p := &comparison{with: with, without: without, end: with.EndMillis}
	if without != nil {
		p.end = max(p.end, without.EndMillis)
	}
	r := with.Run
	page := plot.Page{
		Title: "Replay of " + h.Source,
		Lead: fmt.Sprintf("%s, %s of trace, on %s; seed %d.", several(r.Apps, "application"), Duration(r.TraceMillis),
			several(r.Nodes, "node"), r.Seed),
		Keys: p.keys(), Foot: h.foot(),
		Sections: []plot.Section{p.waits(), p.waiting(), p.utilization(), p.reservations(), p.table()},
	}
	if without != nil {
		page.Lead += " It was run twice: with reservations, and on a cluster that makes none. All else is the same."
	}
	return page.Write(w)
}

// comparison is one run, or two runs to compare.
type comparison struct {
	with, without *Summary
	end           int64
}

// run is one of the runs with its name and color.
type run struct {
	*Summary
	name string
	ink  plot.Ink
}

func (p *comparison) runs() []run {
	if p.without == nil {
		return []run{{p.with, "this run", plot.Blue}}
	}
	return []run{{p.with, "with reservations", plot.Blue}, {p.without, "without reservations", plot.Orange}}
}

// width returns the width of a chart that exists once per run.
func (p *comparison) width() int {
	if p.without == nil {
		return plot.Wide
	}
	return 0
}

// heading returns the title of a chart of one run.
func (p *comparison) heading(what string, r run) string {
	if p.without == nil {
		return what
	}
	return what + ", " + r.name
}

func (p *comparison) clock() plot.Axis {
	return plot.Times("time of the trace", float64(p.end), Duration)
}

// key returns a value of the first run, with that of the second as its note.
func (p *comparison) key(name string, of func(*Summary) string) plot.Key {
	k := plot.Key{Name: name, Value: of(p.with)}
	if p.without != nil {
		k.Note = "without: " + of(p.without)
	}
	return k
}

func (p *comparison) keys() []plot.Key {
	return []plot.Key{
		p.key("large, p95 of waits", func(s *Summary) string { return Duration(s.Large.P95Millis) }),
		p.key("large, longest wait", func(s *Summary) string { return Duration(s.Large.MaxMillis) }),
		p.key("small, p95 of waits", func(s *Summary) string { return Duration(s.Small.P95Millis) }),
		p.key("used, most used kind", func(s *Summary) string {
			return percent(max(s.Utilization.Memory, s.Utilization.VCores, s.Utilization.GPUs))
		}),
		p.key("reserved and idle", func(s *Summary) string { return percent(s.ReservedIdle.Dominant) }),
	}
}

// waits returns the section with the waits by container size.
func (p *comparison) waits() plot.Section {
	longest := max(p.with.Large.MaxMillis, p.with.Small.MaxMillis)
	if p.without != nil {
		longest = max(longest, p.without.Large.MaxMillis, p.without.Small.MaxMillis)
	}
	x := plot.Waits("wait from the ask to the container", float64(longest), Duration)
	ranges := plot.Ranges{Title: "Waits by container size", X: x,
		Note: "dot: half waited at most so long (p50); thick: 95 % did (p95); thin: the longest wait", Heading: "p50/p95"}
	for _, c := range sizeClasses {
		row := plot.Row{Label: c.name}
		some := 0
		for _, r := range p.runs() {
			w := r.Series.waitsOfSize(c, r.EndMillis)
			some = max(some, w.Containers)
			row.Bars = append(row.Bars, plot.Bar{Ink: r.ink, Name: r.name, Mid: float64(w.P50Millis), High: float64(w.P95Millis),
				Max:  float64(w.MaxMillis),
				Text: pair(w.P50Millis, w.P95Millis) + starving(w), Empty: w.Containers == 0})
		}
		if row.Note = several(some, "container"); some > 0 {
			ranges.Rows = append(ranges.Rows, row)
		}
	}
	s := plot.Section{Title: "Who waited, and how long",
		Text:    "A container is large when it needs at least half of a node. Time is drawn so that a second, a minute and an hour each have room.",
		Figures: []plot.Figure{ranges}}
	for _, large := range []bool{true, false} {
		c := plot.Chart{Title: "Large containers: share that waited at most so long", X: x, Y: plot.Shares(1)}
		if !large {
			c.Title = "Small containers: share that waited at most so long"
		}
		c.Empty = "there were none"
		for _, r := range p.runs() {
			c.Lines = append(c.Lines, plot.Line{Name: r.name, Ink: r.ink, Step: true,
				Points: r.Series.distribution(r.EndMillis, x.Max, func(k Container) bool { return k.Large == large })})
		}
		s.Figures = append(s.Figures, c)
	}
	return s
}

// several formats a count with its noun.
func several(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// starving describes the containers that were never allocated.
func starving(w Waits) string {
	if w.Unserved == 0 {
		return ""
	}
	return fmt.Sprintf(", %d never", w.Unserved)
}

// waiting returns the section with the number of waiting containers over time.
func (p *comparison) waiting() plot.Section {
	s := plot.Section{Title: "How many waited at each time"}
	for _, large := range []bool{true, false} {
		c := plot.Chart{Title: "Large containers that wait", X: p.clock(), Empty: "there were none"}
		if !large {
			c.Title = "Small containers that wait"
		}
		most := 0.0
		for _, r := range p.runs() {
			l := plot.Line{Name: r.name, Ink: r.ink, Step: true, Fill: true,
				Points: waitingOverTime(r.Series.Containers, r.EndMillis, func(k Container) bool { return k.Large == large })}
			most = max(most, highest(l.Points))
			c.Lines = append(c.Lines, l)
		}
		c.Y = plot.Linear(max(most, 1))
		s.Figures = append(s.Figures, c)
	}
	return s
}

func highest(points []plot.Point) float64 {
	most := 0.0
	for _, x := range points {
		most = max(most, x.Y)
	}
	return most
}
