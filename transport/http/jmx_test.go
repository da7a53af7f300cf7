package httpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"rmd/fsm/event"
	"rmd/scheduler/capacity"
	"rmd/scheduler/capacity/preset"
	"rmd/scheduler/input"
	yarnweb "rmd/transport/http/yarn"
	"rmd/yarn"
)

// TestRecordedBeans checks that the beans have the names, types and attribute order of Hadoop's.
func TestRecordedBeans(t *testing.T) {
	b := recordedBench(t)
	shapes := func(text []byte) map[string]*shape {
		s, err := jsonShape(text)
		if err != nil {
			t.Fatal(err)
		}
		var names struct {
			Beans []struct {
				Name string `json:"name"`
			} `json:"beans"`
		}
		if err := json.Unmarshal(text, &names); err != nil {
			t.Fatal(err)
		}
		out := map[string]*shape{}
		for i, k := range names.Beans {
			out[k.Name] = s.inner["beans"].items[i]
		}
		return out
	}
	want := shapes(recordedFile(t, "jmx.json"))
	got := shapes(b.ask(http.MethodGet, "/jmx", "").Body.Bytes())
	if len(want) < 7 {
		t.Fatalf("%d beans recorded", len(want))
	}
	for name, w := range want {
		if got[name] == nil {
			t.Errorf("no bean %s", name)
			continue
		}
		for _, d := range differences(name, w, got[name]) {
			t.Errorf("GET /jmx against the recording: %s", d)
		}
	}
}

func TestBeanQueries(t *testing.T) {
	b := recordedBench(t)
	for query, want := range map[string]int{
		"qry=Hadoop:service=ResourceManager,name=ClusterMetrics": 1, "qry=Hadoop:service=Nope,name=x": 0,
		"qry=Hadoop:service=ResourceManager,name=QueueMetrics,*":       3,
		"qry=Hadoop:name=QueueMetrics,service=ResourceManager,q0=root": 1, "qry=java.lang:*": 1,
		"qry=Hadoop:service=ResourceManager,name=*Metrics": 2, "": 8,
	} {
		var d struct {
			Beans []map[string]any `json:"beans"`
		}
		b.into(200, &d, "GET", "/jmx?"+query, "")
		if len(d.Beans) != want {
			t.Errorf("%s: %d beans, want %d", query, len(d.Beans), want)
		}
	}
	var d struct {
		Beans []map[string]any `json:"beans"`
	}
	b.into(200, &d, "GET", "/jmx?get=Hadoop:service=ResourceManager,name=ClusterMetrics::NumActiveNMs", "")
	if len(d.Beans) != 1 || len(d.Beans[0]) != 3 || d.Beans[0]["NumActiveNMs"] != 1.0 {
		t.Errorf("one attribute: %v", d.Beans)
	}
	if got := b.ask("GET", "/jmx?qry=::", "").Body.String(); strings.TrimSpace(got) != "{}" &&
		strings.TrimSpace(got) != "{ }" {
		t.Errorf("no query: %q", got)
	}
	b.into(200, &d, "GET", "/jmx?qry=Hadoop:service=ResourceManager,name=QueueMetrics,q0=root,q1=default", "")
	for name, want := range map[string]float64{"AppsSubmitted": 2, "AppsRunning": 1, "AppsCompleted": 1,
		"AllocatedMB": 768, "AllocatedContainers": 3, "running_0": 1, "UsedAMResourceMB": 256, "AMResourceLimitMB": 2048} {
		if d.Beans[0][name] != want {
			t.Errorf("%s is %v, want %v", name, d.Beans[0][name], want)
		}
	}
}

