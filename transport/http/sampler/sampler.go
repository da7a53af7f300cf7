// Package sampler keeps samples of the last hour, day and week on a replica: the use of the cluster,
// of each queue and of each node, the number of waiting applications, the number of decisions, and how
// whole the free resources are. A longer time has samples that are further apart. It also keeps samples
// of each application, from its submission to its end.
//
// Each replica has its own samples, which are not replicated. Save and Restore carry them over a restart
// of the replica. A sample that could not be taken is missing and is not replaced.
//
//	sample       at, used, reserved, waiting, decided, room  136 bytes, every step
//	  └─ detail  queues by slot, 8 bytes each                every step, or every so many
//	             nodes by slot, 4 bytes each                 steps: detailBudget
//
// With 10,000 queues and 10,000 nodes, a detail takes 120 kB and there is one every 30 seconds,
// which is 14.4 MB per hour. A larger cluster gets fewer details and never more bytes. The day and the
// week have 720 and 672 samples, as the hour has.
//
// Begin with sample.go (what a sample has).
package sampler

import (
	"sync"
	"time"

	"rmd/api"
	"rmd/fsm/state"
	"rmd/transport/http/summary"
	"rmd/yarn"
)

// detailBudget is the number of bytes of details per step.
const detailBudget = 20 << 10

// Sampler keeps the samples of all times, and those of applications. It is safe for concurrent use.
type Sampler struct {
	all  []*series
	apps *apps
}

// New returns a sampler that takes a sample for the last hour every step.
func New(step time.Duration) *Sampler {
	return &Sampler{
		all: []*series{newSeries(step, api.HistoryHour), newSeries(2*time.Minute, api.HistoryDay),
			newSeries(15*time.Minute, api.HistoryWeek)},
		apps: newApps(step)}
}

// Take takes a sample of a state, its summary and its rooms for each time that needs one. A state
// without queues gives no sample.
func (s *Sampler) Take(now time.Time, st *state.State, sum *summary.Summary, rooms []summary.Room) {
	for i, t := range s.all {
		if i == 0 || t.due(now) {
			t.Take(now, st, sum, rooms)
		}
	}
	s.apps.Take(now, st, sum)
}

// over returns the samples of the last hour, or of a longer time.
func (s *Sampler) over(span time.Duration) *series {
	for _, t := range s.all {
		if span <= t.span {
			return t
		}
	}
	return s.all[len(s.all)-1]
}

// Cluster returns the history of the cluster.
func (s *Sampler) Cluster(now time.Time, span time.Duration) *api.History {
	return s.over(span).Cluster(now)
}

// Queue returns the history of the queue in a slot.
func (s *Sampler) Queue(slot state.QueueSlot, path string, now time.Time, span time.Duration) *api.History {
	return s.over(span).Queue(slot, path, now)
}

// Node returns the history of the node in a slot. There are no samples while there was no contact with
// the node.
func (s *Sampler) Node(slot state.NodeSlot, id yarn.NodeID, now time.Time, span time.Duration) *api.History {
	return s.over(span).Node(slot, id, now)
}

// Present returns the sample of this moment, which is not kept: of a queue or a node, or of the cluster if
// both slots are 0. It returns false if there is none.
func (*Sampler) Present(now time.Time, st *state.State, sum *summary.Summary, rooms []summary.Room, queue state.QueueSlot,
	node state.NodeSlot) (api.HistorySample, bool) {
	s := newSeries(time.Second, time.Second)
	s.Take(now, st, sum, rooms)
	var d *api.History
	switch {
	case queue != 0:
		d = s.Queue(queue, st.Queues.Get(queue).Path, now)
	case node != 0:
		d = s.Node(node, st.Nodes.Get(node).ID, now)
	default:
		d = s.Cluster(now)
	}
	if len(d.Samples) == 0 {
		return api.HistorySample{}, false
	}
	return d.Samples[0], true
}

// App returns the history of an application.
func (s *Sampler) App(id yarn.ApplicationID, now time.Time) *api.AppHistory {
	return s.apps.App(id, now)
}

// series keeps the samples of one span of time.
type series struct {
	step, span time.Duration

	mu      sync.RWMutex
	began   int64 // time of the first sample
	kinds   yarn.Kinds
	samples []sample
	queues  slots[state.QueueSlot, string]
	nodes   slots[state.NodeSlot, yarn.NodeID]
}

func newSeries(step, span time.Duration) *series { return &series{step: step, span: span} }

// due reports whether a step has passed since the last sample, or the clock was set back.
func (s *series) due(now time.Time) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	n := len(s.samples)
	return n == 0 || now.UnixMilli()-s.samples[n-1].millis >= s.step.Milliseconds() ||
		now.UnixMilli() < s.samples[n-1].millis
}

// slots says which object each slot has, and since when, because a slot can be reused for another
// object.
type slots[S ~uint32, K comparable] []struct {
	key   K
	since int64
}

// set records which object a slot has at a time.
func (s *slots[S, K]) set(slot S, key K, millis int64) {
	for int(slot) >= len(*s) {
		*s = append(*s, struct {
			key   K
			since int64
		}{})
	}
	if at := &(*s)[slot]; at.key != key {
		at.key, at.since = key, millis
	}
}

// since returns the time since which a slot has had an object. It returns false if the slot does
// not have it.
func (s slots[S, K]) since(slot S, key K) (int64, bool) {
	if int(slot) >= len(s) || s[slot].key != key {
		return 0, false
	}
	return s[slot].since, true
}

// Take takes a sample of a state, its summary and its rooms. A state without queues gives no sample.
func (s *series) Take(now time.Time, st *state.State, sum *summary.Summary, rooms []summary.Room) {
	if st.Queues.Root() == 0 {
		return
	}
	taken := newSample(now, st, sum, rooms)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kinds = st.Versions.Kinds()
	s.forget(taken.millis)
	if s.dueForDetail() {
		taken.detail = s.detailOf(taken.millis, st, sum)
	}
	if s.began == 0 {
		s.began = taken.millis
	}
	s.samples = append(s.samples, taken)
}

// forget drops old samples, and samples in the future, which exist after the clock was set back.
func (s *series) forget(now int64) {
	for n := len(s.samples); n > 0 && s.samples[n-1].millis >= now; n-- {
		s.samples = s.samples[:n-1]
	}
	old := 0
	for old < len(s.samples) && s.samples[old].millis <= now-s.span.Milliseconds() {
		old++
	}
	kept := copy(s.samples, s.samples[old:])
	clear(s.samples[kept:])
	s.samples = s.samples[:kept]
	s.began = min(s.began, now)
}

// dueForDetail reports whether the next sample needs a detail.
func (s *series) dueForDetail() bool {
	for i := range s.samples {
		if d := s.samples[len(s.samples)-1-i].detail; d != nil {
			return i+1 >= d.steps
		}
	}
	return true
}
