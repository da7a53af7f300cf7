package httpserver

import (
	"context"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"rmd/api"
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/capacity/preset"
	yarnweb "rmd/transport/http/yarn"
	"rmd/yarn"
)

const (
	appOne   = "application_1780000000000_0001"
	appTwo   = "application_1780000000000_0002"
	appThree = "application_1780000000000_0003"
)

// pagePaths lists all pages, each with texts that it must contain.
var pagePaths = []struct {
	path string
	says []string
}{
	{"/ui/", []string{"Overview", "2 of 3 replicas in step", "<b>rm3</b> does not answer</a>",
		"Waiting longest", "…_0003", `state=WAITING&amp;sort=-wait"><b>3</b> waiting</a>`, "…_0002",
		"root.train", "Last decisions"}},
	{"/ui/apps", []string{"…_0001", "carol", "Why it waits", "4 applications", `aria-sort="descending"`,
		`…_0001</a><br><span class="name" title="app">app</span>`, `>Wants</a></th><th scope="col">Queue, user</th>`}},
	{"/ui/apps?all=1", []string{"Blacklisted", "etl", "Fewer columns"}},
	{"/ui/apps?state=RUNNING&sort=-memory", []string{"…_0001", "2 applications"}},
	{"/ui/apps?state=WAITING", []string{"…_0001", "…_0002", "…_0003", "3 applications",
		`aria-current="true">waiting <b>3</b>`, ">not known</span>"}},
	{"/ui/apps?find=waits", []string{"…_0003", "1 application"}},
	{"/ui/apps?user=nobody", []string{"No application matches.", "Show all"}},
	{"/ui/apps/" + appTwo, []string{"Why waiting", "NODE_<wbr>TOO_<wbr>SMALL_<wbr>FREE", "is reserved for it (r1)", "What if",
		"it asked for 2 gpu", "What must end", "at its limit", "behind", "Kill the application", "Timeline",
		"64 GiB · 16 vc · 4 gpu"}},
	{"/ui/apps/application_1780000000000_0004", []string{"How it ended"}},
	{"/ui/queues", []string{"Active users", "Share of the cluster", "online",
		">Active users</a>", "<span>64 GiB</span> <span>16 vc</span>", "Configuration version", "Waits for the ApplicationMaster"}},
	{"/ui/queues/root.online", []string{"set.maximum-applications", `value="7"`, "Show what would change", "alice",
		"Stop the queue"}},
	{"/ui/search?q=waits", []string{"…_0003", `placeholder="Search ( / )"`}},
	{"/ui/search?q=3", []string{"…_0003", "sim-03:8041"}},
	{"/ui/search?q=R1", []string{`href="/ui/reservations/r1"`}},
	{"/ui/search?q=ONLINE", []string{`href="/ui/queues/root.online"`}},
	{"/ui/search?q=ali", []string{`href="/ui/users/alice"`, "…_0001"}},
	{"/ui/users/alice", []string{"Queues and limits", "Used and reserved", "root.online", "of the cluster",
		`href="/ui/apps?user=alice&amp;state=RUNNING"`, "…_0001"}},
	{"/ui/users/bob?sort=queue", []string{"Waits for", "…_0002", `aria-sort="ascending"`}},
	{"/ui/search?q=nobody", []string{"Nothing matches."}},
	{"/ui/search", []string{"application, queue, node, user, reservation"}},
	{"/ui/queues/root.online?sort=user", []string{`aria-sort="ascending"`, "?sort=-user"}},
	{"/ui/queues?sort=-guaranteed", []string{`aria-sort="descending"><a href="/ui/queues?sort=guaranteed">`, "root"}},
	{"/ui/apps/" + appOne + "?sort=-size", []string{
		`aria-sort="descending"><a href="/ui/apps/application_1780000000000_0001?sort=size">`, "…_0001_01_000001"}},
	{"/ui/reservations?sort=-short", []string{`aria-current="true">Short of memory ↓`, "?sort=short"}},
	{"/ui/reservations/r1?sort=-size", []string{`aria-sort="descending"`, "?sort=size"}},
	{"/ui/nodes/sim-01:8041?sort=-granted", []string{`aria-sort="descending"`, "?sort=granted"}},
	{"/ui/queues/root", []string{"Child queues", "root.batch"}},
	{"/ui/nodes", []string{"How full", "What fits now", "sim-01:8041", "r1", "1 reserved"}},
	{"/ui/nodes?find=02", []string{"sim-02:8041", "1 node"}},
	{"/ui/nodes/sim-01:8041", []string{"To scale", "kept for",
		"containerlogs/container_1780000000000_0001_01_000001/alice", "Drain the node"}},
	{"/ui/reservations", []string{"<b>1</b> active", "32 GiB short", "Cancel…", "one container is enough",
		"Reservation<wbr>Made"}},
	{"/ui/reservations/r1", []string{"Cancel reservation r1", "…_0001_01_000001", "bob"}},
	{"/ui/cluster", []string{"degraded", "Last election: <b>rm1 leads in place of rm2; this replica knew no leader for 214 ms</b>", "★ leader", "unreachable", "214 ms", "301 ms", "fsync p99",
		"Transfer leadership", "Background jobs", "fails", "no space left on device"}},
	{"/ui/about", []string{"Feature level", "raft.sync", "rmd.yaml:3", "yarn.resourcemanager.hostname",
		"Settings of this replica", "<b>prod</b>"}},
	{"/ui/about?find=always", []string{"raft.sync", "Show all"}},
	{"/ui/cluster?verify=1", []string{"Verified at index 20"}},
	{"/ui/decisions", []string{"ReservationMade", "container granted", `scope="col">Application, queue<`, "…_0002"}},
	{"/ui/decisions?kind=all&app=" + appTwo, []string{"AskChanged", "…_0002"}},
	{"/ui/decisions?kind=ReservationMade&node=sim-01:8041", []string{"1 event here"}},
	{"/ui/conf", []string{"Version <b>2</b>", "bound online", "Roll back to 1…", "Keys in force"}},
	{"/ui/conf?from=1&to=2", []string{"From version 1 to 2", "maximum-applications"}},
	{"/ui/conf/edit", []string{"root.online.maximum-applications = 7"}},
	{"/ui/conf/rollback?to=1", []string{"Roll back to version 1", "What would change", "maximum-applications"}},
	{"/ui/forecasts", []string{"<b>273</b> of 300", "91", "These are too few"}},
	{"/ui/apps/" + appTwo, []string{"When it starts", "9 in 10 between", "a later one", "of 15", "its priority was 4",
		"never: no node has it", "within 7 days in 3 of 15 runs only", "/ui/forecasts"}},
	{"/ui/users", []string{`href="/ui/users/alice"`, "Longest wait", "carol"}},
	{"/ui/users?sort=-waiting", []string{`aria-sort="descending"`}},
	{"/ui/preemption", []string{"What each queue is entitled to", "root.train", "The next round",
		`>Reserved</th>`}},
	{"/ui/audit", []string{"token ci", "node drain", "sim-01:8041", "NOT_<wbr>ALLOWED", "10.0.0.9"}},
	{"/ui/labels", []string{"Node labels are off", "default", `href="/ui/nodes?label=-"`}},
	{"/ui/replay", []string{"Paused at index 17", `class="here" aria-current="step"`, "Node, reservation",
		"Rewind", "Step back", "Reserved at this index", "…_0002", "rmd replay",
		"127.0.0.1:8088", "Play it with and without"}},
}

