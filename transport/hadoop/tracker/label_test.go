package tracker

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"rmd/scheduler/input"
	"rmd/transport/hadoop/proto"
)

// newLabelled returns a cluster with the labels gpu and spot and one node. source is
// yarn.node-labels.configuration-type.
func newLabelled(t *testing.T, source string) (*cluster, *Service, *nm) {
	t.Helper()
	c := newCluster(t, input.Property{Name: "yarn.node-labels.enabled", Value: "true"},
		input.Property{Name: "yarn.node-labels.configuration-type", Value: source})
	c.must(&input.SetLabels{Labels: []input.Label{{Name: "gpu", Exclusive: true}, {Name: "spot"}}})
	s := newService(t, c)
	return c, s, newNM(t, s, "node1")
}

func labels(names ...string) *proto.NodeLabelsProto {
	p := &proto.NodeLabelsProto{}
	for _, name := range names {
		p.NodeLabels = append(p.NodeLabels, &proto.NodeLabelProto{Name: &name})
	}
	return p
}

func (n *nm) registerWith(t *testing.T, p *proto.NodeLabelsProto) *proto.RegisterNodeManagerResponseProto {
	t.Helper()
	n.labels = p
	out := n.register()
	if out.GetNodeAction() != proto.NodeActionProto_NODE_ACTION_NORMAL {
		t.Fatalf("it is answered %v", out)
	}
	return out
}

func (n *nm) beatWith(p *proto.NodeLabelsProto) *proto.NodeHeartbeatResponseProto {
	n.change = func(r *proto.NodeHeartbeatRequestProto) { r.NodeLabels = p }
	defer func() { n.change = nil }()
	return n.beat()
}

// TestLabelsOfANode checks the labels that a node reports in its registration and in heartbeats. If
// they are refused, the node keeps its previous label and is told the reason.
func TestLabelsOfANode(t *testing.T) {
	c, _, n := newLabelled(t, "distributed")
	label := func() string { return c.Fork().Labels.Name(c.node(n.id).Label) }
	if out := n.registerWith(t, labels("gpu")); !out.GetAreNodeLabelsAcceptedByRM() || out.DiagnosticsMessage != nil ||
		label() != "gpu" {
		t.Fatalf("it has %q and is answered %v", label(), out)
	}
	n.beat()
	if out := n.beatWith(nil); out.AreNodeLabelsAcceptedByRM != nil || label() != "gpu" {
		t.Errorf("without a word: it has %q and is answered %v", label(), out)
	}
	if out := n.beatWith(labels("spot")); !out.GetAreNodeLabelsAcceptedByRM() || label() != "spot" {
		t.Errorf("it has %q and is answered %v", label(), out)
	}
	const head = "Node Labels {%} reported from NM with ID node1:45454 was rejected from RM with exception message as : "
	for _, r := range []struct {
		names []string
		says  string
	}{
		{[]string{"none"},
			"Not all labels being replaced contained by known label collections, please check, new labels=[none]"},
		{[]string{"spot", "gpu"},
			"2 labels specified on host=node1, please note that we do not support specifying multiple labels on a single host for now."},
	} {
		want := strings.Replace(head, "%", strings.Join(slices.Sorted(slices.Values(r.names)), ","), 1) + r.says
		out := n.beatWith(labels(r.names...))
		if out.GetNodeAction() != proto.NodeActionProto_NODE_ACTION_NORMAL || out.AreNodeLabelsAcceptedByRM == nil ||
			out.GetAreNodeLabelsAcceptedByRM() || out.GetDiagnosticsMessage() != want || label() != "spot" {
			t.Errorf("%v: it has %q and is answered %v", r.names, label(), out)
		}
		if out := n.registerWith(t, labels(r.names...)); out.AreNodeLabelsAcceptedByRM == nil ||
			out.GetAreNodeLabelsAcceptedByRM() || out.GetDiagnosticsMessage() != want || label() != "spot" {
			t.Errorf("%v, registering: it has %q and is answered %v", r.names, label(), out)
		}
	}
	if out := n.beatWith(labels(make([]string, labelsMax+1)...)); out.GetAreNodeLabelsAcceptedByRM() ||
		!strings.HasPrefix(out.GetDiagnosticsMessage(), "101 labels of node node1:45454") {
		t.Errorf("too many: %v", out)
	}
	if out := n.beatWith(labels(strings.Repeat("x", 1<<20))); out.GetAreNodeLabelsAcceptedByRM() ||
		len(out.GetDiagnosticsMessage()) > DefaultConfig().DiagnosticsMax {
		t.Errorf("too long: %d bytes", len(out.GetDiagnosticsMessage()))
	}
	if out := n.beatWith(labels()); !out.GetAreNodeLabelsAcceptedByRM() || label() != "" {
		t.Errorf("it has %q and is answered %v", label(), out)
	}
}

// TestLabelsOfANodeAreIgnored checks that reported labels are ignored if administrators label the
// nodes.
func TestLabelsOfANodeAreIgnored(t *testing.T) {
	for _, source := range []string{"centralized", "delegated-centralized"} {
		c, _, n := newLabelled(t, source)
		if out := n.registerWith(t, labels("gpu")); out.AreNodeLabelsAcceptedByRM != nil || out.DiagnosticsMessage != nil {
			t.Errorf("registration with source %s = %v, want no acceptance and no diagnostics", source, out)
		}
		if out := n.beatWith(labels("gpu")); out.AreNodeLabelsAcceptedByRM != nil || c.node(n.id).Label != 0 {
			t.Errorf("heartbeat with source %s = %v, want no acceptance; label %d, want 0",
				source, out, c.node(n.id).Label)
		}
	}
}

// TestLabelsWithoutLeader checks that a heartbeat fails if its labels cannot be set, and succeeds
// when it is repeated.
func TestLabelsWithoutLeader(t *testing.T) {
	c, _, n := newLabelled(t, "distributed")
	n.register()
	n.beat()
	c.fail(func(in input.Input) error {
		if _, ok := in.(*input.LabelNodes); ok {
			return errors.New("no leader")
		}
		return nil
	}, nil)
	n.change = func(r *proto.NodeHeartbeatRequestProto) { r.NodeLabels = labels("gpu") }
	if out, err := n.try(); err == nil {
		t.Fatalf("answered %v", out)
	}
	c.fail(nil, nil)
	if out := n.beat(); !out.GetAreNodeLabelsAcceptedByRM() || c.Fork().Labels.Name(c.node(n.id).Label) != "gpu" {
		t.Errorf("answered %v", out)
	}
}
