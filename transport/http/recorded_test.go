package httpserver

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rmd/api"
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/scheduler/explain"
	"rmd/scheduler/input"
	"rmd/scheduler/planner"
	"rmd/yarn"
)

// recordedTime is the cluster timestamp of the answers in testdata/recorded, which are those of
// Hadoop 3.4.2's ResourceManager. It had one NodeManager of 4096 MB and 4 vcores, two queues, and
// three DistributedShells: application 1 has finished, 2 runs two containers, and 3 waits with an
// AM of 3840 MB. Identifiers, times and host names are changed.
const recordedTime = 1780000000000

// intended lists the intended differences by the suffix of the file name. Everything else has the
// recorded names, types and order. (Java writes the entries of a map under one name again and
// again, and rmd writes a list: shape.put reads both.)
var intended = map[string]string{
	"404.xml": "where a thing is not found Java's XML is an empty 500",
}

func intends(file string) bool {
	for suffix := range intended {
		if strings.HasSuffix(file, suffix) {
			return true
		}
	}
	return false
}

// recorded lists the reads whose shapes are compared.
var recorded = []struct{ file, path string }{
	{"info", "/info"}, {"empty_root", ""}, {"metrics", "/metrics"}, {"metrics_waiting", "/metrics"},
	{"empty_metrics", "/metrics"}, {"empty_scheduler", "/scheduler"}, {"scheduler", "/scheduler"},
	{"scheduler_waiting", "/scheduler"}, {"overview", "/scheduler-overview"},
	{"nodes", "/nodes"}, {"node", "/nodes/node-1:8041"}, {"empty_nodes_lost", "/nodes?states=LOST"},
	{"node_getlabels", "/nodes/node-1:8041/get-labels"},
	{"apps", "/apps"}, {"apps_deselect", "/apps?deSelects=resourceRequests"}, {"empty_apps", "/apps?user=nobody"},
	{"app_finished", "/apps/" + app1}, {"app_running", "/apps/" + app2}, {"app_waiting", "/apps/" + app3},
	{"attempts_finished", "/apps/" + app1 + "/appattempts"}, {"attempts_running", "/apps/" + app2 + "/appattempts"},
	{"attempts_waiting", "/apps/" + app3 + "/appattempts"},
	{"attempt", "/apps/" + app2 + "/appattempts/" + attempt2},
	{"attempt_finished", "/apps/" + app1 + "/appattempts/" + attempt1},
	{"containers", "/apps/" + app2 + "/appattempts/" + attempt2 + "/containers"},
	{"containers_finished", "/apps/" + app1 + "/appattempts/" + attempt1 + "/containers"},
	{"container", "/apps/" + app2 + "/appattempts/" + attempt2 + "/containers/" + container2},
	{"app_state", "/apps/" + app2 + "/state"}, {"app_priority", "/apps/" + app2 + "/priority"},
	{"app_queue", "/apps/" + app2 + "/queue"},
	{"app_timeouts", "/apps/" + app2 + "/timeouts"}, {"app_timeout", "/apps/" + app2 + "/timeouts/LIFETIME"},
	{"statistics", "/appstatistics"}, {"statistics_type", "/appstatistics?applicationTypes=YARN&states=running,finished"},
	{"schedconf", "/scheduler-conf"}, {"version", "/scheduler-conf/version"}, {"userinfo", "/userinfo"},
	{"nodelabels_empty", "/get-node-labels"}, {"nodetolabels_empty", "/get-node-to-labels"},
	{"labelmappings_empty", "/label-mappings"},
	{"queue_access", "/queues/default/access?queue-acl-type=SUBMIT_APPLICATIONS&user=root"},
	{"activities", "/scheduler/activities"}, {"activities1", "/scheduler/activities?nodeId=other:1"},
	{"bulk", "/scheduler/bulk-activities?activitiesCount=2"},
	{"appactivities", "/scheduler/app-activities/" + app3},
	{"appact_sum", "/scheduler/app-activities/" + app3 + "?summarize=true"},
	{"appactivities1", "/scheduler/app-activities/" + app2},
	{"appactivities_bad", "/scheduler/app-activities/bogus"},
	{"appactivities_404", "/scheduler/app-activities/application_1_0001"},
}