// fullyExplained returns an explanation with every field set.
func fullyExplained(_ *state.State, id yarn.ApplicationID) (*api.Explanation, error) {
	return &api.Explanation{ID: id.String(), State: "RUNNING", Queue: "root.train", Waiting: true, WaitingMillis: 60_000,
		Position: 1, Of: 3, Reason: "NODE_TOO_SMALL_FREE",
		Text: "node sim-01:8041 is reserved for it (r1)", Diagnostic: "Node has been reserved",
		Asks:   []api.ExplainedAsk{{Count: 1, Size: "65536MB 16vc 4gpu", Where: "any host"}},
		Limits: []api.ExplainedLimit{{Name: "maximum of root.train", Used: "0MB 0vc", Most: "9MB 9vc", Binds: true}},
		Nodes: []api.ExplainedNodes{{Reason: "NODE_TOO_SMALL_FREE", Verdict: "too little is free", Count: 3,
			Example: "sim-02:8041"}},
		Reserved: []api.ExplainedReservation{{ID: "r1", Node: "sim-01:8041", Needs: "65536MB", Free: "32768MB",
			AgeMillis: 60_000, WaitsFor: []string{"container_1780000000000_0001_01_000001"}}},
		Ahead: []string{appOne}, Behind: []string{appThree},
		WhatIf: []api.ExplainedAlternative{{If: "it asked for 2 gpu", Now: true, Then: "it would be served"}},
		MustEnd: &api.ExplainedMustEnd{Node: "sim-01:8041", Missing: "32768MB",
			Containers: []string{"container_1780000000000_0001_01_000001"}}}, nil
}

