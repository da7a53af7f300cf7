package conf

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"rmd/api"
	"rmd/cmd/internal/clierr"
	"rmd/cmd/internal/output"
	"rmd/cmd/rmd/internal/command/verb"
)

// showWhatIf lets the planner try a file's queues on a copy of the current state. It prints which
// applications would gain, lose, wait or start.
func showWhatIf(c *verb.Call) error {
	if c.NArg() != 1 {
		return clierr.Usagef("write --whatif FILE", "--whatif needs exactly one file")
	}
	o, err := c.Options()
	if err != nil {
		return err
	}
	if o.Shaped() {
		return clierr.Usagef("leave them out, or use -o jsonl and a filter",
			"--columns, --sort and --filter do not go with --whatif: it shows several tables")
	}
	props, err := ReadProperties(c.Arg(0))
	if err != nil {
		return err
	}
	return c.Repeat(func(ctx context.Context, w io.Writer) error {
		cl, err := c.Client()
		if err != nil {
			return err
		}
		a, err := cl.Post(ctx, "/v1/whatif", api.PutConf{Properties: AsMap(props)})
		if err != nil {
			return err
		}
		var d api.WhatIf
		if err := a.Decode(&d); err != nil {
			return err
		}
		switch o.Format {
		case output.JSON, output.YAML:
			return output.WriteDocument(w, o.Format, a.Body)
		case output.JSONL:
			return verb.WriteCompact(w, a.Body)
		}
		return writeWhatIf(w, c.Arg(0), d, o)
	})
}

// writeWhatIf prints the verdict, the queues and each group of applications.
func writeWhatIf(w io.Writer, file string, d api.WhatIf, o output.Options) error {
	groups := d.Groups()
	if o.Format == output.Name {
		for _, g := range groups {
			if err := whatIfColumns.Write(w, g.Apps, o); err != nil {
				return err
			}
		}
		return nil
	}
	fmt.Fprintf(w,
		"%s in place of version %d: %d keys change\n%d applications would start at once, %d would wait, %d would gain, %d would lose\n",
		file, d.Version, len(d.Changes), d.Totals.Starts, d.Totals.Waits, d.Totals.Gains, d.Totals.Loses)
	for _, text := range d.Warnings {
		fmt.Fprintln(w, "warning: "+text)
	}
	if !d.Complete {
		fmt.Fprintf(w,
			"incomplete: the planner stopped after %d node passes and left out %d nodes, the same with both configurations\n",
			d.Turns, d.NodesLeft)
	}
	if len(d.Queues) > 0 {
		fmt.Fprintln(w, "\nqueues that would differ")
		if err := whatIfQueueColumns.Write(w, d.Queues, o); err != nil {
			return err
		}
	}
	for _, g := range groups {
		if g.Total == 0 {
			continue
		}
		more := ""
		if g.Total > len(g.Apps) {
			more = fmt.Sprintf(", of them %d", len(g.Apps))
		}
		fmt.Fprintf(w, "\n%d %s%s\n", g.Total, g.Title, more)
		if err := whatIfColumns.Write(w, g.Apps, o); err != nil {
			return err
		}
	}
	if err := writeLandings(w, d.Landings); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, "\nnothing was changed; a change of queues stops no running container")
	return err
}

// writeLandings prints whose applications would go to another queue if they were submitted again.
func writeLandings(w io.Writer, l *api.Landings) error {
	if l == nil || l.Elsewhere == 0 {
		return nil
	}
	fmt.Fprintf(w, "\n%d of %d applications would go elsewhere if they were submitted again\n", l.Elsewhere, l.Apps)
	if !l.Complete {
		fmt.Fprintln(w, "incomplete: the time for the answer ended")
	}
	for _, m := range l.Moves {
		if _, err := fmt.Fprintf(w, "%d of %s: %s -> %s\n", m.Apps, m.User, cmp.Or(m.From, "refused"),
			cmp.Or(m.To, "refused")); err != nil {
			return err
		}
	}
	return nil
}

var whatIfQueueColumns = output.List[api.WhatIfQueue]{
	Name: func(q api.WhatIfQueue) string { return q.Path },
	Columns: []output.Column[api.WhatIfQueue]{
		verb.QueueColumn(func(q api.WhatIfQueue) string { return q.Path }),
		{Head: "GUARANTEED", Text: func(q api.WhatIfQueue) string {
			return change(q.Before.Guaranteed, q.After.Guaranteed)
		}, Shrink: true},
		{Head: "USED", Text: func(q api.WhatIfQueue) string { return change(q.Before.Used, q.After.Used) }, Shrink: true},
		{Head: "OVER", Text: func(q api.WhatIfQueue) string { return output.YesNo(q.Over) }},
		{Head: "MAX", Wide: true, Text: func(q api.WhatIfQueue) string { return change(q.Before.Max, q.After.Max) }},
		{Head: "PENDING", Wide: true, Text: func(q api.WhatIfQueue) string {
			return change(q.Before.Pending, q.After.Pending)
		}},
	},
}

var whatIfColumns = output.List[api.WhatIfApp]{
	Name: func(a api.WhatIfApp) string { return a.ID },
	Columns: []output.Column[api.WhatIfApp]{
		{Head: "ID", Text: func(a api.WhatIfApp) string { return a.ID }},
		verb.QueueColumn(func(a api.WhatIfApp) string { return a.Queue }),
		{Head: "LIVE", Text: func(a api.WhatIfApp) string {
			return change(output.Number(a.Before.Containers), output.Number(a.After.Containers))
		}},
		{Head: "USED", Text: func(a api.WhatIfApp) string { return change(a.Before.Used, a.After.Used) }, Shrink: true},
		{Head: "WHY", Text: func(a api.WhatIfApp) string {
			return change(waitReason(a.Before), waitReason(a.After))
		}, Shrink: true},
		{Head: "USER", Wide: true, Text: func(a api.WhatIfApp) string { return a.User }},
		{Head: "ASKS", Wide: true, Text: func(a api.WhatIfApp) string {
			return change(output.Number(a.Before.Outstanding), output.Number(a.After.Outstanding))
		}},
	},
}

// waitReason returns what an application waits for: the sentence, or the code if the replica sends
// no sentence.
func waitReason(a api.WhatIfAppShare) string { return cmp.Or(a.Text, a.Reason) }

// change formats the value before and after, or one value if they are equal.
func change(before, after string) string {
	if before == after {
		return before
	}
	return verb.Dashed(before) + " → " + verb.Dashed(after)
}
