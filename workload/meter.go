package workload

import (
	"maps"

	"rmd/workload/report"
)

// samplesPerGap is the number of samples after which the time between samples doubles, so that long
// runs have few samples.
const samplesPerGap = 20_000

// meter provides the data of the report: the waits of a limited number of containers, and the
// utilization of the cluster.
type meter struct {
	c        *report.Collector
	limit    int
	measured int
	used     report.Resource

	every   int64 // loop time between two samples
	last    int64 // loop time of the last sample
	samples int
	changed bool // used or seen has changed since the last sample
	first   *report.Outcomes
	seen    Observation
}

func newMeter(largest report.Resource, limit int, every int64) *meter {
	return &meter{c: report.NewCollector(largest), limit: limit, every: every, last: -every}
}

// asked records a requested container and returns true, unless the limit is reached.
func (m *meter) asked(id, queue string, size report.Resource, millis int64) bool {
	if m.measured >= m.limit {
		return false
	}
	m.measured++
	return m.c.Asked(id, queue, size, millis) == nil
}

// use adds a container's size to the used resources, or subtracts it with sign −1.
func (m *meter) use(r report.Resource, sign int64) {
	m.used.MemoryMB += sign * r.MemoryMB
	m.used.VCores += sign * r.VCores
	m.used.GPUs += sign * r.GPUs
	m.changed = true
}

// observe records the cluster's view of its reservations.
func (m *meter) observe(o Observation) {
	if m.first == nil {
		first := o.Outcomes
		first.Causes = maps.Clone(first.Causes)
		m.first = &first
	}
	m.seen, m.changed = o, true
}

// due reports whether the next sample is due.
func (m *meter) due(now int64) bool { return now-m.last >= m.every }

// sample records the current utilization.
func (m *meter) sample(now, millis int64, capacity report.Resource) error {
	m.last, m.changed = now, false
	if m.samples++; m.samples%samplesPerGap == 0 {
		m.every *= 2
	}
	return m.c.Tick(report.Sample{AtMillis: millis, Capacity: capacity, Used: m.used,
		Reserved: m.seen.Reserved, ReservedIdle: m.seen.ReservedIdle})
}

// outcomes returns what happened to reservations between the first and the last observation.
func (m *meter) outcomes() report.Outcomes {
	if m.first == nil {
		return report.Outcomes{Causes: map[string]int64{}}
	}
	a, b := m.first, m.seen.Outcomes
	out := report.Outcomes{Made: b.Made - a.Made, Moved: b.Moved - a.Moved, Fulfilled: b.Fulfilled - a.Fulfilled,
		Cancelled: b.Cancelled - a.Cancelled, Causes: map[string]int64{}}
	for cause, n := range b.Causes {
		if n -= a.Causes[cause]; n != 0 {
			out.Causes[cause] = n
		}
	}
	return out
}
