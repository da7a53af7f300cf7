package client

import (
	"context"
	"strings"

	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

// killApplication kills an application. When the planner's reply is here, the end is committed, so
// the client's first call completes.
func (s *Service) killApplication(ctx context.Context, c *ipc.Call,
	req *proto.KillApplicationRequestProto) (*proto.KillApplicationResponseProto, error) {
	id, err := wire.ApplicationID(req.GetApplicationId())
	if err != nil {
		return nil, exception(classAppNotFound, "Trying to kill an absent application: %v", err)
	}
	v, err := s.read(ctx, c)
	if err != nil {
		return nil, err
	}
	a, err := v.app(id)
	if err != nil {
		return nil, exception(classAppNotFound, "Trying to kill an absent application %s", id)
	}
	if err := v.mayModify(a); err != nil {
		return nil, err
	}
	if a.State.Ended() {
		return &proto.KillApplicationResponseProto{IsKillCompleted: new(true)}, nil
	}
	f, err := s.change(ctx, c, &input.KillApplication{ID: id, User: v.user,
		Diagnostics: killText(id, v.user, c.Caller, req.GetDiagnostics())})
	if err != nil {
		return nil, err
	}
	if f != nil && f.Reason == input.NoSuchApplication {
		return nil, exception(classAppNotFound, "Trying to kill an absent application %s", id)
	}
	if f != nil {
		return nil, refusal(f)
	}
	s.cfg.Logger.Info("application killed", "application", id, "user", v.user)
	after, err := s.currentView(c).app(id)
	// An application that is forgotten has ended too.
	done := err != nil || after.State.Ended() || after.Unmanaged
	return &proto.KillApplicationResponseProto{IsKillCompleted: new(done)}, nil
}

// killText returns the diagnostics that YARN writes for a killed application.
func killText(id yarn.ApplicationID, user string, c *ipc.Caller, why string) string {
	text := "Application " + id.String() + " was killed by user " + user
	if ip := c.Address.Addr(); ip.IsValid() {
		text += " at " + ip.Unmap().WithZone("").String()
	}
	if why = strings.TrimSpace(why); why != "" {
		text += " with diagnostic message: " + why
	}
	return text
}

func (s *Service) failAttempt(ctx context.Context, c *ipc.Call,
	req *proto.FailApplicationAttemptRequestProto) (*proto.FailApplicationAttemptResponseProto, error) {
	id, err := wire.AttemptID(req.GetApplicationAttemptId())
	if err != nil {
		return nil, exception(classAttemptNotFound, "Invalid application attempt id: %v", err)
	}
	v, err := s.read(ctx, c)
	if err != nil {
		return nil, err
	}
	a, err := v.modify(id.App)
	if err != nil {
		return nil, err
	}
	if _, err := v.attemptByID(a, id); err != nil {
		return nil, err
	}
	out := &proto.FailApplicationAttemptResponseProto{}
	if isFinal(a) || id.Attempt != a.Attempt {
		return out, nil // it has ended already, which YARN reports as success
	}
	f, err := s.change(ctx, c, &input.FailAttempt{Attempt: id, User: v.user})
	switch {
	case err != nil:
		return nil, err
	case f == nil || f.Reason == input.AlreadyEnded:
		return out, nil
	case f.Reason == input.NoSuchAttempt:
		return nil, noAttempt(id)
	case f.Reason == input.NoSuchApplication:
		return nil, noApplication(id.App)
	}
	return nil, refusal(f)
}

func (s *Service) moveApplication(ctx context.Context, c *ipc.Call,
	req *proto.MoveApplicationAcrossQueuesRequestProto) (*proto.MoveApplicationAcrossQueuesResponseProto, error) {
	id, err := wire.ApplicationID(req.GetApplicationId())
	if err != nil {
		return nil, exception(classAppNotFound, "Invalid application id: %v", err)
	}
	v, err := s.read(ctx, c)
	if err != nil {
		return nil, err
	}
	a, err := v.modify(id)
	if err != nil {
		return nil, err
	}
	to := req.GetTargetQueue()
	if !v.maySubmitTo(to) {
		return nil, notThere(v.user, to, id)
	}
	if isFinal(a) || a.State == yarn.AppSubmitted {
		return nil, yarnException("App in %s state cannot be moved.", stateName(a))
	}
	in := &input.MoveApplication{ID: id, Queue: to, User: v.user, Groups: s.cfg.Access.Groups(v.user)}
	f, err := s.change(ctx, c, in)
	if err != nil {
		return nil, err
	}
	if f != nil {
		return nil, s.notMoved(f, in, c)
	}
	return &proto.MoveApplicationAcrossQueuesResponseProto{}, nil
}

// maySubmitTo reports whether the caller may move an application to a queue. While ACLs are off it
// returns true, and the planner checks whether the queue exists.
func (v *view) maySubmitTo(queue string) bool {
	if !v.acls {
		return true
	}
	slot := v.s.cfg.Queues.Find(v.st, queue)
	if slot == 0 {
		return false
	}
	submit, administer := v.s.cfg.Queues.May(v.st, slot, v.user, v.groups)
	return submit || administer
}

func notThere(user, queue string, id yarn.ApplicationID) error {
	return denied(
		"User %s cannot submit applications to target queue or the target queue doesn't exist: %s while moving %s",
		user, queue, id)
}

func (s *Service) notMoved(f *input.Refusal, in *input.MoveApplication, c *ipc.Call) error {
	switch f.Reason {
	case input.NoSuchApplication:
		return noApplication(in.ID)
	case input.NotAllowed:
		return notThere(in.User, in.Queue, in.ID)
	case input.NoSuchQueue, input.QueueAmbiguous:
		return yarnException("The specified Queue: %s doesn't exist", in.Queue)
	case input.QueueNotLeaf:
		return yarnException("The specified Queue: %s is not a Leaf Queue.", in.Queue)
	case input.AlreadyEnded:
		name := "FINISHED"
		if a, err := s.currentView(c).app(in.ID); err == nil {
			name = stateName(a)
		}
		return yarnException("App in %s state cannot be moved.", name)
	case input.QueueStopped:
		return denied("%s. Cannot accept submission of application: %s", capital(f.What), in.ID)
	case input.InvalidLabel:
		return yarnException("%s", f.What)
	}
	return refusal(f)
}

func (s *Service) updatePriority(ctx context.Context, c *ipc.Call,
	req *proto.UpdateApplicationPriorityRequestProto) (*proto.UpdateApplicationPriorityResponseProto, error) {
	id, err := wire.ApplicationID(req.GetApplicationId())
	if err != nil {
		return nil, exception(classAppNotFound, "Invalid application id: %v", err)
	}
	v, err := s.read(ctx, c)
	if err != nil {
		return nil, err
	}
	a, err := v.modify(id)
	if err != nil {
		return nil, err
	}
	if isFinal(a) {
		return priorityOf(a), nil
	}
	if a.State == yarn.AppSubmitted {
		return nil, yarnException("Application in %s state cannot update priority.", stateName(a))
	}
	reply, err := s.do(ctx, c, &input.SetPriority{ID: id, Priority: wire.Priority(req.GetApplicationPriority()),
		User: v.user, Groups: s.cfg.Access.Groups(v.user)})
	if err != nil {
		return nil, err
	}
	switch f := reply.Refused(); {
	case f == nil:
	case f.Reason == input.AlreadyEnded:
		return priorityOf(a), nil
	case f.Reason == input.NoSuchApplication:
		return nil, noApplication(id)
	case f.Reason == input.PriorityTooHigh:
		return nil, priorityDenied(f, v.user, c.Caller)
	default:
		return nil, refusal(f)
	}
	r, ok := reply.(*input.SetPriorityReply)
	if !ok {
		return nil, yarnException("the leader answered with %T", reply)
	}
	return &proto.UpdateApplicationPriorityResponseProto{ApplicationPriority: wire.PriorityProto(r.Priority)}, nil
}

// priorityDenied returns YARN's refusal of a priority. It names the caller and the way in which it
// was authenticated.
func priorityDenied(f *input.Refusal, user string, c *ipc.Caller) error {
	who := c.User + " (auth:" + c.Kind + ")"
	if c.RealUser != "" {
		who = c.User + " (auth:PROXY) via " + c.RealUser + " (auth:" + c.Kind + ")"
	}
	return denied("User %s%s", who, strings.TrimPrefix(f.What, "user "+user))
}

func priorityOf(a *state.App) *proto.UpdateApplicationPriorityResponseProto {
	return &proto.UpdateApplicationPriorityResponseProto{ApplicationPriority: wire.PriorityProto(a.Priority)}
}

// signalContainer sends a signal to a container through its node.
func (s *Service) signalContainer(ctx context.Context, c *ipc.Call,
	req *proto.SignalContainerRequestProto) (*proto.SignalContainerResponseProto, error) {
	id, err := wire.ContainerID(req.GetContainerId())
	if err != nil {
		return nil, yarnException("Trying to signal an absent container: %v", err)
	}
	v, err := s.read(ctx, c)
	if err != nil {
		return nil, err
	}
	absent := yarnException("Trying to signal an absent container %s", id)
	a, err := v.app(id.App)
	if err != nil {
		return nil, absent
	}
	if err := v.mayModify(a); err != nil {
		return nil, err
	}
	if v.containerOf(id) == nil {
		return nil, absent
	}
	f, err := s.change(ctx, c, &input.SignalContainer{Container: id, Command: uint8(req.GetCommand())})
	switch {
	case err != nil:
		return nil, err
	case f == nil:
		return &proto.SignalContainerResponseProto{}, nil
	case f.Reason == input.NoSuchContainer || f.Reason == input.NoSuchApplication:
		return nil, absent
	}
	return nil, refusal(f)
}
