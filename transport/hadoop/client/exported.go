package client

import (
	"context"

	gproto "google.golang.org/protobuf/proto"

	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
)

// The following methods are for ports with another protocol (transport/http) that must accept and
// refuse the same calls.

// GetNewApplication is the method getNewApplication of the protocol.
func (s *Service) GetNewApplication(ctx context.Context, c *ipc.Call,
	req *proto.GetNewApplicationRequestProto) (*proto.GetNewApplicationResponseProto, error) {
	return s.newApplication(ctx, c, req)
}

// SubmitApplication is the method submitApplication of the protocol.
func (s *Service) SubmitApplication(ctx context.Context, c *ipc.Call, req *proto.SubmitApplicationRequestProto) error {
	b, err := gproto.Marshal(req)
	if err != nil {
		return err
	}
	_, err = s.submitApplication(ctx, c, b)
	return err
}

// ForceKillApplication is the method forceKillApplication of the protocol.
func (s *Service) ForceKillApplication(ctx context.Context, c *ipc.Call,
	req *proto.KillApplicationRequestProto) (*proto.KillApplicationResponseProto, error) {
	return s.killApplication(ctx, c, req)
}

// MoveApplicationAcrossQueues is the method moveApplicationAcrossQueues of the protocol.
func (s *Service) MoveApplicationAcrossQueues(ctx context.Context, c *ipc.Call,
	req *proto.MoveApplicationAcrossQueuesRequestProto) (*proto.MoveApplicationAcrossQueuesResponseProto, error) {
	return s.moveApplication(ctx, c, req)
}

// UpdateApplicationPriority is the method updateApplicationPriority of the protocol.
func (s *Service) UpdateApplicationPriority(ctx context.Context, c *ipc.Call,
	req *proto.UpdateApplicationPriorityRequestProto) (*proto.UpdateApplicationPriorityResponseProto, error) {
	return s.updatePriority(ctx, c, req)
}

// UpdateApplicationTimeouts is the method updateApplicationTimeouts of the protocol.
func (s *Service) UpdateApplicationTimeouts(ctx context.Context, c *ipc.Call,
	req *proto.UpdateApplicationTimeoutsRequestProto) (*proto.UpdateApplicationTimeoutsResponseProto, error) {
	return s.updateTimeouts(ctx, c, req)
}
