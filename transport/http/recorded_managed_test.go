package httpserver

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"rmd/scheduler/input"
	"rmd/yarn"
)

// managedBench rebuilds the cluster of testdata/recorded/managed_scheduler. Its ResourceManager had
// the queues root.users.ann and root.users.bob, which submissions created with
// auto-create-child-queue. There is room for one of them. Each has an unmanaged application whose
// AM has not registered.
func managedBench(t *testing.T) *bench {
	w := plannedWith(
		t, `root.queues=default,users root.default.capacity=40 root.users.capacity=60 root.users.maximum-capacity=100
		root.users.auto-create-child-queue.enabled=true root.users.leaf-queue-template.capacity=75
		root.users.leaf-queue-template.maximum-capacity=90 root.users.leaf-queue-template.user-limit-factor=2 queue-mappings=u:%user:root.users.%user`)
	node := w.node("node-1")
	for _, user := range []string{"ann", "bob"} {
		w.do(&input.SubmitApplication{Name: "stay", User: user, Type: "YARN", Unmanaged: true, AM: yarn.NewResource(256, 1),
			MaxAttempts: 1})
	}
	w.do(&input.NodeHeartbeat{ID: node})
	return plannedBench(t, w.h)
}

func TestRecordedManagedParents(t *testing.T) {
	compareShapes(t, managedBench(t), []struct{ file, path string }{{"managed_scheduler", "/scheduler"}})
}

// managedQueue has the fields of a queue that depend only on the queues.
type managedQueue struct {
	QueuePath, State, OrderingPolicyInfo, Mode, QueueType, CreationMethod, AutoCreationEligibility string
	Capacity, MaxCapacity, AbsoluteCapacity, AbsoluteMaxCapacity, Weight, UserLimitFactor          float32
	NumApplications, MaxApplications, MaxApplicationsPerUser                                       int
	AutoCreateChildQueueEnabled, IsAutoCreatedLeafQueue, IsAbsoluteResource                        bool

	LeafQueueTemplate struct {
		Property []struct{ Name, Value string }
	}
	Queues *struct{ Queue []managedQueue }
}

// TestRecordedManagedValues checks that the values that depend only on the queues equal Java's,
// except for rounding: Java's 60 % are 60.000004 %.
func TestRecordedManagedValues(t *testing.T) {
	read := func(b []byte) map[string]string {
		var doc struct {
			Scheduler struct{ SchedulerInfo managedQueue }
		}
		if err := json.Unmarshal(b, &doc); err != nil {
			t.Fatal(err)
		}
		out := map[string]string{}
		var walk func(q managedQueue)
		walk = func(q managedQueue) {
			if q.Queues != nil {
				for _, c := range q.Queues.Queue {
					walk(c)
				}
			}
			q.Queues = nil
			slices.SortFunc(q.LeafQueueTemplate.Property,
				func(a, b struct{ Name, Value string }) int { return strings.Compare(a.Name, b.Name) })
			for _, v := range []*float32{&q.Capacity, &q.AbsoluteCapacity} {
				*v = float32(math.Round(float64(*v)*1000) / 1000)
			}
			out[q.QueuePath] = fmt.Sprintf("%+v", q)
		}
		walk(doc.Scheduler.SchedulerInfo)
		return out
	}
	recorded, err := os.ReadFile("testdata/recorded/managed_scheduler.json")
	if err != nil {
		t.Fatal(err)
	}
	want, got := read(recorded), read(managedBench(t).ask("GET", wsRoot+"/scheduler", "", "Accept",
		"application/json").Body.Bytes())
	if len(want) != 5 || len(got) != 5 {
		t.Errorf("%d queues, recorded are %d", len(got), len(want))
	}
	for path, q := range want {
		if got[path] != q {
			t.Errorf("%s is\n%s, recorded is\n%s", path, got[path], q)
		}
	}
}