func fullyForecast(_ context.Context, _ *state.State, id yarn.ApplicationID) (*api.Forecast, error) {
	return &api.Forecast{ID: id.String(), Runs: 15, Asks: []api.ForecastAsk{
		{Size: "4096MB 1vc", Count: 2, Started: 15, FromMillis: 1_000, MedianMillis: 2_000, ToMillis: 9_000, Recorded: true,
			After: []api.ForecastAfter{{Container: "container_1780000000000_0001_01_000001", Node: "sim-02:8041", ID: appOne,
				Queue: "root.train", Runs: 12}, {ID: appOne, Queue: "root.train", Runs: 3}},
			Queues: []api.ForecastQueue{{Path: "root.train", Runs: 15}},
			Sooner: []api.ForecastSooner{{If: "its priority was 4", MedianMillis: 1_500}}},
		{Size: "9GB 1vc", Count: 1, Never: "no node has it"}, {Size: "1GB 1vc", Count: 1, Started: 3}}}, nil
}

func wellForecast() *api.ForecastReport {
	return &api.ForecastReport{Replica: "rm1", SinceMillis: 1_000, Due: 400, Held: 360,
		Newest: api.ForecastSummary{Due: 300, Held: 273}}
}

func TestPagesMatchState(t *testing.T) {
	b := newBench(t, func(c *Config) {
		c.Planner.Explain = fullyExplained
		c.Planner.Forecast, c.Planner.ForecastReport = fullyForecast, wellForecast
		c.Own = []OwnSetting{{Name: "raft.sync", Value: "always", About: "cannot be turned off", Origin: "default"},
			{Name: "id", Value: "rm1", Origin: "rmd.yaml:3"}}
		c.Hadoop.Settings = func() []yarnweb.Setting {
			return []yarnweb.Setting{{Name: "yarn.resourcemanager.hostname", Value: "a", File: "yarn-site.xml"},
				{Name: "my.password", Value: "hunter2", File: "yarn-site.xml"}}
		}
	})
	b.h.apply(t, &event.Audited{Who: "token ci", From: "10.0.0.9:4", Action: "node drain", Target: "sim-01:8041",
		Result: event.AuditDone},
		&event.Audited{Who: "mallory", From: "10.0.0.8:4", Action: "conf set", Target: "/v1/conf", Result: "NOT_ALLOWED"})
	for _, p := range pagePaths {
		t.Run(p.path, func(t *testing.T) {
			w := b.ask("GET", p.path, "")
			body := w.Body.String()
			if w.Code != http.StatusOK {
				t.Fatalf("status %d: %s", w.Code, body)
			}
			for _, want := range p.says {
				if !strings.Contains(body, want) {
					t.Errorf("does not say %q", want)
				}
			}
			if strings.Contains(body, "hunter2") {
				t.Error("a secret is shown")
			}
			for _, found := range checkHTML(body) {
				t.Errorf("HTML of the page: %s", found)
			}
			if csp := w.Header().Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") ||
				strings.Contains(csp, "unsafe") {
				t.Errorf("policy %q", csp)
			}
			for _, need := range []string{`<b>rm1</b>`, `data-status="leader">rm1<`, `<main id="main"`, `href="#main"`} {
				if !strings.Contains(body, need) {
					t.Errorf("the shell lacks %q", need)
				}
			}
			if w.Header().Get(api.HeaderIndex) == "" {
				t.Error("the page does not say its index")
			}
		})
	}
}

// TestPagesUninitializedCluster opens every page of a cluster that is not initialized.
func TestPagesUninitializedCluster(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Reader = newHistory() })
	for _, p := range []string{"/ui/", "/ui/apps", "/ui/queues", "/ui/nodes", "/ui/reservations", "/ui/cluster",
		"/ui/decisions", "/ui/conf", "/ui/audit", "/ui/labels", "/ui/replay"} {
		w := b.ask("GET", p, "")
		if w.Code != http.StatusOK {
			t.Errorf("%s: status %d: %s", p, w.Code, w.Body)
		}
		for _, found := range checkHTML(w.Body.String()) {
			t.Errorf("%s: %s", p, found)
		}
	}
	if body := b.ask("GET", "/ui/", "").Body.String(); !strings.Contains(body, "rmd cluster init") {
		t.Error("the overview does not say how to initialize the cluster")
	}
}

