package client

import (
	"context"
	"slices"

	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/wire"
)

// clusterNodeLabels returns the labels of the cluster.
func (s *Service) clusterNodeLabels(ctx context.Context, c *ipc.Call,
	_ *proto.GetClusterNodeLabelsRequestProto) (*proto.GetClusterNodeLabelsResponseProto, error) {
	v, err := s.read(ctx, c)
	if err != nil {
		return nil, err
	}
	out := &proto.GetClusterNodeLabelsResponseProto{NodeLabels: wire.LabelProtos(v.st)}
	for _, l := range out.NodeLabels {
		out.DeprecatedNodeLabels = append(out.DeprecatedNodeLabels, l.GetName())
	}
	return out, nil
}

// nodeToLabels returns the label of each host and node that has one.
func (s *Service) nodeToLabels(ctx context.Context, c *ipc.Call,
	_ *proto.GetNodesToLabelsRequestProto) (*proto.GetNodesToLabelsResponseProto, error) {
	v, err := s.read(ctx, c)
	if err != nil {
		return nil, err
	}
	out := &proto.GetNodesToLabelsResponseProto{}
	for _, n := range v.st.LabelledNodes() {
		out.NodeToLabels = append(out.NodeToLabels,
			&proto.NodeIdToLabelsProto{NodeId: wire.NodeIDProto(n.ID), NodeLabels: wire.NodeLabels(v.st, n.Label)})
	}
	return out, nil
}

// labelsToNodes returns the hosts and nodes of each label, or of the requested labels.
func (s *Service) labelsToNodes(ctx context.Context, c *ipc.Call,
	req *proto.GetLabelsToNodesRequestProto) (*proto.GetLabelsToNodesResponseProto, error) {
	v, err := s.read(ctx, c)
	if err != nil {
		return nil, err
	}
	asked := req.GetNodeLabels()
	out := &proto.GetLabelsToNodesResponseProto{}
	at := map[string]*proto.LabelsToNodeIdsProto{} // no iteration, so the order does not matter
	for _, n := range v.st.LabelledNodes() {
		name := v.st.Labels.Name(n.Label)
		if len(asked) > 0 && !slices.Contains(asked, name) {
			continue
		}
		if at[name] == nil {
			at[name] = &proto.LabelsToNodeIdsProto{NodeLabels: &name}
			out.LabelsToNodes = append(out.LabelsToNodes, at[name])
		}
		at[name].NodeId = append(at[name].NodeId, wire.NodeIDProto(n.ID))
	}
	return out, nil
}
