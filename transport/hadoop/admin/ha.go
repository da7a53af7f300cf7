package admin

import (
	"context"
	"fmt"

	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
)

// serviceStatus tells the replica's true role, even where it passes every call
// on: the leader is active, all others are standby.
func (s *Service) serviceStatus(context.Context, *ipc.Call, *proto.GetServiceStatusRequestProto) (*proto.GetServiceStatusResponseProto, error) {
	here, known := s.cfg.Leader()
	out := &proto.GetServiceStatusResponseProto{State: proto.HAServiceStateProto_STANDBY.Enum(), ReadyToBecomeActive: new(true)}
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

func (s *Service) monitorHealth(context.Context, *ipc.Call, *proto.MonitorHealthRequestProto) (*proto.MonitorHealthResponseProto, error) {
	if err := s.cfg.Unhealthy(); err != nil {
		return nil, &ipc.Error{Class: classHealth, Message: err.Error()}
	}
	return &proto.MonitorHealthResponseProto{}, nil
}

// refuse keeps Hadoop's tools from moving a leadership that is Raft's.
func (s *Service) refuse(to string) error {
	return &ipc.Error{Class: classService, Message: fmt.Sprintf(
		"%s of %s is refused: the replicas elect their leader themselves; use \"rmd cluster transfer\" to hand leadership over", to, s.cfg.ID)}
}

func (s *Service) toActive(context.Context, *ipc.Call, *proto.TransitionToActiveRequestProto) (*proto.TransitionToActiveResponseProto, error) {
	return nil, s.refuse("transitionToActive")
}

func (s *Service) toStandby(context.Context, *ipc.Call, *proto.TransitionToStandbyRequestProto) (*proto.TransitionToStandbyResponseProto, error) {
	return nil, s.refuse("transitionToStandby")
}

func (s *Service) toObserver(context.Context, *ipc.Call, *proto.TransitionToObserverRequestProto) (*proto.TransitionToObserverResponseProto, error) {
	return nil, &ipc.Error{Class: classService, Message: "Does not support transition to Observer"}
}