// recordedErrors lists the refusals, which are compared word by word.
var recordedErrors = []struct{ file, path string }{
	{"err_app404", "/apps/application_1_0001"}, {"err_appbad", "/apps/bogus"},
	{"err_attempt404", "/apps/" + app2 + "/appattempts/appattempt_1780000000000_0002_000009"},
	{"err_attemptbad", "/apps/" + app2 + "/appattempts/bogus"},
	{"err_attempts404", "/apps/application_1_0001/appattempts"},
	{"err_container404", "/apps/" + app2 + "/appattempts/" + attempt2 +
		"/containers/container_1780000000000_0002_01_000099"},
	{"err_containerbad", "/apps/" + app2 + "/appattempts/" + attempt2 + "/containers/bogus"},
	{"err_containers404", "/apps/application_1_0001/appattempts/appattempt_1_0001_000001/containers"},
	{"err_node404", "/nodes/nosuch:1"}, {"err_nodebad", "/nodes/nosuch"}, {"err_nodestate", "/nodes?states=BOGUS"},
	{"err_timeout", "/apps/" + app2 + "/timeouts/BOGUS"},
	{"reservations", "/reservation/list?queue=default"}, {"logs", "/scheduler/logs"},
	{"queue_access_bad", "/queues/nosuch/access?queue-acl-type=SUBMIT_APPLICATIONS&user=root"},
	{"queue_access_type", "/queues/default/access?queue-acl-type=BOGUS&user=root"},
	{"queue_access_nouser", "/queues/default/access?queue-acl-type=SUBMIT_APPLICATIONS"},
	{"statistics_2types", "/appstatistics?applicationTypes=YARN,MAPREDUCE"},
	{"statistics_badstate", "/appstatistics?states=BOGUS"},
	{"apps_noqueue", "/apps?queue=nosuch"}, {"apps_badstate", "/apps?states=BOGUS"}, {"apps_badlimit", "/apps?limit=0"},
	{"apps_badlimit2", "/apps?limit=x"}, {"apps_badfinal", "/apps?finalStatus=BOGUS"},
	{"apps_baddeselect", "/apps?deSelects=bogus"}, {"apps_badtime", "/apps?startedTimeBegin=-1"},
	{"apps_badtime2", "/apps?startedTimeBegin=5&startedTimeEnd=2"}, {"apps_badtime3", "/apps?finishedTimeBegin=x"},
	{"apps_badtime4", "/apps?finishedTimeBegin=-1"}, {"apps_badtime5", "/apps?startedTimeEnd=-1"},
	{"apps_badtime6", "/apps?finishedTimeBegin=5&finishedTimeEnd=2"},
}

const (
	attempt1   = "appattempt_1780000000000_0001_000001"
	attempt2   = "appattempt_1780000000000_0002_000001"
	container2 = "container_1780000000000_0002_01_000002"
)

// planned is a history whose events a real planner made.
type planned struct {
	t   *testing.T
	h   *history
	p   *planner.Planner
	now int64
}

func (w *planned) do(in input.Input) input.Reply {
	w.t.Helper()
	w.now += 1000
	reply, events := w.p.Plan(w.now, input.Request{Input: in})
	if f := reply.Refused(); f != nil {
		w.t.Fatalf("%T refused: %v", in, f)
	}
	if len(events) > 0 {
		w.h.apply(w.t, append([]event.Event(nil), events...)...)
	}
	return reply
}

// run advances a submitted application until its AM is registered.
func (w *planned) run(id yarn.ApplicationID, node yarn.NodeID) yarn.AttemptID {
	w.do(&input.NodeHeartbeat{ID: node})
	a := w.p.State().Apps.Get(w.p.State().Apps.ByID(id))
	w.do(&input.AttemptLaunched{Attempt: a.AttemptID(), Container: a.MasterNumber})
	w.launched(id, node)
	w.do(&input.RegisterAttempt{Attempt: a.AttemptID(), Host: "client/127.0.0.1", RPCPort: -1})
	return a.AttemptID()
}

