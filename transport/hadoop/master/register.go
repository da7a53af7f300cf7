package master

import (
	"context"
	"fmt"

	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/transport/hadoop/bounded"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

// register handles an AM's registration. An AM that registers again starts over with the containers
// that it has; the planner handles that.
func (s *Service) register(ctx context.Context, c *ipc.Call,
	req *proto.RegisterApplicationMasterRequestProto) (*proto.RegisterApplicationMasterResponseProto, error) {
	who, err := caller(c)
	if err != nil {
		return nil, err
	}
	if len(req.GetPlacementConstraints()) > 0 {
		return nil, refusal(ipc.ClassYarn, noConstraints, "placement constraints map", "RegisterApplicationMasterRequest",
			who.Attempt, "registerApplicationMaster")
	}
	a, err := s.enter(ctx, who.Attempt, true)
	if err != nil {
		return nil, err
	}
	if err := s.cfg.Reader.Current(ctx); err != nil {
		return nil, unavailable(err)
	}
	in := &input.RegisterAttempt{Attempt: a.id, Host: req.GetHost(), RPCPort: req.GetRpcPort(),
		TrackingURL: req.GetTrackingUrl(), HasResponse: true}
	if app := appOf(s.cfg.Reader.Fork(), a.id); app != nil {
		in.Response = app.Response
	}
	if s.cfg.Entropy != nil {
		in.Entropy = s.cfg.Entropy()
	}
	reply, fault, err := s.do(ctx, in)
	switch {
	case err != nil:
		return nil, err
	case fault != nil && fault.Reason == input.WrongResponse: // its client repeats the call
		return nil, ipc.Standby(fault.Error())
	case fault != nil && isOver(fault):
		s.attempts.drop(a.id)
		return nil, notFound(a.id)
	case fault != nil:
		return nil, faulted(fault)
	}
	r := reply.(*input.RegisterAttemptReply)
	m := s.newResponse(a)
	defer m.close()
	out := &proto.RegisterApplicationMasterResponseProto{
		MaximumCapability:      wire.ResourceProto(r.Maximum, m.kinds),
		Queue:                  new(r.Queue),
		Application_ACLs:       a.acls,
		SchedulerResourceTypes: schedulerTypes(m.st),
		ResourceTypes:          wire.ResourceTypeInfos(m.kinds),
	}
	if app := appOf(m.st, a.id); app != nil {
		if key := app.Details().ClientKey.Bytes; len(key) > 0 {
			out.ClientToAmTokenMasterKey = key
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.response, a.nodesSent, a.tokens, a.ownKey = 0, a.nodesTold, nil, 0
	if out.ContainersFromPreviousAttempts, err = m.kept(r.Kept, r.KeptVersions); err == nil {
		out.NmTokensFromPreviousAttempts, err = m.nmTokens(r.Kept, 0)
	}
	if err != nil {
		return nil, s.noKey(err)
	}
	return out, nil
}

// kept returns the containers that the previous attempt has left, with the versions of their sizes.
// A missing version is 0.
func (m *responseBuilder) kept(list []input.Granted, versions []int32) ([]*proto.ContainerProto, error) {
	var out []*proto.ContainerProto
	for i := range list {
		version := int32(0)
		if i < len(versions) {
			version = versions[i]
		}
		c, err := m.container(&list[i], version)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

// container returns the message that appendContainer encodes.
func (m *responseBuilder) container(g *input.Granted, version int32) (*proto.ContainerProto, error) {
	b, err := m.appendContainer(nil, g, version)
	if err != nil {
		return nil, err
	}
	c := new(proto.ContainerProto)
	if err := bounded.Unmarshal(b, c); err != nil {
		return nil, fmt.Errorf("container %s: %w", g.Container, err)
	}
	return c, nil
}

// schedulerTypes returns the resource types that the scheduler counts, memory or memory and CPU. An
// AM uses them to compute how many containers fit into its headroom.
func schedulerTypes(st *state.State) []proto.SchedulerResourceTypes {
	if v := st.Versions.Current(); v != nil && v.Dominant {
		return []proto.SchedulerResourceTypes{proto.SchedulerResourceTypes_MEMORY, proto.SchedulerResourceTypes_CPU}
	}
	return []proto.SchedulerResourceTypes{proto.SchedulerResourceTypes_MEMORY}
}

// finish handles an AM's unregistration. It returns true when the unregistration is committed, and
// for every repetition. YARN first returns false, and its AMs ask again.
func (s *Service) finish(ctx context.Context, c *ipc.Call,
	req *proto.FinishApplicationMasterRequestProto) (*proto.FinishApplicationMasterResponseProto, error) {
	who, err := caller(c)
	if err != nil {
		return nil, err
	}
	_, fault, err := s.do(ctx, &input.FinishAttempt{
		Attempt: who.Attempt, Final: wire.FinalStatus(req.GetFinalApplicationStatus()),
		Diagnostics: req.GetDiagnostics(), TrackingURL: req.GetTrackingUrl()})
	switch {
	case err != nil:
		return nil, err
	case fault == nil:
	case isOver(fault):
		s.attempts.drop(who.Attempt)
		if !s.ended(who.Attempt.App) {
			return nil, notFound(who.Attempt)
		}
	default:
		return nil, faulted(fault)
	}
	return &proto.FinishApplicationMasterResponseProto{IsUnregistered: new(true)}, nil
}

// ended reports whether an application has ended. Its last AM then has nothing more to do. The
// leader has refused the call, and this replica has applied the state on which it did so.
func (s *Service) ended(id yarn.ApplicationID) bool {
	st := s.cfg.Reader.Fork()
	slot := st.Apps.ByID(id)
	return slot == 0 || st.Apps.Get(slot).State.Ended()
}
