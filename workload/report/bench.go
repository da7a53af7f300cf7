package report

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"rmd/internal/plot"
)

// Bench is a measurement over time, for the page of `rmd bench`.
type Bench struct {
	Title  string `json:"title"`  // what was measured, in a few words
	Lead   string `json:"lead"`   // one sentence: how much load on what
	Unit   string `json:"unit"`   // of the throughput, without "per second": "containers"
	Timed  string `json:"timed"`  // what the latencies measure: "from the ask to the commit"
	Keys   []Fact `json:"keys"`   // the most important values
	Facts  []Fact `json:"facts"`  // all values
	Points []Tick `json:"points"` // in order of time
	// Elections during the measurement.
	Elections []Election `json:"elections,omitempty"`
}

// Fact is a value with its name.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Note  string `json:"note,omitempty"`
}

// Tick is one part of the measurement. At is its beginning, relative to that of the measurement.
type Tick struct {
	At     time.Duration `json:"atNanos"`
	Length time.Duration `json:"lengthNanos"`
	Done   int64         `json:"done"`
	Errors int64         `json:"errors,omitempty"`
	// Latencies in this part. 0 if Done is 0.
	P50 time.Duration `json:"p50Nanos"`
	P99 time.Duration `json:"p99Nanos"`
	Max time.Duration `json:"maxNanos"`
}

// PerSecond returns the throughput in this part.
func (t Tick) PerSecond() float64 {
	if t.Length <= 0 {
		return 0
	}
	return float64(t.Done) / t.Length.Seconds()
}

// Election is a change of leader. At is when the old leader was lost, Took the time without a
// leader.
type Election struct {
	At   time.Duration `json:"atNanos"`
	Took time.Duration `json:"tookNanos"`
	From string        `json:"from,omitempty"`
	To   string        `json:"to"`
	Term uint64        `json:"term,omitempty"`
}

// text describes an election.
func (e Election) text() string {
	from := e.From
	if from == "" {
		from = "nobody"
	}
	return fmt.Sprintf("election at %s: %s to %s, %d ms without a leader", Duration(e.At.Milliseconds()), from, e.To,
		e.Took.Milliseconds())
}

// WriteBenchJSON writes a measurement as JSON.
func WriteBenchJSON(w io.Writer, b *Bench) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(b)
}

// WriteBenchHTML writes a measurement as one page: throughput and latency over time, with the
// elections.
func WriteBenchHTML(w io.Writer, h Head, b *Bench) error {
	if b == nil || len(b.Points) == 0 {
		return fmt.Errorf("write page: %w", ErrNoSeries)
	}
	end := b.Points[len(b.Points)-1]
	length := float64((end.At + end.Length).Milliseconds())
	x := plot.Times("time since the begin", length, Duration)
	page := plot.Page{Title: b.Title, Lead: b.Lead, Foot: h.foot()}
	for _, k := range b.Keys {
		page.Keys = append(page.Keys, plot.Key{Name: k.Name, Value: k.Value, Note: k.Note})
	}
	var marks []plot.Mark
	for _, e := range b.Elections {
		marks = append(marks, plot.Mark{At: float64(e.At.Milliseconds()), Until: float64((e.At + e.Took).Milliseconds()),
			Text: e.text()})
	}
	throughput, latency := b.throughput(), b.latency()
	for _, c := range []*plot.Chart{&throughput, &latency} {
		c.X, c.Marks, c.Width, c.Height, c.Empty = x, marks, plot.Wide, 280, "nothing was done"
	}
	s := plot.Section{Title: "Over time", Figures: []plot.Figure{throughput, latency}}
	if len(marks) > 0 {
		s.Text = fmt.Sprintf(
			"A dashed line with a triangle is an election; the band behind it is the time without a leader. There were %d.",
			len(marks))
	}
	page.Sections = []plot.Section{s}
	if len(b.Elections) > 0 {
		page.Sections = append(page.Sections, electionTable(b.Elections))
	}
	t := &plot.Table{Heads: []string{"", "", ""}}
	for _, f := range b.Facts {
		t.Rows = append(t.Rows, []string{f.Name, f.Value, f.Note})
	}
	if len(t.Rows) > 0 {
		page.Sections = append(page.Sections, plot.Section{Title: "The figures", Table: t})
	}
	return page.Write(w)
}

func (b *Bench) throughput() plot.Chart {
	done := plot.Line{Name: b.Unit + " a second", Ink: plot.Blue, Step: true, Fill: true}
	wrong := plot.Line{Name: "errors a second", Ink: plot.Orange, Step: true}
	bad := int64(0)
	for _, t := range b.Points {
		at := float64(t.At.Milliseconds())
		done.Points = append(done.Points, plot.Point{X: at, Y: t.PerSecond()})
		wrong.Points = append(wrong.Points, plot.Point{X: at, Y: float64(t.Errors) / max(t.Length.Seconds(), 1e-9)})
		bad += t.Errors
	}
	done.Points, wrong.Points = extend(done.Points, b.Points), extend(wrong.Points, b.Points)
	c := plot.Chart{Title: "Throughput", Y: plot.Linear(max(highest(done.Points), highest(wrong.Points))),
		Lines: []plot.Line{done}}
	if bad > 0 {
		c.Lines = append(c.Lines, wrong)
	}
	return c
}

// extend repeats the last value at the end of the measurement.
func extend(points []plot.Point, ticks []Tick) []plot.Point {
	last := ticks[len(ticks)-1]
	return append(points, plot.Point{X: float64((last.At + last.Length).Milliseconds()), Y: points[len(points)-1].Y})
}

func (b *Bench) latency() plot.Chart {
	lines := []plot.Line{{Name: "longest", Ink: plot.Gray}, {Name: "99 % at most", Ink: plot.Violet},
		{Name: "half at most", Ink: plot.Green}}
	most := 0.0
	for _, t := range b.Points {
		if t.Done == 0 {
			continue
		}
		at := float64((t.At + t.Length/2).Milliseconds())
		for i, d := range []time.Duration{t.Max, t.P99, t.P50} {
			lines[i].Points = append(lines[i].Points, plot.Point{X: at, Y: millis(d)})
		}
		most = max(most, millis(t.Max))
	}
	return plot.Chart{Title: "Latency", Note: b.Timed, Y: plot.Latencies(most), Lines: lines}
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func electionTable(all []Election) plot.Section {
	t := &plot.Table{Heads: []string{"at", "from", "to", "term", "without a leader"}}
	for _, e := range all {
		t.Rows = append(t.Rows, []string{Duration(e.At.Milliseconds()), e.From, e.To, fmt.Sprint(e.Term),
			fmt.Sprintf("%d ms", e.Took.Milliseconds())})
	}
	return plot.Section{Title: "Elections", Table: t}
}
