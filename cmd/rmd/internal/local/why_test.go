package local

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"rmd/api"
	"rmd/internal/growth"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// TestDecisionReasonsSameOnReplicas checks that the log gives the same reasons for decisions from
// the log alone and from a snapshot, in any order, on a follower and on the leader.
func TestDecisionReasonsSameOnReplicas(t *testing.T) {
	c := start(t, nil)
	node, waiting, running, containers := hold(t, c)
	lead := c.Leader()
	if err := c.Replicas[lead].Cluster().Snapshot(); err != nil {
		t.Fatal(err)
	}
	do[*input.NodeHeartbeatReply](t, c, lead, &input.NodeHeartbeat{ID: node, Statuses: []input.ContainerStatus{
		{Container: containers[0].Container, State: yarn.ContainerCompleted}}})
	do[*input.Done](t, c, lead, &input.KillApplication{ID: running.App})
	_, index := c.Replicas[lead].Machine().Fork()
	wants := map[string]string{ // by kind and application
		"ContainerAllocated " + running.App.String():   "FIRST_IN_LINE",
		"ReservationMade " + waiting.App.String():      "TOO_LITTLE_FREE",
		"ReservationFulfilled " + waiting.App.String(): "ROOM_FREED",
		"AttemptActivated " + waiting.App.String():     "NO_AM",
	}
	for i, r := range c.Replicas {
		if err := r.Machine().WaitApplied(t.Context(), index); err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		last := uint64(0)
		for _, from := range []uint64{index - 1, 1} { // the earlier entries last
			d := logOf(t, r.HTTPAddr(), from)
			last = d.Last
			owner := map[string]string{}
			for _, e := range d.Entries {
				for _, v := range e.Events {
					if v.Kind == "ReservationMade" {
						owner[v.Reservation] = v.App
					}
					app := v.App
					if app == "" {
						app = owner[v.Reservation]
					}
					if v.Because != nil {
						got[v.Kind+" "+app] = v.Because.Reason
					}
				}
			}
		}
		if last < index {
			t.Fatalf("replica %d has %d of %d entries", i, last, index)
		}
		for what, reason := range wants {
			if got[what] != reason {
				t.Errorf("replica %d: %s because %q, want %q of %v", i, what, got[what], reason, got)
			}
		}
		page := pageOf(t, r.HTTPAddr(), "/ui/decisions", "it asks 4\u00a0GiB")
		for _, says := range []string{"node reserved", "n1:45454 had 2\u00a0GiB", "free; reserved for"} {
			if !strings.Contains(page, says) {
				t.Errorf("replica %d: the page does not say %q:\n%s", i, says, page)
			}
		}
	}
}

func logOf(t *testing.T, addr string, from uint64) api.Log {
	t.Helper()
	var d api.Log
	body := fetch(t, addr, fmt.Sprint("/v1/log?why&count=1000&from=", from))
	if err := json.Unmarshal([]byte(body), &d); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return d
}

func fetch(t *testing.T, addr, path string) string {
	t.Helper()
	resp, err := http.Get("http://" + addr + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: status %d, want 200; reading the body: %v; body %q", path, resp.StatusCode, err, body)
	}
	return string(body)
}

// pageOf waits until a page contains a text, because reasons may appear later.
func pageOf(t *testing.T, addr, path, says string) string {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; {
		page := fetch(t, addr, path)
		if strings.Contains(page, says) || time.Now().After(end) {
			return page
		}
	}
}

// BenchmarkWhy asks for reasons on a cluster of 10,000 nodes and 100,000 applications: first when
// the state has to be rebuilt, then for newer entries.
func BenchmarkWhy(b *testing.B) {
	w := newViewed(b)
	ask := func() time.Duration {
		_, index := w.c.Replicas[w.lead].Machine().Fork()
		began := time.Now()
		if err := w.get(b.Context(), w.client, w.lead, fmt.Sprintf("/v1/log?why&count=1&from=%d", index), false,
			nil); err != nil {
			b.Fatal(err)
		}
		return time.Since(began)
	}
	cpu := growth.ProcessorTime()
	first := ask()
	cpu = growth.ProcessorTime() - cpu
	for b.Loop() {
		w.do(&input.NodeHeartbeat{ID: nodeID(b.N % viewedNodes)})
		w.do(&input.SubmitApplication{User: "u", Queue: w.queue, Unmanaged: true})
		ask()
	}
	b.ReportMetric(ms(first), "first-ms")
	b.ReportMetric(ms(cpu), "first-cpu-ms")
}
