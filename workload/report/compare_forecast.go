package report

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"rmd/internal/quantile"
)

// Forecasts is the result of one forecasting method on a trace.
type Forecasts struct {
	Method string `json:"method"`
	// Deepest is the largest number of requests that waited when forecasts were made.
	Deepest int `json:"deepest_line"`
	// Made is the number of forecasts that were compared with the actual starts. Open is the number
	// of forecasts for requests that ended before, or that had not started at the end. None is the
	// number of requests for which no start was foreseen when they were first asked about.
	Made int `json:"made"`
	Open int `json:"open"`
	None int `json:"none"`
	// Held is the share of the intervals that contained the actual start. It should be 90 %. It is
	// 0 for a method without intervals.
	Held float64 `json:"interval_held,omitempty"`
	// WidthMillis is the median width of the intervals. WidthOfWait is the median of width ÷ wait,
	// where a wait is at least one second.
	WidthMillis int64   `json:"interval_p50_millis,omitempty"`
	WidthOfWait float64 `json:"interval_of_wait_p50,omitempty"`
	// ErrorP50Millis and ErrorP95Millis are quantiles of the absolute error of forecasts.
	ErrorP50Millis int64 `json:"error_p50_millis"`
	ErrorP95Millis int64 `json:"error_p95_millis"`
	WaitP50Millis  int64 `json:"wait_p50_millis"` // median time from the forecast to the start
}

// SetErrors computes the quantiles of errors, waits and widths, which are in milliseconds and
// parallel. It sorts them.
func (f *Forecasts) SetErrors(errors, waits, widths []int64) {
	ofWait := make([]int64, len(waits)) // in thousandths
	for i, wait := range waits {
		ofWait[i] = widths[i] * 1000 / max(wait, 1000)
	}
	slices.Sort(ofWait)
	f.WidthOfWait = float64(quantile.Of(ofWait, 0.5)) / 1000
	for _, list := range [][]int64{errors, waits, widths} {
		slices.Sort(list)
	}
	f.ErrorP50Millis, f.ErrorP95Millis = quantile.Of(errors, 0.5), quantile.Of(errors, 0.95)
	f.WaitP50Millis, f.WidthMillis = quantile.Of(waits, 0.5), quantile.Of(widths, 0.5)
}

// Answered is the share of the requests for which a start was foreseen.
func (f *Forecasts) Answered() float64 {
	if f.Made+f.Open+f.None == 0 {
		return 1
	}
	return float64(f.Made+f.Open) / float64(f.Made+f.Open+f.None)
}

// WriteForecastText prints methods side by side.
func WriteForecastText(w io.Writer, methods []Forecasts) error {
	var b strings.Builder
	row := func(label string, of func(*Forecasts) string) {
		line := fmt.Sprintf("%-25s", label)
		for i := range methods {
			line += fmt.Sprintf(" %-17s", of(&methods[i]))
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	row("", func(f *Forecasts) string { return strings.ToUpper(f.Method) })
	row("requests waiting, most", func(f *Forecasts) string { return fmt.Sprint(f.Deepest) })
	row("forecasts that came due", func(f *Forecasts) string { return fmt.Sprint(f.Made) })
	row("left open/none foreseen", func(f *Forecasts) string { return fmt.Sprintf("%d/%d", f.Open, f.None) })
	row("requests answered", func(f *Forecasts) string { return fmt.Sprintf("%.1f %%", 100*f.Answered()) })
	row("90 % interval held", func(f *Forecasts) string {
		if f.Held == 0 {
			return "-"
		}
		return fmt.Sprintf("%.1f %%", 100*f.Held)
	})
	row("interval width p50", func(f *Forecasts) string {
		if f.Held == 0 {
			return "-"
		}
		return Duration(f.WidthMillis)
	})
	row("width ÷ wait p50", func(f *Forecasts) string {
		if f.Held == 0 {
			return "-"
		}
		return fmt.Sprintf("%.1f", f.WidthOfWait)
	})
	row("error p50/p95", func(f *Forecasts) string { return pair(f.ErrorP50Millis, f.ErrorP95Millis) })
	row("wait p50", func(f *Forecasts) string { return Duration(f.WaitP50Millis) })
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteForecastJSON writes {"methods": […]}.
func WriteForecastJSON(w io.Writer, methods []Forecasts) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(struct {
		Methods []Forecasts `json:"methods"`
	}{methods})
}
