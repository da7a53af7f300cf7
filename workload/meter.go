package workload

import (
	"maps"

	"rmd/workload/report"
)

// samplesPerGap is how many samples are taken before the time between two doubles: so a run of any length keeps few.
const samplesPerGap = 20_000

// meter feeds the report: waits of a bounded number of containers, and how full the cluster was.
type meter struct {
	c        *report.Collector
	limit    int
	measured int
	used     report.Resource

	every   int64 // loop time between two samples
	last    int64 // loop time of the last sample
	samples int
	changed bool // used or seen is not what the last sample says
	first   *report.Outcomes
	seen    Observation
}

func newMeter(largest report.Resource, limit int, every int64) *meter {
	return &meter{c: report.NewCollector(largest), limit: limit, every: every, last: -every}
}

// asked notes a container, unless as many as are kept are noted already.
func (m *meter) asked(id, queue string, size report.Resource, millis int64) bool {
	if m.measured >= m.limit {
		return false
	}
	m.measured++
	return m.c.Asked(id, queue, size, millis) == nil
}

// use adds a container's size to what is in use, or takes it away.
func (m *meter) use(r report.Resource, sign int64) {
	m.used.MemoryMB += sign * r.MemoryMB
	m.used.VCores += sign * r.VCores
	m.used.GPUs += sign * r.GPUs
	m.changed = true
}

// observe notes what the cluster says of its reservations.
func (m *meter) observe(o Observation) {
	if m.first == nil {
		first := o.Outcomes
		first.Causes = maps.Clone(first.Causes)
		m.first = &first
	}
	m.seen, m.changed = o, true
}

// due says whether enough time has passed since the last sample.
func (m *meter) due(now int64) bool { return now-m.last >= m.every }

// sample notes how full the cluster is.
func (m *meter) sample(now, millis int64, capacity report.Resource) error {
	m.last, m.changed = now, false
	if m.samples++; m.samples%samplesPerGap == 0 {
		m.every *= 2
	}
	return m.c.Tick(report.Sample{AtMillis: millis, Capacity: capacity, Used: m.used,
		Reserved: m.seen.Reserved, ReservedIdle: m.seen.ReservedIdle})
}

// outcomes is what became of reservations between the first observation and the last.
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
