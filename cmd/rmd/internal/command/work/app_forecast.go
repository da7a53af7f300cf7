package work

import (
	"context"
	"fmt"
	"io"
	"strings"

	"rmd/api"
	"rmd/cmd/internal/output"
	"rmd/cmd/rmd/internal/command/verb"
)

func appForecast() verb.Verb {
	return verb.Verb{Name: "forecast", Usage: "forecast when what an application waits for will start", Args: "ID", Min: 1,
		Max: 1, Flags: verb.WatchFlags(),
		Long: "Plans ahead on copies of the state, where containers end when containers like them have ended so far, " +
			"and shows when the next container of each ask starts: the median, the times between which " +
			"9 in 10 start, the containers and queues that it waits for most often, and what would make it start sooner. " +
			"What will be submitted later is not foreseen.",
		Examples: []string{"rmd app forecast application_1780000000000_0107"},
		Complete: []verb.Source{verb.Apps},
		Run: func(c *verb.Call) error {
			path, err := appPath(c, "/forecast")
			if err != nil {
				return err
			}
			return verb.ShowText(c, func(ctx context.Context) ([]byte, func(io.Writer) error, error) {
				var d api.Forecast
				doc, err := c.Get(ctx, path, nil, &d)
				return doc, func(w io.Writer) error { return writeForecast(w, d, c.Cut()) }, err
			})
		}}
}

// ForecastVerbs returns the commands of forecasts.
func ForecastVerbs() verb.Verb {
	return verb.Noun("forecast", "how well forecasts of starts hold", forecastReport())
}

func forecastReport() verb.Verb {
	return verb.Verb{Name: "report", Usage: "show how often the intervals of forecasts held on this cluster",
		Flags: verb.WatchFlags(),
		Long: "Each replica forecasts once a minute when what waits will start, and compares that with when it starts. " +
			"This shows the record of the replica that answers. Intervals of \"rmd app forecast\" come from it.",
		Examples: []string{"rmd forecast report", "rmd forecast report -o json"},
		Run: func(c *verb.Call) error {
			return verb.ShowText(c, func(ctx context.Context) ([]byte, func(io.Writer) error, error) {
				var d api.ForecastReport
				doc, err := c.Get(ctx, "/v1/forecast", nil, &d)
				return doc, func(w io.Writer) error { return writeForecastReport(w, d, c.Cut()) }, err
			})
		}}
}

// writeForecast prints the whole document. With width 0 it does not fold.
func writeForecast(w io.Writer, d api.Forecast, width int) error {
	l := &verb.Labelled{Width: width}
	l.Fold("", d.ID)
	switch {
	case d.Waits != "":
		l.Line("", "It asks for no container yet: %s.", d.Waits)
	case len(d.Asks) == 0:
		l.Line("", "It waits for no container.")
	}
	for _, k := range d.Asks {
		l.Line("ask", "%d of %s at priority %d", k.Count, k.Size, k.Priority)
		l.Line("starts", "%s", forecastText(&k, d.Runs))
		verb.List(l, "after", k.After, func(a api.ForecastAfter) string {
			return fmt.Sprintf("%s ends (%d of %d runs)", forecastAfterText(a), a.Runs, d.Runs)
		})
		verb.List(l, "queues", k.Queues,
			func(q api.ForecastQueue) string { return fmt.Sprintf("%s (%d of %d runs)", q.Path, q.Runs, d.Runs) })
		verb.List(l, "sooner", k.Sooner, func(s api.ForecastSooner) string {
			return fmt.Sprintf("%s if %s", output.Time(s.MedianMillis), s.If)
		})
	}
	_, err := io.WriteString(w, l.B.String())
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
	case k.MedianMillis == 0 && k.Started == 0:
		return "not within 7 days, as far as can be foreseen"
	case k.MedianMillis == 0:
		return fmt.Sprintf("within 7 days in %d of %d runs only", k.Started, runs)
	}
	until := "later than in 7 days"
	if k.ToMillis > 0 {
		until = output.Time(k.ToMillis)
	}
	of := map[bool]string{true: "9 in 10", false: "9 in 10 runs"}[k.Recorded]
	return strings.Join([]string{output.Time(k.MedianMillis), "(" + of + ":", output.Time(k.FromMillis), "to",
		until + ")"}, " ")
}

// forecastLine returns in one line when a waiting application starts, or "" if that is unknown.
func forecastLine(c *verb.Call, ctx context.Context, path string) string {
	var d api.Forecast
	if _, err := c.Get(ctx, path, nil, &d); err != nil {
		return ""
	}
	if k := d.First(); k != nil {
		return forecastText(k, d.Runs)
	}
	return ""
}

func writeForecastReport(w io.Writer, d api.ForecastReport, width int) error {
	l := &verb.Labelled{Width: width}
	l.Fold("", "forecasts of replica "+d.Replica)
	if d.SinceMillis == 0 {
		l.Line("", "Nothing has waited for a minute yet.")
	} else {
		l.Line("since", "%s", output.Time(d.SinceMillis))
		l.Line("all", "%s", heldText(d.Held, d.Due))
		l.Line("newest", "%s", heldText(d.Newest.Held, d.Newest.Due))
		if d.Newest.Due > 0 {
			l.Line("error", "median %s, 95 %% at most %s, of waits of %s", output.Millis(d.Newest.ErrorP50Millis),
				output.Millis(d.Newest.ErrorP95Millis), output.Millis(d.Newest.WaitP50Millis))
			l.Line("width", "median %s, %.1f times the wait", output.Millis(d.Newest.WidthP50Millis),
				d.Newest.WidthOfWaitP50)
		}
		l.Line("open", "%d still wait; %d were not waited for any more", d.Open, d.Gone)
		l.Line("none", "no start was foreseen for %d requests", d.None)
	}
	if !d.Recorded {
		l.Line("", "These are too few: intervals are those of the runs.")
	}
	_, err := io.WriteString(w, l.B.String())
	return err
}

// heldText returns how many of the forecast intervals were correct.
func heldText(held, due int) string {
	if due == 0 {
		return "none has come due"
	}
	return fmt.Sprintf("%d of %d intervals held, %.1f %%", held, due, 100*float64(held)/float64(due))
}
