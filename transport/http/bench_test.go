package httpserver

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"rmd/fsm/event"
	"rmd/yarn"
)

// crowd adds n applications. Every tenth waits; the others have ended.
func crowd(t testing.TB, h *history, n uint32) {
	var events []event.Event
	for i := uint32(5); i < 5+n; i++ {
		events = append(events, &event.ApplicationSubmitted{App: i, Name: "crowd", User: fmt.Sprintf("u%d", i%50),
			Queue: "root.batch", Type: "YARN", AM: gpu(1024, 1, 0), MaxAttempts: 1})
		if i%10 != 0 {
			events = append(events, &event.ApplicationEnded{App: i, State: yarn.AppFinished, Final: yarn.FinalSucceeded})
		}
	}
	h.apply(t, events...)
}

type discard struct{ h http.Header }

func (d discard) Header() http.Header         { return d.h }
func (d discard) WriteHeader(int)             {}
func (d discard) Write(p []byte) (int, error) { return len(p), nil }

// BenchmarkReads measures lists over 100,000 applications. Budget on one core: 10 ms for a page of
// a list, 1 s for a whole list, 2 s for the larger documents of Hadoop's API.
func BenchmarkReads(b *testing.B) {
	w := newBench(b, nil)
	crowd(b, w.h, 100_000)
	for _, path := range []string{"/v1/apps?limit=100", "/v1/apps?state=RUNNING", "/v1/apps", "/v1/cluster", "/v1/queues",
		"/ws/v1/cluster/apps?limit=100", "/ws/v1/cluster/apps", "/ws/v1/cluster/scheduler", "/metrics"} {
		b.Run(path, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r := httptest.NewRequest("GET", path, nil)
				r.Host = "127.0.0.1"
				w.s.Handler().ServeHTTP(discard{http.Header{}}, r)
			}
		})
	}
}

// BenchmarkPage measures the page of applications after a change, in clusters with few and with
// many applications.
func BenchmarkPage(b *testing.B) {
	for _, n := range []uint32{200, 10_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprintf("apps=%d", n), func(b *testing.B) {
			w := newBench(b, nil)
			crowd(b, w.h, n)
			for i := uint32(0); b.Loop(); i++ {
				b.StopTimer()
				w.h.apply(b, &event.ApplicationSubmitted{App: 5 + n + i, Name: "new", User: "u1", Queue: "root.batch", Type: "YARN",
					AM: gpu(1024, 1, 0), MaxAttempts: 1})
				b.StartTimer()
				r := httptest.NewRequest("GET", "/ui/apps", nil)
				r.Host = "127.0.0.1"
				answer := httptest.NewRecorder()
				if w.s.Handler().ServeHTTP(answer, r); answer.Code != http.StatusOK {
					b.Fatalf("GET /ui/apps: status %d, want 200: %s", answer.Code, answer.Body)
				}
			}
		})
	}
}
