package admin

import (
	"context"
	"fmt"

	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
)

// serviceStatus returns the replica's role: the leader is active, all others are standby. A
// follower is reported as standby although it forwards every call.
func (s *Service) serviceStatus(_ context.Context, c *ipc.Call,
	_ *proto.GetServiceStatusRequestProto) (*proto.GetServiceStatusResponseProto, error) {
	if err := s.admitHA(c, "getServiceState"); err != nil {
		return nil, err
	}
	here, known := s.cfg.Leader()
	out := &proto.GetServiceStatusResponseProto{State: proto.HAServiceStateProto_STANDBY.Enum(),
		ReadyToBecomeActive: new(true)}
	if here {
		out.State = proto.HAServiceStateProto_ACTIVE.Enum()
	}
	if err := s.cfg.Unhealthy(); err != nil {
		out.ReadyToBecomeActive, out.NotReadyReason = new(false), new(err.Error())
	} else if !known {
		out.NotReadyReason = new("no leader is elected at the moment")
	}
	return out, nil
}

func (s *Service) monitorHealth(_ context.Context, c *ipc.Call,
	_ *proto.MonitorHealthRequestProto) (*proto.MonitorHealthResponseProto, error) {
	if err := s.admitHA(c, "monitorHealth"); err != nil {
		return nil, err
	}
	if err := s.cfg.Unhealthy(); err != nil {
		return nil, &ipc.Error{Class: classHealth, Message: err.Error()}
	}
	return &proto.MonitorHealthResponseProto{}, nil
}

// admitHA refuses a caller that is not an administrator. This protocol uses AccessControlException
// itself.
func (s *Service) admitHA(c *ipc.Call, operation string) error {
	if s.cfg.Admit == nil || s.cfg.Admit(c.Caller, operation) == nil {
		return nil
	}
	return ipc.Denied(fmt.Sprintf("User %s doesn't have permission to call '%s'", c.Caller.User, operation))
}

// refuse refuses transitions. Raft elects the leader, so Hadoop's tools must not.
func (s *Service) refuse(c *ipc.Call, operation string) error {
	if err := s.admitHA(c, operation); err != nil {
		return err
	}
	return &ipc.Error{Class: classService, Message: fmt.Sprintf(
		"%s of %s is refused: the replicas elect their leader themselves; use \"rmd cluster transfer\" to hand leadership over", operation, s.cfg.ID)}
}

func (s *Service) toActive(_ context.Context, c *ipc.Call,
	_ *proto.TransitionToActiveRequestProto) (*proto.TransitionToActiveResponseProto, error) {
	return nil, s.refuse(c, "transitionToActive")
}

func (s *Service) toStandby(_ context.Context, c *ipc.Call,
	_ *proto.TransitionToStandbyRequestProto) (*proto.TransitionToStandbyResponseProto, error) {
	return nil, s.refuse(c, "transitionToStandby")
}

func (s *Service) toObserver(context.Context, *ipc.Call,
	*proto.TransitionToObserverRequestProto) (*proto.TransitionToObserverResponseProto, error) {
	return nil, &ipc.Error{Class: classService, Message: "Does not support transition to Observer"}
}
