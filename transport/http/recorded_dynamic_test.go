package httpserver

import (
	"fmt"
	"strings"
	"testing"

	"rmd/fsm/event"
	"rmd/scheduler/input"
	"rmd/transport/http/v1/api"
	"rmd/yarn"
)

// The answer dynamic_scheduler in testdata/recorded is that of a ResourceManager whose queues
// root.users.ann and root.users.team.bob were created by submissions, with auto-queue-creation-v2.
// Each has an application whose AM runs.
func dynamicBench(t *testing.T) *bench {
	w := plannedWith(t, `root.queues=default,users root.default.capacity=40 root.users.capacity=60 root.users.maximum-capacity=100
		root.users.auto-queue-creation-v2.enabled=true root.users.auto-queue-creation-v2.template.maximum-applications=100
		root.users.auto-queue-creation-v2.leaf-template.user-limit-factor=2 root.users.auto-queue-creation-v2.leaf-template.capacity=3w
		root.users.auto-queue-creation-v2.parent-template.acl_submit_applications=*`)
	node := w.node("node-1")
	w.submitTo("ann", "root.users.ann")
	w.submitTo("bob", "root.users.team.bob")
	w.do(&input.NodeHeartbeat{ID: node})
	w.do(&input.NodeHeartbeat{ID: node})
	return plannedBench(t, w.h)
}

// submitTo submits an application with an AM of 256 MB.
func (w *planned) submitTo(user, queue string) {
	w.do(&input.SubmitApplication{Name: "x", User: user, Queue: queue, Type: "YARN", AM: yarn.NewResource(256, 1), MaxAttempts: 1})
}

func TestRecordedDynamicQueues(t *testing.T) {
	compareShapes(t, dynamicBench(t), []struct{ file, path string }{{"dynamic_scheduler", "/scheduler"}})
}

// Values that follow from the queues alone are Java's.
func TestRecordedDynamicValues(t *testing.T) {
	says(t, dynamicBench(t), map[string][]string{"/scheduler": {
		`"autoCreationEligibility":"flexible","autoQueueTemplateProperties":{"property":[{"name":"maximum-applications","value":"100"}]},"autoQueueParentTemplateProperties":{"property":[{"name":"acl_submit_applications","value":"*"}]}`,
		`{"name":"capacity","value":"3w"}`, `{"name":"user-limit-factor","value":"2"}`,
		`"queuePath":"root.users.ann","capacity":0.0,"usedCapacity":`, `"absoluteCapacity":45.0,"absoluteMaxCapacity":100.0,`, `"weight":3.0,"normalizedWeight":0.75,"numApplications":1`,
		`"mode":"weight","queueType":"leaf","creationMethod":"dynamicFlexible","autoCreationEligibility":"off"`,
		`"mode":"weight","queueType":"parent","creationMethod":"dynamicFlexible","autoCreationEligibility":"flexible"`,
		`"configuredCapacityVector":"[memory-mb=3.0w,vcores=3.0w]"`, `"effectiveMinResource":{"memory":1843,"vCores":1`,
		`"maxApplications":100,"maxApplicationsPerUser":100`, `"maxApplications":1500,"maxApplicationsPerUser":1500`, `"userLimitFactor":-1.0`, `"configuredMaxAMResourceLimit":1.0`,
	}})
}

// Pages, lists for people and metrics show few of many dynamic queues, the busy ones, and count the rest.
func TestManyDynamicQueues(t *testing.T) {
	const many = 10_000
	b := dynamicBench(t)
	metricLines := func() int { return strings.Count(b.ask("GET", "/metrics", "").Body.String(), `queue="`) }
	few := metricLines()
	var created []event.Event
	for i := range many {
		created = append(created, &event.QueueCreated{Path: fmt.Sprintf("root.users.u%05d", i), Leaf: true, State: yarn.QueueRunning})
	}
	b.h.apply(t, created...)
	if n := metricLines(); n != few {
		t.Errorf("%d lines of queues in the metrics, and %d with %d queues more", few, n, many)
	}
	var page string
	for _, line := range []string{
		`rmd_apps{queue="root.users.*",state="ACCEPTED"} 2`, `rmd_queue_resource{kind="used",partition="",queue="root.users.*",resource="memory-mb"} 512`,
		`rmd_reservations{queue="root.users.*"} 0`, `rmd_preemption_warnings{queue="root.users.*"} 0`,
	} {
		if page = b.ask("GET", "/metrics", "").Body.String(); !strings.Contains(page, line+"\n") {
			t.Errorf("metrics lack %s", line)
		}
	}
	var d api.Queues
	b.into(200, &d, "GET", "/v1/queues?dynamic=3", "")
	users := d.Root.Children[1]
	if len(users.Children) != 3 || users.Children[0].Path != "root.users.ann" || users.MoreDynamic != many-1 || !users.Children[0].Dynamic() || users.AutoCreate != "flexible" {
		t.Errorf("%d children and %d more: %+v", len(users.Children), users.MoreDynamic, users)
	}
	b.into(200, &d, "GET", "/v1/queues", "")
	if n := len(d.Root.Children[1].Children); n != many+2 {
		t.Errorf("%d of all children", n)
	}
	for _, path := range []string{"/ui/queues", "/ui/queues/root.users", "/ui/apps", "/ui/"} {
		page = b.ask("GET", path, "").Body.String()
		if n := strings.Count(page, ">u0"); n > 20 || len(page) > 200_000 {
			t.Errorf("%s has %d bytes and %d dynamic queues", path, len(page), n)
		}
		if strings.HasPrefix(path, "/ui/queues") && !strings.Contains(page, "9,982 more dynamic queues below root.users") {
			t.Errorf("%s does not count the queues it leaves out:\n%.3000s", path, page)
		}
	}
}