func TestSettings(t *testing.T) {
	b := newBench(t, func(c *Config) {
		c.Hadoop.Settings = func() []yarnweb.Setting {
			return []yarnweb.Setting{{Name: "yarn.resourcemanager.am.max-attempts", Value: "2", File: "yarn-site.xml",
				Final: true}, {Name: "ssl.server.keystore.password", Value: "hush", File: "ssl.xml"}}
		}
	})
	want, err := jsonShape(recordedFile(t, "conf_name.json"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := jsonShape(b.ask("GET", "/conf?name=yarn.resourcemanager.am.max-attempts", "", "Accept",
		"application/json").Body.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range differences("", want, got) {
		t.Errorf("GET /conf as JSON against the recording: %s", d)
	}
	if want, err = xmlShape(recordedFile(t, "conf_name.xml")); err != nil {
		t.Fatal(err)
	}
	if got, err = xmlShape(b.ask("GET", "/conf?name=yarn.resourcemanager.am.max-attempts", "").Body.Bytes()); err != nil {
		t.Fatal(err)
	}
	for _, d := range differences("", want, got) {
		t.Errorf("GET /conf as XML against the recording: %s", d)
	}
	text := b.ask("GET", "/conf", "").Body.String()
	if !strings.Contains(text, "<name>yarn.scheduler.capacity.root.online.maximum-applications</name><value>7</value>") ||
		!strings.Contains(text, "<final>true</final>") || strings.Contains(text, "hush") {
		t.Errorf("GET /conf: want maximum-applications 7 of root.online, final values and no secret: %s",
			text)
	}
	for name, want := range map[string]string{"hadoop.http.authentication.type": `"value":"simple"`,
		"yarn.webapp.scheduler-ui.read-only.enable": `"value":"false"`} { // the UI of 3.5 asks for both
		w := b.ask("GET", "/conf?name="+name, "", "Accept", "application/json")
		if w.Code != 200 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s, want %s", name, w.Code, w.Body, want)
		}
	}
	if w := b.ask("GET", "/conf?name=no.such", ""); w.Code != 404 {
		t.Errorf("status %d", w.Code)
	}
}

// TestSchedulerConfNeedsAnAdministrator checks that only users in yarn.admin.acl may change the
// queues, as with -refreshQueues. This check does not apply to callers with a role of rmd: their
// role was checked before.
func TestSchedulerConfNeedsAnAdministrator(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Hadoop.Admin = func(user string) bool { return user == "root" } })
	const path, body = "/ws/v1/cluster/scheduler-conf",
		`{"update-queue":{"queue-name":"root.batch","params":{"entry":[{"key":"maximum-capacity","value":"90"}]}}}`
	for user, want := range map[string]int{"?user.name=root": 200, "?user.name=ann": 403, "": 403} {
		before := len(b.d.asked())
		w := b.ask("PUT", path+user, body)
		if w.Code != want || (len(b.d.asked()) == before) != (want == 403) {
			t.Errorf("PUT scheduler-conf%s: status %d, want %d; %d inputs proposed: %s",
				user, w.Code, want, len(b.d.asked())-before, w.Body)
		}
		if want == 403 && (!strings.Contains(w.Body.String(), `"exception":"ForbiddenException"`) ||
			!strings.Contains(w.Body.String(), "Only admins can carry out this operation.")) {
			t.Errorf("PUT scheduler-conf%s: want a ForbiddenException that says only admins may: %s",
				user, w.Body)
		}
	}
}

