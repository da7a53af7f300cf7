package httpserver

import (
	"context"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"rmd/api"
	"rmd/fsm/event"
	"rmd/yarn"
)

func contextWithLocal(r *http.Request, addr net.Addr) context.Context {
	return context.WithValue(r.Context(), http.LocalAddrContextKey, addr)
}

// awaitWatch waits until the server watches the events: it repeats one until it is counted. The
// watch begins at an unknown time, with a fork.
func (b *bench) awaitWatch(t *testing.T) {
	t.Helper()
	for n := int64(0); !strings.Contains(b.ask("GET", "/metrics", "").Body.String(),
		`rmd_events_total{kind="TimeAdvanced"}`); n++ {
		b.h.apply(t, &event.TimeAdvanced{NowMillis: clusterTime + 120_000 + n})
	}
}

// TestMetricsWatch checks that applied events are counted, reservations by their queue.
func TestMetricsWatch(t *testing.T) {
	b := newBench(t, nil)
	until := func(line string) {
		t.Helper()
		deadline := time.Now().Add(time.Minute)
		for !strings.Contains(b.ask("GET", "/metrics", "").Body.String(), line+"\n") {
			if time.Now().After(deadline) {
				t.Fatalf("no line %s", line)
			}
			time.Sleep(time.Millisecond)
		}
	}
	b.awaitWatch(t)
	b.h.apply(t, &event.ReservationCancelled{Reservation: 1, Cause: yarn.CancelExchanged})
	until(`rmd_reservations_total{outcome="moved",queue="root.train"} 1`)
	until(`rmd_events_total{kind="ReservationCancelled"} 1`)
	b.h.apply(t, &event.ReservationMade{Reservation: 2, App: 2, Number: 2, Key: key, Node: 1})
	until(`rmd_reservations_total{outcome="made",queue="root.train"} 1`)
	reserveResize(t, b.h, 3)
	until(`rmd_reservations_total{outcome="made",queue="root.online"} 1`)
	submit(t, b.h, 5, "root.online", "alice")
	b.h.apply(t, &event.AskChanged{App: 5, Key: key, Name: "*", Count: 1, Size: gpu(60000, 1, 0), Relax: true})
	b.h.apply(t, &event.ContainerAllocated{App: 5, Number: 1, Key: key, Node: 3, Locality: yarn.OffSwitch})
	until(`rmd_app_wait_seconds_count{queue="root.online",size="large"} 1`)
	reserveGang(t, b.h, 4)
	until(`rmd_reservations_total{outcome="made",queue="root.online"} 2`)
	b.h.apply(t, &event.ReservationCancelled{Reservation: 4, Cause: yarn.CancelOperator})
	until(`rmd_reservations_total{outcome="cancelled",queue="root.online"} 1`)
	var d api.ReservationHistory
	b.into(200, &d, "GET", "/v1/reservations/r4/history", "")
	if !d.Whole || d.App == "" {
		t.Errorf("history of a gang's reservation: %+v", d)
	}
}

// TestRoutesAreDocumented checks that the package comment of package api mentions every route of
// rmd's own API.
func TestRoutesAreDocumented(t *testing.T) {
	b := newBench(t, nil)
	text, err := os.ReadFile("../../api/doc.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range b.s.mux.Routes() {
		rest, ok := strings.CutPrefix(r.Pattern, "/v1/")
		if !ok {
			continue
		}
		last := rest[strings.LastIndexAny(rest, "/:}")+1:]
		if last != "" && !strings.Contains(string(text), last) {
			t.Errorf("%s %s is not in api/doc.go", r.Method, r.Pattern)
		}
		if r.Handle == nil || r.Class == 0 {
			t.Errorf("%s %s has no handler or class", r.Method, r.Pattern)
		}
	}
}
