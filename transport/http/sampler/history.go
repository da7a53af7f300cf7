package sampler

import (
	"time"

	"rmd/api"
	"rmd/fsm/state"
	"rmd/yarn"
)

// Cluster returns the samples of the cluster.
func (s *series) Cluster(now time.Time) *api.History {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var before *sample
	var free api.Resource
	var node yarn.Resource
	d := s.history(now, func(at *sample) (api.HistorySample, int) {
		n := newSample(at.used, at.reserved)
		n.Waiting = whole(at.waiting)
		n.Decisions = s.rate(before, at)
		if before == nil || at.free != before.free { // equal samples share a document
			free = size(s.kinds, at.free)
		}
		n.LargestFree, n.EmptyNodes, n.ServingNodes = free, whole(at.empty), whole(at.serving)
		node = yarn.ComponentMax(node, at.node)
		before = at
		return n, 1
	})
	if before != nil {
		d.LargestNode = size(s.kinds, node)
	}
	return d
}

func size(kinds yarn.Kinds, r yarn.Resource) api.Resource {
	out := make(api.Resource, len(kinds))
	for i, name := range kinds {
		out[name] = r[i]
	}
	return out
}

// Queue returns the samples of the queue in a slot.
func (s *series) Queue(slot state.QueueSlot, path string, now time.Time) *api.History {
	s.mu.RLock()
	defer s.mu.RUnlock()
	since, known := s.queues.since(slot, path)
	return s.history(now, func(at *sample) (api.HistorySample, int) {
		if !known || at.millis < since || at.detail == nil {
			return api.HistorySample{}, 0
		}
		u := at.detail.queues[slot]
		n := newSample(u.used, u.reserved)
		n.Waiting = whole(u.waiting)
		return n, at.detail.steps
	})
}

// Node returns the samples of the node in a slot. There are no samples while there was no contact
// with the node.
func (s *series) Node(slot state.NodeSlot, id yarn.NodeID, now time.Time) *api.History {
	s.mu.RLock()
	defer s.mu.RUnlock()
	since, known := s.nodes.since(slot, id)
	return s.history(now, func(at *sample) (api.HistorySample, int) {
		if !known || at.millis < since || at.detail == nil || at.detail.nodes[slot].used == unknown {
			return api.HistorySample{}, 0
		}
		u := at.detail.nodes[slot]
		return newSample(u.used, u.reserved), at.detail.steps
	})
}

func newSample(used, reserved share) api.HistorySample {
	return api.HistorySample{Used: used.percent(), Reserved: reserved.percent()}
}

func whole(n int32) *int {
	v := int(n)
	return &v
}

// rate returns the decisions per second between two samples. It returns nil if there is no sample
// before, if samples between the two are missing, or if the state was replaced in between.
func (s *series) rate(before, at *sample) *float64 {
	if before == nil || at.decided < before.decided || s.apart(before.millis, at.millis, 1) {
		return nil
	}
	f := float64(at.decided-before.decided) * 1000 / float64(at.millis-before.millis)
	return &f
}

// apart reports whether samples are missing between two samples that should be the given number of
// steps apart.
func (s *series) apart(a, b int64, steps int) bool {
	return b-a > int64(steps+1)*s.step.Milliseconds()
}

// history returns the document. of returns the sample to show and the number of
// steps until the next one, or 0 steps if there is nothing to show.
func (s *series) history(now time.Time, of func(at *sample) (n api.HistorySample, steps int)) *api.History {
	d := &api.History{BeginsMillis: s.began, StepMillis: s.step.Milliseconds(), SpanMillis: s.span.Milliseconds(), Samples: []api.HistorySample{}, Gaps: []api.HistoryGap{}, LeaderChanges: []api.Failover{}}
	until := now.UnixMilli()
	var last int64
	every := 1
	for i := range s.samples {
		at := &s.samples[i]
		if at.millis <= until-s.span.Milliseconds() || at.millis > until {
			continue
		}
		n, steps := of(at)
		if steps == 0 {
			continue
		}
		if last != 0 && s.apart(last, at.millis, every) {
			d.Gaps = append(d.Gaps, api.HistoryGap{FromMillis: last, ToMillis: at.millis})
		}
		n.AtMillis = at.millis
		d.Samples = append(d.Samples, n)
		last, every = at.millis, steps
	}
	if last != 0 && s.apart(last, until, every) {
		d.Gaps = append(d.Gaps, api.HistoryGap{FromMillis: last, ToMillis: until})
	}
	d.StepMillis *= int64(every)
	return d
}
