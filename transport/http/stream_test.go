package httpserver

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"rmd/api"
	"rmd/fsm/event"
	"rmd/transport/http/auth"
	"rmd/yarn"
)

// message is a Server-Sent Event.
type message struct{ id, event, data string }

// events is an open stream over a real connection.
type events struct {
	t      *testing.T
	cancel context.CancelFunc
	resp   *http.Response
	r      *bufio.Scanner
}

func openStream(t *testing.T, srv *httptest.Server, path, last string) *events {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, "GET", srv.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	resp, err := srv.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); resp.Body.Close() })
	return &events{t: t, cancel: cancel, resp: resp, r: bufio.NewScanner(resp.Body)}
}

// next reads one message and skips comments. ok is false at the end of the stream.
func (e *events) next() (m message, ok bool) {
	for e.r.Scan() {
		line := e.r.Text()
		name, value, _ := strings.Cut(line, ": ")
		switch {
		case line == "" && m != message{}:
			return m, true
		case name == "id":
			m.id = value
		case name == "event":
			m.event = value
		case name == "data":
			m.data = value
		}
	}
	return m, false
}

func (e *events) batch() api.EventBatch {
	e.t.Helper()
	for {
		m, ok := e.next()
		if !ok {
			e.t.Fatal("the stream ended")
		}
		if m.event != "batch" {
			continue
		}
		var b api.EventBatch
		if err := json.Unmarshal([]byte(m.data), &b); err != nil {
			e.t.Fatal(err)
		}
		return b
	}
}

func listen(t *testing.T, b *bench) *httptest.Server {
	srv := httptest.NewServer(b.s.Handler())
	t.Cleanup(srv.Close)
	return srv
}

// TestStreamResumes checks that a client that reconnects with the last id misses no batch and gets
// none twice, wherever the stream broke.
func TestStreamResumes(t *testing.T) {
	b := newBench(t, nil)
	srv := listen(t, b)
	want := uint64(1)
	last := ""
	for cut := range 4 {
		path := "/v1/events"
		if cut == 0 {
			want = 6
			last = "5"
		}
		s := openStream(t, srv, path, last)
		for range 3 {
			m, ok := s.next()
			if !ok {
				t.Fatal("the stream ended")
			}
			var d api.EventBatch
			if err := json.Unmarshal([]byte(m.data), &d); err != nil {
				t.Fatal(err)
			}
			if d.Index != want || m.event != "batch" {
				t.Fatalf("index %d, want %d", d.Index, want)
			}
			want++
			last = m.id
			if want > 14 {
				b.h.apply(t, &event.TimeAdvanced{NowMillis: clusterTime + 200_000 + int64(want)})
			}
		}
		s.cancel()
	}
}

func TestStreamIsLive(t *testing.T) {
	b := newBench(t, nil)
	s := openStream(t, listen(t, b), "/v1/events", "")
	if s.resp.Header.Get("Content-Type") != "text/event-stream" || s.resp.Header.Get(api.HeaderIndex) != "16" {
		t.Errorf("GET /v1/events: headers %v, want type text/event-stream and %s 16",
			s.resp.Header, api.HeaderIndex)
	}
	b.h.apply(t, &event.ReservationCancelled{Reservation: 1, Cause: yarn.CancelOperator})
	d := s.batch()
	if d.Index != 17 || d.Term != 7 || d.NowMillis != clusterTime+120_000 || len(d.Events) != 1 {
		t.Fatalf("batch = %+v, want one event at index 17, term 7, time %d", d, clusterTime+120_000)
	}
	if e := d.Events[0]; e.Kind != "ReservationCancelled" || e.Reservation != "r1" || e.Data["cause"] != "OPERATOR" {
		t.Errorf("event = %+v, want ReservationCancelled of r1 with cause OPERATOR", e)
	}
}

func TestStreamFilters(t *testing.T) {
	b := newBench(t, nil)
	srv := listen(t, b)
	for query, want := range map[string]struct {
		index uint64
		kind  string
	}{
		"app=" + app2:                   {10, "ApplicationSubmitted"},
		"node=sim-02":                   {5, "NodeRegistered"},
		"node=sim-02:8041":              {5, "NodeRegistered"},
		"queue=root.batch":              {13, "ApplicationSubmitted"},
		"queue=batch&kind=attemptended": {15, "AttemptEnded"},
		"kind=ReservationMade":          {12, "ReservationMade"},
		"app=" + app1 + "&node=sim-01":  {9, "ContainerAllocated"},
	} {
		d := openStream(t, srv, "/v1/events?after=1&"+query, "").batch()
		if d.Index != want.index || d.Events[0].Kind != want.kind {
			t.Errorf("first batch of %s = %+v, want %s first, at index %d", query, d, want.kind, want.index)
		}
		if strings.HasPrefix(query, "app="+app1) &&
			(len(d.Events) != 1 || d.Events[0].Container != "container_1780000000000_0001_01_000001") {
			t.Errorf("events of %s = %+v, want only that of the first container", query, d.Events)
		}
	}
}