// TestOverviewLostNodes checks that the overview of a cluster whose nodes are all lost says so, and not
// how to begin.
func TestOverviewLostNodes(t *testing.T) {
	h := newHistory()
	h.apply(t, &event.TimeAdvanced{NowMillis: clusterTime},
		&event.ClusterInitialized{ClusterID: "c1", ClusterTimestamp: clusterTime, Level: event.Level},
		configured(t, 1, preset.Demo(), "first"))
	for node := state.NodeSlot(1); node <= 3; node++ {
		h.apply(t, &event.NodeRegistered{Node: node, ID: yarn.NodeID{Host: "sim", Port: uint16(node)}, HTTPPort: 8042,
			Rack: "/r1", Total: gpu(1024, 1, 0)}, &event.NodeStateChanged{Node: node, State: yarn.NodeLost})
	}
	b := newBench(t, func(c *Config) { c.Reader = h })
	body := b.ask("GET", "/ui/", "").Body.String()
	for _, want := range []string{`<p class="verdict bad"><b>no node is running</b>`,
		`<a href="/ui/nodes?state=LOST">3 nodes</a> of 3 lost`} {
		if !strings.Contains(body, want) {
			t.Errorf("the overview does not say %q", want)
		}
	}
	if strings.Contains(body, "rmd dev") {
		t.Error("the overview speaks to who has no nodes yet")
	}
	var list api.Nodes
	b.into(http.StatusOK, &list, "GET", "/v1/nodes?state=LOST", "")
	if len(list.Nodes) != 3 || list.Nodes[0].LastHeardMillis != clusterTime {
		t.Errorf("lost nodes %+v, want 3 that were last heard at %d", list.Nodes, clusterTime)
	}
	if page := b.ask("GET", "/ui/nodes/sim:1", "").Body.String(); !strings.Contains(page, "last heard at <time") {
		t.Error("the page of a lost node does not say when it was heard")
	}
	for _, found := range checkHTML(body) {
		t.Errorf("HTML of the page: %s", found)
	}
}

// TestForecastsBegin checks that the page of forecasts does not speak of too few, or of errors, where
// there are none.
func TestForecastsBegin(t *testing.T) {
	for want, report := range map[string]api.ForecastReport{
		"Nothing has waited for a minute yet.":                          {Replica: "rm1"},
		"No forecast has come due yet; 2 forecasts of what still waits": {Replica: "rm1", SinceMillis: 1000, Open: 2},
	} {
		b := newBench(t, func(c *Config) {
			c.Planner.ForecastReport = func() *api.ForecastReport { return &report }
		})
		body := b.ask("GET", "/ui/forecasts", "").Body.String()
		if !strings.Contains(body, want) || strings.Contains(body, "These are too few") ||
			strings.Contains(body, "median error") {
			t.Errorf("the page of forecasts does not say %q, or speaks of forecasts that there are not", want)
		}
	}
}

func TestHTMLCheckFindsFaults(t *testing.T) {
	for _, bad := range []string{
		"<html></html>", "<!DOCTYPE html><p><div></div></p>", "<!DOCTYPE html><ul><li></ul>",
		`<!DOCTYPE html><b id="a"></b><b id="a"></b>`,
		`<!DOCTYPE html><p style="x"></p>`, `<!DOCTYPE html><p onclick="x"></p>`,
		`<!DOCTYPE html><a href="javascript:x"></a>`, `<!DOCTYPE html><p class=x></p>`,
		`<!DOCTYPE html><td></td>`, `<!DOCTYPE html><section aria-labelledby="q"></section>`,
		`<!DOCTYPE html><a href="#"><a href="#"></a></a>`, `<!DOCTYPE html><b`,
	} {
		if len(checkHTML(bad)) == 0 {
			t.Errorf("nothing found in %s", bad)
		}
	}
}

func TestPagesThatAreNotThere(t *testing.T) {
	b := newBench(t, nil)
	for path, want := range map[string]string{
		"/ui/nope":                 "there is no page at /ui/nope",
		"/ui/apps/application_1_1": "applications that ended long ago are forgotten", "/ui/apps/x": "What to do",
		"/ui/nodes/gone": "there is no node", "/ui/queues/root.gone": "there is no queue",
		"/ui/reservations/r99": "fulfilled or cancelled",
		"/ui/apps?state=ODD":   "choose one of SUBMITTED", "/ui/apps?sort=odd": "cannot be sorted",
		"/ui/queues/root.online?sort=odd": "cannot be sorted", "/ui/nodes/sim-01:8041?sort=odd": "cannot be sorted",
		"/ui/apps?after=odd":     "begin at the first page",
		"/ui/decisions?kind=Odd": "there is no event", "/ui/conf/rollback?to=77": "is not kept",
		"/ui/conf/rollback": "which version",
	} {
		w := b.ask("GET", path, "")
		if w.Code < 400 || w.Code > 499 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: status %d, want it to say %q: %s", path, w.Code, want, w.Body)
		}
		for _, found := range checkHTML(w.Body.String()) {
			t.Errorf("%s: %s", path, found)
		}
	}
}

