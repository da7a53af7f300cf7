package httpserver

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"rmd/api"
	"rmd/fsm/event"
	"rmd/scheduler/capacity"
	"rmd/scheduler/capacity/preset"
	"rmd/scheduler/input"
	"rmd/transport/http/auth"
	"rmd/transport/http/problem"
	"rmd/yarn"
)

// visitor is a browser without JavaScript. It keeps its cookie.
type visitor struct {
	b      *bench
	cookie string
}

var tokenInForm = regexp.MustCompile(`name="token" value="([0-9a-f]+)"`)

func (v *visitor) get(path string) *httptest.ResponseRecorder {
	v.b.t.Helper()
	w := v.b.ask("GET", path, "", "Cookie", v.cookie)
	for _, c := range w.Result().Cookies() {
		v.cookie = c.Name + "=" + c.Value
		if c.SameSite != http.SameSiteStrictMode || !c.HttpOnly {
			v.b.t.Errorf("cookie %v", c)
		}
	}
	return w
}

// post opens a page, fills in a form with the token of that page, and sends the form.
func (v *visitor) post(page, action string, fields ...string) *httptest.ResponseRecorder {
	v.b.t.Helper()
	m := tokenInForm.FindStringSubmatch(v.get(page).Body.String())
	if m == nil {
		v.b.t.Fatalf("%s has no form with a token", page)
	}
	form := url.Values{"token": {m[1]}}
	for i := 0; i+1 < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	return v.b.ask("POST", action, form.Encode(), "Content-Type", "application/x-www-form-urlencoded", "Cookie", v.cookie)
}

