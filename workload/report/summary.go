package report

import (
	"maps"
	"math"
	"slices"
	"strings"

	"rmd/internal/quantile"
)

// Summary is the result of a replay.
type Summary struct {
	Run          Run          `json:"run"`
	EndMillis    int64        `json:"endMillis"` // virtual time
	Large        Waits        `json:"large"`
	Small        Waits        `json:"small"`
	Queues       []QueueWaits `json:"queues"` // sorted by name
	Utilization  Shares       `json:"utilization"`
	ReservedIdle Shares       `json:"reservedIdle"`
	Reservations Outcomes     `json:"reservations"`

	// Series is the data for the charts of a page. It is not part of the JSON form, because its
	// size grows with the run.
	Series *Series `json:"-"`
}

// Waits are statistics of waits, in virtual milliseconds.
type Waits struct {
	Containers int     `json:"containers"`
	Unserved   int     `json:"unserved"` // still waiting at the end; counted with their wait so far
	P50Millis  int64   `json:"p50Millis"`
	P95Millis  int64   `json:"p95Millis"`
	MaxMillis  int64   `json:"maxMillis"`
	MeanMillis float64 `json:"meanMillis"`
}

// QueueWaits are the waits in one queue, of large and small containers together.
type QueueWaits struct {
	Queue string `json:"queue"`
	Waits
}

// Shares are shares of the cluster, 0 to 1, averaged over time.
type Shares struct {
	Memory   float64 `json:"memory"`
	VCores   float64 `json:"vcores"`
	GPUs     float64 `json:"gpus"`
	Dominant float64 `json:"dominant"` // average of the largest of the three
}

// Outcomes counts what happened to reservations.
type Outcomes struct {
	Made      int64            `json:"made"`
	Moved     int64            `json:"moved"`
	Fulfilled int64            `json:"fulfilled"`
	Cancelled int64            `json:"cancelled"`
	Causes    map[string]int64 `json:"causes"` // number of cancellations by cause
}

// Summary computes the results of the data so far.
func (c *Collector) Summary() *Summary {
	s := &Summary{Run: c.run, EndMillis: c.last,
		Series: &Series{Node: c.node, Containers: c.containers, Samples: c.samples}}
	queues := map[string]*meter{}
	var large, small meter
	for _, k := range c.containers {
		m := queues[k.Queue]
		if m == nil {
			m = &meter{}
			queues[k.Queue] = m
		}
		size := &small
		if k.Large {
			size = &large
		}
		wait, served := k.AllocatedMillis-k.AskedMillis, true
		if k.AllocatedMillis == Unset {
			wait, served = c.last-k.AskedMillis, false
		}
		m.add(wait, served)
		size.add(wait, served)
	}
	s.Large, s.Small = large.waits(), small.waits()
	for _, name := range slices.Sorted(maps.Keys(queues)) {
		s.Queues = append(s.Queues, QueueWaits{name, queues[name].waits()})
	}
	s.Utilization = c.average(func(x Sample) Resource { return x.Used })
	s.ReservedIdle = c.average(func(x Sample) Resource { return x.ReservedIdle })
	s.Reservations = Outcomes{Made: c.made, Moved: c.moved, Fulfilled: c.fulfilled, Causes: maps.Clone(c.cancelled)}
	for _, n := range c.cancelled {
		s.Reservations.Cancelled += n
	}
	return s
}

type meter struct {
	all      []int64
	unserved int
}

func (m *meter) add(wait int64, served bool) {
	m.all = append(m.all, wait)
	if !served {
		m.unserved++
	}
}

func (m *meter) waits() Waits { return WaitsOf(m.all, m.unserved) }

// WaitsOf returns the statistics of waits in virtual milliseconds, and sorts them. unserved is the
// number of waits that have not ended.
func WaitsOf(millis []int64, unserved int) Waits {
	w := Waits{Containers: len(millis), Unserved: unserved}
	if len(millis) == 0 {
		return w
	}
	slices.Sort(millis)
	sum := 0.0
	for _, x := range millis {
		sum += float64(x)
	}
	w.P50Millis, w.P95Millis = quantile.Of(millis, 0.5), quantile.Of(millis, 0.95)
	w.MaxMillis = millis[len(millis)-1]
	w.MeanMillis = sum / float64(len(millis))
	return w
}

// average weights each sample with the time until the next. Shares are relative to the capacity
// over the same time. If no time has passed, only the last sample counts.
func (c *Collector) average(of func(Sample) Resource) Shares {
	var got, capacity [3]float64
	var dominant, length float64
	add := func(x Sample, weight float64) {
		r := of(x)
		for i, v := range [3][2]int64{{r.MemoryMB, x.Capacity.MemoryMB}, {r.VCores, x.Capacity.VCores},
			{r.GPUs, x.Capacity.GPUs}} {
			got[i] += float64(v[0]) * weight
			capacity[i] += float64(v[1]) * weight
		}
		dominant += r.DominantShare(x.Capacity) * weight
		length += weight
	}
	for i, x := range c.samples {
		until := c.last
		if i+1 < len(c.samples) {
			until = c.samples[i+1].AtMillis
		}
		add(x, float64(until-x.AtMillis))
	}
	if n := len(c.samples); n > 0 && length == 0 {
		add(c.samples[n-1], 1)
	}
	return Shares{ratio(got[0], capacity[0]), ratio(got[1], capacity[1]), ratio(got[2], capacity[2]),
		ratio(dominant, length)}
}

func ratio(a, b float64) float64 {
	if b == 0 || math.IsNaN(a) {
		return 0
	}
	return a / b
}

// causes returns the causes of cancellations, the most frequent first.
func (o Outcomes) causes() []string {
	names := slices.Collect(maps.Keys(o.Causes))
	slices.SortFunc(names, func(a, b string) int {
		if d := o.Causes[b] - o.Causes[a]; d != 0 {
			return int(d)
		}
		return strings.Compare(a, b)
	})
	return names
}
