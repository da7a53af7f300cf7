package report

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"
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
	Wanted       float64  `json:"wanted"`
	AMMeanMillis float64  `json:"amMeanMillis"` // mean wait for AM containers after the submission; Summary does not include them
	Summary      *Summary `json:"summary"`
}

// backfillColumns are the compared values of a run.
var backfillColumns = []struct {
	head, name string
	of         func(*BackfillRun) float64
	text       func(float64) string
}{
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

func duration(v float64) string { return Duration(int64(v + 0.5)) }
func whole(v float64) string    { return fmt.Sprintf("%.0f", v) }

// Spread is the mean of a value over copies, and its standard deviation.
type Spread struct {
	Mean      float64 `json:"mean"`
	Deviation float64 `json:"deviation"`
}

// SpreadOf returns the mean and the standard deviation of values. The deviation of one value is 0.
func SpreadOf(values []float64) (s Spread) {
	for _, v := range values {
		s.Mean += v / float64(len(values))
	}
	for _, v := range values {
		s.Deviation += (v - s.Mean) * (v - s.Mean) / float64(max(len(values)-1, 1))
	}
	s.Deviation = math.Sqrt(s.Deviation)
	return s
}

// Figures returns the compared values over all copies, by name.
func (b *Backfill) Figures() map[string]Spread {
	out := map[string]Spread{}
	for _, c := range backfillColumns {
		out[c.name] = b.spread(c.of)
	}
	return out
}

func (b *Backfill) spread(of func(*BackfillRun) float64) Spread {
	var values []float64
	for i := range b.Copies {
		values = append(values, of(&b.Copies[i]))
	}
	return SpreadOf(values)
}

// WriteBackfillText prints one line per setting: the mean of each value over the copies and, with
// more than one copy, its standard deviation.
func WriteBackfillText(w io.Writer, all []Backfill) error {
	var lines [][]string
	heads := []string{""}
	for _, c := range backfillColumns {
		heads = append(heads, c.head)
	}
	lines = append(lines, heads)
	for i := range all {
		line := []string{all[i].Name}
		for _, c := range backfillColumns {
			s := all[i].spread(c.of)
			text := c.text(s.Mean)
			if len(all[i].Copies) > 1 {
				text += " ± " + c.text(s.Deviation)
			}
			line = append(line, text)
		}
		lines = append(lines, line)
	}
	widths := make([]int, len(heads))
	for _, line := range lines {
		for i, text := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(text))
		}
	}
	var b strings.Builder
	for _, line := range lines {
		text := ""
		for i := range line {
			text += fmt.Sprintf("%-*s", widths[i]+2, line[i])
		}
		b.WriteString(strings.TrimRight(text, " ") + "\n")
	}
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