// launched reports all containers of an application as running.
func (w *planned) launched(id yarn.ApplicationID, node yarn.NodeID) {
	st := w.p.State()
	in := &input.NodeHeartbeat{ID: node}
	for _, c := range st.Containers.Of(st.Apps.Get(st.Apps.ByID(id))) {
		in.Statuses = append(in.Statuses, input.ContainerStatus{Container: st.Apps.ContainerID(c),
			State: yarn.ContainerRunning})
	}
	w.do(in)
}

// newPlanned returns a cluster with the recorded queues and further keys of queues.
func newPlanned(t *testing.T, more string) *planned {
	t.Helper()
	return plannedWith(
		t, `root.queues=default,batch root.default.capacity=60 root.default.maximum-capacity=100 root.default.user-limit-factor=10
		root.batch.capacity=40 root.batch.maximum-capacity=100 root.batch.user-limit-factor=10 `+more)
}

// plannedWith returns a cluster with the given keys of queues.
func plannedWith(t *testing.T, keys string) *planned {
	t.Helper()
	p, err := planner.New(state.New(), planner.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := &planned{t: t, h: newHistory(), p: p, now: recordedTime}
	conf := &input.InitCluster{ClusterID: "c1", ClusterTimestamp: recordedTime}
	for _, kv := range strings.Fields("maximum-am-resource-percent=0.5 node-locality-delay=-1 " + keys) {
		name, value, _ := strings.Cut(kv, "=")
		if !strings.HasPrefix(name, "yarn.") {
			name = capacity.Prefix + name
		}
		conf.Properties = append(conf.Properties, input.Property{Name: name, Value: value})
	}
	conf.Properties = append(conf.Properties, input.Property{Name: "yarn.scheduler.minimum-allocation-mb", Value: "256"},
		input.Property{Name: "yarn.scheduler.maximum-allocation-mb", Value: "4096"})
	w.do(conf)
	return w
}

// node registers a node of 4096 MB and 4 vcores.
func (w *planned) node(host string) yarn.NodeID {
	id := yarn.NodeID{Host: host, Port: 8041}
	w.do(&input.RegisterNode{ID: id, HTTPPort: 8042, Rack: "/default-rack", Total: yarn.NewResource(4096, 4),
		Version: "3.4.2"})
	return id
}

// recordedStory repeats with rmd's planner what the recorded ResourceManager did.
func recordedStory(t *testing.T) *history {
	t.Helper()
	w := newPlanned(t, "")
	w.tell(w.node("node-1"), "", 3840)
	return w.h
}

// tell submits three applications that ask for nodes of a label. The first finishes, the second
// runs two containers, and the third waits with an AM of the given MB.
func (w *planned) tell(node yarn.NodeID, label string, waiting int64) {
	submit := func(name, queue string, mb int64) yarn.ApplicationID {
		return w.do(&input.SubmitApplication{Name: name, User: "root", Queue: queue, Type: "YARN",
			AM: yarn.NewResource(mb, 1), MaxAttempts: 2, Label: label}).(*input.SubmitApplicationReply).ID
	}
	attempt := w.run(submit("finished", "default", 256), node)
	w.do(&input.FinishAttempt{Attempt: attempt, Final: yarn.FinalSucceeded})
	w.do(&input.NodeHeartbeat{ID: node, Full: true})
	running := submit("running", "default", 256)
	attempt = w.run(running, node)
	w.do(&input.Allocate{Attempt: attempt, Asks: []input.Ask{
		{Name: yarn.Any, Count: 2, Size: yarn.NewResource(256, 1), Relax: true}}})
	w.do(&input.NodeHeartbeat{ID: node})
	w.do(&input.NodeHeartbeat{ID: node})
	w.launched(running, node)
	submit("waiting", "batch", waiting)
}

// recordedBench serves the history of recordedStory.
func recordedBench(t *testing.T) *bench { return plannedBench(t, recordedStory(t)) }

// plannedBench serves a history whose events a planner made.
func plannedBench(t *testing.T, h *history) *bench {
	t.Helper()
	b := newBench(t, func(c *Config) {
		c.Reader, c.Log, c.Hadoop.Service = h, h, http.NotFoundHandler()
		c.Planner.Explain = func(st *state.State, id yarn.ApplicationID) (*api.Explanation, error) {
			p, err := planner.New(st, planner.Options{})
			if err != nil {
				return nil, err
			}
			return explain.Application(p.Scheduler(), id)
		}
	})
	b.h = h
	return b
}

// TestEndedContainers checks that the page of an ended application lists its containers from the log,
// with the links to their logs.
func TestEndedContainers(t *testing.T) {
	body := recordedBench(t).ask("GET", "/ui/apps/1", "").Body.String()
	_, part, found := strings.Cut(body, "Ended containers")
	if !found || !strings.Contains(part, "…_01_000001") && !strings.Contains(part, "0001_01_000001") ||
		!strings.Contains(part, `href="http://node-1:8042/node/containerlogs/container_`) ||
		!strings.Contains(part, `_0001_01_000001/root"`) {
		t.Errorf("the page does not list the container of the AM: %s", part)
	}
}

func recordedFile(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "recorded", name))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSpace(text)
}

