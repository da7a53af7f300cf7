package client

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"rmd/scheduler/input"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

// newLabelled returns a cluster with the labels gpu (exclusive) and spot. gpu is on node1 and on a
// host that never registered, spot is on node2. Queue default may use both.
func newLabelled(t testing.TB, more ...string) *fixture {
	t.Helper()
	h := newFixture(t, append([]string{"yarn.node-labels.enabled", "true",
		confPrefix + "root.accessible-node-labels.gpu.capacity", "100",
		confPrefix + "root.default.accessible-node-labels", "gpu,spot",
		confPrefix + "root.default.accessible-node-labels.gpu.capacity", "100",
		confPrefix + "root.batch.accessible-node-labels", " ", confPrefix + "root.night.accessible-node-labels", "spot"},
		more...)...)
	h.must(t, &input.SetLabels{Labels: []input.Label{{Name: "gpu", Exclusive: true}, {Name: "spot"}}})
	h.must(t, &input.LabelNodes{Nodes: []input.LabelledNode{{ID: yarn.NodeID{Host: "node1"}, Labels: []string{"gpu"}},
		{ID: yarn.NodeID{Host: "node2", Port: 45454}, Labels: []string{"spot"}},
		{ID: yarn.NodeID{Host: "later"}, Labels: []string{"gpu"}}}})
	for _, host := range []string{"node1", "node2", "node3"} {
		h.node(t, host)
	}
	return h
}

func idText(p *proto.NodeIdProto) string { return fmt.Sprintf("%s:%d", p.GetHost(), p.GetPort()) }

func TestLabelCalls(t *testing.T) {
	h := newLabelled(t)
	all, err := h.svc.clusterNodeLabels(context.Background(), as("ann"), nil)
	if err != nil || len(all.NodeLabels) != 2 || strings.Join(all.DeprecatedNodeLabels, " ") != "gpu spot" ||
		!all.NodeLabels[0].GetIsExclusive() || all.NodeLabels[1].GetIsExclusive() || all.NodeLabels[1].GetName() != "spot" {
		t.Errorf("labels %v, %v", all, err)
	}
	nodes, err := h.svc.nodeToLabels(context.Background(), as("ann"), nil)
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, n := range nodes.NodeToLabels {
		got += idText(n.NodeId) + "=" + strings.Join(n.NodeLabels, ",") + " "
	}
	if want := "later:0=gpu node1:0=gpu node1:45454=gpu node2:45454=spot "; got != want {
		t.Errorf("nodes %s\nwant  %s", got, want)
	}
	for asked, want := range map[string]string{"": "gpu: later:0 node1:0 node1:45454; spot: node2:45454; ",
		"spot none": "spot: node2:45454; "} {
		r, err := h.svc.labelsToNodes(context.Background(), as("ann"),
			&proto.GetLabelsToNodesRequestProto{NodeLabels: strings.Fields(asked)})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, l := range r.LabelsToNodes {
			got += l.GetNodeLabels() + ":"
			for _, n := range l.NodeId {
				got += " " + idText(n)
			}
			got += "; "
		}
		if got != want {
			t.Errorf("asked for %q: %s\nwant %s", asked, got, want)
		}
	}
	reports, err := h.svc.clusterNodes(context.Background(), as("ann"), &proto.GetClusterNodesRequestProto{})
	if err != nil {
		t.Fatal(err)
	}
	got = ""
	for _, r := range reports.NodeReports {
		got += strings.Join(r.NodeLabels, ",") + ";"
	}
	if got != "gpu;spot;;" {
		t.Errorf("labels of the nodes %s", got)
	}
}

// TestLabelsOfQueues checks which labels queue information contains, and the queue's shares of
// their nodes.
func TestLabelsOfQueues(t *testing.T) {
	h := newLabelled(t, confPrefix+"root.default.default-node-label-expression", "gpu")
	q := h.queue(t, "ann", &proto.GetQueueInfoRequestProto{QueueName: new("default")})
	if strings.Join(q.AccessibleNodeLabels, ",") != "gpu,spot" || q.GetDefaultNodeLabelExpression() != "gpu" {
		t.Errorf("may use %v, default %q", q.AccessibleNodeLabels, q.GetDefaultNodeLabelExpression())
	}
	got := ""
	for _, p := range q.QueueConfigurationsMap {
		got += fmt.Sprintf("%q: %d; ", p.GetPartitionName(), p.QueueConfigurations.EffectiveMinCapacity.GetMemory())
	}
	if want := `"": 8192; "gpu": 16384; "spot": 0; `; got != want {
		t.Errorf("capacities %s\nwant %s", got, want)
	}
	q = h.queue(t, "ann", &proto.GetQueueInfoRequestProto{QueueName: new("batch")})
	if len(q.AccessibleNodeLabels) != 0 || q.DefaultNodeLabelExpression != nil {
		t.Errorf("may use %v, default %q", q.AccessibleNodeLabels, q.GetDefaultNodeLabelExpression())
	}
}