func TestYARNPageRedirects(t *testing.T) {
	b := newBench(t, nil)
	for from, to := range map[string]string{
		"/cluster": "/ui/", "/cluster/": "/ui/", "/cluster/apps": "/ui/apps",
		"/cluster/apps/RUNNING":                                     "/ui/apps?state=RUNNING",
		"/cluster/apps/NEW,NEW_SAVING,SUBMITTED":                    "/ui/apps?state=SUBMITTED&state=SUBMITTED&state=SUBMITTED",
		"/cluster/app/" + appOne:                                    "/ui/apps/" + appOne,
		"/cluster/appattempt/appattempt_1780000000000_0001_000001":  "/ui/apps/" + appOne + "#attempts",
		"/cluster/container/container_1780000000000_0001_01_000001": "/ui/apps/" + appOne + "#containers",
		"/cluster/nodes":                                            "/ui/nodes",
		"/cluster/nodes/lost":                                       "/ui/nodes?state=LOST",
		"/cluster/scheduler":                                        "/ui/queues", "/cluster/nodelabels": "/ui/labels",
		"/cluster/cluster": "/ui/cluster", "/cluster/about": "/ui/about",
		"/cluster/scheduler?openQueues=Queue:%20root.online": "/ui/queues/root.online",
		"/cluster/app/%3Cscript%3E":                          "/ui/apps", "/": "/ui/", "/cluster//evil.example/": "/ui/",
	} {
		w := b.ask("GET", from, "")
		if loc := w.Header().Get("Location"); w.Code/100 != 3 ||
			(loc != to && !(from == "/cluster//evil.example/" && strings.HasPrefix(loc, "/cluster/"))) {
			t.Errorf("%s leads to %q (%d), want %q", from, loc, w.Code, to)
		}
	}
}

func TestHostileNamesAreText(t *testing.T) {
	b := newBench(t, nil)
	evil := `"><script>alert(1)</script><img src=x onerror=alert(2)>'`
	b.h.apply(t, &event.ApplicationSubmitted{App: 9, Name: evil, User: evil, Queue: "root.batch", Type: evil,
		Tags: []string{evil}, Unmanaged: true, MaxAttempts: 1},
		&event.AttemptStarted{App: 9, Attempt: 1}, &event.AttemptActivated{App: 9},
		&event.AttemptRegistered{App: 9, Host: "am", RPCPort: 1, TrackingURL: "javascript:alert(3)"})
	b.h.apply(t, &event.NodeRegistered{Node: 4, ID: yarn.NodeID{Host: `<b>host`, Port: 1}, HTTPPort: 2, Rack: `/r"x`,
		Total: gpu(1024, 1, 0), Version: evil})
	for _, path := range []string{"/ui/", "/ui/apps?all=1", "/ui/apps/application_1780000000000_0009", "/ui/nodes",
		"/ui/nodes/" + url.PathEscape("<b>host:1"), "/ui/decisions",
		"/ui/queues/root.batch", "/ui/apps?find=" + url.QueryEscape(evil), "/ui/apps?user=" + url.QueryEscape(evil),
		"/ui/search?q=" + url.QueryEscape(evil), "/ui/search?q=script", "/ui/apps/" + url.PathEscape(evil),
		"/ui/?done=" + url.QueryEscape(evil)} {
		body := b.ask("GET", path, "").Body.String()
		if strings.Contains(body, "<script>alert") || strings.Contains(body, "<img src=x") ||
			strings.Contains(body, "<b>host") || strings.Contains(body, `href="javascript`) {
			t.Errorf("%s shows a hostile name as markup", path)
		}
		for _, found := range checkHTML(body) {
			t.Errorf("%s: %s", path, found)
		}
	}
}

var appInRow = regexp.MustCompile(`class="id" href="/ui/apps/(application_\d+_\d+)"`)
var nextPageLink = regexp.MustCompile(`href="([^"]+)" rel="next"`)

func TestPagingHasNoGaps(t *testing.T) {
	b := newBench(t, nil)
	crowd(t, b.h, 230)
	for _, order := range []string{"", "id", "-wait", "-memory", "priority"} {
		seen := map[string]int{}
		path := "/ui/apps?sort=" + order
		for pages := 0; path != ""; pages++ {
			body := b.ask("GET", path, "").Body.String()
			for _, m := range appInRow.FindAllStringSubmatch(body, -1) {
				seen[m[1]]++
			}
			path = ""
			if m := nextPageLink.FindStringSubmatch(body); m != nil {
				path = strings.ReplaceAll(m[1], "&amp;", "&")
			}
			if pages > 10 {
				t.Fatalf("%s: paging does not end", order)
			}
		}
		if len(seen) != 234 {
			t.Errorf("sorted by %q: %d applications, want 234", order, len(seen))
		}
		for id, n := range seen {
			if n != 1 {
				t.Errorf("sorted by %q: %s is there %d times", order, id, n)
			}
		}
	}
}

func TestPagesOnAFollowerAndWithoutALeader(t *testing.T) {
	b := newBench(t, nil)
	b.k.become(func(k *consensus) { k.role, k.staleness = "follower", 30*time.Millisecond })
	body := b.ask("GET", "/ui/", "").Body.String()
	if !strings.Contains(body, `data-status="role">follower<`) || !strings.Contains(body, ">up to date<") ||
		!strings.Contains(body, `role="alert" hidden`) {
		t.Error("a follower's page does not say so, or shows the banner")
	}
	b.k.become(func(k *consensus) { k.leader, k.role, k.staleness = "", "candidate", 5*time.Second })
	body = b.ask("GET", "/ui/apps", "").Body.String()
	if !strings.Contains(body, `id="banner" role="alert">`) || !strings.Contains(body, "as of 5 s ago") ||
		!strings.Contains(body, `data-status="role">follower<`) ||
		!strings.Contains(body, `data-status="leader">none<`) {
		t.Error("the page does not say that there is no leader")
	}
}