// TestSchedulerConfByQueueAdministrators checks that administrators of queues may ask for a change
// if the mutation policy allows it. The planner makes the decision, and the input names the user.
func TestSchedulerConfByQueueAdministrators(t *testing.T) {
	b := guardedBench(t, func(c *Config) {
		c.Hadoop.Admin = func(string) bool { return false }
		c.Hadoop.Groups = func(user string) []string { return []string{"of-" + user} }
	})
	const path, body = "/ws/v1/cluster/scheduler-conf",
		`{"update-queue":{"queue-name":"root.batch","params":{"entry":[{"key":"maximum-capacity","value":"90"}]}}}`
	ask := func(method, path, body string, policy bool) (*httptest.ResponseRecorder, *input.SetQueues) {
		props := preset.Demo()
		if policy {
			props = append(props, capacity.Property{Name: capacity.MutationPolicyKey,
				Value: "QueueAdminConfigurationMutationACLPolicy"}, capacity.Property{Name: "yarn.acl.enable", Value: "true"})
		}
		b.h.apply(t, configured(t, b.h.st.Versions.Current().Version+1, props, "policy"))
		before := len(b.d.asked())
		w := b.ask(method, path, body, bearer("submit")...)
		if len(b.d.asked()) == before {
			return w, nil
		}
		return w, b.d.last(t).Input.(*input.SetQueues)
	}
	if w, in := ask("PUT", path+"?user.name=submit", body, false); w.Code != 403 || in != nil ||
		!strings.Contains(w.Body.String(), "Only admins can carry out this operation.") {
		t.Errorf("without the policy: %d %s", w.Code, w.Body)
	}
	if w, in := ask("PUT", path+"?user.name=submit", body, true); w.Code != 200 || in == nil || in.User != "submit" ||
		!slices.Equal(in.Groups, []string{"of-submit"}) {
		t.Errorf("with the policy: %d %s, %+v", w.Code, w.Body, in)
	}
	if w, in := ask("PUT", path+"?user.name=root", body, true); w.Code != 403 || in != nil {
		t.Errorf("as another user: %d %s", w.Code, w.Body)
	}
	if w, in := ask("PUT", "/v1/conf", `{"properties":{"yarn.scheduler.capacity.root.queues":"a"}}`,
		true); w.Code != 200 || in == nil || in.User != "submit" || !slices.Equal(in.Groups, []string{"of-submit"}) {
		t.Errorf("by /v1: %d %s, %+v", w.Code, w.Body, in)
	}
}

// TestSchedulerConf checks that a change document of YARN becomes a whole configuration, based on
// the one in force, with its version as a condition.
func TestSchedulerConf(t *testing.T) {
	b := newBench(t, nil)
	const path = "/ws/v1/cluster/scheduler-conf"
	has := func(name string) (string, bool) {
		in := b.d.last(t).Input.(*input.SetQueues)
		if in.IfVersion != 2 {
			t.Fatalf("on version %d", in.IfVersion)
		}
		for _, p := range in.Properties {
			if p.Name == "yarn.scheduler.capacity."+name {
				return p.Value, true
			}
		}
		return "", false
	}
	put := func(status int, want, media, body string) {
		t.Helper()
		w := b.ask("PUT", path, body, "Content-Type", media)
		if w.Code != status || !strings.HasPrefix(w.Body.String(), want) {
			t.Fatalf("PUT %s of %s: status %d, want %d and a body that begins with %q: %s",
				media, body, w.Code, status, want, w.Body)
		}
	}
	const done = "Configuration change successfully applied."
	put(200, done, "application/json",
		`{"update-queue":{"queue-name":"root.batch","params":{"entry":[{"key":"maximum-capacity","value":"90"}]}}}`)
	if v, _ := has("root.batch.maximum-capacity"); v != "90" {
		t.Errorf("maximum %q", v)
	}
	put(200, done, "application/xml",
		`<sched-conf><remove-queue>root.batch</remove-queue><add-queue><queue-name>root.new</queue-name><params><entry><key>capacity</key><value>5</value></entry></params></add-queue>`+
			`<update-queue><queue-name>root.online</queue-name><params><entry><key>maximum-applications</key><value></value></entry></params></update-queue>`+
			`<global-updates><entry><key>yarn.scheduler.capacity.node-locality-delay</key><value>3</value></entry></global-updates></sched-conf>`)
	if v, _ := has("root.queues"); strings.Contains(v, "batch") || !strings.HasSuffix(v, ",new") {
		t.Errorf("queues %q", v)
	}
	for _, name := range []string{"root.batch.capacity", "root.online.maximum-applications"} {
		if v, ok := has(name); ok {
			t.Errorf("%s is still %q", name, v)
		}
	}
	if v, _ := has("node-locality-delay"); v != "3" {
		t.Errorf("delay %q", v)
	}
	put(200, done, "application/json",
		`{"sched-conf":{"add-queue":[{"queue-name":"root.x","params":{"entry":{"key":"capacity","value":"0"}}}]}}`)
	if v, _ := has("root.x.capacity"); v != "0" {
		t.Errorf("capacity %q", v)
	}
	put(400, "Queue root.nosuch not found", "application/xml",
		`<sched-conf><remove-queue>root.nosuch</remove-queue></sched-conf>`)
	put(400, "Can't add existing queue root.online", "application/json",
		`{"add-queue":{"queue-name":"root.online","params":{}}}`)
	put(400, `{"RemoteException":{"exception":"WebApplicationException"`, "application/xml", `<sched-conf`)
	b.d.answering(refuse(input.Refusef(input.InvalidQueues, "nothing was changed", "the queue configuration is invalid")))
	put(400, "Failed to re-init queues : the queue configuration is invalid", "application/json", `{}`)
	w := b.ask("POST", path+"/validate",
		`<sched-conf><update-queue><queue-name>root.batch</queue-name><params><entry><key>capacity</key><value>70</value></entry></params></update-queue></sched-conf>`, "Content-Type", "application/xml")
	if w.Code != 400 || !strings.HasPrefix(w.Body.String(), "CapacityScheduler configuration validation failed:") {
		t.Errorf("validate: %d %s", w.Code, w.Body)
	}
	w = b.ask("POST", path+"/validate", `{}`, "Content-Type", "application/json")
	if w.Code != 200 || !strings.HasPrefix(w.Body.String(), `{"property":[{"name":"yarn.`) {
		t.Errorf("validate: %d %s", w.Code, w.Body)
	}
}

