package ui

import (
	"encoding/json"
	"net/http"
	"time"

	"rmd/api"
	"rmd/transport/http/auth"
	"rmd/transport/http/ui/format"
	"rmd/yarn"
)

// tick is a live message: the current status of the replica.
type tick struct {
	ID      string `json:"id"`
	Role    string `json:"role"`
	Leader  string `json:"leader"`
	Term    uint64 `json:"term"`
	Index   uint64 `json:"index"`
	Age     string `json:"age"` // in words
	Version string `json:"version"`
	Banner  string `json:"banner"` // HTML; empty if there is a leader
	Assets  string `json:"assets"` // the page is outdated when it changes
}

func (u *UI) tick() tick {
	s := u.cfg.Status()
	return tick{ID: s.ID, Role: format.Role(s.Role), Leader: s.Leader, Term: s.Term, Index: s.Index, Age: staleness(s),
		Version: s.Version, Banner: string(u.noLeader(s, 0)), Assets: u.assets}
}

// same reports whether two messages show the same.
func (t tick) same(o tick) bool {
	return t.Index == o.Index && t.Role == o.Role && t.Leader == o.Leader && t.Term == o.Term && t.Age == o.Age &&
		t.Banner == o.Banner
}

// live streams ticks. It makes each message from the current status, so a slow viewer misses
// messages and none queue up.
func (u *UI) live(w http.ResponseWriter, r *http.Request) {
	if _, err := u.view(r); err != nil {
		u.fail(w, r, err)
		return
	}
	if u.streams.Add(1) > int64(u.cfg.MaxStreams) {
		u.streams.Add(-1)
		u.fail(w, r, &api.Error{Code: api.CodeBusy, Message: "too many live pages are open on this replica",
			Remedy: "close some, or use another replica",
			Status: http.StatusServiceUnavailable, RetryAfterMillis: 5000})
		return
	}
	defer u.streams.Add(-1)
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	clock := time.NewTicker(u.cfg.Tick)
	defer clock.Stop()
	var last tick
	var sent time.Time
	asked := time.Now()
	for first := true; ; first = false {
		if time.Since(asked) >= auth.LookAgain {
			if u.cfg.Guard.StillMay(r, true, auth.Access{Class: auth.ClassRead, Least: yarn.RoleRead}) != nil {
				return
			}
			asked = time.Now()
		}
		now := u.tick()
		if first || !now.same(last) || time.Since(sent) >= u.cfg.Heartbeat {
			if !send(w, now) {
				return
			}
			last, sent = now, time.Now()
		}
		select {
		case <-clock.C:
		case <-r.Context().Done():
			return
		case <-u.cfg.Done:
			return
		}
	}
}

func send(w http.ResponseWriter, t tick) bool {
	b, err := json.Marshal(t)
	if err != nil {
		return false
	}
	if _, err := w.Write([]byte("retry: 1000\nevent: tick\ndata: " + string(b) + "\n\n")); err != nil {
		return false
	}
	return http.NewResponseController(w).Flush() == nil
}
