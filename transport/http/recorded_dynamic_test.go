package httpserver

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"

	"rmd/api"
	"rmd/fsm/event"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// dynamicBench rebuilds the cluster of testdata/recorded/dynamic_scheduler. Its ResourceManager had
// the queues root.users.ann and root.users.team.bob, which submissions created with
// auto-queue-creation-v2. In each runs the AM of an application.
func dynamicBench(t *testing.T) *bench {
	w := plannedWith(
		t, `root.queues=default,users root.default.capacity=40 root.users.capacity=60 root.users.maximum-capacity=100
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
	w.do(&input.SubmitApplication{Name: "x", User: user, Queue: queue, Type: "YARN", AM: yarn.NewResource(256, 1),
		MaxAttempts: 1})
}

func TestRecordedDynamicQueues(t *testing.T) {
	compareShapes(t, dynamicBench(t), []struct{ file, path string }{{"dynamic_scheduler", "/scheduler"}})
}

// TestRecordedDynamicValues checks that the values that depend only on the queues equal Java's.
func TestRecordedDynamicValues(t *testing.T) {
	says(t, dynamicBench(t), map[string][]string{"/scheduler": {
		`"autoCreationEligibility":"flexible","autoQueueTemplateProperties":{"property":[{"name":"maximum-applications","value":"100"}]},"autoQueueParentTemplateProperties":{"property":[{"name":"acl_submit_applications","value":"*"}]}`,
		`{"name":"capacity","value":"3w"}`, `{"name":"user-limit-factor","value":"2"}`,
		`"queuePath":"root.users.ann","capacity":0.0,"usedCapacity":`, `"absoluteCapacity":45.0,"absoluteMaxCapacity":100.0,`,
		`"weight":3.0,"normalizedWeight":0.75,"numApplications":1`,
		`"mode":"weight","queueType":"leaf","creationMethod":"dynamicFlexible","autoCreationEligibility":"off"`,
		`"mode":"weight","queueType":"parent","creationMethod":"dynamicFlexible","autoCreationEligibility":"flexible"`,
		`"configuredCapacityVector":"[memory-mb=3.0w,vcores=3.0w]"`, `"effectiveMinResource":{"memory":1843,"vCores":1`,
		`"maxApplications":100,"maxApplicationsPerUser":100`, `"maxApplications":1500,"maxApplicationsPerUser":1500`,
		`"userLimitFactor":-1.0`, `"configuredMaxAMResourceLimit":1.0`,
	}})
}

// TestManyDynamicQueues checks that pages, lists for people and metrics show only the busiest of
// many dynamic queues, and count the rest.
func TestManyDynamicQueues(t *testing.T) {
	const many = 10_000
	b := dynamicBench(t)
	metricLines := func() int { return strings.Count(b.ask("GET", "/metrics", "").Body.String(), `queue="`) }
	few := metricLines()
	var created []event.Event
	for i := range many {
		created = append(created, &event.QueueCreated{Path: fmt.Sprintf("root.users.u%05d", i), Leaf: true,
			State: yarn.QueueRunning})
	}
	b.h.apply(t, created...)
	if n := metricLines(); n != few {
		t.Errorf("%d lines of queues in the metrics, and %d with %d queues more", few, n, many)
	}
	var page string
	for _, line := range []string{
		`rmd_apps{queue="root.users.*",state="ACCEPTED"} 2`,
		`rmd_queue_resource{kind="used",partition="",queue="root.users.*",resource="memory-mb"} 512`,
		`rmd_reservations{queue="root.users.*"} 0`, `rmd_preemption_warnings{queue="root.users.*"} 0`,
	} {
		if page = b.ask("GET", "/metrics", "").Body.String(); !strings.Contains(page, line+"\n") {
			t.Errorf("metrics lack %s", line)
		}
	}
	var d api.Queues
	b.into(200, &d, "GET", "/v1/queues?dynamic=3", "")
	users := d.Root.Children[1]
	if len(users.Children) != 3 || users.Children[0].Path != "root.users.ann" || users.MoreDynamic != many-1 ||
		!users.Children[0].Dynamic() || users.AutoCreate != "flexible" {
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
		counted := map[string]string{"/ui/queues": "9,982 more dynamic queues below root.users",
			"/ui/queues/root.users": "50 of 10,002 dynamic queues"}[path]
		if !strings.Contains(page, counted) {
			t.Errorf("%s does not count the queues it leaves out:\n%.3000s", path, page)
		}
	}
	b.walkDynamicQueues(t, many+2)
}

// walkDynamicQueues pages through the queues below root.users, to the last page in the default
// order and to the third in others, and beyond the last page.
func (b *bench) walkDynamicQueues(t *testing.T, all int) {
	const path = "/ui/queues/root.users"
	link := regexp.MustCompile(`href="/ui/queues/(root\.users\.[a-z0-9]+)"`)
	next := regexp.MustCompile(`href="([^"]+)" rel="next"`)
	for order, first := range map[string]string{"": "root.users.team", "?sort=created": "root.users.ann",
		"?sort=-created": "root.users.u09999", "?sort=-used": "root.users.team", "?sort=apps": "root.users.u00000"} {
		seen := map[string]bool{}
		pages := 0
		for at := path + order; at != ""; pages++ {
			page := b.ask("GET", at, "").Body.String()
			_, list, _ := strings.Cut(page, `id="dynamic"`)
			for i, m := range link.FindAllStringSubmatch(list, -1) {
				if seen[m[1]] {
					t.Fatalf("%s: %s is on a second page", at, m[1])
				}
				if seen[m[1]] = true; pages == 0 && i == 0 && m[1] != first {
					t.Errorf("%s begins with %s, not %s", at, m[1], first)
				}
			}
			if len(page) > 100_000 || pages > 0 && !strings.Contains(list, `rel="first"`) {
				t.Errorf("%s has %d bytes", at, len(page))
			}
			m := next.FindStringSubmatch(list)
			if at = ""; m != nil && (order == "" || pages < 2) {
				at = html.UnescapeString(m[1])
			}
		}
		want := 150
		if order == "" {
			want = all
		}
		if len(seen) != want || pages != (want+49)/50 {
			t.Errorf("%q: %d queues on %d pages, not %d", order, len(seen), pages, want)
		}
	}
	for query, want := range map[string]string{
		"after=odd": "begin at the first page", "after=1": "begin at the first page", "after=-1": "begin at the first page",
		"after=1.-1":  "begin at the first page",
		"after=1.2.3": "begin at the first page", "after=1e9.1": "begin at the first page",
		"after=99999999999999999999.1": "begin at the first page",
		"after=1.99999999999999999999": "begin at the first page", "after=%00": "begin at the first page",
		"sort=odd": "cannot be sorted", "sort=<script>": "cannot be sorted",
	} {
		if r := b.ask("GET", path+"?"+query, ""); r.Code != 400 || !strings.Contains(r.Body.String(), want) ||
			strings.Contains(r.Body.String(), "<script>") {
			t.Errorf("GET %s?%s: status %d, want 400, %q and no <script>:\n%.1500s",
				path, query, r.Code, want, r.Body)
		}
	}
	// after the last queue
	for _, query := range []string{"after=-9223372036854775808.18446744073709551615",
		"sort=created&after=0.18446744073709551615"} {
		page := b.ask("GET", path+"?"+query, "").Body.String()
		if !strings.Contains(page, "0 of 10,002 dynamic queues") || !strings.Contains(page, `rel="first"`) {
			t.Errorf("GET %s?%s: want 0 of 10,002 dynamic queues and a link to the first page:\n%.1500s",
				path, query, page)
		}
	}
}
