package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// Backfill is what lending the idle room of reserved nodes gave and cost in one run of a workload.
type Backfill struct {
	Name     string   `json:"name"`
	Lent     int      `json:"lent"`     // containers that borrowed room
	Recalled int      `json:"recalled"` // of these, those whose room was needed before they had ended
	Ended    int      `json:"ended"`    // of these, those that were ended for it
	Summary  *Summary `json:"summary"`
}

// WriteBackfillText prints runs side by side.
func WriteBackfillText(w io.Writer, runs []Backfill) error {
	var b strings.Builder
	row := func(label string, of func(*Backfill) string) {
		line := fmt.Sprintf("%-23s", label)
		for i := range runs {
			line += fmt.Sprintf(" %-15s", of(&runs[i]))
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	row("", func(r *Backfill) string { return strings.ToUpper(r.Name) })
	row("large wait p50/p95", func(r *Backfill) string { return pair(r.Summary.Large.P50Millis, r.Summary.Large.P95Millis) })
	row("small wait p50/p95", func(r *Backfill) string { return pair(r.Summary.Small.P50Millis, r.Summary.Small.P95Millis) })
	row("large wait mean/max", func(r *Backfill) string {
		return pair(int64(r.Summary.Large.MeanMillis+0.5), r.Summary.Large.MaxMillis)
	})
	row("small wait mean/max", func(r *Backfill) string {
		return pair(int64(r.Summary.Small.MeanMillis+0.5), r.Summary.Small.MaxMillis)
	})
	row("still waiting", func(r *Backfill) string {
		return fmt.Sprintf("%d/%d", r.Summary.Large.Unserved, r.Summary.Small.Unserved)
	})
	row("used gpu/vcore/memory", func(r *Backfill) string {
		u := r.Summary.Utilization
		return percent(u.GPUs) + "/" + percent(u.VCores) + "/" + percent(u.Memory)
	})
	row("reserved idle dom./mem.", func(r *Backfill) string {
		return percent(r.Summary.ReservedIdle.Dominant) + "/" + percent(r.Summary.ReservedIdle.Memory)
	})
	row("lent/recalled/ended", func(r *Backfill) string { return fmt.Sprintf("%d/%d/%d", r.Lent, r.Recalled, r.Ended) })
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteBackfillJSON writes {"runs": […]}.
func WriteBackfillJSON(w io.Writer, runs []Backfill) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(struct {
		Runs []Backfill `json:"runs"`
	}{runs})
}