func TestActionsGoThroughTheSubmitter(t *testing.T) {
	app := func(seq uint32) yarn.ApplicationID {
		return yarn.ApplicationID{ClusterTimestamp: clusterTime, Seq: seq}
	}
	node := yarn.NodeID{Host: "sim-01", Port: 8041}
	for _, c := range []struct {
		page, action, leads string
		fields              []string
		want                func(in input.Input) bool
	}{
		{"/ui/apps/" + appTwo, "/ui/apps/" + appTwo + "/kill", "/ui/apps/" + appTwo + "?done=kill",
			[]string{"reason", "too large"}, func(in input.Input) bool {
				k, ok := in.(*input.KillApplication)
				return ok && k.ID == app(2) && k.Diagnostics == "Application "+appTwo+
					" was killed by user dr.who at 127.0.0.1 with diagnostic message: too large"
			}},
		{"/ui/apps/" + appTwo, "/ui/apps/" + appTwo + "/move", "/ui/apps/" + appTwo + "?done=move",
			[]string{"queue", "root.batch"}, func(in input.Input) bool {
				k, ok := in.(*input.MoveApplication)
				return ok && k.ID == app(2) && k.Queue == "root.batch"
			}},
		{"/ui/apps/" + appTwo, "/ui/apps/" + appTwo + "/priority", "/ui/apps/" + appTwo + "?done=priority",
			[]string{"priority", "5"}, func(in input.Input) bool {
				k, ok := in.(*input.SetPriority)
				return ok && k.ID == app(2) && k.Priority == 5
			}},
		{"/ui/reservations/r1", "/ui/reservations/r1/cancel", "/ui/reservations?done=cancel",
			[]string{"reason", "holds up three"}, func(in input.Input) bool {
				k, ok := in.(*input.CancelReservation)
				return ok && k.Number == 1 && k.Reason == "holds up three"
			}},
		{"/ui/nodes/sim-01:8041", "/ui/nodes/sim-01:8041/drain", "/ui/nodes/sim-01:8041?done=drain",
			[]string{"timeout", "1h"}, func(in input.Input) bool {
				k, ok := in.(*input.DrainNode)
				return ok && k.ID == node && k.DeadlineMillis == clusterTime+3_600_000
			}},
		{"/ui/nodes/sim-01:8041", "/ui/nodes/sim-01:8041/undrain", "/ui/nodes/sim-01:8041?done=undrain", nil,
			func(in input.Input) bool {
				k, ok := in.(*input.DrainNode)
				return ok && k.Back
			}},
		{"/ui/nodes/sim-01:8041", "/ui/nodes/sim-01:8041/resource", "/ui/nodes/sim-01:8041?done=resource",
			[]string{"total.memory-mb", "32768", "total.vcores", "8"}, func(in input.Input) bool {
				k, ok := in.(*input.SetNodeResource)
				return ok && k.Total == gpu(32768, 8, 0)
			}},
		{"/ui/queues/root.online", "/ui/queues/root.online/stop", "/ui/queues/root.online?done=stop", nil,
			func(in input.Input) bool {
				k, ok := in.(*input.SetQueueState)
				return ok && k.Queue == "root.online" && k.State == yarn.QueueStopped
			}},
		{"/ui/labels", "/ui/labels/add", "/ui/labels?done=label", []string{"name", " fpga ", "exclusive", "no"},
			func(in input.Input) bool {
				k, ok := in.(*input.SetLabels)
				return ok && slices.Equal(k.Labels, []input.Label{{Name: "fpga"}})
			}},
		{"/ui/labels/gpu", "/ui/labels/gpu/map", "/ui/labels/gpu?done=map", []string{"nodes", "sim-01, sim-03:8041"},
			func(in input.Input) bool {
				k, ok := in.(*input.LabelNodes)
				return ok && len(k.Nodes) == 2 && k.Nodes[0].ID.Host == "sim-01" && k.Nodes[1].ID.Port == 8041 &&
					slices.Equal(k.Nodes[1].Labels, []string{"gpu"})
			}},
		{"/ui/labels/gpu", "/ui/labels/gpu/map", "/ui/labels/gpu?done=map", []string{"nodes", "sim-02", "take", "1"},
			func(in input.Input) bool {
				k, ok := in.(*input.LabelNodes)
				return ok && len(k.Nodes) == 1 && k.Nodes[0].Labels == nil
			}},
		{"/ui/labels/gpu", "/ui/labels/gpu/remove", "/ui/labels?done=unlabel", nil, func(in input.Input) bool {
			k, ok := in.(*input.RemoveLabels)
			return ok && slices.Equal(k.Names, []string{"gpu"})
		}},
		{"/ui/conf/rollback?to=1", "/ui/conf/rollback", "/ui/conf?done=rollback", []string{"to", "1", "comment", "as before"},
			func(in input.Input) bool {
				k, ok := in.(*input.RollbackQueues)
				return ok && k.To == 1 && k.Comment == "as before"
			}},
	} {
		b := newBench(t, nil)
		if strings.HasPrefix(c.page, "/ui/labels") {
			labelled(t, b.h)
		}
		w := (&visitor{b: b}).post(c.page, c.action, c.fields...)
		if w.Code != http.StatusSeeOther || w.Header().Get("Location") != c.leads {
			t.Errorf("%s: status %d to %q: %s", c.action, w.Code, w.Header().Get("Location"), w.Body)
			continue
		}
		if in := b.d.last(t).Input; !c.want(in) {
			t.Errorf("%s sent %+v", c.action, in)
		}
	}
}

func TestTransferAndSnapshotFromThePages(t *testing.T) {
	b := newBench(t, nil)
	v := &visitor{b: b}
	if w := v.post("/ui/cluster", "/ui/cluster/transfer", "id", "rm2"); w.Code != http.StatusSeeOther {
		t.Errorf("transfer: %d %s", w.Code, w.Body)
	}
	if !slices.Contains(b.k.calls, "transfer rm2") {
		t.Errorf("calls %v", b.k.calls)
	}
	if w := v.post("/ui/cluster", "/ui/cluster/snapshot"); w.Code != http.StatusSeeOther {
		t.Errorf("snapshot: %d %s", w.Code, w.Body)
	}
}

