package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// Preemption is the cost and the benefit of preemption in one run of a workload.
type Preemption struct {
	Selector  string `json:"selector"` // off, planned or yarn
	Warned    int    `json:"warned"`
	Withdrawn int    `json:"withdrawn"`
	// Killed is the number of preempted containers, and of containers that ended with a preempted
	// AM.
	Killed int `json:"killed"`
	AMs    int `json:"ams"` // of Killed
	// Unused is the number of preempted containers in Killed whose resources no entitled queue
	// used.
	Unused int  `json:"unused"`
	Lost   Work `json:"lost"`
	// KeptClusterSeconds is the part of the cluster that was free and kept for guarantees while others
	// waited, times seconds.
	KeptClusterSeconds float64 `json:"keptClusterSeconds"`
	// Owed are the waits for containers that queues requested within their guarantee.
	Owed      Waits `json:"owed"`
	EndMillis int64 `json:"endMillis"` // virtual time at which everything was done
}

// Work is resources times the duration of their use.
type Work struct {
	MemoryMBSeconds float64 `json:"memoryMBSeconds"`
	VCoreSeconds    float64 `json:"vcoreSeconds"`
	GPUSeconds      float64 `json:"gpuSeconds"`
	// ClusterSeconds is the sum of dominant shares times seconds. 1 is the whole cluster for one
	// second.
	ClusterSeconds float64 `json:"clusterSeconds"`
}

// Add adds the use of a container of a size for some milliseconds, in a cluster.
func (w *Work) Add(size, cluster Resource, millis int64) {
	seconds := float64(millis) / 1000
	w.MemoryMBSeconds += float64(size.MemoryMB) * seconds
	w.VCoreSeconds += float64(size.VCores) * seconds
	w.GPUSeconds += float64(size.GPUs) * seconds
	w.ClusterSeconds += size.DominantShare(cluster) * seconds
}

// WritePreemptionText prints runs side by side. With three runs, lines have at most 80 characters.
func WritePreemptionText(w io.Writer, runs []Preemption) error {
	var b strings.Builder
	row := func(label string, of func(*Preemption) string) {
		line := fmt.Sprintf("%-25s", label)
		for i := range runs {
			line += fmt.Sprintf(" %-17s", of(&runs[i]))
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	row("", func(p *Preemption) string { return strings.ToUpper(p.Selector) })
	row("killed containers/AMs", func(p *Preemption) string { return fmt.Sprintf("%d/%d", p.Killed-p.AMs, p.AMs) })
	row("killed, room not used", func(p *Preemption) string { return fmt.Sprint(p.Unused) })
	row("warned/withdrawn", func(p *Preemption) string { return fmt.Sprintf("%d/%d", p.Warned, p.Withdrawn) })
	row("lost GPU-h/vcore-h/GiB-h", func(p *Preemption) string {
		return figure(p.Lost.GPUSeconds/3600) + "/" + figure(p.Lost.VCoreSeconds/3600) + "/" +
			figure(p.Lost.MemoryMBSeconds/3600/1024)
	})
	row("lost cluster-seconds", func(p *Preemption) string { return figure(p.Lost.ClusterSeconds) })
	row("kept cluster-seconds", func(p *Preemption) string { return figure(p.KeptClusterSeconds) })
	row("owed containers", func(p *Preemption) string { return fmt.Sprint(p.Owed.Containers) })
	row("owed wait p50/p95", func(p *Preemption) string { return pair(p.Owed.P50Millis, p.Owed.P95Millis) })
	row("owed wait mean/max", func(p *Preemption) string { return pair(int64(p.Owed.MeanMillis+0.5), p.Owed.MaxMillis) })
	row("owed, still waiting", func(p *Preemption) string { return fmt.Sprint(p.Owed.Unserved) })
	row("end of the last", func(p *Preemption) string { return Duration(p.EndMillis) })
	_, err := io.WriteString(w, b.String())
	return err
}

// figure formats a number, with one decimal below 100.
func figure(v float64) string {
	if v > 0 && v < 100 {
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

// WritePreemptionJSON writes {"runs": […]}.
func WritePreemptionJSON(w io.Writer, runs []Preemption) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(struct {
		Runs []Preemption `json:"runs"`
	}{runs})
}
