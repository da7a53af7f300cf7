package ui

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"rmd/internal/plot"
	"rmd/transport/http/v1/api"
)

// lastHour is what a replica saw in the last hour, drawn.
type lastHour struct {
	ID      string
	Figures []plot.Chart
	Whole   string         // what percentages are of
	Changes []api.Failover // the last few, newest first
	Begins  int64          // in Unix milliseconds; 0: more than an hour ago
}

// The least time that a plot is over, so that a replica which has just started shows no single point
// over its whole width; how many points a line has at most; and how many changes of leaders are told
// in words.
const (
	plotLeast   = 5 * time.Minute
	plotPoints  = 120
	changesTold = 4
)

// The size of a plot: four stand beside each other on a wide screen, and two on a narrow one.
const (
	plotWidth  = 280
	plotHeight = 160
)

// lastHour draws the history of a queue, a node, or with neither of the cluster.
func (q *query) lastHour(queue, node string) (lastHour, error) {
	h, err := q.u.cfg.API.LastHour(q.v, queue, node)
	if err != nil || len(h.Samples) == 0 {
		return lastHour{}, err
	}
	now := q.u.cfg.Now().UnixMilli()
	from := now - api.HistorySpan.Milliseconds()
	d := lastHour{ID: h.ID}
	if h.BeginsMillis > from {
		d.Begins = h.BeginsMillis
		from = min(h.BeginsMillis, now-plotLeast.Milliseconds())
	}
	p := hourPlots{h: h, x: plot.Clock(float64(from), float64(now))}
	for i := len(h.LeaderChanges) - 1; i >= 0; i-- {
		f := h.LeaderChanges[i]
		p.marks = append(p.marks, plot.Mark{At: float64(f.AtMillis) - f.Millis, Until: float64(f.AtMillis), Text: clockText(f.AtMillis) + " UTC: " + changeText(f)})
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
		d.Figures = append(d.Figures, p.counts("Waiting applications", plot.Violet, func(s *api.HistorySample) float64 { return float64(*s.Waiting) }))
	}
	if node == "" && queue == "" {
		d.Figures = append(d.Figures, p.counts("Decisions a second", plot.Green, func(s *api.HistorySample) float64 {
			if s.Decisions == nil {
				return math.NaN()
			}
			return *s.Decisions
		}))
	}
	return d, nil
}

// changeText says who leads since an election.
func changeText(f api.Failover) string {
	text := f.NewLeader + " leads in place of " + f.OldLeader
	if f.NewLeader == f.OldLeader {
		text = f.NewLeader + " leads again"
	}
	return fmt.Sprintf("%s, %.0f ms without a leader", text, f.Millis)
}

func clockText(millis int64) string { return time.UnixMilli(millis).UTC().Format("15:04:05") }

// hourPlots makes the plots of one history, which share their axis of time.
type hourPlots struct {
	h     *api.History
	x     plot.Axis
	marks []plot.Mark
}

// shares is a plot of parts of a whole, with an axis up to least or more.
func (p *hourPlots) shares(title string, ink plot.Ink, least float64, value func(*api.HistorySample) float64) plot.Chart {
	most := p.highest(value)
	return p.chart(title, ink, plot.Shares(max(most, least)), most, value, func(f float64) string { return percent(f * 100) })
}

// counts is a plot of numbers.
func (p *hourPlots) counts(title string, ink plot.Ink, value func(*api.HistorySample) float64) plot.Chart {
	most := p.highest(value)
	return p.chart(title, ink, plot.Linear(max(most, 4)), most, value, func(f float64) string {
		if f < 10 && f != math.Trunc(f) {
			return strconv.FormatFloat(f, 'f', 1, 64)
		}
		return number(int64(math.Round(f)))
	})
}

func (p *hourPlots) chart(title string, ink plot.Ink, y plot.Axis, most float64, value func(*api.HistorySample) float64, text func(float64) string) plot.Chart {
	c := plot.Chart{Title: title, Note: "at most " + text(most), Empty: "no sample yet", X: p.x, Y: y, Marks: p.marks, Width: plotWidth, Height: plotHeight}
	c.Lines = []plot.Line{{Ink: ink, Points: p.points(value), Fill: true}}
	samples, gaps := p.h.Samples, p.h.Gaps
	last := &samples[len(samples)-1]
	if v := value(last); !math.IsNaN(v) && (len(gaps) == 0 || gaps[len(gaps)-1].FromMillis != last.AtMillis) {
		c.Note = text(v) + " now, " + c.Note
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

// points are the values in order of time, averaged over as many samples as it takes, with a gap where
// samples are missing.
func (p *hourPlots) points(value func(*api.HistorySample) float64) []plot.Point {
	group := (len(p.h.Samples) + plotPoints - 1) / plotPoints
	var out []plot.Point
	var sum float64
	var n, of int
	put := func(at int64) {
		if of > 0 {
			out = append(out, plot.Point{X: float64(at), Y: sum / float64(n)}) // 0/0 is a gap
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
