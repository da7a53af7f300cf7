package result

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"text/tabwriter"
	"time"
)

// totalFile is the file in the output folder to which each run appends a line.
const totalFile = "total.jsonl"

// Total is the result of one run, or the sum of several runs of one commit and profile.
type Total struct {
	Commit       string  `json:"commit"`
	Go           string  `json:"go"`
	Profile      string  `json:"profile"`
	Runs         int     `json:"runs"`
	Seeds        int     `json:"seeds"`
	First        int64   `json:"first"` // seed
	Last         int64   `json:"last"`
	ClusterHours float64 `json:"cluster_hours"`
	Hours        float64 `json:"hours"` // real time
	CPUSeconds   float64 `json:"cpu_seconds"`
	MemoryMax    int64   `json:"memory_max"` // bytes
	Faults       int     `json:"faults"`
	Entries      int     `json:"entries"`
	Acked        int     `json:"acked"`
	Violations   int     `json:"violations"`
	Failed       []int64 `json:"failed,omitempty"` // seeds
	Undecided    int     `json:"undecided"`
}

// Total returns the line of a run. wall is the real time of all seeds together.
func (s *Summary) Total(profile string, wall time.Duration) Total {
	cpu, memory := Usage()
	slices.Sort(s.seeds)
	t := Total{Commit: commit(), Go: runtime.Version(), Profile: profile, Runs: 1, Seeds: len(s.seeds),
		ClusterHours: s.cluster.Hours(), Hours: wall.Hours(),
		CPUSeconds: cpu.Seconds(), MemoryMax: memory, Entries: s.counts.Entries, Acked: s.counts.Acked - s.counts.Refused,
		Undecided: s.undecided}
	if len(s.seeds) > 0 {
		t.First, t.Last = s.seeds[0], s.seeds[len(s.seeds)-1]
	}
	for _, n := range s.kinds {
		t.Faults += n
	}
	for _, r := range s.failed {
		t.Violations += len(r.Violations)
		t.Failed = append(t.Failed, r.Seed)
	}
	return t
}

// add adds another run of the same commit and profile.
func (t *Total) add(o Total) {
	t.Runs += o.Runs
	t.Seeds += o.Seeds
	t.First, t.Last = min(t.First, o.First), max(t.Last, o.Last)
	t.ClusterHours += o.ClusterHours
	t.Hours += o.Hours
	t.CPUSeconds += o.CPUSeconds
	t.MemoryMax = max(t.MemoryMax, o.MemoryMax)
	t.Faults += o.Faults
	t.Entries += o.Entries
	t.Acked += o.Acked
	t.Violations += o.Violations
	t.Failed = append(t.Failed, o.Failed...)
	t.Undecided += o.Undecided
}

// CPUPerHour returns the CPU seconds per hour of cluster time.
func (t Total) CPUPerHour() float64 { return t.CPUSeconds / max(t.ClusterHours, 1e-9) }

// String formats the total for people.
func (t Total) String() string {
	return fmt.Sprintf("total of commit %s: %.2f cluster-hours, %d seeds (%d to %d), %d faults, %d violations, %d undecided, %.1f CPU seconds per cluster-hour, at most %d MB",
		t.Commit, t.ClusterHours, t.Seeds, t.First, t.Last, t.Faults, t.Violations, t.Undecided, t.CPUPerHour(),
		t.MemoryMax>>20)
}

// Append appends the line to the file in a folder.
func (t Total) Append(dir string) error {
	b, err := json.Marshal(t)
	if err != nil {
		return fmt.Errorf("encode total: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("keep total: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, totalFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("keep total: %w", err)
	}
	_, err = f.Write(append(b, '\n'))
	return errors.Join(err, f.Close())
}

// SumUp adds up the runs in a folder's file by commit and profile, in the order of their first
// lines. It returns nil if there is no file.
func SumUp(dir string) ([]Total, error) {
	f, err := os.Open(filepath.Join(dir, totalFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read totals: %w", err)
	}
	defer func() { _ = f.Close() }()
	var out []Total
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		var t Total
		if err := json.Unmarshal(lines.Bytes(), &t); err != nil {
			return nil, fmt.Errorf("read totals: line %d: %w", n, err)
		}
		i := slices.IndexFunc(out, func(o Total) bool { return o.Commit == t.Commit && o.Profile == t.Profile })
		if i < 0 {
			out = append(out, t)
			continue
		}
		out[i].add(t)
	}
	return out, lines.Err()
}

// WriteTotals prints a table with a line for each commit and profile.
func WriteTotals(w io.Writer, all []Total) error {
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_,
		_ = fmt.Fprintln(tab,
		"commit\tprofile\truns\tseeds\tcluster-hours\thours\tfaults\tacked\tviolations\tundecided\tCPU s per cluster-hour\tfailed seeds")
	for _, t := range all {
		_, _ = fmt.Fprintf(tab, "%s\t%s\t%d\t%d (%d to %d)\t%.1f\t%.2f\t%d\t%d\t%d\t%d\t%.1f\t%v\n", t.Commit, t.Profile,
			t.Runs, t.Seeds, t.First, t.Last,
			t.ClusterHours, t.Hours, t.Faults, t.Acked, t.Violations, t.Undecided, t.CPUPerHour(), t.Failed)
	}
	return tab.Flush()
}