// refuse answers every input with a refusal.
func refuse(f *input.Refusal) func(context.Context, input.Request) (input.Reply, uint64, error) {
	return func(_ context.Context, r input.Request) (input.Reply, uint64, error) {
		return input.Refuse(r.Input, f), 0, nil
	}
}

func TestLogLevel(t *testing.T) {
	b := newBench(t, nil)
	w := b.ask("GET", "/logLevel?log=<x>", "")
	if w.Code != 200 || strings.Count(w.Body.String(), "<!-- OUTPUT -->") != 3 ||
		strings.Contains(w.Body.String(), "<x>") {
		t.Errorf("GET /logLevel: status %d, want 200, three outputs and the name <x> escaped: %s",
			w.Code, w.Body)
	}
	if w := b.ask("GET", "/logLevel?log=x&level=DEBUG", ""); w.Code != 403 {
		t.Errorf("status %d", w.Code)
	}
}

// TestCountersNeverFall checks that applications are counted since the cluster was created: also
// those that the state has forgotten, and those of queues that were removed. At every step,
// submitted = pending + running + completed + failed + killed.
func TestCountersNeverFall(t *testing.T) {
	b := newBench(t, nil)
	type counts struct{ submitted, pending, running, completed, failed, killed float64 }
	check := func(what string, want counts) {
		t.Helper()
		if sum := want.pending + want.running + want.completed + want.failed + want.killed; sum != want.submitted {
			t.Fatalf("%s: the test expects %v of %v", what, sum, want.submitted)
		}
		var ws struct {
			M map[string]any `json:"clusterMetrics"`
		}
		b.into(200, &ws, "GET", "/ws/v1/cluster/metrics", "")
		var jmx struct{ Beans []map[string]any }
		b.into(200, &jmx, "GET", "/jmx?qry=Hadoop:service=ResourceManager,name=QueueMetrics,q0=root", "")
		for k, w := range map[string]float64{"Submitted": want.submitted, "Pending": want.pending, "Running": want.running,
			"Completed": want.completed, "Failed": want.failed, "Killed": want.killed} {
			if rest, bean := ws.M["apps"+k], jmx.Beans[0]["Apps"+k]; rest != w || bean != w {
				t.Errorf("%s: apps%s is %v in REST and %v in JMX, want %v", what, k, rest, bean, w)
			}
		}
		text := b.ask("GET", "/metrics", "").Body.String()
		for _, line := range []string{fmt.Sprintf("rmd_apps_submitted_total %v\n", want.submitted),
			fmt.Sprintf("rmd_apps_ended_total{state=\"FINISHED\"} %v\n", want.completed),
			fmt.Sprintf("rmd_apps_ended_total{state=\"KILLED\"} %v\n", want.killed)} {
			if !strings.Contains(text, line) {
				t.Errorf("%s: /metrics does not have %q", what, line)
			}
		}
	}
	check("at first", counts{submitted: 4, pending: 1, running: 2, completed: 1})
	b.h.apply(t, &event.ApplicationForgotten{App: 4})
	check("one forgotten", counts{submitted: 4, pending: 1, running: 2, completed: 1})
	with := append(preset.Demo(), capacity.Property{Name: capacity.Prefix + "root.ann.capacity", Value: "0"})
	for i := range with {
		if with[i].Name == capacity.Prefix+"root.queues" {
			with[i].Value += ",ann"
		}
	}
	b.h.apply(t, configured(t, 3, with, ""))
	submit(t, b.h, 5, "root.ann", "ann")
	b.h.apply(t, &event.AttemptEnded{App: 5, Final: yarn.FinalKilled},
		&event.ApplicationEnded{App: 5, State: yarn.AppKilled})
	check("one killed", counts{submitted: 5, pending: 1, running: 2, completed: 1, killed: 1})
	b.h.apply(t, configured(t, 4, preset.Demo(), ""))
	check("its queue removed", counts{submitted: 5, pending: 1, running: 2, completed: 1, killed: 1})
	b.h.apply(t, &event.ApplicationForgotten{App: 5})
	check("it is forgotten", counts{submitted: 5, pending: 1, running: 2, completed: 1, killed: 1})
}

