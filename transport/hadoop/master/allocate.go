package master

import (
	"context"
	"math"

	gproto "google.golang.org/protobuf/proto"

	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/token"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

// allocate is an AM's heartbeat. The request contains the AM's asks, and the response its granted
// and completed containers.
func (s *Service) allocate(ctx context.Context, c *ipc.Call, body []byte) ([]byte, error) {
	who, err := caller(c)
	if err != nil {
		return nil, err
	}
	req := new(proto.AllocateRequestProto)
	if err := ipc.Unmarshal(body, req); err != nil {
		return nil, &ipc.Error{Class: ipc.ClassServer, Message: "request of allocate: " + err.Error(),
			Detail: ipc.DetailServer}
	}
	a, err := s.enter(ctx, who.Attempt, req.GetResponseId() == 0)
	if err != nil {
		return nil, err
	}
	in, err := s.read(a, req)
	if err != nil {
		return nil, s.instead(ctx, a, err)
	}
	reply, fault, err := s.do(ctx, in)
	if err == nil && fault != nil && fault.Reason == input.InvalidAsk && dropStrayPlaces(in) {
		reply, fault, err = s.do(ctx, in)
	}
	switch {
	case err != nil:
		return nil, err
	case fault != nil && isOver(fault):
		s.attempts.drop(a.id)
		return nil, notFound(a.id)
	case fault != nil:
		return nil, s.refused(a, in, fault)
	}
	return s.answer(a, who, req, reply.(*input.AllocateReply))
}

// read makes the checks of a request that need no planning, and returns its input.
func (s *Service) read(a *attempt, req *proto.AllocateRequestProto) (*input.Allocate, error) {
	if len(req.GetSchedulingRequests()) > 0 {
		return nil, refusal(ipc.ClassYarn, noConstraints, "SchedulingRequest", "AllocateRequest", a.id, "allocate")
	}
	in := &input.Allocate{
		Attempt:         a.id,
		Response:        req.GetResponseId(),
		BlacklistAdd:    req.GetBlacklistRequest().GetBlacklistAdditions(),
		BlacklistRemove: req.GetBlacklistRequest().GetBlacklistRemovals(),
		Progress:        progress(req.GetProgress()),
		TrackingURL:     req.GetTrackingUrl(),
		FromAM:          true,
	}
	var err error
	if len(req.GetAsk()) > 0 {
		if in.Asks, err = readAsks(req.GetAsk(), s.cfg.Reader.Fork()); err != nil {
			return nil, err
		}
	}
	for _, name := range in.BlacklistAdd {
		if name == yarn.Any {
			return nil, refusal(classInvalidBlacklist, "Cannot add %s to the blacklist!", yarn.Any)
		}
	}
	if len(req.GetUpdateRequests()) > 0 {
		in.Updates = readUpdates(req.GetUpdateRequests(), s.cfg.Reader.Fork())
	}
	if in.Releases, err = a.readReleases(req.GetRelease()); err != nil {
		return nil, err
	}
	return in, nil
}

// noConstraints is YARN's text for placement constraints while their handler is disabled.
const noConstraints = "Found non empty %s in %s for application=%s, but the configured " +
	"yarn.resourcemanager.placement-constraints.handler cannot handle placement constraints. Rejecting this %s operation"

// progress converts a progress from 0 to 1 to hundredths of a percent. It clips values outside that
// range, and converts NaN to 0.
func progress(p float32) uint32 {
	switch {
	case !(p > 0): // includes NaN
		return 0
	case p >= 1:
		return 10_000
	}
	return uint32(math.Round(float64(p) * 10_000))
}

// readReleases returns the containers that an AM releases. Containers of an earlier attempt are
// allowed only if the application keeps containers across attempts.
func (a *attempt) readReleases(list []*proto.ContainerIdProto) ([]yarn.ContainerID, error) {
	if len(list) == 0 {
		return nil, nil
	}
	out := make([]yarn.ContainerID, len(list))
	for i, p := range list {
		id, err := wire.ContainerID(p)
		if err != nil {
			return nil, refusal(classInvalidRelease, "Cannot release container: %v", err)
		}
		if !a.keeps && (id.App != a.id.App || id.Attempt != a.id.Attempt) {
			return nil, refusal(classInvalidRelease,
				"Cannot release container : %s not belonging to this application attempt : %s", id, a.id)
		}
		out[i] = id
	}
	return out, nil
}

// instead returns the error for a request that is refused here. If the attempt has ended or must
// register, that error has precedence over err.
func (s *Service) instead(ctx context.Context, a *attempt, err error) error {
	if e := s.cfg.Reader.Current(ctx); e != nil {
		return unavailable(e)
	}
	app := appOf(s.cfg.Reader.Fork(), a.id)
	switch {
	case app == nil:
		s.attempts.drop(a.id)
		return notFound(a.id)
	case app.AttemptState < state.AttemptRegistered:
		return refusal(classNotRegistered, "AM is not registered for known application attempt: %s", a.id)
	}
	return err
}

// answer encodes the response for a planner's reply. The frequent parts are encoded by hand, and
// the rare parts as a message.
func (s *Service) answer(a *attempt, who token.AMRM, req *proto.AllocateRequestProto,
	reply *input.AllocateReply) ([]byte, error) {
	m := s.newResponse(a)
	defer m.close()
	b := m.appendReply(make([]byte, 0, 128+768*len(reply.Granted)), reply)
	rest := proto.AllocateResponseProto{CompletedContainerStatuses: statuses(reply.Completed)}
	var err error
	for i := range reply.Granted {
		if m.pages.container, err = m.appendContainer(m.pages.container[:0], &reply.Granted[i], 0); err != nil {
			return nil, s.noKey(err)
		}
		b = field(b, fieldAllocated, m.pages.container)
	}
	if err := m.fill(&rest, who, req, reply); err != nil {
		return nil, s.noKey(err)
	}
	return gproto.MarshalOptions{}.MarshalAppend(b, &rest)
}

// fill adds the parts that an attempt receives once: NM tokens, a new AM token, and changes of
// nodes. What was sent with a response counts as received when the AM asks for a later response.
// Until then it is sent again.
func (m *responseBuilder) fill(out *proto.AllocateResponseProto, who token.AMRM, req *proto.AllocateRequestProto,
	reply *input.AllocateReply) error {
	a := m.a
	a.mu.Lock()
	defer a.mu.Unlock()
	if reply.Response != a.response {
		a.response, a.nodesTold = reply.Response, a.nodesSent
	}
	out.UpdateErrors = m.updateErrors(req.GetUpdateRequests(), reply)
	var err error
	if out.UpdatedContainers, err = m.updated(reply.Resized); err != nil {
		return err
	}
	out.Preempt = m.preemptionMessage(reply)
	if out.NmTokens, err = m.nmTokens(tokenContainers(reply), reply.Response); err != nil {
		return err
	}
	if out.AmRmToken, err = m.amToken(who, reply.Response); err != nil {
		return err
	}
	var nodes []state.NodeSlot
	nodes, a.nodesSent = m.nodes.after(m.st, a.nodesTold)
	out.UpdatedNodes = nodeReports(m.st, nodes)
	return nil
}

// noKey returns the error if a token cannot be created because there is no master key yet. A
// repeated call receives the containers again.
func (s *Service) noKey(err error) error {
	s.log.Warn("token not made", "error", err)
	return unavailable(err)
}