// TestStreamHeartbeat checks that a heartbeat advances the id past batches that the filter drops,
// so that a resume is cheap.
func TestStreamHeartbeat(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Heartbeat = 5 * time.Millisecond })
	s := openStream(t, listen(t, b), "/v1/events?after=13&kind=LevelRaised", "")
	for {
		m, ok := s.next()
		if !ok || m.event != "" {
			t.Fatalf("next message = %+v, open %t, want heartbeats up to id 16", m, ok)
		}
		if m.id == "16" {
			return
		}
	}
}

// TestStreamHeartbeatUnderLoad checks that heartbeats come while the log goes on and the filter
// drops every batch.
func TestStreamHeartbeatUnderLoad(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Heartbeat = 200 * time.Millisecond })
	s := openStream(t, listen(t, b), "/v1/events?kind=LevelRaised", "16")
	stop := make(chan struct{})
	var wg sync.WaitGroup
	defer wg.Wait()
	defer close(stop)
	wg.Go(func() {
		for now := int64(clusterTime + 1_000_000); !t.Failed(); now++ {
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
				b.h.apply(t, &event.TimeAdvanced{NowMillis: now})
			}
		}
	})
	defer time.AfterFunc(30*time.Second, s.cancel).Stop()
	for !t.Failed() {
		m, ok := s.next()
		if !ok || m.event != "" {
			t.Fatalf("next message = %+v, open %t, want heartbeats", m, ok)
		}
		if at, _ := strconv.Atoi(m.id); at > 18 {
			return
		}
	}
}

func TestStreamTooOld(t *testing.T) {
	b := newBench(t, nil)
	srv := listen(t, b)
	b.h.forget(10)
	b.fails(410, api.CodeTooOld, "GET", "/v1/events", "", "Last-Event-ID", "4")
	s := openStream(t, srv, "/v1/events", "15")
	s.batch()
	b.h.forget(100)
	for {
		m, ok := s.next()
		if !ok {
			t.Fatal("the stream ended without saying why")
		}
		if m.event == "error" {
			if !strings.Contains(m.data, api.CodeTooOld) {
				t.Errorf("error message = %q, want code %s", m.data, api.CodeTooOld)
			}
			return
		}
	}
}

func TestStreamsAreBounded(t *testing.T) {
	b := newBench(t, func(c *Config) { c.MaxStreams = 1 })
	srv := listen(t, b)
	s := openStream(t, srv, "/v1/events", "10")
	s.batch()
	b.fails(503, api.CodeBusy, "GET", "/v1/events", "")
	s.cancel()
	for b.ask("HEAD", "/v1/events", "").Code != 200 {
		time.Sleep(time.Millisecond)
	}
	openStream(t, srv, "/v1/events", "10").batch()
}

// TestCloseEndsStreams checks that Close ends open streams.
func TestCloseEndsStreams(t *testing.T) {
	b := newBench(t, nil)
	s := openStream(t, listen(t, b), "/v1/events", "10")
	s.batch()
	if err := b.s.Close(); err != nil {
		t.Fatal(err)
	}
	for {
		if _, ok := s.next(); !ok {
			return
		}
	}
}

// TestStreamsEndWithTheirToken checks that a stream ends when its token is revoked or expires.
func TestStreamsEndWithTheirToken(t *testing.T) {
	for name, ends := range map[string]event.Event{
		"revoked": &event.AccessTokenRevoked{Name: "gone"}, "expired": &event.TimeAdvanced{NowMillis: clusterTime + 200_000},
	} {
		for _, path := range []string{"/v1/events", "/ui/live"} {
			t.Run(name+" "+path, func(t *testing.T) {
				b := guardedBench(t, func(c *Config) { c.Auth.Mode, c.Heartbeat = auth.Required, 100*time.Millisecond })
				b.h.apply(t, tokenEvent("gone", yarn.RoleRead, clusterTime+200_000))
				srv := httptest.NewServer(b.s.Handler())
				defer srv.Close()
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				open := func(token string) *bufio.Scanner {
					req, err := http.NewRequestWithContext(ctx, "GET", srv.URL+path, nil)
					if err != nil {
						t.Fatal(err)
					}
					req.Header.Set(api.HeaderToken, secretFor(token))
					resp, err := srv.Client().Do(req)
					if err != nil || resp.StatusCode != http.StatusOK {
						t.Fatalf("GET %s with the token of %s: error %v, response %v, want status 200",
							path, token, err, resp)
					}
					t.Cleanup(func() { resp.Body.Close() })
					return bufio.NewScanner(resp.Body)
				}
				stays, goes := open("admin"), open("gone")
				b.h.apply(t, ends)
				said := ""
				for goes.Scan() {
					said += goes.Text() + "\n"
				}
				if ctx.Err() != nil || path == "/v1/events" && !strings.Contains(said, api.CodeUnauthenticated) {
					t.Errorf("the stream ended with %v: %s", ctx.Err(), said)
				}
				for range 20 {
					if !stays.Scan() {
						t.Fatal("another's stream ended")
					}
				}
			})
		}
	}
}
