package admin

import (
	"context"
	"fmt"

	"rmd/scheduler/input"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

// The planner's refusals of labels have YARN's texts, which rmadmin prints. Hints what to do are
// left out here, as in YARN.

// labels plans an input about labels.
func (s *Service) labels(ctx context.Context, c *ipc.Call, operation string, in input.Input) error {
	if err := s.admit(c, operation); err != nil {
		return err
	}
	reply, err := s.submit(ctx, c, in)
	if err != nil {
		return err
	}
	switch f := reply.Refused(); {
	case f == nil:
		return nil
	case f.Reason == input.NotInitialized:
		return ipc.Standby(f.Error())
	default:
		return ioException("%s", f.What)
	}
}

// AddToClusterNodeLabels adds labels to the cluster.
func (s *Service) AddToClusterNodeLabels(ctx context.Context, c *ipc.Call,
	req *proto.AddToClusterNodeLabelsRequestProto) (*proto.AddToClusterNodeLabelsResponseProto, error) {
	in := &input.SetLabels{}
	for _, l := range req.GetNodeLabels() {
		in.Labels = append(in.Labels, input.Label{Name: l.GetName(), Exclusive: l.GetIsExclusive()})
	}
	if len(in.Labels) == 0 {
		for _, name := range req.GetDeprecatedNodeLabels() {
			in.Labels = append(in.Labels, input.Label{Name: name, Exclusive: true})
		}
	}
	return &proto.AddToClusterNodeLabelsResponseProto{}, s.labels(ctx, c, "addToClusterNodeLabels", in)
}

// RemoveFromClusterNodeLabels removes labels from the cluster.
func (s *Service) RemoveFromClusterNodeLabels(ctx context.Context, c *ipc.Call,
	req *proto.RemoveFromClusterNodeLabelsRequestProto) (*proto.RemoveFromClusterNodeLabelsResponseProto, error) {
	return &proto.RemoveFromClusterNodeLabelsResponseProto{},
		s.labels(ctx, c, "removeFromClusterNodeLabels", &input.RemoveLabels{Names: req.GetNodeLabels()})
}

// ReplaceLabelsOnNode sets the labels of nodes, and of hosts (port 0).
func (s *Service) ReplaceLabelsOnNode(ctx context.Context, c *ipc.Call,
	req *proto.ReplaceLabelsOnNodeRequestProto) (*proto.ReplaceLabelsOnNodeResponseProto, error) {
	const operation = "replaceLabelsOnNode"
	nodes, err := labelled(req.GetNodeToLabels())
	if err != nil {
		if refused := s.admit(c, operation); refused != nil {
			return nil, refused
		}
		return nil, ioException("%v", err)
	}
	return &proto.ReplaceLabelsOnNodeResponseProto{},
		s.labels(ctx, c, operation, &input.LabelNodes{Nodes: nodes, KnownOnly: req.GetFailOnUnknownNodes()})
}

// labelled returns the labels of nodes. If a node occurs twice, the later entry counts, as in
// Java's map.
func labelled(list []*proto.NodeIdToLabelsProto) ([]input.LabelledNode, error) {
	if len(list) > input.MaxEntries {
		return nil, fmt.Errorf("%d nodes in one call, at most %d are taken", len(list), input.MaxEntries)
	}
	out := make([]input.LabelledNode, 0, len(list))
	at := make(map[yarn.NodeID]int, len(list)) // no iteration, so the order does not matter
	for _, p := range list {
		id, err := wire.NodeID(p.GetNodeId())
		if err != nil {
			return nil, err
		}
		i, again := at[id]
		if !again {
			i = len(out)
			at[id], out = i, append(out, input.LabelledNode{ID: id})
		}
		out[i].Labels = p.GetNodeLabels()
	}
	return out, nil
}
