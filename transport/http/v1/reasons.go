package v1

import (
	"sync"
	"time"

	"rmd/api"
	"rmd/fsm/state"
	"rmd/transport/http/view"
	"rmd/yarn"
)

// reasons explains the applications of lists. An explanation plans on the whole state. Therefore
// explanations are kept for a while, and making them may use only a share of the time. An
// application without an explanation has the reason that its own record gives.
type reasons struct {
	mu   sync.Mutex
	kept map[yarn.ApplicationID]keptReason
	free time.Time     // time from which the next explanation may be made
	cost time.Duration // of the last explanation
	made time.Time     // time of the last explanation
}

type keptReason struct {
	view.Reason
	record string // the code of the reason that the application's own record gave then
	at     time.Time
}

const (
	// reasonShare: 1/reasonShare of the time may be used to explain the applications of lists.
	reasonShare = 100
	reasonKept  = 10 * time.Second
	reasonsKept = 1024
	// If an explanation took longer than reasonSlow, the next ones are expected to do so too, for
	// reasonSlowKept.
	reasonSlow     = 10 * time.Millisecond
	reasonSlowKept = 30 * time.Second
	// reasonsSaved is the most unused time that may be saved up. It lets a list that is opened
	// after a while have its first applications explained.
	reasonsSaved = 10 * time.Second
)

// Reason returns why an application waits, as its explanation says it, or if there is no time for
// one as its own record does. behind says that nobody waits for the answer: slow explanations are
// made only then.
func (s *apps) Reason(v *view.View, slot state.AppSlot, a *state.App, behind bool) view.Reason {
	if !v.Summary().App(slot).Waits() {
		return view.Reason{}
	}
	x, now := &s.reasons, s.cfg.Now()
	x.mu.Lock()
	defer x.mu.Unlock()
	have, ok := x.kept[a.ID]
	record := v.Why(a)
	ok = ok && have.record == record.Code // else it has been allocated or reserved something since
	if ok && now.Sub(have.at) < reasonKept {
		return have.Reason
	}
	if now.Before(x.free) || !behind && x.cost > reasonSlow && now.Sub(x.made) < reasonSlowKept {
		if ok {
			return have.Reason
		}
		return record
	}
	if saved := now.Add(-reasonsSaved); x.free.Before(saved) {
		x.free = saved
	}
	began := time.Now()
	doc, err := s.Explain(v, a.ID)
	x.made, x.cost = now, time.Since(began)
	x.free = x.free.Add(reasonShare * x.cost)
	if err != nil {
		return record
	}
	if len(x.kept) >= reasonsKept || x.kept == nil {
		x.kept = map[yarn.ApplicationID]keptReason{}
	}
	r := view.Reason{}
	if doc.Waiting {
		r = view.Reason{Code: doc.Reason, Text: doc.Text, Never: doc.Never}
	}
	x.kept[a.ID] = keptReason{r, record.Code, now}
	return r
}

// app returns the document of an application with the reason why it waits.
func (s *apps) app(v *view.View, slot state.AppSlot) api.App {
	a := v.State.Apps.Get(slot)
	d, r := v.App(a), s.Reason(v, slot, a, false)
	d.Why, d.WhyText = r.Code, r.Text
	return d
}