func TestViewersSharePageNotFormTokens(t *testing.T) {
	var passed atomic.Int64
	b := newBench(t, func(c *Config) { c.Now = func() time.Time { return time.UnixMilli(clusterTime + passed.Load()) } })
	path := "/ui/reservations/r1"
	one, two := &visitor{b: b}, &visitor{b: b}
	a, c := tokenInForm.FindStringSubmatch(one.get(path).Body.String()),
		tokenInForm.FindStringSubmatch(two.get(path).Body.String())
	if a == nil || c == nil || a[1] == c[1] || one.cookie != "rmd_token="+a[1] || two.cookie != "rmd_token="+c[1] {
		t.Fatalf("tokens %v and %v, cookies %s and %s", a, c, one.cookie, two.cookie)
	}
	live := func(tag string) *httptest.ResponseRecorder {
		return b.ask("GET", "/ui/apps", "", "X-Rmd-Live", "1", "If-None-Match", tag, "Cookie", one.cookie)
	}
	first := live("")
	if first.Code != http.StatusOK || strings.Contains(first.Body.String(), "<html") ||
		!strings.Contains(first.Body.String(), "data-live") {
		t.Fatalf("the main part: %d %s", first.Code, first.Body)
	}
	tag := first.Header().Get("ETag")
	crowd(t, b.h, 1)
	if w := live(tag); w.Code != http.StatusNotModified {
		t.Errorf("within a tick: %d", w.Code)
	}
	// On a slow machine the server may answer with the old page while it renders the new one.
	soon(t, "a page that is opened again is current", func() bool {
		return strings.Contains(b.ask("GET", "/ui/apps", "").Body.String(), "…_0005")
	})
	soon(t, "after a tick the page is new", func() bool {
		passed.Add(1000)
		w := live(tag)
		return w.Code == http.StatusOK && strings.Contains(w.Body.String(), "…_0005")
	})
}

// soon repeats a check until it holds.
func soon(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

func TestLiveStreamReplicaStatus(t *testing.T) {
	b := newBench(t, nil)
	srv := httptest.NewServer(b.s.Handler())
	defer srv.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", srv.URL+"/ui/live", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if ct := res.Header.Get("Content-Type"); ct != "text/event-stream" {
		t.Fatalf("type %q", ct)
	}
	index := b.h.index
	read := func(want string) {
		t.Helper()
		var got strings.Builder
		buf := make([]byte, 512)
		for !strings.Contains(got.String(), want) {
			n, err := res.Body.Read(buf)
			if err != nil {
				t.Fatalf("stream ended at %q: %v", got.String(), err)
			}
			got.Write(buf[:n])
		}
	}
	read(fmt.Sprintf(`"index":%d`, index))
	crowd(t, b.h, 1)
	read(fmt.Sprintf(`"index":%d`, index+1))
}

func TestStaticFilesAndNoPages(t *testing.T) {
	b := newBench(t, nil)
	for path, kind := range map[string]string{"/ui/static/rmd.css": "text/css", "/ui/static/rmd.js": "text/javascript",
		"/ui/static/icon.svg": "image/svg+xml"} {
		w := b.ask("GET", path, "")
		if w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), kind) || w.Body.Len() == 0 {
			t.Errorf("GET %s: status %d, type %q, %d bytes, want 200, %s and a body",
				path, w.Code, w.Header().Get("Content-Type"), w.Body.Len(), kind)
		}
	}
	if w := b.ask("GET", "/ui/static/../base.html", ""); w.Code == http.StatusOK {
		t.Error("a template is served")
	}
	b = newBench(t, func(c *Config) { c.NoPages = true })
	if w := b.ask("GET", "/ui/", ""); w.Code != http.StatusNotFound {
		t.Errorf("pages that are turned off: %d", w.Code)
	}
	if w := b.ask("GET", "/", ""); w.Code != http.StatusOK ||
		!strings.Contains(w.Body.String(), "a replicated YARN ResourceManager") {
		t.Errorf("the text page: %d", w.Code)
	}
}

