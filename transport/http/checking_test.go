package httpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/scheduler/input"
	"rmd/transport/http/v1/api"
)

// largeConf returns a configuration that takes long to check.
func largeConf(t *testing.T) string {
	t.Helper()
	names := make([]string, 9000)
	properties := map[string]string{}
	for i := range names {
		names[i] = fmt.Sprintf("q%05d", i)
		properties[capacity.Prefix+"root."+names[i]+".capacity"] = "1"
	}
	properties[capacity.Prefix+"root.queues"] = strings.Join(names, ",")
	b, err := json.Marshal(properties)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestCheckOneAtATime checks that a replica validates one configuration at a time, whichever call
// brings it. A second call waits and then gets BUSY. A call without a configuration does not wait.
func TestCheckOneAtATime(t *testing.T) {
	large := largeConf(t)
	small := `{"yarn.scheduler.capacity.root.queues":"a","yarn.scheduler.capacity.root.a.capacity":"100"}`
	for path, format := range map[string]string{"/v1/conf:validate": `{"properties":%s}`, "/v1/queues:place": `{"user":"u","properties":%s}`} {
		b := newBench(t, func(c *Config) { c.ReadTimeout = time.Millisecond })
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range 5 {
				b.ask("POST", path, fmt.Sprintf(format, large))
			}
		}()
		busy := map[string]bool{}
		for over := false; !over && len(busy) < 2; {
			for path, format := range map[string]string{"/v1/conf:validate": `{"properties":%s}`, "/v1/queues:place": `{"user":"u","properties":%s}`} {
				r := b.ask("POST", path, fmt.Sprintf(format, small))
				if r.Code == http.StatusServiceUnavailable && r.Header().Get("Retry-After") == "1" && strings.Contains(r.Body.String(), "this replica is busy checking another configuration") {
					busy[path] = true
				} else if r.Code != http.StatusOK {
					t.Fatalf("POST %s: status %d, want 200 or 503 with Retry-After 1 and the reason: %s",
						path, r.Code, r.Body)
				}
			}
			if r := b.ask("POST", "/v1/queues:place", `{"user":"u"}`); r.Code != http.StatusOK {
				t.Fatalf("without a configuration: %d %s", r.Code, r.Body)
			}
			select {
			case <-done:
				over = true
			default:
			}
		}
		if len(busy) < 2 {
			t.Errorf("while %s checks a configuration, only %v wait", path, busy)
		}
		<-done
	}
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
	b := newBench(t, func(c *Config) {
		c.ReadTimeout = time.Second
		c.Planner.WhatIf = func(*state.State, []input.Property, func() bool) (*api.WhatIf, error) { return &api.WhatIf{}, nil }
		c.Planner.Preview = func(context.Context, int64, int64) (*api.PreemptionPreview, error) {
			return &api.PreemptionPreview{Runs: []api.PreviewRun{}}, nil
		}
	})
	conf := `{"properties":{"yarn.scheduler.capacity.root.queues":"a","yarn.scheduler.capacity.root.a.capacity":"100"}}`
	for path, body := range map[string]string{"/v1/whatif": conf, "/v1/conf:validate": conf, "/v1/queues:place": `{"user":"u",` + conf[1:], "/v1/preemption:preview": `{"from_ms":1}`} {
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
}
