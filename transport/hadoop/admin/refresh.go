package admin

import (
	"context"
	"strings"

	"rmd/scheduler/input"
	"rmd/transport/hadoop/access"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
)

// refreshQueues proposes the queue configuration of this replica as the next version.
func (s *Service) refreshQueues(ctx context.Context, c *ipc.Call,
	_ *proto.RefreshQueuesRequestProto) (*proto.RefreshQueuesResponseProto, error) {
	if err := s.admit(c, "refreshQueues"); err != nil {
		return nil, err
	}
	const head = "Failed to re-init queues : "
	props, err := s.cfg.Files.Queues()
	if err != nil {
		return nil, ioException("%s%v", head, err)
	}
	reply, _, err := s.cfg.Submitter.Do(access.InNameOf(ctx, c.Caller), input.Request{Input: &input.SetQueues{
		Properties: props, Author: c.Caller.User, Comment: "rmadmin -refreshQueues at " + s.cfg.ID}})
	if err != nil {
		return nil, err
	}
	if f := reply.Refused(); f != nil {
		if says := s.cfg.Files.Illegal(props); f.Reason == input.InvalidQueues && says != "" {
			return nil, ioException("%s%s", head, says)
		}
		return nil, refusal(head, f)
	}
	if r, ok := reply.(*input.SetQueuesReply); ok { // Hadoop's answer has no field for warnings
		for _, w := range r.Warnings {
			s.cfg.Logger.Warn("queues refreshed", "who", c.Caller.User, "version", r.Version, "warning", w)
		}
	}
	return &proto.RefreshQueuesResponseProto{}, nil
}

// refreshNodes proposes the host lists of this replica.
func (s *Service) refreshNodes(ctx context.Context, c *ipc.Call,
	req *proto.RefreshNodesRequestProto) (*proto.RefreshNodesResponseProto, error) {
	if err := s.admit(c, "refreshNodes"); err != nil {
		return nil, err
	}
	in, err := s.hosts(ctx, req)
	if err != nil {
		return nil, err
	}
	in.Who = c.Caller.User
	reply, err := s.do(ctx, c, in)
	if err != nil {
		return nil, err
	}
	if r, ok := reply.(*input.SetHostsReply); ok {
		s.cfg.Logger.Info("hosts refreshed", "who", in.Who, "leaving", r.Leaving, "returning", r.Returning,
			"graceful", in.Graceful)
	}
	return &proto.RefreshNodesResponseProto{}, nil
}

// hosts returns the lists to propose: those of this replica's files. A forceful refresh ends the
// drains that the lists in force began, so it returns those lists.
func (s *Service) hosts(ctx context.Context, req *proto.RefreshNodesRequestProto) (*input.SetHosts, error) {
	if req.GetDecommissionType() == proto.DecommissionTypeProto_DECOMMISSION_TYPE_FORCEFUL {
		if err := s.cfg.Reader.Current(ctx); err != nil {
			return nil, err
		}
		lists := s.cfg.Reader.Fork().Hosts
		return &input.SetHosts{Include: lists.Include, Exclude: lists.Exclude}, nil
	}
	in, err := s.cfg.Files.Hosts()
	if err != nil {
		return nil, ioException("%v", err)
	}
	in.Graceful, in.TimeoutMillis = s.graceful(req)
	return in, nil
}

// graceful returns whether nodes may wait for their containers, and for how many milliseconds. 0
// means no limit, which YARN writes as a negative time.
func (s *Service) graceful(req *proto.RefreshNodesRequestProto) (bool, int64) {
	switch {
	case req.GetDecommissionType() != proto.DecommissionTypeProto_DECOMMISSION_TYPE_GRACEFUL:
		return false, 0
	case req.DecommissionTimeout == nil:
		return true, s.cfg.GracefulTime.Milliseconds()
	case req.GetDecommissionTimeout() == 0:
		return false, 0
	}
	return true, 1000 * int64(max(req.GetDecommissionTimeout(), 0))
}

