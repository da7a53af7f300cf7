package report

import (
	"fmt"

	"rmd/internal/plot"
)

// utilization returns the section with the utilization of the cluster, with one chart per run.
func (p *comparison) utilization() plot.Section {
	s := plot.Section{Title: "How full the cluster was",
		Text: "What live containers use of all nodes, averaged over each point's time; what is reserved and idle does not count. Behind the names: the average of all."}
	for _, r := range p.runs() {
		c := plot.Chart{Title: p.heading("Used", r), X: p.clock(), Y: plot.Shares(1), Width: p.width(),
			Empty: "there are no samples"}
		for _, kind := range []struct {
			name string
			ink  plot.Ink
			of   func(Resource) int64
			mean float64
		}{
			{"GPUs", plot.Green, func(x Resource) int64 { return x.GPUs }, r.Utilization.GPUs},
			{"vcores", plot.Violet, func(x Resource) int64 { return x.VCores }, r.Utilization.VCores},
			{"memory", plot.Yellow, func(x Resource) int64 { return x.MemoryMB }, r.Utilization.Memory},
		} {
			points := overTime(r.Series.Samples, r.EndMillis,
				func(x Sample) float64 { return share(kind.of(x.Used), kind.of(x.Capacity)) })
			if highest(points) > 0 {
				c.Lines = append(c.Lines, plot.Line{Name: kind.name + ", " + percent(kind.mean), Ink: kind.ink, Points: points})
			}
		}
		s.Figures = append(s.Figures, c)
	}
	return s
}

// reservations returns the section with the costs and outcomes of reservations.
func (p *comparison) reservations() plot.Section {
	s := plot.Section{Title: "What reservations cost, and what became of them",
		Text: "Reserved and idle is what is free on reserved nodes and kept for the container that is to come: the price of a reservation. By dominant share: the scarcest kind counts."}
	most := 0.0
	idle := map[string][]plot.Point{}
	for _, r := range p.runs() {
		idle[r.name] = overTime(r.Series.Samples, r.EndMillis,
			func(x Sample) float64 { return x.ReservedIdle.DominantShare(x.Capacity) })
		most = max(most, highest(idle[r.name]))
	}
	for _, r := range p.runs() {
		s.Figures = append(s.Figures, plot.Chart{Title: p.heading("Reserved and idle", r), X: p.clock(), Y: plot.Shares(most),
			Width: p.width(),
			Lines: []plot.Line{{Name: percent(r.ReservedIdle.Dominant) + " of the cluster on average", Ink: r.ink,
				Points: idle[r.name], Fill: true}}})
	}
	most = 0
	held := map[string][]plot.Point{}
	for _, r := range p.runs() {
		held[r.name] = counted(r.Series.Counts, r.EndMillis, Count.Held)
		most = max(most, highest(held[r.name]))
	}
	for _, r := range p.runs() {
		o := r.Reservations
		s.Figures = append(s.Figures, plot.Chart{Title: p.heading("Reservations held", r), X: p.clock(),
			Y: plot.Linear(max(most, 1)), Width: p.width(),
			Empty: "none was ever made",
			Lines: []plot.Line{{Name: fmt.Sprintf("%d made, %d fulfilled, %d cancelled in all", o.Made, o.Fulfilled,
				o.Cancelled), Ink: r.ink, Step: true, Fill: true, Points: held[r.name]}}})
	}
	return s
}

// counted averages a count over time.
func counted(counts []Count, end int64, of func(Count) int64) []plot.Point {
	steps := make([]step, len(counts))
	for i, c := range counts {
		steps[i] = step{c.AtMillis, float64(of(c))}
	}
	return averaged(steps, end)
}

// table returns the section with the results as text, as on the terminal.
func (p *comparison) table() plot.Section {
	t := &plot.Table{Heads: []string{"", "this run"}}
	if p.without != nil {
		t.Heads = []string{"", "with reservations", "without"}
	}
	row := func(name string, of func(*Summary) string) {
		cells := []string{name}
		for _, r := range p.runs() {
			cells = append(cells, of(r.Summary))
		}
		t.Rows = append(t.Rows, cells)
	}
	waits := func(of func(*Summary) Waits) func(*Summary) string {
		return func(s *Summary) string {
			w := of(s)
			return fmt.Sprintf("%s / %s / %s", Duration(w.P50Millis), Duration(w.P95Millis), Duration(w.MaxMillis))
		}
	}
	large, small := func(s *Summary) Waits { return s.Large }, func(s *Summary) Waits { return s.Small }
	row("large containers: wait p50 / p95 / longest", waits(large))
	row("small containers: wait p50 / p95 / longest", waits(small))
	row("mean wait, large / small", func(s *Summary) string {
		return Duration(int64(s.Large.MeanMillis+0.5)) + " / " + Duration(int64(s.Small.MeanMillis+0.5))
	})
	row("containers, large / small",
		func(s *Summary) string { return fmt.Sprintf("%d / %d", s.Large.Containers, s.Small.Containers) })
	row("never served, large / small", func(
		s *Summary) string {
		return fmt.Sprintf("%d / %d", s.Large.Unserved, s.Small.Unserved)
	})
	row("used on average: GPUs / vcores / memory", func(s *Summary) string {
		return percent(s.Utilization.GPUs) + " / " + percent(s.Utilization.VCores) + " / " + percent(s.Utilization.Memory)
	})
	row("reserved and idle on average: dominant / memory", func(s *Summary) string {
		return percent(s.ReservedIdle.Dominant) + " / " + percent(s.ReservedIdle.Memory)
	})
	row("reservations: made / fulfilled / cancelled", func(s *Summary) string {
		return fmt.Sprintf("%d / %d / %d", s.Reservations.Made, s.Reservations.Fulfilled, s.Reservations.Cancelled)
	})
	for _, cause := range p.with.Reservations.causes() {
		row("  cancelled by "+cause, func(s *Summary) string { return fmt.Sprint(s.Reservations.Causes[cause]) })
	}
	row("time it took", func(s *Summary) string { return Duration(s.Run.Elapsed.Milliseconds()) })
	t.Notes = []string{
		"A percentile is the nearest rank. A container that was never served counts with its wait until the end."}
	return plot.Section{Title: "The figures", Table: t}
}
