package local

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"rmd/api"
	"rmd/config"
	"rmd/fsm/event"
	"rmd/scheduler/input"
	"rmd/server"
	"rmd/yarn"
)

// TestPreviewStartsAtLogStart checks on every replica that a preview of preemption begins at the
// snapshot after which the log continues, and that it says from when on it knows the past.
func TestPreviewStartsAtLogStart(t *testing.T) {
	c := start(t, func(o *Options) { o.Adjust = func(_ int, k *config.Config) { k.Raft.Trailing = 1024 } })
	lead := c.Leader()
	register := func(i int) {
		do[*input.RegisterNodeReply](t, c, lead,
			&input.RegisterNode{ID: yarn.NodeID{Host: fmt.Sprint("n", i), Port: 1}, Rack: "/r",
				Total: yarn.NewResource(4096, 4)})
	}
	for i := range 1100 { // more than the log keeps before a snapshot
		register(i % 50)
	}
	hourAgo := time.Now().Add(-time.Hour).UnixMilli()
	previewed := func(i int, in api.PreviewPreemption) (*api.PreemptionPreview, *api.Error) {
		t.Helper()
		body, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.Post("http://"+c.Replicas[i].HTTPAddr()+"/v1/preemption:preview", "application/json",
			bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			e := &api.Error{Status: resp.StatusCode}
			if err := json.NewDecoder(resp.Body).Decode(e); err != nil {
				t.Fatal(err)
			}
			return nil, e
		}
		d := &api.PreemptionPreview{}
		if err := json.NewDecoder(resp.Body).Decode(d); err != nil {
			t.Fatal(err)
		}
		return d, nil
	}
	ask := func(i int, from int64) (*api.PreemptionPreview, *api.Error) {
		t.Helper()
		return previewed(i, api.PreviewPreemption{FromMillis: from})
	}
	d, refused := ask(lead, hourAgo)
	if refused != nil || d.Entries < 1000 || len(d.Runs) != 3 || !d.Runs[0].Exact || d.Text == "" {
		t.Fatalf("preview of the last hour: refusal %v, want none, at least 1000 entries, 3 runs, "+
			"the first of them exact, and a text; got %+v", refused, d)
	}
	before := time.Now().UnixMilli()
	time.Sleep(10 * time.Millisecond)
	// The snapshots shall end at an entry of the same millisecond as the one before, which has no
	// time of its own. On a very slow machine there may be none.
	for i := 0; i < 1000 && (i < 3 || hasTime(t, c.Replicas[lead])); i++ {
		register(100 + i%3)
	}
	caughtUp(t, c, lead) // otherwise the snapshot of a follower may end before that time
	for _, r := range c.Replicas {
		if err := r.Cluster().Snapshot(); err != nil {
			t.Fatal(err)
		}
	}
	_, at := c.Replicas[lead].Machine().Fork()
	after := time.Now().UnixMilli()
	time.Sleep(10 * time.Millisecond)
	for i := range 4 {
		register(200 + i)
	}
	_, index := c.Replicas[lead].Machine().Fork()
	for i, r := range c.Replicas {
		if err := r.Machine().WaitApplied(t.Context(), index); err != nil {
			t.Fatal(err)
		}
		for _, from := range []int64{hourAgo, before} {
			if _, refused := ask(i, from); refused == nil || refused.Code != api.CodeTooOld ||
				!strings.Contains(refused.Message, "the past is kept since ") || refused.Remedy == "" {
				t.Errorf("replica %d, preview of a time before its snapshot: refusal %v, want %s with the time since which the past is kept, and a remedy", i, refused, api.CodeTooOld)
			}
		}
		rest, refused := previewed(i, api.PreviewPreemption{FromMillis: hourAgo, Clip: true})
		if refused != nil || rest.FromMillis <= before || rest.FromMillis > after || rest.Entries < 4 {
			t.Errorf("replica %d, preview of the part of the last hour that is kept: %+v, refusal %v, want one from %d to %d on",
				i, rest, refused, before, after)
		}
		d, refused := ask(i, after)
		now, _ := r.Machine().Applied()
		if refused != nil || d.Entries < 4 || uint64(d.Entries) > now-at+16 {
			t.Errorf("replica %d, preview of the time after its snapshot at %d: %+v, refusal %v, want at least 4 entries, and no others", i, at, d, refused)
		}
	}
	for _, from := range []int64{0, -5, time.Now().Add(time.Hour).UnixMilli()} {
		if _, refused := ask(lead, from); refused == nil || refused.Code != api.CodeInvalidRequest {
			t.Errorf("preview from %d: refusal %v, want %s", from, refused, api.CodeInvalidRequest)
		}
	}
}

// hasTime reports whether the last entry of a replica's log advances the cluster's clock.
func hasTime(t *testing.T, r *server.Replica) bool {
	t.Helper()
	_, index := r.Machine().Fork()
	entries, _, _, err := r.Cluster().Entries(index, 1)
	if err != nil || len(entries) != 1 {
		t.Fatalf("entry %d: %d entries, %v", index, len(entries), err)
	}
	b, err := event.Decode(entries[0].Data)
	if err != nil {
		t.Fatal(err)
	}
	return event.TimeIn(b.Events) != 0
}
