package httpserver

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"rmd/api"
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/transport/http/problem"
)

// rebuilt returns a function that applies the history up to an index to an empty state.
func rebuilt(h *history) func(ctx context.Context, index uint64) (*state.State, error) {
	return func(_ context.Context, index uint64) (*state.State, error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		if index < h.floor {
			return nil, &problem.TooOldError{Oldest: h.floor}
		}
		st := state.New()
		for _, b := range h.batches {
			for _, e := range b.Events {
				if b.Index <= index {
					if err := st.Apply(e); err != nil {
						return nil, err
					}
				}
			}
		}
		return st, nil
	}
}

var controlLink = regexp.MustCompile(`href="(/ui/replay[^"]*)"><span aria-hidden="true">[^<]*</span> ([^<]+)</a>`)

// controlLinks returns the addresses of the timeline's controls by their labels.
func controlLinks(body string) map[string]string {
	out := map[string]string{}
	for _, m := range controlLink.FindAllStringSubmatch(body, -1) {
		out[m[2]] = strings.ReplaceAll(m[1], "&amp;", "&")
	}
	return out
}

// TestReplayStepsAndRewinds checks that links step through the timeline, rewind it, play it and
// pause it, without JavaScript. The page shows the cluster as it was at the index.
func TestReplayStepsAndRewinds(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Past = rebuilt(c.Reader.(*history)) })
	get := func(path string) string {
		t.Helper()
		w := b.ask("GET", path, "")
		if w.Code != http.StatusOK {
			t.Fatalf("GET %s: status %d, want 200: %s", path, w.Code, w.Body)
		}
		for _, found := range checkHTML(w.Body.String()) {
			t.Errorf("%s: %s", path, found)
		}
		return w.Body.String()
	}
	says := func(body string, want ...string) {
		t.Helper()
		for _, s := range want {
			if !strings.Contains(body, s) {
				t.Errorf("does not say %q", s)
			}
		}
	}
	last := get("/ui/replay")
	says(last, "Paused at index 16", "<b>1</b> to <b>16</b>", "<b>1</b> active, 1 made")
	links := controlLinks(last)
	if links["Step"] != "" || links["Newest"] != "" || links["Play ×1"] != "" {
		t.Errorf("from the newest it goes on to %v", links)
	}
	back := get(links["Step back"]) // entry 16 only advances the clock
	says(back, "Paused at index 15", "ended: finished")
	before := get("/ui/replay?at=12")
	says(before, "Paused at index 12", "reservations: <b>1</b> active, 1 made, 0 fulfilled",
		"Reserved at this index", "…_0002")
	now := controlLinks(before)
	says(get(now["Step back"]), "Paused at index 10", "reservations: <b>0</b> active, 0 made")
	first := get(now["Rewind"])
	says(first, "Paused at index 1", "<b>0</b> of 0 nodes usable")
	if strings.Contains(first, "ContainerAllocated") {
		t.Error("what came later is told")
	}
	if links := controlLinks(first); links["Rewind"] != "" || links["Step back"] != "" ||
		links["Step"] != "/ui/replay?at=2" {
		t.Errorf("from the first: %v", links)
	}
	for path, want := range map[string]int{"/ui/replay?at=x": 400, "/ui/replay?from=1&since=1&speed=7": 400,
		"/ui/replay?from=1&speed=-1": 400, "/ui/replay?at=999999": 200} {
		if w := b.ask("GET", path, ""); w.Code != want {
			t.Errorf("GET %s: status %d, want %d", path, w.Code, want)
		}
	}
	b.h.forget(9)
	says(get("/ui/replay?at=3"), "Paused at index 9")
	b = newBench(t, func(c *Config) {
		c.Past = func(context.Context, uint64) (*state.State, error) { return nil, &problem.TooOldError{Oldest: 12} }
	})
	says(get("/ui/replay?at=12"), "Paused at index 12", "Reservation<wbr>Made", "TOO_<wbr>OLD", "index 12")
}