// TestContainersByLocality checks the counters of containers, which each queue has for itself and
// the queues below it.
func TestContainersByLocality(t *testing.T) {
	b := newBench(t, nil)
	submit(t, b.h, 5, "root.batch", "ann")
	b.h.apply(t, &event.AskChanged{App: 5, Key: key, Name: "*", Count: 2, Size: gpu(1024, 1, 0), Relax: true},
		&event.AskChanged{App: 5, Key: key, Name: "sim-03", Count: 2, Size: gpu(1024, 1, 0), Relax: true},
		&event.AskChanged{App: 5, Key: key, Name: "/r1", Count: 2, Size: gpu(1024, 1, 0), Relax: true},
		&event.ContainerAllocated{App: 5, Number: 1, Key: key, Node: 3, Locality: yarn.NodeLocal},
		&event.ContainerAllocated{App: 5, Number: 2, Key: key, Node: 3, Locality: yarn.RackLocal},
		&event.ContainerCompleted{Container: event.ContainerRef{App: 5, Attempt: 1, Number: 1}})
	for queue, want := range map[string][5]float64{"q0=root": {4, 1, 1, 1, 2}, "q0=root,q1=batch": {2, 1, 1, 1, 0},
		"q0=root,q1=train": {}} {
		var d struct{ Beans []map[string]any }
		b.into(200, &d, "GET", "/jmx?qry=Hadoop:service=ResourceManager,name=QueueMetrics,"+queue, "")
		for i, name := range []string{"AggregateContainersAllocated", "AggregateContainersReleased",
			"AggregateNodeLocalContainersAllocated", "AggregateRackLocalContainersAllocated",
			"AggregateOffSwitchContainersAllocated"} {
			if got := d.Beans[0][name]; got != want[i] {
				t.Errorf("%s of %s is %v, want %v", name, queue, got, want[i])
			}
		}
	}
}

// TestLastHealthUpdate checks that lastHealthUpdate is the time of the last heartbeat, not that of
// the registration.
func TestLastHealthUpdate(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Now = func() time.Time { return time.UnixMilli(clusterTime + 300_000) } })
	b.h.apply(t, &event.NodeSilenceChanged{Node: 3, SinceMillis: clusterTime + 110_000})
	var one struct{ Node map[string]any }
	var list struct {
		Nodes struct{ Node []map[string]any }
	}
	b.into(200, &list, "GET", "/ws/v1/cluster/nodes", "")
	for i, want := range []float64{clusterTime + 300_000, clusterTime + 300_000, clusterTime + 110_000} {
		b.into(200, &one, "GET", fmt.Sprintf("/ws/v1/cluster/nodes/sim-0%d:8041", i+1), "")
		if got, listed := one.Node["lastHealthUpdate"], list.Nodes.Node[i]["lastHealthUpdate"]; got != want ||
			listed != want {
			t.Errorf("node %d was heard at %v, and in the list at %v, want %v", i+1, got, listed, want)
		}
	}
}
