package client

import (
	"context"

	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/wire"
)

// resourceTypes returns the resource types of the cluster.
func (s *Service) resourceTypes(ctx context.Context, c *ipc.Call,
	_ *proto.GetAllResourceTypeInfoRequestProto) (*proto.GetAllResourceTypeInfoResponseProto, error) {
	v, err := s.read(ctx, c)
	if err != nil {
		return nil, err
	}
	return &proto.GetAllResourceTypeInfoResponseProto{ResourceTypeInfo: wire.ResourceTypeInfos(v.kinds)}, nil
}
