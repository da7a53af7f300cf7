package plots

import (
	"cmp"
	"html/template"
	"slices"
	"strings"

	"rmd/api"
	"rmd/fsm/state"
	"rmd/internal/plot"
	"rmd/internal/quantile"
	"rmd/internal/thousands"
	"rmd/transport/http/summary"
	"rmd/transport/http/ui/format"
	"rmd/transport/http/view"
)

// waitsShown is the number of queues in the plot of waits, those with the longest waits.
// waitsCounted is the number of applications that count for a queue, the newest.
const (
	waitsShown   = 12
	waitsCounted = 10_000
)

// queueWaits has the waits of a queue's applications for their ApplicationMasters.
type queueWaits struct {
	path   string
	Waits  []int64
	within int // how many of them wait still
}

// Waits draws how long the applications of each leaf queue waited until their ApplicationMasters
// registered: those that were submitted in the last hour, and those that wait still.
func Waits(v *view.View) template.HTML {
	now := v.NowMillis
	byQueue := map[state.QueueSlot]*queueWaits{}
	v.Summary().Each(true, func(a *summary.App) bool {
		if !a.ForAM() && (a.SubmittedMillis < now-api.HistoryHour.Milliseconds() || a.Unmanaged) {
			return true
		}
		w := byQueue[a.Queue]
		if w == nil {
			w = &queueWaits{path: v.QueuePath(a.Queue)}
			byQueue[a.Queue] = w
		}
		if len(w.Waits) < waitsCounted && w.path != "" {
			w.Waits = append(w.Waits, a.Waited(now))
			if a.ForAM() {
				w.within++
			}
		}
		return true
	})
	var all []*queueWaits
	for _, w := range byQueue { // sorted below
		if len(w.Waits) > 0 {
			slices.Sort(w.Waits)
			all = append(all, w)
		}
	}
	if len(all) == 0 {
		return ""
	}
	slices.SortFunc(all, func(a, b *queueWaits) int {
		return cmp.Or(cmp.Compare(quantile.Of(b.Waits, .95), quantile.Of(a.Waits, .95)), strings.Compare(a.path, b.path))
	})
	return waitsOf(all[:min(len(all), waitsShown)]).SVG()
}

// waitsOf returns a plot with a row for each queue.
func waitsOf(all []*queueWaits) plot.Ranges {
	r := plot.Ranges{Title: "Waits for the ApplicationMaster",
		Note: "dot: half waited at most so long; thick: 95 of 100; thin: the longest", Heading: "half, 95 %", Width: 640}
	var most int64
	for _, w := range all {
		mid, high, longest := quantile.Of(w.Waits, .5), quantile.Of(w.Waits, .95), w.Waits[len(w.Waits)-1]
		most = max(most, longest)
		note := thousands.Count(len(w.Waits), "application")
		if w.within > 0 {
			note = thousands.Format(len(w.Waits)) + ", " + thousands.Format(w.within) + " wait still"
		}
		r.Rows = append(r.Rows, plot.Row{Label: w.path, Note: note,
			Bars: []plot.Bar{{Ink: plot.Violet, Mid: float64(mid), High: float64(high), Max: float64(longest),
				Text: format.Span(mid) + ", " + format.Span(high)}}})
	}
	r.X = plot.Waits("", float64(most), format.Span)
	return r
}
