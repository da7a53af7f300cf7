package trial

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"rmd/api"
	"rmd/client"
	"rmd/cmd/internal/clierr"
	"rmd/cmd/internal/output"
	"rmd/cmd/rmd/internal/command/verb"
	"rmd/yarn"
)

const (
	previewTimeout   = 3 * time.Minute // a little more than the replica's limit
	previewAnswerMax = 64 << 20
)

// previewPreemption shows what preemption would have done in a part of the past.
func previewPreemption(c *verb.Call) error {
	in := api.PreviewPreemption{Clip: true}
	now, err := time.Now(), error(nil)
	if in.FromMillis, err = verb.ParseSince("--over", c.String("over"), now); err != nil {
		return err
	}
	in.ToMillis = now.UnixMilli()
	if text := c.String("until"); text != "" {
		if in.ToMillis, err = verb.ParseSince("--until", text, now); err != nil {
			return err
		}
	}
	if in.ToMillis <= in.FromMillis {
		return clierr.Usagef("write --over 3h --until 1h, or two times", "--until is not after the beginning")
	}
	timeout := previewTimeout
	if c.IsSet("timeout") {
		timeout = c.Span("timeout")
	}
	doc, err := longPost(c, "/v1/preemption:preview", in, timeout)
	if err != nil {
		return err
	}
	var d api.PreemptionPreview
	if err := json.Unmarshal(doc, &d); err != nil {
		return err
	}
	if d.FromMillis > in.FromMillis {
		c.PrintMessage("the log of replica %s reaches back to %s only, so this is less than was asked for",
			d.Replica, output.Time(d.FromMillis))
	}
	return writeRuns(c,
		func(w io.Writer) error { return writePreview(c, w, d) },
		func(w io.Writer) error { return output.WriteDocument(w, output.JSON, doc) })
}

// longPost sends a request whose answer takes longer than --timeout allows for other requests.
func longPost(c *verb.Call, path string, in any, timeout time.Duration) ([]byte, error) {
	ctx, cancel := context.WithTimeout(c.Ctx(), timeout)
	defer cancel()
	body, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	cl, err := c.Client()
	if err != nil {
		return nil, err
	}
	if c.Program.ErrTerminal && !c.Quiet() {
		defer working(c.Program.Err, "the replica plays this time again")()
	}
	a, err := cl.Do(ctx, client.Request{Method: http.MethodPost, Path: path, Body: body, ContentType: "application/json",
		Silence: timeout})
	if err != nil {
		return nil, err
	}
	defer a.Stream.Close()
	return io.ReadAll(io.LimitReader(a.Stream, previewAnswerMax))
}

// working says every second on a terminal what is under way, and for how long. The function that it
// returns removes the line.
func working(w io.Writer, what string) (done func()) {
	stop, stopped := make(chan struct{}), make(chan struct{})
	began, tick := time.Now(), time.NewTicker(time.Second)
	go func() {
		defer close(stopped)
		for said := false; ; said = true {
			select {
			case <-tick.C:
				fmt.Fprintf(w, "\r%s, %s so far\x1b[K", what, output.Span(time.Since(began)))
			case <-stop:
				if said {
					fmt.Fprint(w, "\r\x1b[K")
				}
				return
			}
		}
	}()
	return func() {
		tick.Stop()
		close(stop)
		<-stopped
	}
}

// previewRow is a queue in one run.
type previewRow struct {
	api.PreviewQueue
	run string
}

var previewColumns = output.List[previewRow]{
	Name:  func(r previewRow) string { return r.Path },
	Empty: "no queue was owed a container or lost one",
	Columns: []output.Column[previewRow]{
		verb.QueueColumn(func(r previewRow) string { return r.Path }),
		{Head: "RUN", Text: func(r previewRow) string { return r.run }},
		{Head: "KILLED", Text: func(r previewRow) string { return output.Number(r.Killed) }, Right: true},
		{Head: "LOST", Text: func(r previewRow) string { return output.Millis(r.LostMillis) }, Right: true, Wide: true},
		{Head: "OWED", Text: func(r previewRow) string { return output.Number(r.Owed.Count) }, Right: true},
		{Head: "WAIT MEAN", Text: func(r previewRow) string { return output.Millis(r.Owed.MeanMillis) }, Right: true},
		{Head: "P95", Text: func(r previewRow) string { return output.Millis(r.Owed.P95Millis) }, Right: true},
		{Head: "MAX", Text: func(r previewRow) string { return output.Millis(r.Owed.MaxMillis) }, Right: true},
		{Head: "WAITING", Text: func(r previewRow) string { return output.Number(r.Waiting) }, Right: true},
	},
}

