package ui

import (
	"sync"
	"time"

	"rmd/api"
	"rmd/fsm/state"
	"rmd/transport/http/view"
	"rmd/yarn"
)

// coarse returns the reason that an application's own record gives.
func coarse(v *view.View, a *state.App) reason {
	code, text := v.Why(a)
	return reason{Code: code, Text: text}
}

// reason says why an application in a list waits.
type reason struct {
	Code, Text string
	Never      bool
	Exact      bool // from the planner, a moment ago
}

// reasons explains the rows of lists. An explanation plans on the whole state. Therefore
// explanations are kept for a while, and making them may use only a share of the time. A row
// without an explanation shows the reason from the application's own record.
type reasons struct {
	mu      sync.Mutex
	explain func(v *view.View, id yarn.ApplicationID) (*api.Explanation, error)
	share   int
	kept    map[yarn.ApplicationID]keptReason
	free    time.Time     // time from which the next explanation may be made
	cost    time.Duration // of the last explanation
	made    time.Time     // time of the last explanation
}

type keptReason struct {
	reason
	at time.Time
}

const (
	reasonKept  = 10 * time.Second
	reasonsKept = 1024
	// If an explanation took longer than reasonSlow, the next ones are expected to do so too, for
	// reasonSlowKept.
	reasonSlow     = 10 * time.Millisecond
	reasonSlowKept = 30 * time.Second
	// reasonsSaved is the most unused time that may be saved up. It lets a page that is opened
	// after a while have its first rows explained.
	reasonsSaved = 2 * time.Second
)

func (x *reasons) init(share int) { x.share, x.kept = share, map[yarn.ApplicationID]keptReason{} }

// of returns why an application waits, or nothing if it does not. behind says that no viewer waits
// for the page. Slow explanations are made only then.
func (x *reasons) of(v *view.View, slot state.AppSlot, a *state.App, now time.Time, behind bool) reason {
	if !v.Summary().App(slot).Waits() {
		return reason{}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	have, ok := x.kept[a.ID]
	if ok && now.Sub(have.at) < reasonKept {
		return have.reason
	}
	if now.Before(x.free) || !behind && x.cost > reasonSlow && now.Sub(x.made) < reasonSlowKept {
		if ok {
			return have.reason
		}
		return coarse(v, a)
	}
	if saved := now.Add(-reasonsSaved); x.free.Before(saved) {
		x.free = saved
	}
	began := time.Now()
	doc, err := x.explain(v, a.ID)
	x.made, x.cost = now, time.Since(began)
	x.free = x.free.Add(time.Duration(x.share) * x.cost)
	if err != nil {
		return coarse(v, a)
	}
	if len(x.kept) >= reasonsKept {
		clear(x.kept)
	}
	r := reason{Code: doc.Reason, Text: doc.Text, Never: doc.Never, Exact: true}
	x.kept[a.ID] = keptReason{r, now}
	return r
}
