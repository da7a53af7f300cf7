package httpserver

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"rmd/api"
	"rmd/fsm/event"
	"rmd/yarn"
)

// draining returns the fixture with sim-02 as a draining NodeManager that runs a container of
// application 1.
func draining(t *testing.T) *bench {
	b := newBench(t, nil)
	b.h.apply(t, &event.NodeRegistered{Node: 2, ID: yarn.NodeID{Host: "sim-02", Port: 8041}, HTTPPort: 8042, Rack: "/r1",
		Total: gpu(65536, 16, 4), NodeManager: true},
		&event.NodeStateChanged{Node: 2, State: yarn.NodeDecommissioning, DeadlineMillis: clusterTime + 900_000})
	return b
}

// TestDrainIsShown checks that the document and the page of a draining node say what the drain
// waits for, and until when.
func TestDrainIsShown(t *testing.T) {
	b := draining(t)
	hold := func(want api.NodeDrain) {
		t.Helper()
		var n api.Node
		b.into(http.StatusOK, &n, "GET", "/v1/nodes/sim-02:8041", "")
		got := n.Drain
		if got == nil || got.Status != want.Status || got.Containers != want.Containers ||
			got.Applications != want.Applications ||
			!slices.Equal(got.Apps, want.Apps) || got.ExpectedMillis != want.ExpectedMillis ||
			n.DeadlineMillis != clusterTime+900_000 {
			t.Errorf("%+v until %d, want %+v", got, n.DeadlineMillis, want)
		}
	}
	hold(api.NodeDrain{Status: "WAIT_CONTAINER", Containers: 1, Applications: 1, Apps: []string{app1}})
	b.h.apply(t, &event.AttemptReported{App: 1, Progress: 4000})
	hold(api.NodeDrain{Status: "WAIT_CONTAINER", Containers: 1, Applications: 1, Apps: []string{app1},
		ExpectedMillis: clusterTime + 300_000})
	page := b.ask("GET", "/ui/nodes/sim-02:8041", "").Body.String()
	for _, part := range []string{"<b>WAIT_CONTAINER</b>", "It waits for 1 container and", "_0001</a>",
		"At the present rate they end by"} {
		if !strings.Contains(page, part) {
			t.Errorf("the page does not say %q", part)
		}
	}
	page = b.ask("GET", "/ui/", "").Body.String()
	for _, part := range []string{"<b>2</b> of 3 nodes take containers, 1 draining",
		">1 node</a>. The total has only what containers still use there"} {
		if !strings.Contains(page, part) {
			t.Errorf("the overview does not say %q", part)
		}
	}
	b.h.apply(t, &event.ContainerCompleted{Container: event.ContainerRef{App: 1, Attempt: 1, Number: 2}})
	hold(api.NodeDrain{Status: "WAIT_APP", Applications: 1, Apps: []string{app1}, ExpectedMillis: clusterTime + 300_000})
	b.h.apply(t, &event.TimeAdvanced{NowMillis: clusterTime + 900_000})
	hold(api.NodeDrain{Status: "TIMEOUT", Applications: 1, Apps: []string{app1}, ExpectedMillis: clusterTime + 2_250_000})
	var n api.Node
	b.h.apply(t, &event.NodeResourceChanged{Node: 2, Total: yarn.NewResource(1024, 1)}, // what the drain left
		&event.NodeStateChanged{Node: 2, State: yarn.NodeDecommissioned})
	for _, state := range []yarn.NodeState{yarn.NodeDecommissioned, yarn.NodeRebooted} {
		b.h.apply(t, &event.NodeStateChanged{Node: 2, State: state})
		b.into(http.StatusOK, &n, "GET", "/v1/nodes/sim-02:8041", "")
		if n.State != state.String() || n.Total[api.MemoryMB] != 0 || n.Free[api.MemoryMB] != 0 {
			t.Errorf("a node that must register: %s with %s, %s free; want nothing known", n.State, n.Total, n.Free)
		}
	}
	b.h.apply(t, &event.NodeResourceChanged{Node: 2, Total: yarn.NewResource(2048, 2), Set: true})
	if b.into(http.StatusOK, &n, "GET", "/v1/nodes/sim-02:8041", ""); n.Total[api.MemoryMB] != 2048 {
		t.Errorf("a node whose total an operator set: %s", n.Total)
	}
	n = api.Node{}
	if b.into(http.StatusOK, &n, "GET", "/v1/nodes/sim-01:8041", ""); n.Drain != nil {
		t.Errorf("a node that runs: %+v", n.Drain)
	}
}

