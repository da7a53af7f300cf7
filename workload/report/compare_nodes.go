package report

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
)

// Nodes compares rules that choose the node of a container.
type Nodes struct {
	// Largest is the largest node. A container that needs half of it, by dominant share, is large.
	Largest Resource    `json:"largestNode"`
	LeftOut int         `json:"leftOut"` // applications with a container that fits no node
	Orders  []NodeOrder `json:"orders"`
}

// NodeOrder is the result of one rule that chooses nodes: one run for each copy of a workload.
type NodeOrder struct {
	Name   string         `json:"name"`
	Copies []NodeOrderRun `json:"copies"`
}

// NodeOrderRun is the result of one run. The shares, 0 to 1, and the variation are means over the
// time from the arrival of a tenth of the applications to that of the last one, which is the same
// for all rules.
type NodeOrderRun struct {
	Large Waits `json:"large"` // of containers, except those of AMs
	Small Waits `json:"small"`
	AMs   Waits `json:"ams"` // from the submission
	// ReservedIdle is the part of the cluster that reservations keep idle on their nodes.
	ReservedIdle float64 `json:"reservedIdle"`
	// Blocked is the part of the cluster that is free on nodes without a reservation, and that
	// waiting containers would fit in, while root's limit refuses them because reservations count
	// as used.
	Blocked float64 `json:"blocked"`
	// Variation is the standard deviation of the number of containers per node divided by the mean.
	Variation float64 `json:"variation"`
	Empty     float64 `json:"empty"` // nodes without a container, of all nodes
	// Unusable is the part of the free GPUs that a typical ask for GPUs cannot use on their nodes. It
	// is nil without GPUs.
	Unusable *float64 `json:"unusableGPUs,omitempty"`
	// StartMillis is the mean time from the submission of an application to the start of a container
	// that is no AM, and AppMillis to the end of the application. Waits alone do not show them: an
	// application whose AM starts earlier asks earlier, and so waits longer for the same containers.
	StartMillis float64 `json:"startMillis"`
	AppMillis   float64 `json:"appMillis"`
	EndMillis   int64   `json:"endMillis"` // when the last application ended
}

// smallAndAMs returns the mean wait of small containers and AMs together.
func (r *NodeOrderRun) smallAndAMs() float64 {
	small, ams := float64(r.Small.Containers), float64(r.AMs.Containers)
	return (r.Small.MeanMillis*small + r.AMs.MeanMillis*ams) / (small + ams)
}

// unusable returns Unusable, or NaN.
func (r *NodeOrderRun) unusable() float64 {
	if r.Unusable == nil {
		return math.NaN()
	}
	return *r.Unusable
}

// mean returns the mean wait, or NaN without containers.
func mean(w *Waits) float64 {
	if w.Containers == 0 {
		return math.NaN()
	}
	return w.MeanMillis
}

// p95 returns the 95th percentile of waits, or NaN without containers.
func p95(w *Waits) float64 {
	if w.Containers == 0 {
		return math.NaN()
	}
	return float64(w.P95Millis)
}

// nodeTables are the compared values of a run: tables for lines of 80 characters.
var nodeTables = [][]column[NodeOrderRun]{
	{
		{"LARGE MEAN", "large_mean_ms", func(r *NodeOrderRun) float64 { return mean(&r.Large) }, duration},
		{"SMALL MEAN", "small_mean_ms", func(r *NodeOrderRun) float64 { return mean(&r.Small) }, duration},
		{"AM MEAN", "am_mean_ms", func(r *NodeOrderRun) float64 { return mean(&r.AMs) }, duration},
		{"SMALL+AM", "small_and_am_mean_ms", (*NodeOrderRun).smallAndAMs, duration},
	},
	{
		{"LARGE P95", "large_p95_ms", func(r *NodeOrderRun) float64 { return p95(&r.Large) }, duration},
		{"SMALL P95", "small_p95_ms", func(r *NodeOrderRun) float64 { return p95(&r.Small) }, duration},
		{"AM P95", "am_p95_ms", func(r *NodeOrderRun) float64 { return p95(&r.AMs) }, duration},
		{"RES. IDLE", "reserved_idle", func(r *NodeOrderRun) float64 { return r.ReservedIdle }, fine},
	},
	{
		{"BLOCKED", "blocked", func(r *NodeOrderRun) float64 { return r.Blocked }, fine},
		{"UNUSABLE", "unusable_gpus", (*NodeOrderRun).unusable, percent},
		{"EMPTY", "empty", func(r *NodeOrderRun) float64 { return r.Empty }, percent},
		{"VARIATION", "variation", func(r *NodeOrderRun) float64 { return r.Variation }, hundredths},
	},
	{
		{"START MEAN", "start_mean_ms", func(r *NodeOrderRun) float64 { return r.StartMillis }, duration},
		{"APP MEAN", "app_mean_ms", func(r *NodeOrderRun) float64 { return r.AppMillis }, duration},
	},
}

// fine formats a share like percent, with two decimals below 0.1 %.
func fine(share float64) string {
	if share > 0 && share < 0.001 {
		return fmt.Sprintf("%.2f%%", share*100)
	}
	return percent(share)
}

func hundredths(v float64) string { return fmt.Sprintf("%.2f", v) }

// nodeColumns returns the columns of all tables.
func nodeColumns() (all []column[NodeOrderRun]) {
	for _, t := range nodeTables {
		all = append(all, t...)
	}
	return all
}

// Figures returns the compared values over all copies, by name. Values that do not exist are
// missing.
func (n *NodeOrder) Figures() map[string]Spread { return figures(n.Copies, nodeColumns()) }

// WriteNodesText says which containers are large and how many, and prints tables with one line per
// rule.
func WriteNodesText(w io.Writer, n *Nodes) error {
	var b strings.Builder
	if n.LeftOut > 0 {
		fmt.Fprintf(&b, "applications left out because one of their containers fits no node: %d\n", n.LeftOut)
	}
	if len(n.Orders) > 0 && len(n.Orders[0].Copies) > 0 {
		r := &n.Orders[0].Copies[0]
		fmt.Fprintf(&b,
			"%d of %d containers are large: by dominant share at least half of the largest\nnode, which has %d vcores, %d MiB and %d GPUs.\n",
			r.Large.Containers, r.Large.Containers+r.Small.Containers, n.Largest.VCores, n.Largest.MemoryMB, n.Largest.GPUs)
	}
	for _, t := range nodeTables {
		b.WriteString("\n")
		writeColumns(&b, n.Orders, t, func(x NodeOrder) (string, []NodeOrderRun) { return x.Name, x.Copies })
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteNodesJSON writes the comparison with the figures of each rule.
func WriteNodesJSON(w io.Writer, n *Nodes) error {
	type order struct {
		NodeOrder
		Figures map[string]Spread `json:"figures"`
	}
	out := struct {
		Largest Resource `json:"largestNode"`
		LeftOut int      `json:"leftOut"`
		Orders  []order  `json:"orders"`
	}{Largest: n.Largest, LeftOut: n.LeftOut}
	for i := range n.Orders {
		out.Orders = append(out.Orders, order{n.Orders[i], n.Orders[i].Figures()})
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(out)
}