// reload reads this replica's files again and records it in the audit.
func (s *Service) reload(ctx context.Context, c *ipc.Call, operation string) error {
	if err := s.admit(c, operation); err != nil {
		return err
	}
	if err := s.cfg.Files.Reload(); err != nil {
		return ioException("%v", err)
	}
	return s.audit(ctx, c, "rmadmin "+operation, "done")
}

func (s *Service) refreshSuperUserGroups(ctx context.Context, c *ipc.Call,
	_ *proto.RefreshSuperUserGroupsConfigurationRequestProto) (*proto.RefreshSuperUserGroupsConfigurationResponseProto,
	error) {
	return &proto.RefreshSuperUserGroupsConfigurationResponseProto{},
		s.reload(ctx, c, "refreshSuperUserGroupsConfiguration")
}

func (s *Service) refreshUserToGroups(ctx context.Context, c *ipc.Call,
	_ *proto.RefreshUserToGroupsMappingsRequestProto) (*proto.RefreshUserToGroupsMappingsResponseProto, error) {
	return &proto.RefreshUserToGroupsMappingsResponseProto{}, s.reload(ctx, c, "refreshUserToGroupsMappings")
}

func (s *Service) refreshAdminACLs(ctx context.Context, c *ipc.Call,
	_ *proto.RefreshAdminAclsRequestProto) (*proto.RefreshAdminAclsResponseProto, error) {
	return &proto.RefreshAdminAclsResponseProto{}, s.reload(ctx, c, "refreshAdminAcls")
}

func (s *Service) refreshServiceACLs(ctx context.Context, c *ipc.Call,
	_ *proto.RefreshServiceAclsRequestProto) (*proto.RefreshServiceAclsResponseProto, error) {
	if !s.cfg.Authorization {
		return nil, ioException("Service Authorization (hadoop.security.authorization) not enabled.")
	}
	return &proto.RefreshServiceAclsResponseProto{}, s.reload(ctx, c, "refreshServiceAcls")
}

// refreshMaxPriority takes yarn.cluster.max-application-priority from this replica's files. It
// belongs to the replicated configuration.
func (s *Service) refreshMaxPriority(ctx context.Context, c *ipc.Call,
	_ *proto.RefreshClusterMaxPriorityRequestProto) (*proto.RefreshClusterMaxPriorityResponseProto, error) {
	if err := s.admit(c, "refreshClusterMaxPriority"); err != nil {
		return nil, err
	}
	const key = "yarn.cluster.max-application-priority"
	files, err := s.cfg.Files.Queues()
	if err != nil {
		return nil, ioException("%v", err)
	}
	if err := s.cfg.Reader.Current(ctx); err != nil {
		return nil, err
	}
	var props []input.Property
	version := uint64(0)
	if v := s.cfg.Reader.Fork().Versions.Current(); v != nil {
		version = v.Version
		for _, p := range v.Properties {
			if p.Name != key {
				props = append(props, input.Property{Name: p.Name, Value: p.Value})
			}
		}
	}
	for _, p := range files {
		if p.Name == key {
			props = append(props, p)
		}
	}
	in := &input.SetQueues{Properties: props, IfVersion: version, Author: c.Caller.User,
		Comment: "rmadmin -refreshClusterMaxPriority at " + s.cfg.ID}
	if _, err := s.do(ctx, c, in); err != nil {
		return nil, err
	}
	return &proto.RefreshClusterMaxPriorityResponseProto{}, nil
}

func (s *Service) groupsForUser(_ context.Context, _ *ipc.Call,
	req *proto.GetGroupsForUserRequestProto) (*proto.GetGroupsForUserResponseProto, error) {
	return &proto.GetGroupsForUserResponseProto{Groups: s.cfg.Groups(strings.TrimSpace(req.GetUser()))}, nil
}
