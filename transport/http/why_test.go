package httpserver

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"rmd/api"
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/explain"
	"rmd/yarn"
)

// told is a source of reasons that knows nothing until learn is called.
type told struct {
	mu     sync.Mutex
	h      *history
	knows  bool
	atOnce []bool
}

// why returns the reasons of log entries. It follows the whole history with a log explainer.
func (k *told) why(_ context.Context, indexes []uint64, atOnce bool) map[uint64][]api.Because {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.atOnce = append(k.atOnce, atOnce)
	out := map[uint64][]api.Because{}
	if !k.knows {
		return out
	}
	w, err := explain.NewLogExplainer(state.New(), true)
	if err != nil {
		panic(err)
	}
	for _, b := range k.h.batches {
		why, err := w.Follow(b.Events, true)
		if err != nil {
			panic(err)
		}
		if slices.Contains(indexes, b.Index) {
			out[b.Index] = []api.Because{}
			for _, x := range why {
				out[b.Index] = append(out[b.Index], api.Because(x))
			}
		}
	}
	return out
}

func (k *told) learn() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.knows = true
}

func newTold(t *testing.T) (*bench, *told) {
	k := &told{}
	b := newBench(t, func(c *Config) { k.h, c.Planner.Why = c.Reader.(*history), k.why })
	return b, k
}

// TestDecisionReasonsOnPage checks that each row of the page has its reason as soon as the replica
// knows it, and that the server does not keep a page without reasons.
func TestDecisionReasonsOnPage(t *testing.T) {
	b, k := newTold(t)
	const reserved = "it asks 64 GiB · 16 vc · 4 gpu, sim-01:8041 had 32 GiB · 8 vc · 2 gpu free"
	if page := plain(b.ask("GET", "/ui/decisions", "").Body.String()); strings.Contains(page, reserved) ||
		!strings.Contains(page, "ReservationMade") {
		t.Fatalf("nothing is known yet:\n%s", page)
	}
	k.learn()
	page := ""
	// the server renders a costly page again in the background
	for end := time.Now().Add(time.Minute); time.Now().Before(end) && !strings.Contains(page, reserved); {
		page = plain(b.ask("GET", "/ui/decisions", "").Body.String())
	}
	for _, says := range []string{reserved, "TOO_LITTLE_FREE", "root.online used 0.0 % of its guarantee", "its AM is unmanaged"} {
		if !strings.Contains(page, says) {
			t.Errorf("the page does not say %q:\n%s", says, page)
		}
	}
	if page := plain(b.ask("GET", "/ui/replay?at=12", "").Body.String()); !strings.Contains(page, reserved) {
		t.Errorf("the replay does not say why:\n%s", page)
	}
	if slices.Contains(k.atOnce, true) {
		t.Error("a page is answered at any cost")
	}
}

// plain returns a page without what only says where a browser may break a line.
func plain(page string) string { return strings.NewReplacer("<wbr>", "", "\u00a0", " ").Replace(page) }

// TestLogAndStreamReasons checks that the log and the stream contain reasons only if the request
// asks for them.
func TestLogAndStreamReasons(t *testing.T) {
	b, k := newTold(t)
	k.learn()
	because := func(path string) (n int, reserved *api.Because) {
		var d api.Log
		b.into(200, &d, "GET", path, "")
		for _, e := range d.Entries {
			for _, v := range e.Events {
				if v.Because != nil {
					n++
				}
				if v.Kind == "ReservationMade" {
					reserved = v.Because
				}
			}
		}
		return n, reserved
	}
	if n, _ := because("/v1/log?count=100"); n != 0 || len(k.atOnce) != 0 {
		t.Errorf("%d reasons that nobody asked for", n)
	}
	if n, made := because("/v1/log?count=100&why"); n < 5 || made == nil || made.Reason != "TOO_LITTLE_FREE" ||
		!k.atOnce[0] {
		t.Errorf("%d reasons, that of the reservation %+v", n, made)
	}
	srv := listen(t, b)
	reserved := func(query string) *api.Because {
		stream := openStream(t, srv, "/v1/events?after=1"+query, "")
		for {
			for _, v := range stream.batch().Events {
				if v.Kind == "ReservationMade" {
					return v.Because
				}
			}
		}
	}
	if made := reserved("&why&kind=ReservationMade"); made == nil || made.Reason != "TOO_LITTLE_FREE" {
		t.Errorf("the stream says %+v", made)
	}
	if made := reserved(""); made != nil {
		t.Errorf("the stream says %+v unasked", made)
	}
}

// TestPageOfAReservationThatIsGone checks that the page of a fulfilled or cancelled reservation
// says how it ended.
func TestPageOfAReservationThatIsGone(t *testing.T) {
	b := newBench(t, nil)
	b.h.apply(t, &event.TimeAdvanced{NowMillis: clusterTime + 150_000},
		&event.ReservationCancelled{Reservation: 1, Cause: yarn.CancelOperator})
	w := b.ask("GET", "/ui/reservations/r1", "")
	page := w.Body.String()
	for _, says := range []string{"Reservation r1", "This reservation has ended", "made: the container did not fit yet",
		"sim-01:8041", "cancelled: an operator cancelled it", "/ui/replay?at=17", "data-still"} {
		if w.Code != 200 || !strings.Contains(page, says) {
			t.Errorf("%d: the page does not say %q:\n%s", w.Code, says, page)
		}
	}
	for _, found := range checkHTML(page) {
		t.Errorf("HTML of the page: %s", found)
	}
	if w := b.ask("GET", "/ui/reservations/r9", ""); w.Code != 404 {
		t.Errorf("one that never was: %d", w.Code)
	}
}

// TestPagesTakeTheirMethod checks that a wrong method for a page gets 405, and an unknown address
// 404.
func TestPagesTakeTheirMethod(t *testing.T) {
	b := newBench(t, nil)
	for _, c := range []struct {
		method, path string
		status       int
		allow, says  string
	}{
		{"DELETE", "/ui/apps", 405, "GET", "does not take DELETE"},
		{"POST", "/ui/", 405, "GET", "open it as a page"},
		{"GET", "/ui/conf/apply", 405, "POST", "use the button"},
		{"GET", "/ui/nowhere", 404, "", "there is no page at /ui/nowhere"},
		{"POST", "/ui/nowhere", 404, "", "there is no page at /ui/nowhere"},
	} {
		w := b.ask(c.method, c.path, "")
		if w.Code != c.status || w.Header().Get("Allow") != c.allow || !strings.Contains(w.Body.String(), c.says) {
			t.Errorf("%s %s: %d, Allow %q, want %d, %q with %q:\n%s", c.method, c.path, w.Code, w.Header().Get("Allow"),
				c.status, c.allow, c.says, w.Body)
		}
	}
}
