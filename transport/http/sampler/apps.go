package sampler

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"rmd/api"
	"rmd/fsm/state"
	"rmd/internal/codec"
	"rmd/transport/http/summary"
	"rmd/yarn"
)

// appsKept is the number of applications with samples, and appSamples the number of samples of each.
const (
	appsKept   = 2000
	appSamples = 120
)

// apps keeps samples of applications from their submission to their end.
//
// An application that has appSamples samples loses every second one, and gets new ones half as often.
// So a job of ten minutes has a sample every step, and one of a week has one every 85 minutes. The
// newest sample is always kept.
//
// An ended application keeps its samples until the state forgets it. If appsKept applications have
// samples, a new one takes the place of the one that ended first. If all of them live, it gets none.
//
// A sample takes 16 bytes, and 144 more if it differs from the one before: at most 19 kB for an
// application, and 38 MB for all.
type apps struct {
	step int64 // in milliseconds

	mu    sync.RWMutex
	kinds yarn.Kinds
	of    map[yarn.ApplicationID]*appSeries
}

// appSeries has the samples of one application.
type appSeries struct {
	step    int64 // between two samples but the newest, in milliseconds
	ended   int64 // when the application ended; 0 if it lives
	samples []appSample
}

// appSample is the use of an application at one time. Equal samples in a row share their use.
type appSample struct {
	millis int64
	use    *appUse
}

type appUse struct{ used, reserved, pending yarn.Resource }

func newApps(step time.Duration) *apps {
	return &apps{step: step.Milliseconds(), of: map[yarn.ApplicationID]*appSeries{}}
}

// Take takes a sample of each application that lives, and the last one of those that have ended.
func (s *apps) Take(now time.Time, st *state.State, sum *summary.Summary) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kinds = st.Versions.Kinds()
	ended := s.end(st)
	sum.Each(false, func(a *summary.App) bool {
		if a.State.Ended() {
			return true
		}
		app := st.Apps.Get(a.Slot)
		x := s.of[app.ID]
		if x == nil {
			if len(s.of) >= appsKept {
				if len(ended) == 0 {
					return true
				}
				delete(s.of, ended[0])
				ended = ended[1:]
			}
			x = &appSeries{step: s.step}
			s.of[app.ID] = x
		}
		x.add(now.UnixMilli(), appUse{app.Used, app.Reserved, app.Pending}, s.step)
		return true
	})
}

// end ends the series of applications that have ended, and drops those that the state has forgotten.
// It returns the ended ones, in the order of their ends.
func (s *apps) end(st *state.State) (ended []yarn.ApplicationID) {
	for id, x := range s.of { // sorted below
		slot := st.Apps.ByID(id)
		if slot == 0 {
			delete(s.of, id)
			continue
		}
		if a := st.Apps.Get(slot); x.ended == 0 && a.State.Ended() {
			x.ended = a.EndedMillis
			x.add(max(a.EndedMillis, x.samples[len(x.samples)-1].millis+1), appUse{}, s.step)
		}
		if x.ended != 0 {
			ended = append(ended, id)
		}
	}
	slices.SortFunc(ended, func(a, b yarn.ApplicationID) int {
		return cmp.Or(cmp.Compare(s.of[a].ended, s.of[b].ended), cmp.Compare(a.Seq, b.Seq))
	})
	return ended
}

// add adds a sample. It drops samples in the future, which exist after the clock was set back. every
// is the time between two calls in milliseconds.
func (x *appSeries) add(millis int64, use appUse, every int64) {
	for n := len(x.samples); n > 0 && x.samples[n-1].millis >= millis; n-- {
		x.samples = x.samples[:n-1]
	}
	if n := len(x.samples); n >= 2 && x.samples[n-1].millis-x.samples[n-2].millis < x.step-every/2 {
		x.samples = x.samples[:n-1] // it was kept only as the newest
	}
	if len(x.samples) >= appSamples {
		x.thin()
	}
	at := appSample{millis, &use}
	if n := len(x.samples); n > 0 && *x.samples[n-1].use == use {
		at.use = x.samples[n-1].use
	}
	x.samples = append(x.samples, at)
}

// thin drops every second sample.
func (x *appSeries) thin() {
	kept := x.samples[:0]
	for i := 0; i < len(x.samples); i += 2 {
		kept = append(kept, x.samples[i])
	}
	clear(x.samples[len(kept):])
	x.samples, x.step = kept, 2*x.step
}

// code codes the samples of an application. Of equal samples in a row only the first one has its use.
func (x *appSeries) code(c *codec.Coder) {
	c.I64(&x.step)
	c.I64(&x.ended)
	var before appSample
	codec.List(c, &x.samples, func(c *codec.Coder, t *appSample) {
		apart := t.millis - before.millis
		c.I64(&apart)
		t.millis = before.millis + apart
		same := t.use == before.use
		if c.Bool(&same); same && before.use == nil {
			c.Fail(codec.ErrMalformed)
		}
		switch {
		case c.Decoding() && same:
			t.use = before.use
		case c.Decoding():
			t.use = &appUse{}
		}
		if !same {
			c.Resource(&t.use.used)
			c.Resource(&t.use.reserved)
			c.Resource(&t.use.pending)
		}
		before = *t
	})
}

// App returns the samples of an application.
func (s *apps) App(id yarn.ApplicationID, now time.Time) *api.AppHistory {
	s.mu.RLock()
	defer s.mu.RUnlock()
	d := &api.AppHistory{App: id.String(), StepMillis: s.step, Samples: []api.AppHistorySample{}, Gaps: []api.HistoryGap{}}
	x := s.of[id]
	if x == nil {
		return d
	}
	d.StepMillis = x.step
	var before *appSample
	for i := range x.samples {
		at := &x.samples[i]
		if at.millis > now.UnixMilli() {
			break
		}
		var n api.AppHistorySample
		if before != nil && before.use == at.use { // they share their documents too
			n = d.Samples[i-1]
		} else {
			n.Used, n.Reserved, n.Pending = size(s.kinds, at.use.used), size(s.kinds, at.use.reserved),
				size(s.kinds, at.use.pending)
		}
		if before != nil {
			d.Gaps = gapBetween(d.Gaps, before.millis, at.millis, 2*x.step)
		}
		n.AtMillis = at.millis
		d.Samples, before = append(d.Samples, n), at
	}
	if before != nil && x.ended == 0 {
		d.Gaps = gapBetween(d.Gaps, before.millis, now.UnixMilli(), 2*s.step)
	}
	return d
}

// gapBetween adds a gap if two samples are further apart than most.
func gapBetween(gaps []api.HistoryGap, from, to, most int64) []api.HistoryGap {
	if to-from <= most {
		return gaps
	}
	return append(gaps, api.HistoryGap{FromMillis: from, ToMillis: to})
}