// BenchmarkPages measures each page with 100,000 applications and 10,000 nodes, rendered again each
// time. Budget: 50 ms on one core.
func BenchmarkPages(b *testing.B) {
	w, _ := largeBench(b)
	for _, path := range []string{"/ui/", "/ui/apps", "/ui/apps?sort=-wait&find=crowd", "/ui/apps/" + appTwo, "/ui/queues",
		"/ui/queues/root.batch", "/ui/nodes", "/ui/nodes?sort=-free",
		"/ui/nodes/sim-01:8041", "/ui/reservations", "/ui/cluster", "/ui/decisions", "/ui/conf"} {
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

// largeBench serves 100,000 applications and 10,000 nodes. Its clock advances by a second whenever
// the server asks for the time, until the clock is held.
func largeBench(b *testing.B) (*bench, *heldClock) {
	clock := &heldClock{}
	w := newBench(b, func(c *Config) { c.Now = clock.now })
	for i := uint32(5); i < 100_005; i += 200 {
		var batch []event.Event
		for j := i; j < i+200; j++ {
			batch = append(batch, &event.ApplicationSubmitted{App: j, Name: "crowd", User: fmt.Sprintf("u%d", j%50),
				Queue: "root.batch", Type: "YARN", AM: gpu(1024, 1, 0), MaxAttempts: 1})
			if j%10 != 0 {
				batch = append(batch, &event.ApplicationEnded{App: j, State: yarn.AppFinished, Final: yarn.FinalSucceeded})
			}
		}
		w.h.apply(b, batch...)
	}
	var nodes []event.Event
	for i := state.NodeSlot(4); i <= 10_000; i++ {
		if nodes = append(nodes, &event.NodeRegistered{Node: i,
			ID: yarn.NodeID{Host: fmt.Sprintf("host-%05d", i), Port: 8041}, HTTPPort: 8042, Rack: fmt.Sprintf("/r%d", i%100),
			Total: gpu(65536, 16, 4), Version: "3.4.2"}); len(nodes) == 200 || i == 10_000 {
			w.h.apply(b, nodes...)
			nodes = nil
		}
	}
	return w, clock
}

// heldClock advances by itself until it is held.
type heldClock struct {
	held    atomic.Bool
	seconds atomic.Int64
}

func (c *heldClock) now() time.Time {
	if c.held.Load() {
		return time.UnixMilli(clusterTime + 1000*c.seconds.Load())
	}
	return time.UnixMilli(clusterTime + 1000*c.seconds.Add(1))
}

// BenchmarkFiftyViewers measures one second of fifty people who have pages open while the state
// changes all the time. Each page asks twice. Connections and the copies that forks cause come on
// top. Budget: 30 ms of one core, 1.5 % of two.
func BenchmarkFiftyViewers(b *testing.B) {
	w, clock := largeBench(b)
	clock.held.Store(true)
	paths := []string{"/ui/", "/ui/apps", "/ui/apps/" + appTwo, "/ui/queues", "/ui/queues/root.batch", "/ui/nodes",
		"/ui/nodes/sim-01:8041", "/ui/reservations", "/ui/cluster", "/ui/decisions", "/ui/conf"}
	tags := make([]string, 50)
	at := int64(clusterTime + 120_000)
	b.ReportAllocs()
	for b.Loop() {
		clock.seconds.Add(1)
		at += 1000
		w.h.apply(b, &event.TimeAdvanced{NowMillis: at})
		for i := range 100 {
			r := httptest.NewRequest("GET", paths[i%50%len(paths)], nil)
			r.Host = "127.0.0.1"
			r.Header.Set("X-Rmd-Live", "1")
			r.Header.Set("If-None-Match", tags[i%50])
			to := discard{http.Header{}}
			w.s.Handler().ServeHTTP(to, r)
			tags[i%50] = to.h.Get("ETag")
		}
	}
}

// TestPagesWithoutALeader checks that a replica that knows no leader shows every page from its own
// state, and says above it what to start.
func TestPagesWithoutALeader(t *testing.T) {
	for _, c := range []struct {
		down []string
		says []string
		not  string
	}{
		{[]string{"rm2", "rm3"}, []string{"There is no leader.", "2 of 3 voters must answer",
			"<b>rm2</b> at <span class=\"code\">10.0.0.2:8034</span>: <code>systemctl start rmd</code>", "<b>rm3</b>",
			"rmd recover"}, "elect one by themselves"},
		{nil, []string{"There is no leader.", "Enough voters answer to elect one by themselves", "<b>rm3</b>"},
			"must answer"},
	} {
		b := newBench(t, func(cfg *Config) {
			k := cfg.Consensus.(*consensus)
			k.role, k.leader, k.down = "follower", "", c.down
		})
		for _, path := range []string{"/ui/", "/ui/apps", "/ui/queues/root.online", "/ui/nodes", "/ui/reservations/r1",
			"/ui/cluster", "/ui/users/alice", "/ui/nowhere"} {
			w := b.ask("GET", path, "")
			body := w.Body.String()
			if path != "/ui/nowhere" && w.Code != http.StatusOK {
				t.Errorf("%s: status %d", path, w.Code)
			}
			for _, want := range c.says {
				if !strings.Contains(body, want) {
					t.Errorf("%s does not say %q", path, want)
				}
			}
			if strings.Contains(body, c.not) {
				t.Errorf("%s says %q", path, c.not)
			}
			for _, found := range checkHTML(body) {
				t.Errorf("%s: %s", path, found)
			}
		}
	}
	if body := newBench(t, nil).ask("GET", "/ui/", "").Body.String(); strings.Contains(body, "There is no leader") {
		t.Error("there is a leader, and the page says that there is none")
	}
}

// TestPageOfAUserWithAnOddName checks that a user's name may contain any characters: the link leads
// to the user's page, and the page escapes the name.
func TestPageOfAUserWithAnOddName(t *testing.T) {
	for _, name := range []string{`a/b c`, `<b>"eve"</b>&'`, "100%", "ünï?x=1#y", strings.Repeat("long", 60), "..", "."} {
		b := newBench(t, nil)
		b.h.apply(t, &event.ApplicationSubmitted{App: 9, User: name, Queue: "root.online", Unmanaged: true, MaxAttempts: 1},
			&event.AttemptStarted{App: 9, Attempt: 1})
		list := b.ask("GET", "/ui/apps?find="+url.QueryEscape(name), "").Body.String()
		link := regexp.MustCompile(`<br><span class="name" title="[^"]*"><a href="(/ui/(?:users/|apps\?user=)[^"]*)"`).FindStringSubmatch(list)
		if link == nil {
			t.Fatalf("%q: no link in %s", name, list)
		}
		w := b.ask("GET", html.UnescapeString(link[1]), "")
		if w.Code != http.StatusOK || strings.Contains(w.Body.String(), "<b>\"eve\"") ||
			!strings.Contains(w.Body.String(), "…_0009") {
			t.Errorf("%q at %s: status %d", name, link[1], w.Code)
		}
		for _, found := range checkHTML(w.Body.String()) {
			t.Errorf("%q: %s", name, found)
		}
	}
	w := newBench(t, nil).ask("GET", "/ui/users/"+strings.Repeat("x", 10_000), "")
	if w.Code != http.StatusNotFound || len(w.Body.String()) > 20_000 {
		t.Errorf("an unknown user: status %d, %d bytes", w.Code, w.Body.Len())
	}
}

// TestQueueTreeIsSortedAmongSiblings checks that queues are sorted among their siblings, so that
// the list stays a tree.
func TestQueueTreeIsSortedAmongSiblings(t *testing.T) {
	b := newBench(t, nil)
	order := func(sort string) string {
		var paths []string
		for _, m := range regexp.MustCompile(`<tr><th scope="row" class="depth-\d"><a href="/ui/queues/([^"]+)"`).FindAllStringSubmatch(b.ask("GET", "/ui/queues?sort="+sort, "").Body.String(), -1) {
			paths = append(paths, m[1])
		}
		return strings.Join(paths, " ")
	}
	for sort, want := range map[string]string{"queue": "root root.adhoc root.batch root.online root.train",
		"-queue": "root root.train root.online root.batch root.adhoc",
		"-used":  "root root.online root.train root.batch root.adhoc"} {
		if got := order(sort); got != want {
			t.Errorf("by %s: %s, want %s", sort, got, want)
		}
	}
	if w := b.ask("GET", "/ui/queues?sort=nothing", ""); w.Code != http.StatusBadRequest {
		t.Errorf("an unknown column: status %d", w.Code)
	}
}

// idleJobs is a replica that has just started again: no background job has run, and it cannot learn when
// the leader was elected.
type idleJobs struct{ *consensus }

func (idleJobs) LeaderSince(context.Context) int64 { return 0 }

func (idleJobs) Jobs() []api.Job { return []api.Job{{Name: "snapshot"}} }

// TestClusterPageAfterRestart checks that the page claims neither the success of a job that has not run
// nor the time of an election that the replica does not know.
func TestClusterPageAfterRestart(t *testing.T) {
	b := newBench(t, func(cfg *Config) {
		k := cfg.Consensus.(*consensus)
		k.role, k.leader = "follower", "rm2"
		cfg.Consensus = idleJobs{k}
	})
	body := b.ask("GET", "/ui/cluster", "").Body.String()
	if !strings.Contains(body, "<b>rm2</b> leads</li>") || !strings.Contains(body, "<td>not run yet</td>") ||
		strings.Contains(body, "<td>ok") {
		t.Errorf("after a start:\n%s", body)
	}
	if seen := newBench(t, nil).ask("GET", "/ui/cluster", "").Body.String(); !strings.Contains(seen, "</b> leads since ") ||
		!strings.Contains(seen, "<td>ok</td>") {
		t.Errorf("with an election that the replica knows:\n%s", seen)
	}
}
