package client

import (
	"context"
	"strings"
	"testing"

	"rmd/scheduler/input"
	"rmd/transport/hadoop/proto"
	"rmd/yarn"
)

func (h *fixture) queue(t testing.TB, user string, req *proto.GetQueueInfoRequestProto) *proto.QueueInfoProto {
	t.Helper()
	r, err := h.svc.queueInfo(context.Background(), as(user), req)
	if err != nil {
		t.Fatal(err)
	}
	return r.GetQueueInfo()
}

func TestQueueInfo(t *testing.T) {
	h := newFixture(t)
	h.node(t, "node1")
	id := h.app(t, "ann", nil)
	at := h.launch(t, id)
	h.must(t,
		&input.Allocate{Attempt: at, Asks: []input.Ask{
			{Key: yarn.SchedulerKey{Priority: 5}, Name: "*", Count: 100, Size: yarn.NewResource(4096, 1), Relax: true}}})
	day := h.app(t, "ann", func(s *proto.ApplicationSubmissionContextProto) { s.Queue = new("day") })
	if _, err := h.kill("ann", day, ""); err != nil {
		t.Fatal(err)
	}
	golden(t, "queue-default", h.queue(t, "ann",
		&proto.GetQueueInfoRequestProto{QueueName: new("default"), IncludeApplications: new(true)}))
	golden(t, "queue-root", h.queue(t, "ann", &proto.GetQueueInfoRequestProto{QueueName: new("root")}))
}

// shape returns the paths of a queue and its descendants as text.
func shape(q *proto.QueueInfoProto) string {
	out := q.GetQueuePath()
	var kids []string
	for _, c := range q.GetChildQueues() {
		kids = append(kids, shape(c))
	}
	if len(kids) > 0 {
		out += "(" + strings.Join(kids, " ") + ")"
	}
	return out
}

func TestQueueChildren(t *testing.T) {
	h := newFixture(t)
	for _, c := range []struct {
		name                string
		children, recursive bool
		want                string
	}{
		{"root", false, false, "root"},
		{"root", false, true, "root"},
		{"root", true, false, "root(root.default root.batch root.night)"},
		{"root", true, true, "root(root.default root.batch(root.batch.day root.batch.night) root.night)"},
		{"batch", true, true, "root.batch(root.batch.day root.batch.night)"},
		{"root.night", true, true, "root.night"},
	} {
		if got := shape(h.queue(t, "ann", &proto.GetQueueInfoRequestProto{QueueName: new(c.name),
			IncludeChildQueues: new(c.children), Recursive: new(c.recursive)})); got != c.want {
			t.Errorf("%s, children %v, recursive %v: %s, want %s", c.name, c.children, c.recursive, got, c.want)
		}
	}
	for _, name := range []string{"nowhere", "night" /* two have that name */, ""} {
		if q := h.queue(t, "ann", &proto.GetQueueInfoRequestProto{QueueName: new(name),
			IncludeApplications: new(true)}); q != nil {
			t.Errorf("queue %q: %v", name, q)
		}
	}
}

// TestQueueApplications checks that a queue lists the applications that are scheduled in it and
// that the caller may view.
func TestQueueApplications(t *testing.T) {
	h := closed(t)
	h.node(t, "node1")
	ann := h.app(t, "ann", nil)
	h.app(t, "bob", nil)
	over := h.app(t, "ann", nil)
	h.app(t, "ann", func(s *proto.ApplicationSubmissionContextProto) { s.Queue = new("day") })
	if _, err := h.kill("ann", over, ""); err != nil {
		t.Fatal(err)
	}
	count := func(user, queue string) int {
		return len(h.queue(t, user, &proto.GetQueueInfoRequestProto{QueueName: new(queue),
			IncludeApplications: new(true)}).GetApplications())
	}
	if n := count("ann", "default"); n != 1 {
		t.Errorf("ann sees %d in default", n)
	}
	if n := count("ann", "root"); n != 2 {
		t.Errorf("ann sees %d in root", n)
	}
	if n := count("root", "root"); n != 3 {
		t.Errorf("an administrator sees %d in root", n)
	}
	q := h.queue(t, "ann", &proto.GetQueueInfoRequestProto{QueueName: new("default"), IncludeApplications: new(true)})
	if got := q.GetApplications()[0]; got.GetApplicationId().GetId() != int32(ann.Seq) ||
		got.GetQueue() != "root.default" {
		t.Errorf("application %v", got)
	}
}

func TestQueueSumsAddUp(t *testing.T) {
	h := crowd(t)
	root := h.queue(t, "root", &proto.GetQueueInfoRequestProto{QueueName: new("root"), IncludeChildQueues: new(true),
		Recursive: new(true)})
	var check func(q *proto.QueueInfoProto)
	check = func(q *proto.QueueInfoProto) {
		s := q.GetQueueStatistics()
		if got := s.GetNumAppsRunning() + s.GetNumAppsPending() + s.GetNumAppsCompleted() + s.GetNumAppsKilled() + s.GetNumAppsFailed(); got != s.GetNumAppsSubmitted() {
			t.Errorf("%s: %d applications in all, %d by state", q.GetQueuePath(), s.GetNumAppsSubmitted(), got)
		}
		if len(q.GetChildQueues()) == 0 {
			return
		}
		var apps, memory, containers int64
		for _, c := range q.GetChildQueues() {
			check(c)
			apps += c.GetQueueStatistics().GetNumAppsSubmitted()
			memory += c.GetQueueStatistics().GetAllocatedMemoryMB()
			containers += c.GetQueueStatistics().GetAllocatedContainers()
		}
		if apps != s.GetNumAppsSubmitted() || memory != s.GetAllocatedMemoryMB() || containers != s.GetAllocatedContainers() {
			t.Errorf("%s is not the sum of its children: %v", q.GetQueuePath(), s)
		}
	}
	check(root)
	if n := root.GetQueueStatistics().GetNumAppsSubmitted(); n != 18 {
		t.Errorf("%d applications", n)
	}
}

func TestQueueUserACLs(t *testing.T) {
	h := closed(t)
	h.groups["ann"] = []string{"staff"}
	names := func(user string) string {
		r, err := h.svc.queueUserACLs(context.Background(), as(user), &proto.GetQueueUserAclsInfoRequestProto{})
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, q := range r.GetQueueUserAcls() {
			text := q.GetQueueName() + ":"
			for _, a := range q.GetUserAcls() {
				text += strings.TrimPrefix(a.String(), "QACL_")[:3]
			}
			out = append(out, text)
		}
		return strings.Join(out, " ")
	}
	if got, want := names("ann"),
		"root: root.default:SUB root.batch: root.batch.day:SUB root.batch.night: root.night:"; got != want {
		t.Errorf("ann: %s\nwant %s", got, want)
	}
	if got, want := names("root"),
		"root:SUBADM root.default:SUBADM root.batch:SUBADM root.batch.day:SUBADM root.batch.night:SUBADM root.night:SUBADM"; got != want {
		t.Errorf("root: %s\nwant %s", got, want)
	}
}