func TestForeignFormsRefused(t *testing.T) {
	b := newBench(t, nil)
	v := &visitor{b: b}
	v.get("/ui/apps/" + appTwo)
	form := "application/x-www-form-urlencoded"
	path := "/ui/apps/" + appTwo + "/kill"
	for name, w := range map[string]*httptest.ResponseRecorder{
		"no cookie": b.ask("POST", path, "token=00", "Content-Type", form),
		"no token":  b.ask("POST", path, "reason=x", "Content-Type", form, "Cookie", v.cookie),
		"wrong token": b.ask("POST", path, "token=00112233445566778899aabbccddeeff", "Content-Type", form,
			"Cookie", v.cookie),
		"empty both": b.ask("POST", path, "token=", "Content-Type", form, "Cookie", "rmd_token="),
		"other site": b.ask("POST", path, "token="+strings.TrimPrefix(v.cookie, "rmd_token="), "Content-Type", form,
			"Cookie", v.cookie, "Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"),
		"not a form": b.ask("POST", path, `{"token":"x"}`, "Content-Type", "application/json", "Cookie", v.cookie),
		"token in query": b.ask("POST", path+"?token="+strings.TrimPrefix(v.cookie, "rmd_token="), "", "Content-Type", form,
			"Cookie", v.cookie),
		"plain text form": b.ask("POST", path, "token=x", "Content-Type", "text/plain", "Cookie", v.cookie),
	} {
		if w.Code != http.StatusForbidden && w.Code != http.StatusUnsupportedMediaType {
			t.Errorf("%s: status %d", name, w.Code)
		}
	}
	if asked := b.d.asked(); len(asked) > 0 {
		t.Errorf("something came through the submitter: %+v", asked)
	}
	if w := b.ask("GET", path, ""); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("an action by GET: %d", w.Code)
	}
}

// TestActionsHaveTheAdmissionOfTheAPI checks that the actions of pages are admitted like writes of
// the API. Plain HTTP on a public address, for example, only reads.
func TestActionsHaveTheAdmissionOfTheAPI(t *testing.T) {
	b := newBench(t, func(c *Config) {
		c.Admit = func(_ *http.Request, class auth.Class) error {
			if class == auth.ClassWrite {
				return problem.New(api.CodeNotAllowed, "reads only", "use HTTPS")
			}
			return nil
		}
	})
	w := (&visitor{b: b}).post("/ui/reservations/r1", "/ui/reservations/r1/cancel")
	if w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), "use HTTPS") || len(b.d.asked()) > 0 {
		t.Errorf("status %d, %d inputs: %s", w.Code, len(b.d.asked()), w.Body)
	}
	b = newBench(t, func(c *Config) {
		c.Admit = func(*http.Request, auth.Class) error { return problem.New(api.CodeNotAllowed, "not you", "log in") }
	})
	if w := b.ask("GET", "/ui/apps", ""); w.Code != http.StatusForbidden {
		t.Errorf("a page without admission: %d", w.Code)
	}
}

func TestRefusalsAreShown(t *testing.T) {
	b := newBench(t, nil)
	b.d.answering(func(_ context.Context, r input.Request) (input.Reply, uint64, error) {
		return input.Refuse(r.Input, input.Refusef(input.NoSuchReservation, "see the list", "it was fulfilled meanwhile")), 7,
			nil
	})
	w := (&visitor{b: b}).post("/ui/reservations/r1", "/ui/reservations/r1/cancel")
	if body := w.Body.String(); w.Code != http.StatusNotFound || !strings.Contains(body, "NO_SUCH_RESERVATION") ||
		!strings.Contains(body, "it was fulfilled meanwhile") || !strings.Contains(body, "Not done") {
		t.Errorf("status %d: %s", w.Code, body)
	}
}