// TestChooseNodes checks that the node that is cheapest to drain comes first, and that each choice
// has a reason.
func TestChooseNodes(t *testing.T) {
	b := newBench(t, nil)
	var got api.DrainChoices
	b.into(http.StatusOK, &got, "GET", "/v1/nodes:choose?count=2", "")
	want := []api.DrainChoice{
		{ID: "sim-03:8041", Reason: "nothing runs there and no running application left data there"},
		{ID: "sim-01:8041", Reason: "1 container, 0 AMs: 20.000 s of the cluster's work", Containers: 1, WorkMillis: 20_000},
	}
	if !slices.Equal(got.Nodes, want) {
		t.Errorf("GET /v1/nodes:choose?count=2 = %+v, want %+v", got.Nodes, want)
	}
	for _, count := range []string{"0", "100001", "x"} {
		if w := b.ask("GET", "/v1/nodes:choose?count="+count, ""); w.Code != http.StatusBadRequest {
			t.Errorf("%s nodes: %d %s", count, w.Code, w.Body)
		}
	}
}

// TestExcludedHostsAreShown checks that an excluded host that never registered is a DECOMMISSIONED
// node in all lists and counts, as in YARN.
func TestExcludedHostsAreShown(t *testing.T) {
	b := newBench(t, nil)
	b.h.apply(t, &event.NodeListsSet{Exclude: []string{"never", "sim-03"}})
	var page api.Nodes
	ids := func(query string) (out []string) {
		page = api.Nodes{}
		b.into(http.StatusOK, &page, "GET", "/v1/nodes"+query, "")
		for _, n := range page.Nodes {
			out = append(out, n.ID+" "+n.State)
		}
		return out
	}
	all := []string{"sim-01:8041 RUNNING", "sim-02:8041 RUNNING", "sim-03:8041 RUNNING", "never:-1 DECOMMISSIONED"}
	for query, want := range map[string][]string{"": all, "?state=DECOMMISSIONED": all[3:], "?state=RUNNING": all[:3],
		"?rack=/r1": all[:3], "?limit=2": all[:2], "?limit=2&after=sim-02:8041": all[2:],
		"?limit=3": all[:3], "?after=sim-03:8041": all[3:], "?after=never:-1": nil} {
		if got := ids(query); !slices.Equal(got, want) {
			t.Errorf("GET /v1/nodes%s = %q, want %q", query, got, want)
		}
	}
	if ids("?limit=3"); page.Next != "sim-03:8041" {
		t.Errorf("the excluded host is on no page: next is %q", page.Next)
	}
	for _, name := range []string{"never:-1", "never"} {
		var n api.Placement
		b.into(http.StatusOK, &n, "GET", "/v1/nodes/"+name+"/placement", "")
		if n.Node.ID != "never:-1" || n.Node.HTTPAddress != "" || !strings.Contains(n.Node.Report, "never registered") {
			t.Errorf("node of %s = %+v, want never:-1, no HTTP address and \"never registered\"",
				name, n.Node)
		}
	}
	for path, parts := range map[string][]string{
		"/ui/nodes":                      {"never:-1</a>", `decommissioned <b>1</b>`},
		"/ui/nodes?state=DECOMMISSIONED": {"never:-1</a>"},
		"/ui/nodes?find=NEV":             {"never:-1</a>"},
		"/ui/nodes/never:-1":             {"<h1>never:-1</h1>", "never registered"},
		"/ui/search?q=nev":               {"never:-1</a>"},
	} {
		w := b.ask("GET", path, "")
		for _, part := range parts {
			if !strings.Contains(w.Body.String(), part) {
				t.Errorf("%s: %d, it does not say %q", path, w.Code, part)
			}
		}
	}
	if body := b.ask("GET", "/metrics", "").Body.String(); !strings.Contains(body,
		`rmd_nodes{partition="",state="DECOMMISSIONED"} 1`) {
		t.Error("rmd_nodes does not count the excluded host")
	}
	for _, accept := range []string{"application/json", "application/xml"} {
		body := b.ask("GET", "/ws/v1/cluster/nodes?states=DECOMMISSIONED", "", "Accept", accept).Body.String()
		if !strings.Contains(body, "never:-1") || strings.Contains(body, "sim-03") {
			t.Errorf("decommissioned nodes as %s: want never:-1 and not sim-03: %s", accept, body)
		}
	}
	if body := b.ask("GET", "/ws/v1/cluster/metrics", "").Body.String(); !strings.Contains(body,
		`"decommissionedNodes":1`) || !strings.Contains(body, `"totalNodes":3`) {
		t.Errorf("cluster metrics: want 1 decommissioned node of 3 in all: %s", body)
	}
}
