package sampler

import (
	"time"

	"rmd/api"
	"rmd/yarn"
)

func size(kinds yarn.Kinds, r yarn.Resource) api.Resource {
	out := make(api.Resource, len(kinds))
	for i, name := range kinds {
		out[name] = r[i]
	}
	return out
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

// history returns the document. of returns the sample to show and the number of steps until the next
// one, or 0 steps if there is nothing to show.
func (s *series) history(now time.Time, of func(at *sample) (n api.HistorySample, steps int)) *api.History {
	d := &api.History{BeginsMillis: s.began, StepMillis: s.step.Milliseconds(), SpanMillis: s.span.Milliseconds(),
		Samples: []api.HistorySample{}, Gaps: []api.HistoryGap{}, LeaderChanges: []api.Failover{}}
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
