package client

import (
	"context"

	"google.golang.org/protobuf/types/known/emptypb"

	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
)

const (
	reservationsOff = "Reservation is not enabled. Please enable & try again"
	profilesOff     = "Resource profile is not enabled, please enable resource profile feature before using its functions." +
		" (by setting yarn.resourcemanager.resource-profiles.enabled to true)"
)

// resourceProfiles refuses the call with the one exception after which DistributedShell's client
// continues without profiles.
func (s *Service) resourceProfiles(context.Context, *ipc.Call,
	*proto.GetAllResourceProfilesRequestProto) (*proto.GetAllResourceProfilesResponseProto, error) {
	return nil, exception(classNotEnabled, profilesOff)
}

func (s *Service) resourceProfile(context.Context, *ipc.Call,
	*proto.GetResourceProfileRequestProto) (*proto.GetResourceProfileResponseProto, error) {
	return nil, exception(classNotEnabled, profilesOff)
}

// noReservations answers the calls of YARN's reservation system, which is not supported, as a YARN
// cluster that has disabled it.
func noReservations(context.Context, *ipc.Call, *emptypb.Empty) (*emptypb.Empty, error) {
	return nil, yarnException(reservationsOff)
}

// There are no node attributes. YARN answers these calls with nothing, whether or not attributes
// are enabled.

func (s *Service) clusterNodeAttributes(context.Context, *ipc.Call,
	*proto.GetClusterNodeAttributesRequestProto) (*proto.GetClusterNodeAttributesResponseProto, error) {
	return &proto.GetClusterNodeAttributesResponseProto{}, nil
}

func (s *Service) attributesToNodes(context.Context, *ipc.Call,
	*proto.GetAttributesToNodesRequestProto) (*proto.GetAttributesToNodesResponseProto, error) {
	return &proto.GetAttributesToNodesResponseProto{}, nil
}

func (s *Service) nodesToAttributes(context.Context, *ipc.Call,
	*proto.GetNodesToAttributesRequestProto) (*proto.GetNodesToAttributesResponseProto, error) {
	return &proto.GetNodesToAttributesResponseProto{}, nil
}
