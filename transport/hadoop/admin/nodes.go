package admin

import (
	"context"

	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

// updateNodeResource sets the resources of nodes. If one of the nodes is unknown, it sets none.
func (s *Service) updateNodeResource(ctx context.Context, c *ipc.Call,
	req *proto.UpdateNodeResourceRequestProto) (*proto.UpdateNodeResourceResponseProto, error) {
	if err := s.admit(c, "updateNodeResource"); err != nil {
		return nil, err
	}
	if err := s.cfg.Reader.Current(ctx); err != nil {
		return nil, err
	}
	inputs, err := totals(s.cfg.Reader.Fork(), req.GetNodeResourceMap())
	if err != nil {
		return nil, err
	}
	for _, in := range inputs {
		if _, err := s.do(ctx, c, in); err != nil {
			return nil, err
		}
	}
	return &proto.UpdateNodeResourceResponseProto{}, nil
}

func totals(st *state.State, entries []*proto.NodeResourceMapProto) ([]*input.SetNodeResource, error) {
	var out []*input.SetNodeResource
	for _, e := range entries {
		id, err := wire.NodeID(e.GetNodeId())
		if err != nil {
			return nil, yarnException("%v", err)
		}
		slot := st.Nodes.Find(id)
		if slot == 0 || !st.Nodes.Get(slot).Heard() {
			return nil,
				yarnException("Resource update get failed on all nodes due to change resource on an unrecognized node: %s", id)
		}
		total, err := wire.Resource(e.GetResourceOption().GetResource(), st.Versions.Kinds())
		if err != nil {
			return nil, yarnException("%v", err)
		}
		if e.GetResourceOption().GetResource() == nil || total.Negative() {
			return nil, yarnException("Resource update of node %s: %s is not what a node can have", id, total)
		}
		out = append(out, &input.SetNodeResource{ID: id, Total: total})
	}
	return out, nil
}

// refreshNodesResources reloads this replica's files. Unlike YARN, it does not read
// dynamic-resources.xml, which the Java ResourceManager does not ship either. Resources set with
// updateNodeResource stay.
func (s *Service) refreshNodesResources(ctx context.Context, c *ipc.Call,
	_ *proto.RefreshNodesResourcesRequestProto) (*proto.RefreshNodesResourcesResponseProto, error) {
	return &proto.RefreshNodesResourcesResponseProto{}, s.reload(ctx, c, "refreshNodesResources")
}

// decommissioning returns the nodes that are decommissioning. `rmadmin -refreshNodes -g -client`
// polls it.
func (s *Service) decommissioning(ctx context.Context, c *ipc.Call,
	_ *proto.CheckForDecommissioningNodesRequestProto) (*proto.CheckForDecommissioningNodesResponseProto, error) {
	if err := s.admit(c, "checkForDecommissioningNodes"); err != nil {
		return nil, err
	}
	if err := s.cfg.Reader.Current(ctx); err != nil {
		return nil, err
	}
	out := &proto.CheckForDecommissioningNodesResponseProto{}
	s.cfg.Reader.Fork().Nodes.Each(func(_ state.NodeSlot, n *state.Node) bool {
		if n.State == yarn.NodeDecommissioning {
			out.DecommissioningNodes = append(out.DecommissioningNodes, wire.NodeIDProto(n.ID))
		}
		return true
	})
	return out, nil
}

func (s *Service) mapAttributes(_ context.Context, c *ipc.Call,
	_ *proto.NodesToAttributesMappingRequestProto) (*proto.NodesToAttributesMappingResponseProto, error) {
	if err := s.admit(c, "mapAttributesToNodes"); err != nil {
		return nil, err
	}
	return nil, yarnException("Node attributes are not offered by this ResourceManager")
}
