package admin

import (
	"testing"

	"rmd/scheduler/input"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

// newLabelled returns a cluster with node labels. Queue batch may use the label gpu.
func newLabelled(t *testing.T, more ...string) *fixture {
	t.Helper()
	h := newFixture(t)
	h.queues = queues(append([]string{prefix + "default.capacity", "50", prefix + "batch.capacity", "50",
		"yarn.node-labels.enabled", "true",
		prefix + "batch.accessible-node-labels", "gpu", prefix + "default.accessible-node-labels", " "}, more...)...)
	if _, err := h.refreshQueues(ctx, root, &proto.RefreshQueuesRequestProto{}); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *fixture) add(labels ...*proto.NodeLabelProto) error {
	_, err := h.AddToClusterNodeLabels(ctx, root, &proto.AddToClusterNodeLabelsRequestProto{NodeLabels: labels})
	return err
}

func (h *fixture) remove(names ...string) error {
	_, err := h.RemoveFromClusterNodeLabels(ctx, root, &proto.RemoveFromClusterNodeLabelsRequestProto{NodeLabels: names})
	return err
}

func (h *fixture) replace(known bool, nodes ...*proto.NodeIdToLabelsProto) error {
	_, err := h.ReplaceLabelsOnNode(ctx, root,
		&proto.ReplaceLabelsOnNodeRequestProto{NodeToLabels: nodes, FailOnUnknownNodes: &known})
	return err
}

func label(name string, exclusive bool) *proto.NodeLabelProto {
	return &proto.NodeLabelProto{Name: &name, IsExclusive: &exclusive}
}

func at(host string, port uint16, labels ...string) *proto.NodeIdToLabelsProto {
	return &proto.NodeIdToLabelsProto{NodeId: wire.NodeIDProto(yarn.NodeID{Host: host, Port: port}), NodeLabels: labels}
}

// names returns the labels of the nodes a and b.
func (h *fixture) names(t *testing.T) string {
	t.Helper()
	st := h.planner.State()
	return st.Labels.Name(h.node(t, "a").Label) + " " + st.Labels.Name(h.node(t, "b").Label)
}

func TestLabels(t *testing.T) {
	h := newLabelled(t)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := h.AddToClusterNodeLabels(ctx, root,
		&proto.AddToClusterNodeLabelsRequestProto{DeprecatedNodeLabels: []string{"old"}})
	must(err) // the request of a Hadoop 2.6 client
	must(h.add(label("gpu", true), label(" spot ", false), &proto.NodeLabelProto{Name: new("plain")}))
	must(h.add(label("gpu", true)))
	st := h.planner.State()
	for name, exclusive := range map[string]bool{"old": true, "gpu": true, "spot": false, "plain": true} {
		if id, ok := st.Labels.Listed(name); !ok || st.Labels.Get(id).Exclusive != exclusive {
			t.Errorf("label %s: listed %v", name, ok)
		}
	}
	must(h.replace(true, at("a", 0, "gpu"), at("b", 45454, "old"), at("b", 45454, "spot")))
	if got := h.names(t); got != "gpu spot" {
		t.Errorf("the nodes have %s", got)
	}
	must(h.replace(false, at("a", 45454), at("later", 0, "gpu")))
	if got := h.names(t); got != " spot" || st.LabelledHosts.LabelOf(
		yarn.NodeID{Host: "later", Port: 1}) != st.Labels.Find("gpu") {
		t.Errorf("the nodes have %s", got)
	}
	must(h.remove("old", "spot"))
	if got := h.names(t); got != " " {
		t.Errorf("the nodes have %s", got)
	}
	must(h.add())
	must(h.remove())
	must(h.replace(true))
}

// TestLabelRefusals checks that requests that YARN refuses are refused with YARN's texts and change
// nothing.
func TestLabelRefusals(t *testing.T) {
	h := newLabelled(t)
	if err := h.add(label("gpu", true), label("spot", false)); err != nil {
		t.Fatal(err)
	}
	before := h.planner.State().Digest()
	for _, c := range []struct {
		err  error
		text string
	}{
		{h.add(label("new", true), label("gpu", false), label("spot", true)),
			"Exclusivity cannot be modified for an existing label with : <gpu:exclusivity=false>,<spot:exclusivity=true>"},
		{h.add(label("new", true), label("-a", true)),
			"label name should only contains {0-9, a-z, A-Z, -, _} and should not started with {-,_}, now it is= -a"},
		{h.remove("spot", "none"), "Node label=none to be removed doesn't existed in cluster node labels collection."},
		{h.remove("gpu"),
			"Cannot remove label=gpu, because queue=root.batch is using this label. Please remove label on queue before remove the label"},
		{h.replace(false, at("a", 0, "spot"), at("b", 0, "none")),
			"Not all labels being replaced contained by known label collections, please check, new labels=[none]"},
		{h.replace(false, at("a", 0, "gpu", "spot")),
			"2 labels specified on host=a, please note that we do not support specifying multiple labels on a single host for now."},
		{h.replace(true, at("a", 0, "gpu"), at("c", 0, "gpu"), at("d", 1, "gpu")),
			"Failed to replace labels as there are unknown nodes:[c:0, d:1]"},
		{h.replace(false, &proto.NodeIdToLabelsProto{}), "invalid message: node id missing"},
		{h.replace(false, make([]*proto.NodeIdToLabelsProto, input.MaxEntries+1)...),
			"100001 nodes in one call, at most 100000 are taken"},
	} {
		refused(t, c.err, ipc.ClassYarn, "java.io.IOException: "+c.text)
	}
	if h.planner.State().Digest() != before {
		t.Error("a refused call changed something")
	}
}

// TestLabelSource checks that an administrator may label nodes only if the NodeManagers do not
// label themselves.
func TestLabelSource(t *testing.T) {
	h := newLabelled(t, "yarn.node-labels.configuration-type", "distributed")
	if err := h.add(label("gpu", true)); err != nil {
		t.Fatal(err)
	}
	refused(t, h.replace(false, at("a", 0, "gpu")), ipc.ClassYarn,
		"java.io.IOException: Error when invoke method=replaceLabelsOnNode because centralized node label configuration is not enabled.")
	h = newLabelled(t, "yarn.node-labels.configuration-type", "delegated-centralized")
	if err := h.add(label("gpu", true)); err != nil {
		t.Fatal(err)
	}
	if err := h.replace(false, at("a", 0, "gpu")); err != nil {
		t.Error(err)
	}
}