// TestReplayPlays checks the position of a running replay. It depends on the speed and the log's
// own time, not on how often the page is opened. The page also continues without JavaScript.
func TestReplayPlays(t *testing.T) {
	var passed atomic.Int64
	b := newBench(t, func(c *Config) {
		c.Past = rebuilt(c.Reader.(*history))
		c.Now = func() time.Time { return time.UnixMilli(clusterTime + 1_000_000 + passed.Load()) }
	})
	for i := range int64(10) { // one entry every 10 s
		b.h.apply(t, &event.TimeAdvanced{NowMillis: clusterTime + 120_000 + 10_000*(i+1)}, &event.AttemptActivated{App: 3},
			&event.AttemptEnded{App: 3}, &event.AttemptStarted{App: 3, Attempt: uint32(i) + 2})
	}
	path := controlLinks(b.ask("GET", "/ui/replay?at=16", "").Body.String())["Play ×10"]
	if path == "" {
		t.Fatal("it cannot be played")
	}
	for range 45 { // 4.5 s in steps of 0.1 s: 45 s of the log's time
		passed.Add(100)
		w := b.ask("GET", path, "")
		if w.Code != http.StatusOK {
			t.Fatalf("GET %s: status %d, want 200: %s", path, w.Code, w.Body)
		}
		refresh := w.Header().Get("Refresh")
		next, ok := strings.CutPrefix(refresh, "2; url=")
		if !ok {
			t.Fatalf("it does not go on: %q", refresh)
		}
		if here := strings.ReplaceAll(next, "&", "&amp;"); !strings.Contains(w.Body.String(), `data-here="`+here+`"`) {
			t.Fatalf("scripts do not go on to %s", here)
		}
		path = next
	}
	body := b.ask("GET", path, "").Body.String()
	if !strings.Contains(body, "Playing ×10 at index 20") {
		t.Errorf("after 45 s it is not at index 20: %s", regexp.MustCompile(`at index \d+`).FindString(body))
	}
	pause := controlLinks(body)["Pause"]
	if w := b.ask("GET", pause, ""); pause != "/ui/replay?at=20" || w.Header().Get("Refresh") != "" ||
		!strings.Contains(w.Body.String(), "Paused at index 20") {
		t.Errorf("paused at %q", pause)
	}
	passed.Add(60_000)
	if w := b.ask("GET", path, ""); !strings.Contains(w.Body.String(), "At the end at index 26") ||
		w.Header().Get("Refresh") != "" {
		t.Errorf("at the end: %q", w.Header().Get("Refresh"))
	}
}

// TestReplayRunsAgain checks that a form replays the recording with and without reservations, and
// that the page keeps the result.
func TestReplayRunsAgain(t *testing.T) {
	b := newBench(t, func(c *Config) {
		c.Past = rebuilt(c.Reader.(*history))
		c.Planner.Rerun = func(_ context.Context, st *state.State) (*api.Rerun, error) {
			if st.Meta.ClusterID != "c1" {
				return nil, fmt.Errorf("of cluster %q", st.Meta.ClusterID)
			}
			return &api.Rerun{From: 1, To: 16, Apps: 3, Containers: 7,
				With:    api.RerunSide{Large: api.RerunWaits{P50Millis: 61_000}, Made: 4},
				Without: api.RerunSide{Large: api.RerunWaits{P50Millis: 122_000}}}, nil
		}
	})
	v := &visitor{b: b}
	m := tokenInForm.FindStringSubmatch(v.get("/ui/replay?at=12").Body.String())
	w := b.ask("POST", "/ui/replay/rerun", "at=12&token="+m[1], "Content-Type", "application/x-www-form-urlencoded",
		"Cookie", v.cookie)
	if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/ui/replay?at=12&done=rerun#rerun" {
		t.Fatalf("rerun: status %d to %q, want 303 to /ui/replay?at=12&done=rerun#rerun: %s",
			w.Code, w.Header().Get("Location"), w.Body)
	}
	body := v.get("/ui/replay?at=12&done=rerun").Body.String()
	for _, want := range []string{"have been played", "1m 01s", "2m 02s", "3 applications with 7 containers",
		"Play it again"} {
		if !strings.Contains(body, want) {
			t.Errorf("does not say %q", want)
		}
	}
	none := newBench(t, nil)
	none.fails(501, "NOT_AVAILABLE", "POST", "/v1/replay:rerun", "")
}

// TestRerunNeedsRole checks that a rerun needs a role, because it plans thousands of decisions
// again.
func TestRerunNeedsRole(t *testing.T) {
	b := guardedBench(t, nil)
	b.fails(401, api.CodeUnauthenticated, "POST", "/v1/replay:rerun", "")
	b.fails(403, api.CodeNotAllowed, "POST", "/v1/replay:rerun", "", bearer("submit")...)
	b.fails(501, "NOT_AVAILABLE", "POST", "/v1/replay:rerun", "", bearer("operator")...) // this server has no Rerun
}