func TestConfigurationIsStagedAppliedAndKeptSecret(t *testing.T) {
	b := newBench(t, nil)
	v := &visitor{b: b}
	w := v.post("/ui/queues/root.online", "/ui/conf/stage", "base", "2", "queue", "root.online", "set.maximum-capacity",
		"80", "set.maximum-applications", "")
	body := w.Body.String()
	for _, want := range []string{"Staged change", "Nothing has been written", "maximum-capacity", "<ins>80",
		"<del>7</del>", "Apply it", `name="base" value="2"`, "What would happen", "would start at once"} {
		if w.Code != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("status %d, the staged change does not say %q", w.Code, want)
		}
	}
	for _, found := range checkHTML(body) {
		t.Errorf("HTML of the staged change: %s", found)
	}
	if len(b.d.asked()) > 0 {
		t.Fatal("staging wrote something")
	}
	w = v.post("/ui/queues/root.online", "/ui/conf/stage", "base", "2", "queue", "root.online", "set.capacity", "240")
	if body := w.Body.String(); !strings.Contains(body, "not valid") || strings.Contains(body, "Apply it") {
		t.Errorf("a wrong capacity is not refused: %s", body)
	}
	text := "yarn.scheduler.capacity.root.queues = a\nyarn.scheduler.capacity.root.a.capacity = 100\n# a remark\n"
	if w = v.post("/ui/conf/edit", "/ui/conf/apply", "base", "2", "text", text, "comment",
		"one queue"); w.Code != http.StatusSeeOther {
		t.Fatalf("apply: %d %s", w.Code, w.Body)
	}
	in, ok := b.d.last(t).Input.(*input.SetQueues)
	if !ok || in.IfVersion != 2 || in.Comment != "one queue" || len(in.Properties) != 2 || in.DryRun {
		t.Errorf("applied %+v", in)
	}
	for text, want := range map[string]string{"no equals": "NAME = VALUE", "a = 1\na = 2": "second value"} {
		if w := v.post("/ui/conf/edit", "/ui/conf/stage", "base", "2", "text", text); w.Code != http.StatusBadRequest ||
			!strings.Contains(w.Body.String(), want) {
			t.Errorf("staging %q: status %d, want 400 and a page that says %q", text, w.Code, want)
		}
	}
}

func TestHiddenValuesStayHiddenAndSurvive(t *testing.T) {
	b := newBench(t, nil)
	const name = "yarn.scheduler.capacity.root.password"
	old := b.h.st.Versions.Current()
	e := &event.QueuesConfigured{Version: 3, Kinds: old.Kinds, Dominant: old.Dominant}
	for _, p := range old.Properties {
		e.Properties = append(e.Properties, event.Property{Name: p.Name, Value: p.Value})
	}
	e.Properties = append(e.Properties, event.Property{Name: name, Value: "hunter2"})
	for _, q := range b.s.views.At(b.h.st, 1).Conf.Queues {
		e.Queues = append(e.Queues, event.QueueDefinition{Path: q.Path, Leaf: q.Leaf, State: q.State})
	}
	b.h.apply(t, e)
	v := &visitor{b: b}
	for _, path := range []string{"/ui/conf", "/ui/conf/edit", "/ui/conf?from=2&to=3", "/ui/decisions?kind=all"} {
		if body := v.get(path).Body.String(); strings.Contains(body, "hunter2") {
			t.Errorf("%s shows a hidden value", path)
		}
	}
	w := v.post("/ui/queues/root.online", "/ui/conf/stage", "base", "3", "queue", "root.online",
		"set.maximum-capacity", "90")
	if strings.Contains(w.Body.String(), "hunter2") {
		t.Error("the staged change shows a hidden value")
	}
	if w = v.post("/ui/conf/edit", "/ui/conf/apply", "base", "3", "text",
		name+" = ********\nyarn.scheduler.capacity.root.queues = a\n"); w.Code != http.StatusSeeOther {
		t.Fatalf("apply: %d %s", w.Code, w.Body)
	}
	in := b.d.last(t).Input.(*input.SetQueues)
	if !slices.ContainsFunc(in.Properties, func(p input.Property) bool { return p.Name == name && p.Value == "hunter2" }) {
		t.Error("the hidden value is lost")
	}
}

