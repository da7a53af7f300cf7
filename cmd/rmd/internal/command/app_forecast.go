package command

import (
	"context"
	"fmt"
	"io"
	"strings"

	"rmd/cmd/internal/output"
	"rmd/transport/http/v1/api"
)

func (p *program) appForecast() verb {
	return verb{name: "forecast", usage: "forecast when what an application waits for will start", args: "ID", min: 1, max: 1, flags: watchFlags(),
		long: "Plans ahead on copies of the state, where containers end when containers like them have ended so far, " +
			"and shows when the next container of each ask starts: the median of these runs, the time from and until which " +
			"it starts in 9 of 10 runs, and the applications whose containers end right before. " +
			"What will be submitted later is not foreseen.",
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

// writeForecast prints all of the document; width 0 folds nothing.
func writeForecast(w io.Writer, d api.Forecast, width int) error {
	l := &labelled{width: width}
	l.fold("", d.ID)
	if len(d.Asks) == 0 {
		l.line("", "It waits for no container.")
	}
	for _, k := range d.Asks {
		l.line("ask", "%d of %s at priority %d", k.Count, k.Size, k.Priority)
		l.line("starts", "%s", forecastText(k, d.Runs))
		list(l, "after", k.After, func(a api.ForecastAfter) string {
			return fmt.Sprintf("a container of %s in %s ends (%d of %d runs)", a.ID, a.Queue, a.Runs, d.Runs)
		})
	}
	_, err := io.WriteString(w, l.b.String())
	return err
}

func forecastText(k api.ForecastAsk, runs int) string {
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
	return strings.Join([]string{output.Time(k.MedianMillis), "(9 in 10 runs:", output.Time(k.FromMillis), "to", until + ")"}, " ")
}
