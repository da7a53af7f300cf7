package command

import (
	"context"
	"fmt"
	"io"
	"strings"

	"rmd/api"
	"rmd/cmd/internal/output"
)

func appForecast() verb {
	return verb{name: "forecast", usage: "forecast when what an application waits for will start", args: "ID", min: 1, max: 1, flags: watchFlags(),
		long: "Plans ahead on copies of the state, where containers end when containers like them have ended so far, " +
			"and shows when the next container of each ask starts: the median, the times between which " +
			"9 in 10 start, the containers and queues that it waits for most often, and what would make it start sooner. " +
			"What will be submitted later is not foreseen.",
		examples: []string{"rmd app forecast application_1780000000000_0107"},
		complete: []source{apps},
		run: func(c *call) error {
			path, err := c.appPath("/forecast")
			if err != nil {
				return err
			}
			return showText(c, func(ctx context.Context) ([]byte, func(io.Writer) error, error) {
				var d api.Forecast
				doc, err := c.get(ctx, path, nil, &d)
				return doc, func(w io.Writer) error { return writeForecast(w, d, c.cut()) }, err
			})
		}}
}

func forecastVerbs() verb {
	return noun("forecast", "how well forecasts of starts hold", forecastReport())
}

func forecastReport() verb {
	return verb{name: "report", usage: "show how often the intervals of forecasts held on this cluster", flags: watchFlags(),
		long: "Each replica forecasts once a minute when what waits will start, and compares that with when it starts. " +
			"This shows the record of the replica that answers. Intervals of \"rmd app forecast\" come from it.",
		examples: []string{"rmd forecast report", "rmd forecast report -o json"},
		run: func(c *call) error {
			return showText(c, func(ctx context.Context) ([]byte, func(io.Writer) error, error) {
				var d api.ForecastReport
				doc, err := c.get(ctx, "/v1/forecast", nil, &d)
				return doc, func(w io.Writer) error { return writeForecastReport(w, d, c.cut()) }, err
			})
		}}
}

// writeForecast prints the whole document. With width 0 it does not fold.
func writeForecast(w io.Writer, d api.Forecast, width int) error {
	l := &labelled{width: width}
	l.fold("", d.ID)
	switch {
	case d.Waits != "":
		l.line("", "It asks for no container yet: %s.", d.Waits)
	case len(d.Asks) == 0:
		l.line("", "It waits for no container.")
	}
	for _, k := range d.Asks {
		l.line("ask", "%d of %s at priority %d", k.Count, k.Size, k.Priority)
		l.line("starts", "%s", forecastText(&k, d.Runs))
		list(l, "after", k.After, func(a api.ForecastAfter) string {
			return fmt.Sprintf("%s ends (%d of %d runs)", forecastAfterText(a), a.Runs, d.Runs)
		})
		list(l, "queues", k.Queues, func(q api.ForecastQueue) string { return fmt.Sprintf("%s (%d of %d runs)", q.Path, q.Runs, d.Runs) })
		list(l, "sooner", k.Sooner, func(s api.ForecastSooner) string {
			return fmt.Sprintf("%s if %s", output.Time(s.MedianMillis), s.If)
		})
	}
	_, err := io.WriteString(w, l.b.String())
	return err
}

func forecastAfterText(a api.ForecastAfter) string {
	if a.Container == "" {
		return fmt.Sprintf("a later container of %s in %s", a.ID, a.Queue)
	}
	return fmt.Sprintf("%s on %s of %s in %s", a.Container, a.Node, a.ID, a.Queue)
}

func forecastText(k *api.ForecastAsk, runs int) string {
	switch {
	case k.Never != "":
		return "never: " + k.Never
	case runs == 0:
		return "unknown: planning ahead took too long"
	case k.MedianMillis == 0:
		return fmt.Sprintf("within 7 days in %d of %d runs only", k.Started, runs)
	}
	until := "later than in 7 days"
	if k.ToMillis > 0 {
		until = output.Time(k.ToMillis)
	}
	of := map[bool]string{true: "9 in 10", false: "9 in 10 runs"}[k.Recorded]
	return strings.Join([]string{output.Time(k.MedianMillis), "(" + of + ":", output.Time(k.FromMillis), "to", until + ")"}, " ")
}

// forecastLine returns in one line when a waiting application starts, or "" if that is unknown.
func (c *call) forecastLine(ctx context.Context, path string) string {
	var d api.Forecast
	if _, err := c.get(ctx, path, nil, &d); err != nil {
		return ""
	}
	if k := d.First(); k != nil {
		return forecastText(k, d.Runs)
	}
	return ""
}

func writeForecastReport(w io.Writer, d api.ForecastReport, width int) error {
	l := &labelled{width: width}
	l.fold("", "forecasts of replica "+d.Replica)
	if d.SinceMillis == 0 {
		l.line("", "Nothing has waited for a minute yet.")
	} else {
		l.line("since", "%s", output.Time(d.SinceMillis))
		l.line("all", "%s", heldText(d.Held, d.Due))
		l.line("newest", "%s", heldText(d.Newest.Held, d.Newest.Due))
		l.line("error", "median %s, 95 %% at most %s, of waits of %s", output.Millis(d.Newest.ErrorP50Millis), output.Millis(d.Newest.ErrorP95Millis), output.Millis(d.Newest.WaitP50Millis))
		l.line("width", "median %s, %.1f times the wait", output.Millis(d.Newest.WidthP50Millis), d.Newest.WidthOfWaitP50)
		l.line("open", "%d still wait; %d were not waited for any more", d.Open, d.Gone)
		l.line("none", "no start was foreseen for %d requests", d.None)
	}
	if !d.Recorded {
		l.line("", "These are too few: intervals are those of the runs.")
	}
	_, err := io.WriteString(w, l.b.String())
	return err
}

// heldText returns how many of the forecast intervals were correct.
func heldText(held, due int) string {
	if due == 0 {
		return "none has come due"
	}
	return fmt.Sprintf("%d of %d intervals held, %.1f %%", held, due, 100*float64(held)/float64(due))
}