// TestSiblingCapacitiesForm checks the form with the capacities of all children of a queue. The
// server checks their sum, also without JavaScript.
func TestSiblingCapacitiesForm(t *testing.T) {
	b := newBench(t, nil)
	v := &visitor{b: b}
	page := b.ask("GET", "/ui/queues/root", "").Body.String()
	for _, want := range []string{"Capacities of the child queues", `name="capacity.root.online"`,
		`name="capacity.root.train"`, `<output class="badge good">100%</output>`} {
		if !strings.Contains(page, want) {
			t.Errorf("the parent's page does not say %q", want)
		}
	}
	stage := func(values ...string) string {
		t.Helper()
		w := v.post("/ui/queues/root", "/ui/conf/stage", append([]string{"base", "2", "siblings", "root"}, values...)...)
		for _, found := range checkHTML(w.Body.String()) {
			t.Errorf("HTML of the staged capacities: %s", found)
		}
		return w.Body.String()
	}
	body := stage("capacity.root.online", "12.5")
	if !strings.Contains(body, "not valid") || strings.Contains(body, "Apply it") ||
		!strings.Contains(body, `name="capacity.root.online" value="12.5"`) ||
		!strings.Contains(body, `<output class="badge bad">`) {
		t.Errorf("a wrong sum is not refused: %s", body)
	}
	body = stage("capacity.root.batch", "30", "capacity.root.train", "30", "capacity.root.online", "29.5",
		"capacity.root.adhoc", "10.5", "capacity.root", "7", "capacity.root.other", "7")
	for _, want := range []string{`<output class="badge good">100%</output>`, "<ins>29.5", "Apply it",
		"What would happen"} {
		if !strings.Contains(body, want) {
			t.Errorf("it does not say %q", want)
		}
	}
	if strings.Contains(body, "root.other") || len(b.d.asked()) > 0 {
		t.Error("a queue that is no child was set, or staging wrote something")
	}
	for values, sum := range map[string]string{"1w 2.5w 3w 4w": "10.5w", "[memory=1] 2 3 4": "of different kinds",
		"1e400 2 3 4": "of different kinds", "33.3333 33.3333 33.3334 0": "100%", "<b> 1 2 3": "of different kinds"} {
		f := strings.Fields(values)
		if body := stage("capacity.root.batch", f[0], "capacity.root.train", f[1], "capacity.root.online", f[2],
			"capacity.root.adhoc", f[3]); !strings.Contains(body, ">"+sum+"</output>") {
			t.Errorf("%s does not come to %s", values, sum)
		}
	}
}

// TestPagesHideWhatIsOff checks that pages do not link to pages that have nothing to show, nor to
// the login if nobody needs one.
func TestPagesHideWhatIsOff(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Log = nil })
	body := b.ask("GET", "/ui/", "").Body.String()
	for _, off := range []string{`href="/ui/replay"`, `href="/ui/login`} {
		if strings.Contains(body, off) {
			t.Errorf("%s is shown", off)
		}
	}
	if !strings.Contains(body, `<th scope="row">gpu</th>`) {
		t.Error("the cluster has GPUs, and they are not shown")
	}
	b = newBench(t, nil)
	body = b.ask("GET", "/ui/", "").Body.String()
	for _, on := range []string{`href="/ui/replay"`} {
		if !strings.Contains(body, on) {
			t.Errorf("%s is hidden", on)
		}
	}
}

// TestFormsShowTheSettingsInForce changes the configuration when no time is left to render pages
// again. The form of a page is not renewed while the page is open, so it must have the new value when
// the page is opened.
func TestFormsShowTheSettingsInForce(t *testing.T) {
	b := newBench(t, nil)
	const page = "/ui/queues/root.online"
	for began, now := time.Now(), b.h.st.Meta.NowMillis+1; time.Since(began) < time.Second; now++ {
		b.h.apply(t, &event.TimeAdvanced{NowMillis: now})
		b.ask("GET", page, "")
	}
	changed := append(preset.Demo(), capacity.Property{Name: capacity.Prefix + "root.online.maximum-capacity", Value: "83"})
	b.h.apply(t, configured(t, 3, changed, ""))
	if body := b.ask("GET", page, "").Body.String(); !strings.Contains(body, `value="83"`) {
		t.Errorf("the form does not have the new maximum:\n%s", body)
	}
}