// TestLabelsOfApplications checks the label expressions of applications and of their AMs in
// reports.
func TestLabelsOfApplications(t *testing.T) {
	h := newLabelled(t)
	type sub = proto.ApplicationSubmissionContextProto
	for _, c := range []struct {
		name, app, am string
		change        func(*sub)
	}{
		{"none", "<Not set>", "<DEFAULT_PARTITION>", func(*sub) {}},
		{"application", "gpu", "gpu", func(s *sub) { s.NodeLabelExpression = new("gpu") }},
		{"AM", "<Not set>", "spot", func(s *sub) { s.AmContainerResourceRequest[0].NodeLabelExpression = new("spot") }},
		{"both", "gpu", "spot", func(s *sub) {
			s.NodeLabelExpression, s.AmContainerResourceRequest[0].NodeLabelExpression = new("gpu"), new("spot")
		}},
		{"blank AM", "gpu", "gpu", func(s *sub) {
			s.NodeLabelExpression, s.AmContainerResourceRequest[0].NodeLabelExpression = new("gpu"), new("")
		}},
		{"blank application", "<DEFAULT_PARTITION>", "<DEFAULT_PARTITION>", func(s *sub) { s.NodeLabelExpression = new("") }},
		{"old field", "gpu", "gpu", func(s *sub) {
			s.Resource, s.AmContainerResourceRequest, s.NodeLabelExpression = s.AmContainerResourceRequest[0].Capability,
				nil, new("gpu")
		}},
	} {
		id := h.app(t, "ann", c.change)
		r := h.report(t, "ann", id)
		if r.GetAppNodeLabelExpression() != c.app || r.GetAmNodeLabelExpression() != c.am {
			t.Errorf("%s: application %s, AM %s", c.name, r.GetAppNodeLabelExpression(), r.GetAmNodeLabelExpression())
		}
		if got := h.st.Labels.Name(h.record(t, id).AMLabel); got != strings.Trim(
			strings.TrimPrefix(c.am, "<DEFAULT_PARTITION>"), "<>") {
			t.Errorf("%s: the AM has label %q", c.name, got)
		}
	}
	const noRight = "Invalid resource request, queue=night doesn't have permission to access all labels in resource request. labelExpression of resource request=gpu. Queue labels=spot"
	for _, c := range []struct {
		name, message string
		change        func(*sub)
	}{
		{"may not use it", noRight, func(s *sub) { s.Queue, s.NodeLabelExpression = new("root.night"), new("gpu") }},
		{"two",
			"Invalid resource request, queue=default specified more than one node label in a node label expression, node label expression = gpu&&spot",
			func(s *sub) { s.NodeLabelExpression = new("gpu&&spot") }},
		{"at a host",
			"Invalid resource request, queue=default specified node label expression in a resource request has resource name = node1", func(s *sub) {
				s.AmContainerResourceRequest = append(s.AmContainerResourceRequest,
					&proto.ResourceRequestProto{ResourceName: new("node1"),
						Capability: s.AmContainerResourceRequest[0].Capability, NodeLabelExpression: new("gpu")})
			}},
	} {
		s := subOf(h.newID(t))
		c.change(s)
		refused(t, h.submit(t, "ann", s), classInvalidLabel, c.message)
	}
}

// TestMoveWithLabels checks that an application can move only to a queue that may use its labels.
func TestMoveWithLabels(t *testing.T) {
	h := newLabelled(t)
	id := h.app(t, "ann", func(s *proto.ApplicationSubmissionContextProto) { s.NodeLabelExpression = new("gpu") })
	h.must(t, &input.NodeHeartbeat{ID: yarn.NodeID{Host: "node1", Port: 45454}})
	at := h.launch(t, id)
	// The application uses 1 of 48 GB, and 1 of the 16 GB of gpu that its queue is guaranteed.
	if u := h.report(t, "ann", id).GetAppResource_Usage(); u.GetQueueUsagePercentage() != 6.25 ||
		u.GetClusterUsagePercentage() < 2 || u.GetClusterUsagePercentage() > 2.1 {
		t.Errorf("it uses %v %% of its queue, %v %% of the cluster", u.GetQueueUsagePercentage(),
			u.GetClusterUsagePercentage())
	}
	h.must(t,
		&input.Allocate{Attempt: at, Asks: []input.Ask{
			{Key: yarn.SchedulerKey{Priority: 5}, Name: "*", Count: 100, Size: yarn.NewResource(4096, 1), Relax: true}}})
	_, err := h.svc.MoveApplicationAcrossQueues(context.Background(), as("ann"),
		&proto.MoveApplicationAcrossQueuesRequestProto{
			ApplicationId: wire.ApplicationIDProto(id), TargetQueue: new("root.night")})
	refused(t, err, ipc.ClassYarn,
		"Specified queue=root.night can't satisfy following apps label expressions =[gpu] accessible node labels =[spot]")
}

// TestStoredLabels checks the labels of applications that are taken over from another
// ResourceManager.
func TestStoredLabels(t *testing.T) {
	type sub = proto.ApplicationSubmissionContextProto
	for _, c := range []struct {
		change    func(*sub)
		label, am string
	}{
		{func(*sub) {}, "", ""},
		{func(s *sub) { s.NodeLabelExpression = new("gpu") }, "gpu", ""},
		{func(s *sub) { s.NodeLabelExpression = new("") }, yarn.NoLabel, ""},
		{func(s *sub) { s.AmContainerResourceRequest[0].NodeLabelExpression = new("gpu") }, "", "gpu"},
	} {
		s := subOf(yarn.ApplicationID{ClusterTimestamp: birth, Seq: 1})
		c.change(s)
		in, err := StoredSubmission(encode(t, s), "ann", yarn.DefaultKinds())
		if err != nil || in.Label != c.label || in.AMLabel != c.am {
			t.Errorf("%+v, %v; want labels %q and %q", in, err, c.label, c.am)
		}
	}
}