// writePreview prints the conclusion, the runs side by side, and the queues that lack guaranteed
// resources or lose containers.
func writePreview(c *verb.Call, w io.Writer, d api.PreemptionPreview) error {
	o, err := c.Options()
	if err != nil {
		return err
	}
	l := &verb.Labelled{Width: c.Cut()}
	l.Fold("", fmt.Sprintf("%s to %s, entries %d to %d of the log of replica %s", output.Time(d.FromMillis),
		output.Time(d.ToMillis), d.FromIndex, d.ToIndex, d.Replica))
	l.Fold("", d.Text)
	l.B.WriteString("\n" + previewTable(d.Runs) + "\n")
	if _, err := io.WriteString(w, l.B.String()); err != nil {
		return err
	}
	var rows []previewRow
	for i := range d.Runs[0].Queues {
		var of []previewRow
		something := false
		for _, run := range d.Runs {
			if i < len(run.Queues) {
				of = append(of, previewRow{run.Queues[i], run.Name})
				something = something || run.Queues[i].Killed+run.Queues[i].Owed.Count > 0
			}
		}
		if something {
			rows = append(rows, of...)
		}
	}
	return previewColumns.Write(w, rows, o)
}

// previewTable returns the runs side by side, in lines of at most 80 characters.
func previewTable(runs []api.PreviewRun) string {
	var b strings.Builder
	width := 17
	if len(runs) > 3 {
		width = 13
	}
	row := func(label string, of func(api.PreviewRun) string) {
		fmt.Fprintf(&b, "%-24s", label)
		for _, r := range runs {
			fmt.Fprintf(&b, " %-*s", width, of(r))
		}
		b.WriteString("\n")
	}
	row("", func(r api.PreviewRun) string { return strings.ToUpper(r.Name) })
	row("started", func(r api.PreviewRun) string { return output.Number(r.Started) })
	row("killed containers/AMs", func(r api.PreviewRun) string { return fmt.Sprintf("%d/%d", r.Killed-r.AMs, r.AMs) })
	row("warned/withdrawn", func(r api.PreviewRun) string { return fmt.Sprintf("%d/%d", r.Warned, r.Withdrawn) })
	for _, kind := range verb.Sorted(runs[0].Lost) {
		unit, of := "lost "+yarn.ShortKind(kind)+"-hours", 3600.0
		switch kind {
		case yarn.MemoryName:
			unit, of = "lost GiB-hours", 3600*1024
		case yarn.VCoresName:
			unit = "lost vcore-hours"
		}
		row(unit, func(r api.PreviewRun) string { return fmt.Sprintf("%.1f", float64(r.Lost[kind])/of) })
	}
	row("lost time of the cluster", func(r api.PreviewRun) string { return output.Millis(r.LostMillis) })
	row("owed containers", func(r api.PreviewRun) string { return output.Number(r.Owed.Count) })
	row("owed wait p50/p95", func(r api.PreviewRun) string { return spans(r.Owed.P50Millis, r.Owed.P95Millis) })
	row("owed wait mean/max", func(r api.PreviewRun) string { return spans(r.Owed.MeanMillis, r.Owed.MaxMillis) })
	row("owed, still waiting", func(r api.PreviewRun) string { return output.Number(r.Waiting) })
	row("guessed ends", func(r api.PreviewRun) string {
		if r.Exact {
			return "-"
		}
		return fmt.Sprintf("%d of %d", r.GuessedEnds, r.GuessedEnds+r.KnownEnds)
	})
	return trimmedLines(b.String())
}

func spans(a, b int64) string { return output.Millis(a) + "/" + output.Millis(b) }

// trimmedLines removes spaces at the ends of lines.
func trimmedLines(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}
