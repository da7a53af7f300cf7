package client

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"rmd/api"
)

// TestCalls checks the path, query and body of every call.
func TestCalls(t *testing.T) {
	var got []string
	c := client(t, nil, serve(t, func(w http.ResponseWriter, r *http.Request) {
		var body json.RawMessage
		_ = json.NewDecoder(r.Body).Decode(&body)
		got = append(got, strings.TrimSpace(r.Method+" "+r.URL.RequestURI()+" "+string(body)))
		_, _ = w.Write([]byte(`{"index":3,"next":""}`))
	}))
	ctx := t.Context()
	for _, call := range []struct {
		want string
		do   func() error
	}{
		{`POST /v1/apps {"queue":"q"}`, func() error { _, err := c.Submit(ctx, api.Submit{Queue: "q"}); return err }},
		{`GET /v1/apps/a1?consistent=`, func() error { _, err := c.App(ctx, "a1"); return err }},
		{`GET /v1/apps/a1/explain?consistent=`, func() error { _, err := c.Explain(ctx, "a1"); return err }},
		{`POST /v1/apps/a%2F1:kill {"diagnostics":"enough"}`, func() error {
			_, err := c.Kill(ctx, "a/1", "enough")
			return err
		}},
		{`POST /v1/apps/a1:move {"queue":"root.b"}`, func() error { _, err := c.Move(ctx, "a1", "root.b"); return err }},
		{`POST /v1/nodes/n:1:drain {"timeout":"1m0s"}`, func() error {
			_, err := c.Drain(ctx, "n:1", api.Drain{Timeout: 60_000_000_000})
			return err
		}},
		{`POST /v1/nodes/n:1:undrain`, func() error { _, err := c.Undrain(ctx, "n:1"); return err }},
		{`GET /v1/labels?consistent=`, func() error { _, err := c.Labels(ctx); return err }},
		{`GET /v1/labels/gpu?consistent=`, func() error { _, err := c.Label(ctx, "gpu"); return err }},
		{`POST /v1/labels:add {"labels":[{"name":"gpu"}]}`, func() error {
			_, err := c.AddLabels(ctx, api.AddLabels{Labels: []api.NewLabel{{Name: "gpu"}}})
			return err
		}},
		{`POST /v1/labels:remove {"names":["gpu"]}`, func() error {
			_, err := c.RemoveLabels(ctx, api.RemoveLabels{Names: []string{"gpu"}})
			return err
		}},
		{`POST /v1/labels:map {"nodes":[{"node":"h","label":"gpu"}],"dry_run":true}`, func() error {
			_, err := c.MapLabels(ctx, api.MapLabels{Nodes: []api.NodeLabel{{Node: "h", Label: "gpu"}}, DryRun: true})
			return err
		}},
		{`GET /v1/labels:map?consistent=&label=gpu&limit=1000`, func() error {
			for _, err := range c.LabelMap(ctx, url.Values{"label": {"gpu"}}) {
				return err
			}
			return nil
		}},
		{`GET /v1/queues?consistent=`, func() error { _, err := c.Queues(ctx); return err }},
		{`DELETE /v1/reservations/r1?reason=old`, func() error {
			_, err := c.CancelReservation(ctx, "r1", "old")
			return err
		}},
		{`GET /v1/cluster`, func() error { _, err := c.Cluster(ctx); return err }},
		{`GET /v1/nodes?consistent=&limit=1000&state=LOST`, func() error {
			for _, err := range c.Nodes(ctx, url.Values{"state": {"LOST"}}) {
				return err
			}
			return nil
		}},
		{`GET /v1/reservations?consistent=&limit=1000`, func() error {
			for _, err := range c.Reservations(ctx, nil) {
				return err
			}
			return nil
		}},
	} {
		got = nil
		if err := call.do(); err != nil || len(got) != 1 || got[0] != call.want {
			t.Errorf("%q %v, want %s", got, err, call.want)
		}
	}
}

// TestAListFails checks that a list yields an error, after the items before it, if a page fails.
func TestAListFails(t *testing.T) {
	c := client(t, nil, serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("after") != "" {
			refuse(w, http.StatusNotFound, "NO_SUCH_QUEUE")
			return
		}
		_ = json.NewEncoder(w).Encode(api.Apps{Apps: []api.App{{ID: "a1"}}, Next: "a1"})
	}))
	var ids []string
	var last error
	for a, err := range c.Apps(t.Context(), nil) {
		if last = err; err == nil {
			ids = append(ids, a.ID)
		}
	}
	if len(ids) != 1 || CodeOf(last) != "NO_SUCH_QUEUE" {
		t.Errorf("Apps whose second page is refused: %q, then %v; want 1 application, then code NO_SUCH_QUEUE", ids, last)
	}
}
