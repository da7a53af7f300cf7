package report

import (
	"encoding/json"
	"io"
	"strings"
)

// Backfill is the result of one backfill setting: one run for each copy of a workload.
type Backfill struct {
	Name   string        `json:"name"`
	Copies []BackfillRun `json:"copies"`
}

// BackfillRun is the result of one run.
type BackfillRun struct {
	Lent     int `json:"lent"`     // containers that used lent resources
	Recalled int `json:"recalled"` // of these, those whose resources were needed before they had ended
	Ended    int `json:"ended"`    // of these, those that were preempted for that
	// Wanted is the share of the cluster, 0 to 1, that was idle on reserved nodes while another
	// waiting container would have fit there. Summary.ReservedIdle includes resources that no
	// container wanted.
	Wanted float64 `json:"wanted"`
	// mean wait for AM containers after the submission; Summary does not include them
	AMMeanMillis float64  `json:"amMeanMillis"`
	Summary      *Summary `json:"summary"`
}

// backfillColumns are the compared values of a run.
var backfillColumns = []column[BackfillRun]{
	{"LARGE WAIT", "large_mean_ms", func(r *BackfillRun) float64 { return r.Summary.Large.MeanMillis }, duration},
	{"SMALL WAIT", "small_mean_ms", func(r *BackfillRun) float64 { return r.Summary.Small.MeanMillis }, duration},
	{"AM WAIT", "am_mean_ms", func(r *BackfillRun) float64 { return r.AMMeanMillis }, duration},
	{"RESERVED IDLE", "reserved_idle", func(r *BackfillRun) float64 { return r.Summary.ReservedIdle.Dominant }, percent},
	{"WANTED", "wanted", func(r *BackfillRun) float64 { return r.Wanted }, percent},
	{"GPUS USED", "used_gpu", func(r *BackfillRun) float64 { return r.Summary.Utilization.GPUs }, percent},
	{"LENT", "lent", func(r *BackfillRun) float64 { return float64(r.Lent) }, whole},
	{"RECALLED", "recalled", func(r *BackfillRun) float64 { return float64(r.Recalled) }, whole},
	{"ENDED", "ended", func(r *BackfillRun) float64 { return float64(r.Ended) }, whole},
}

// Figures returns the compared values over all copies, by name.
func (b *Backfill) Figures() map[string]Spread { return figures(b.Copies, backfillColumns) }

// WriteBackfillText prints one line per setting: the mean of each value over the copies and, with
// more than one copy, its standard deviation.
func WriteBackfillText(w io.Writer, all []Backfill) error {
	var b strings.Builder
	writeColumns(&b, all, backfillColumns, func(x Backfill) (string, []BackfillRun) { return x.Name, x.Copies })
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteBackfillJSON writes {"settings": […]}.
func WriteBackfillJSON(w io.Writer, all []Backfill) error {
	type settings struct {
		Backfill
		Figures map[string]Spread `json:"figures"`
	}
	out := struct {
		Settings []settings `json:"settings"`
	}{}
	for i := range all {
		out.Settings = append(out.Settings, settings{all[i], all[i].Figures()})
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(out)
}