func TestRecorded(t *testing.T) { compareShapes(t, recordedBench(t), recorded) }

// compareShapes compares the names, types and order in answers with those in recorded answers.
func compareShapes(t *testing.T, b *bench, reads []struct{ file, path string }) {
	for _, r := range reads {
		for _, format := range []struct {
			ext, accept string
			read        func([]byte) (*shape, error)
		}{{"json", "application/json", jsonShape}, {"xml", "application/xml", xmlShape}} {
			t.Run(r.file+"."+format.ext, func(t *testing.T) {
				w := b.ask(http.MethodGet, wsRoot+r.path, "", "Accept", format.accept)
				if w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), format.accept) {
					t.Fatalf("status %d, %s: %s", w.Code, w.Header().Get("Content-Type"), w.Body)
				}
				want, err := format.read(recordedFile(t, r.file+"."+format.ext))
				if err != nil {
					t.Fatal(err)
				}
				got, err := format.read(w.Body.Bytes())
				if err != nil {
					t.Fatalf("%v in %s", err, w.Body)
				}
				for _, d := range differences("", want, got) {
					t.Errorf("answer against the recording: %s", d)
				}
			})
		}
	}
}

func TestRecordedErrors(t *testing.T) { compareTexts(t, recordedBench(t), recordedErrors) }

// compareTexts compares refusals with recorded ones, word by word.
func compareTexts(t *testing.T, b *bench, reads []struct{ file, path string }) {
	for _, r := range reads {
		t.Run(r.file, func(t *testing.T) {
			w := b.ask(http.MethodGet, wsRoot+r.path, "", "Accept", "application/json")
			if want := recordedFile(t, r.file+".json"); !bytes.Equal(w.Body.Bytes(), want) {
				t.Errorf("status %d\n%s, want\n%s", w.Code, w.Body, want)
			}
			if strings.Contains(r.file, "404") && w.Code != http.StatusNotFound {
				t.Errorf("status %d", w.Code)
			}
			w = b.ask(http.MethodGet, wsRoot+r.path, "", "Accept", "application/xml")
			if intends(r.file + ".xml") {
				if w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), "<exception>NotFoundException</exception>") {
					t.Errorf("in XML: %d %s", w.Code, w.Body)
				}
			} else if want := recordedFile(t, r.file+".xml"); !bytes.Equal(w.Body.Bytes(), want) {
				t.Errorf("in XML %s, want %s", w.Body, want)
			}
		})
	}
}

