package admin

import (
	"context"

	"rmd/scheduler/input"
	"rmd/transport/hadoop/access"
	"rmd/transport/hadoop/ipc"
)

// The names of the two protocols in request headers.
const (
	adminProtocol = "org.apache.hadoop.yarn.server.api.ResourceManagerAdministrationProtocolPB"
	haProtocol    = "org.apache.hadoop.ha.HAServiceProtocol"
)

// Service implements both protocols.
type Service struct{ cfg Config }

// New returns a service.
func New(cfg Config) (*Service, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Service{cfg: cfg}, nil
}

// Protocols returns the protocols of the admin port.
func (s *Service) Protocols() []ipc.Protocol {
	return []ipc.Protocol{
		{Name: adminProtocol, Version: 1, Methods: map[string]ipc.Method{
			"refreshQueues":                       ipc.Handle(s.refreshQueues),
			"refreshNodes":                        ipc.Handle(s.refreshNodes),
			"refreshSuperUserGroupsConfiguration": ipc.Handle(s.refreshSuperUserGroups),
			"refreshUserToGroupsMappings":         ipc.Handle(s.refreshUserToGroups),
			"refreshAdminAcls":                    ipc.Handle(s.refreshAdminACLs),
			"refreshServiceAcls":                  ipc.Handle(s.refreshServiceACLs),
			"refreshClusterMaxPriority":           ipc.Handle(s.refreshMaxPriority),
			"refreshNodesResources":               ipc.Handle(s.refreshNodesResources),
			"getGroupsForUser":                    ipc.Handle(s.groupsForUser),
			"updateNodeResource":                  ipc.Handle(s.updateNodeResource),
			"checkForDecommissioningNodes":        ipc.Handle(s.decommissioning),
			"addToClusterNodeLabels":              ipc.Handle(s.AddToClusterNodeLabels),
			"removeFromClusterNodeLabels":         ipc.Handle(s.RemoveFromClusterNodeLabels),
			"replaceLabelsOnNodes":                ipc.Handle(s.ReplaceLabelsOnNode),
			"mapAttributesToNodes":                ipc.Handle(s.mapAttributes),
		}},
		{Name: haProtocol, Version: 1, Methods: map[string]ipc.Method{
			"monitorHealth":        ipc.Handle(s.monitorHealth),
			"getServiceStatus":     ipc.Handle(s.serviceStatus),
			"transitionToActive":   ipc.Handle(s.toActive),
			"transitionToStandby":  ipc.Handle(s.toStandby),
			"transitionToObserver": ipc.Handle(s.toObserver),
		}},
	}
}

// admit refuses a caller that is not an administrator. It refuses every caller if Config.Standby
// returns an error.
func (s *Service) admit(c *ipc.Call, operation string) error {
	if s.cfg.Admit != nil {
		if err := s.cfg.Admit(c.Caller, operation); err != nil {
			return err
		}
	}
	if s.cfg.Standby == nil {
		return nil
	}
	return s.cfg.Standby()
}

// do plans an input and converts a refusal to Hadoop's exception.
func (s *Service) do(ctx context.Context, c *ipc.Call, in input.Input) (input.Reply, error) {
	reply, err := s.submit(ctx, c, in)
	if err != nil {
		return nil, err
	}
	if f := reply.Refused(); f != nil {
		return reply, refusal("", f)
	}
	return reply, nil
}

// submit plans an input in the name of the caller.
func (s *Service) submit(ctx context.Context, c *ipc.Call, in input.Input) (input.Reply, error) {
	reply, _, err := s.cfg.Submitter.Do(access.InNameOf(ctx, c.Caller), input.Request{Input: in})
	return reply, err
}

// refusal converts a planner's refusal to the exception that the Java ResourceManager would throw.
func refusal(head string, f *input.Refusal) error {
	if f.Reason == input.NotInitialized {
		return ipc.Standby(f.Error())
	}
	return ioException("%s", head+f.Error()+details(f))
}

// audit records an administrator's action that leaves no other trace in the log.
func (s *Service) audit(ctx context.Context, c *ipc.Call, action, result string) error {
	_, _, err := s.cfg.Submitter.Do(ctx, input.Request{Input: &input.Audit{
		Who: c.Caller.User, From: access.Address(c.Caller), Action: action, Target: s.cfg.ID, Result: result}})
	return err
}

func details(f *input.Refusal) string {
	out := ""
	for _, d := range f.Details {
		out += "\n  " + d
	}
	return out
}
