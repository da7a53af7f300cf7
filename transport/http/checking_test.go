package httpserver

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"rmd/api"
	"rmd/fsm/state"
	"rmd/scheduler/input"
)

// heldReader is a history whose second fork, once it is armed, waits for a release. The admission of a
// request makes the first one, and the check of a configuration the second.
type heldReader struct {
	*history
	left             atomic.Int64
	entered, release chan struct{}
}

func (h *heldReader) Fork() (*state.State, uint64) {
	if h.left.Add(-1) == 0 {
		close(h.entered)
		<-h.release
	}
	return h.history.Fork()
}

// TestCheckOneAtATime checks that a replica validates one configuration at a time, whichever call
// brings it. A second call waits and then gets BUSY. A call without a configuration does not wait.
func TestCheckOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &heldReader{entered: make(chan struct{}), release: make(chan struct{})}
		b := newBench(t, func(c *Config) {
			h.history = c.Reader.(*history)
			c.Reader, c.ReadTimeout = h, 20*time.Millisecond
		})
		const conf = `"properties":{"yarn.scheduler.capacity.root.queues":"a","yarn.scheduler.capacity.root.a.capacity":"100"}}`
		paths := map[string]string{"/v1/conf:validate": `{` + conf, "/v1/queues:place": `{"user":"u",` + conf}
		b.awaitWatch(t)
		first := make(chan int)
		h.left.Store(2)
		go func() { first <- b.ask("POST", "/v1/conf:validate", paths["/v1/conf:validate"]).Code }()
		<-h.entered
		for path, body := range paths {
			r := b.ask("POST", path, body)
			if r.Code != http.StatusServiceUnavailable || r.Header().Get("Retry-After") != "1" ||
				!strings.Contains(r.Body.String(), "this replica is busy checking another configuration") {
				t.Errorf("POST %s beside another check: status %d, want 503 with Retry-After 1 and the reason: %s", path,
					r.Code, r.Body)
			}
		}
		if r := b.ask("POST", "/v1/queues:place", `{"user":"u"}`); r.Code != http.StatusOK {
			t.Errorf("without a configuration: %d %s", r.Code, r.Body)
		}
		close(h.release)
		if code := <-first; code != http.StatusOK {
			t.Errorf("the first check is answered with %d", code)
		}
		for path, body := range paths {
			if r := b.ask("POST", path, body); r.Code != http.StatusOK {
				t.Errorf("after it, %s: %d %s", path, r.Code, r.Body)
			}
		}
	})
}

// slowReader is a client that reads nothing of its answer until it is released.
type slowReader struct {
	*httptest.ResponseRecorder
	begun, release chan struct{}
}

func (w *slowReader) Write(b []byte) (int, error) {
	close(w.begun)
	<-w.release
	return w.ResponseRecorder.Write(b)
}

// TestSlowReaderBlocksNoCheck checks that a client that does not read its answer does not block
// other calls.
func TestSlowReaderBlocksNoCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(c *Config) {
			c.ReadTimeout = time.Second
			c.Planner.WhatIf = func(*state.State, []input.Property, func() bool) (*api.WhatIf, error) {
				return &api.WhatIf{}, nil
			}
			c.Planner.Preview = func(context.Context, int64, int64, bool) (*api.PreemptionPreview, error) {
				return &api.PreemptionPreview{Runs: []api.PreviewRun{}}, nil
			}
		})
		conf := `{"properties":{"yarn.scheduler.capacity.root.queues":"a","yarn.scheduler.capacity.root.a.capacity":"100"}}`
		for path, body := range map[string]string{"/v1/whatif": conf, "/v1/conf:validate": conf,
			"/v1/queues:place": `{"user":"u",` + conf[1:], "/v1/preemption:preview": `{"from_ms":1}`} {
			w := &slowReader{httptest.NewRecorder(), make(chan struct{}), make(chan struct{})}
			done := make(chan struct{})
			go func() {
				defer close(done)
				r := httptest.NewRequest("POST", path, strings.NewReader(body))
				r.Host, r.RemoteAddr = "127.0.0.1:8088", "127.0.0.1:40000"
				b.s.Handler().ServeHTTP(w, r)
			}()
			<-w.begun
			if r := b.ask("POST", path, body); r.Code != http.StatusOK {
				t.Errorf("%s beside a client that does not read: %d %s", path, r.Code, r.Body)
			}
			close(w.release)
			<-done
		}
	})
}