// TestRecordedValues checks that the values that depend only on the workload equal Java's.
func TestRecordedValues(t *testing.T) {
	b := recordedBench(t)
	says(t, b, map[string][]string{
		"/apps/" + app1: {`"state":"FINISHED","finalStatus":"SUCCEEDED","progress":100.0,"trackingUI":"History"`,
			`"allocatedMB":-1`, `"masterNodeId":"node-1:8041"`, `"amHostHttpAddress":"node-1:8042"`,
			`"trackingUrl":"http://127.0.0.1:8088/proxy/` + app1 + `/"`},
		"/apps/" +
			app2: {`"state":"RUNNING","finalStatus":"UNDEFINED","progress":0.0,"trackingUI":"ApplicationMaster"`,
			`"allocatedMB":768,"allocatedVCores":3,"reservedMB":0,"reservedVCores":0,"runningContainers":3`,
			`"clusterUsagePercentage":18.75`},
		"/apps/" + app3: {`"state":"ACCEPTED"`, `"trackingUI":"UNASSIGNED","diagnostics"`,
			`"masterNodeId":"","allocatedMB":0`, `"resourceRequests":[{"priority":0,`, `"numContainers":1,"relaxLocality":true`},
		"/metrics": {`"appsSubmitted":3,"appsCompleted":1,"appsPending":1,"appsRunning":1,"appsFailed":0,"appsKilled":0,"reservedMB":0,"availableMB":3328,"allocatedMB":768,"pendingMB":3840`, `"containersAllocated":3`, `"activeNodes":1`},
		"/scheduler": {`"configuredCapacityVector":"[memory-mb=60.0%,vcores=60.0%]"`,
			`"absoluteUsedCapacity":18.75`, `"maxApplications":6000,"maxApplicationsPerUser":6000`, `"numApplications":1`},
		"/appstatistics":           {`{"state":"ACCEPTED","type":"*","count":1},{"state":"RUNNING","type":"*","count":1},{"state":"FINISHED","type":"*","count":1}`},
		"/apps?states=finished":    {app1},
		"/apps?deSelects=timeouts": {app3},
		"/scheduler-overview":      {`"schedulingResourceType":"memory-mb (unit=Mi),vcores"`},
		"/apps/" + app2 + "/queue": {`{"queue":"root.default"}`},
		"/nodes/node-1:8041": {
			`"usedMemoryMB":768,"availMemoryMB":3328,"usedVirtualCores":3,"availableVirtualCores":1`, `"numContainers":3`},
		"/apps/" + app2 + "/state": {`{"state":"RUNNING"}`},
		"/scheduler/activities": {`"finalAllocationState":"SKIPPED","root":{"name":"root"`, `"name":"request_0_0"`,
			`{"name":"root.default","allocationState":"SKIPPED","diagnostic":"Queue does not need more resource"}`},
		"/apps?finishedTimeBegin=1": {app1},
	})
	if body := b.ask(http.MethodGet, wsRoot+"/apps?deSelects=timeouts,resourceInfo",
		"").Body.String(); strings.Contains(body, "LIFETIME") || strings.Contains(body, "resourceInfo\"") {
		t.Error("parts that were not wanted are there")
	}
}

// says checks that answers contain the given parts.
func says(t *testing.T, b *bench, parts map[string][]string) {
	t.Helper()
	for path, want := range parts {
		body := b.ask(http.MethodGet, wsRoot+path, "", "Accept", "application/json").Body.String()
		for _, w := range want {
			if !strings.Contains(body, w) {
				t.Errorf("%s lacks %s in\n%s", path, w, body)
			}
		}
	}
}

// TestManyNodes checks a list of nodes that is long enough to be written in several parts.
func TestManyNodes(t *testing.T) {
	b := newBench(t, nil)
	for i := range 600 { // more than one part of an answer
		b.h.apply(t, &event.NodeRegistered{Node: state.NodeSlot(4 + i), ID: yarn.NodeID{Host: fmt.Sprint("h", i), Port: 1},
			Rack: "/r", Total: gpu(1, 1, 1)})
	}
	var d struct {
		Nodes struct{ Node []struct{ ID string } }
	}
	b.into(200, &d, "GET", "/ws/v1/cluster/nodes", "")
	if len(d.Nodes.Node) != 603 {
		t.Errorf("%d nodes", len(d.Nodes.Node))
	}
	if w := b.ask("GET", "/ws/v1/cluster/nodes?states=lost", ""); w.Body.String() != `{"nodes":{}}` {
		t.Errorf("none: %s", w.Body)
	}
}
