package client

import (
	"context"
	"strings"

	"rmd/scheduler/input"
	"rmd/transport/hadoop/access"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
)

// protocolName is the protocol's name in request headers.
const protocolName = "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB"

// Service implements the protocol.
type Service struct {
	cfg        Config
	web, proxy string // without a trailing slash
}

// New returns a service.
func New(cfg Config) (*Service, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	s := &Service{cfg: cfg, web: strings.TrimSuffix(cfg.WebURL, "/"), proxy: strings.TrimSuffix(cfg.ProxyURL, "/")}
	if s.proxy == "" {
		s.proxy = s.web
	}
	return s, nil
}

// Protocol returns the protocol with its methods.
func (s *Service) Protocol() ipc.Protocol {
	return ipc.Protocol{Name: protocolName, Version: 1, Methods: map[string]ipc.Method{
		"getNewApplication":    ipc.Handle(s.newApplication),
		"submitApplication":    ipc.HandleBytes(new(proto.SubmitApplicationRequestProto), s.submitApplication),
		"getApplicationReport": ipc.Handle(s.applicationReport),
		"getApplications":      ipc.Handle(s.applications).Large(),

		"forceKillApplication":        ipc.Handle(s.killApplication),
		"failApplicationAttempt":      ipc.Handle(s.failAttempt),
		"moveApplicationAcrossQueues": ipc.Handle(s.moveApplication),
		"updateApplicationPriority":   ipc.Handle(s.updatePriority),
		"updateApplicationTimeouts":   ipc.Handle(s.updateTimeouts),
		"signalToContainer":           ipc.Handle(s.signalContainer),

		"getApplicationAttemptReport": ipc.Handle(s.attemptReport),
		"getApplicationAttempts":      ipc.Handle(s.attempts).Large(),
		"getContainerReport":          ipc.Handle(s.containerReport),
		"getContainers":               ipc.Handle(s.containers).Large(),

		"getClusterMetrics": ipc.Handle(s.clusterMetrics),
		"getClusterNodes":   ipc.Handle(s.clusterNodes).Large(),
		"getQueueInfo":      ipc.Handle(s.queueInfo).Large(),
		"getQueueUserAcls":  ipc.Handle(s.queueUserACLs).Large(),

		"getDelegationToken":    ipc.Handle(s.GetDelegationToken),
		"renewDelegationToken":  ipc.Handle(s.RenewDelegationToken),
		"cancelDelegationToken": ipc.Handle(s.CancelDelegationToken),

		"getResourceTypeInfo": ipc.Handle(s.resourceTypes),
		"getResourceProfiles": ipc.Handle(s.resourceProfiles),
		"getResourceProfile":  ipc.Handle(s.resourceProfile),

		"getNodeToLabels":          ipc.Handle(s.nodeToLabels).Large(),
		"getLabelsToNodes":         ipc.Handle(s.labelsToNodes).Large(),
		"getClusterNodeLabels":     ipc.Handle(s.clusterNodeLabels),
		"getClusterNodeAttributes": ipc.Handle(s.clusterNodeAttributes),
		"getAttributesToNodes":     ipc.Handle(s.attributesToNodes),
		"getNodesToAttributes":     ipc.Handle(s.nodesToAttributes),

		"getNewReservation": ipc.Handle(noReservations),
		"submitReservation": ipc.Handle(noReservations),
		"updateReservation": ipc.Handle(noReservations),
		"deleteReservation": ipc.Handle(noReservations),
		"listReservations":  ipc.Handle(noReservations),
	}}
}

// do plans an input. A refusal is in the reply.
func (s *Service) do(ctx context.Context, c *ipc.Call, in input.Input) (input.Reply, error) {
	reply, _, err := s.cfg.Submitter.Do(access.InNameOf(ctx, c.Caller), input.Request{Input: in})
	if err != nil {
		return nil, elsewhere(err)
	}
	return reply, nil
}

// change plans an input whose reply has no content. It returns the refusal, if there is one.
func (s *Service) change(ctx context.Context, c *ipc.Call, in input.Input) (*input.Refusal, error) {
	reply, err := s.do(ctx, c, in)
	if err != nil {
		return nil, err
	}
	return reply.Refused(), nil
}

// read returns a view of a state that contains everything that any replica had acknowledged when
// the call arrived.
func (s *Service) read(ctx context.Context, c *ipc.Call) (*view, error) {
	if err := s.cfg.Reader.Current(ctx); err != nil {
		return nil, elsewhere(err)
	}
	return s.currentView(c), nil
}

// currentView returns a view of this replica's present state. It is used after a change that this
// replica has applied.
func (s *Service) currentView(c *ipc.Call) *view { return s.view(s.cfg.Reader.Fork(), c.Caller) }
