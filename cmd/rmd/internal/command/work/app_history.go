package work

import (
	"context"
	"fmt"

	"rmd/api"
	"rmd/cmd/internal/output"
	"rmd/cmd/rmd/internal/command/verb"
	"rmd/internal/thousands"
)

var sampleColumns = output.List[api.AppHistorySample]{
	Name:  func(s api.AppHistorySample) string { return output.Time(s.AtMillis) },
	Empty: "no samples: the application ended before the first one, or too many other applications have samples",
	Columns: []output.Column[api.AppHistorySample]{
		{Head: "AT", Text: func(s api.AppHistorySample) string {
			return output.Time(s.AtMillis)
		}, Key: func(s api.AppHistorySample) float64 { return float64(s.AtMillis) }},
		{Head: "USED", Text: func(s api.AppHistorySample) string {
			return s.Used.String()
		}, Key: func(s api.AppHistorySample) float64 {
			return float64(s.Used[api.MemoryMB])
		}, Shrink: true, End: true, Least: output.AmountLeast},
		{Head: "RESERVED", Text: func(s api.AppHistorySample) string {
			return s.Reserved.String()
		}, Key: func(s api.AppHistorySample) float64 {
			return float64(s.Reserved[api.MemoryMB])
		}, Spare: 1, Shrink: true, End: true, Least: output.AmountLeast},
		{Head: "PENDING", Text: func(s api.AppHistorySample) string {
			return s.Pending.String()
		}, Key: func(s api.AppHistorySample) float64 {
			return float64(s.Pending[api.MemoryMB])
		}, Shrink: true, End: true, Least: output.AmountLeast},
	},
}

func appHistory() verb.Verb {
	return verb.Verb{Name: "history",
		Usage: "list what an application used, had reserved and waited for, from its submission on", Args: "ID", Min: 1,
		Max: 1, Flags: verb.ListFlags(sampleColumns),
		Long: "The replica that answers took the samples; the page of the application plots them. A long life has samples that are further apart.",
		Examples: []string{"rmd app history application_1780000000000_0107",
			"rmd app history application_1780000000000_0107 --sort -pending",
			"rmd app history application_1780000000000_0107 -o json"},
		Complete: []verb.Source{verb.Apps},
		Run: func(c *verb.Call) error {
			path, err := appPath(c, "/history")
			if err != nil {
				return err
			}
			return verb.ShowList(c, sampleColumns, func(ctx context.Context) (f verb.Fetched[api.AppHistorySample], err error) {
				var d api.AppHistory
				f.Doc, err = c.Get(ctx, path, nil, &d)
				f.Things, f.Head = d.Samples, historyHead(d)
				return f, err
			})
		}}
}

// historyHead says whose samples these are, and what they lack.
func historyHead(d api.AppHistory) string {
	s := fmt.Sprintf("%s, submitted %s, samples of replica %s every %s", d.App, output.Time(d.SubmittedMillis), d.ID,
		output.Millis(d.StepMillis))
	if len(d.Gaps) > 0 {
		s += ", with " + thousands.Count(len(d.Gaps), "gap")
	}
	return s
}
