package client

import (
	"context"
	"slices"

	"rmd/fsm/state"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

// attempt is an attempt as reports show it: the current one or one that has ended.
type attempt struct {
	number            uint32
	state             proto.YarnApplicationAttemptStateProto
	host              string
	port              int32
	proxied, original string
	diagnostics       string
	master            uint64
	started, ended    int64
}

// current returns an application's current attempt, which may have ended.
func (v *view) current(a *state.App) attempt {
	if slot := a.History; slot != 0 && a.AttemptState == state.AttemptEnded {
		if t := v.st.Attempts.Get(slot); t.Number == a.Attempt {
			return v.past(a, t)
		}
	}
	d := a.Details()
	t := attempt{number: a.Attempt, state: wire.AttemptState(a), host: d.Host, port: a.RPCPort,
		diagnostics: v.s.diagnostics(a.ID, d.Diagnostics),
		master:      a.MasterNumber, started: a.AttemptMillis, original: d.TrackingURL}
	if a.Unmanaged && a.AttemptState == state.AttemptActive {
		// The client waits for this state and then starts the AM.
		t.state = proto.YarnApplicationAttemptStateProto_APP_ATTEMPT_LAUNCHED
	}
	if a.AttemptState == state.AttemptEnded {
		t.ended = a.EndedMillis
	}
	return v.addressed(a, t)
}

// past returns an attempt that has ended.
func (v *view) past(a *state.App, t *state.Attempt) attempt {
	return v.addressed(a, attempt{number: t.Number, state: wire.EndedAttemptState(t), host: t.Host, port: t.RPCPort,
		diagnostics: v.s.diagnostics(a.ID, t.Diagnostics),
		master:      t.MasterNumber, started: t.StartedMillis, ended: t.EndedMillis, original: t.TrackingURL})
}

// addressed sets the addresses of an attempt's AM. Before the AM registers, and after it fails,
// there is no address. Its pages are reached through the proxy.
func (v *view) addressed(a *state.App, t attempt) attempt {
	if t.original == "" {
		t.original = unavailable
	}
	t.proxied = v.s.proxyURL(a.ID)
	switch t.state {
	case proto.YarnApplicationAttemptStateProto_APP_ATTEMPT_FAILED,
		proto.YarnApplicationAttemptStateProto_APP_ATTEMPT_KILLED:
		t.host = ""
		t.original = v.s.appPage(a.ID)
		t.proxied = t.original
	}
	if t.host == "" {
		t.host, t.port = unavailable, -1
	}
	if a.Unmanaged {
		t.proxied = t.original
	}
	return t
}

// attemptsOf returns the attempts of an application in the state, the first one first.
func (v *view) attemptsOf(a *state.App) []attempt {
	var out []attempt
	if a.Attempt != 0 {
		out = append(out, v.current(a))
	}
	for _, t := range v.st.Attempts.Of(a) {
		if t.Number != a.Attempt {
			out = append(out, v.past(a, t))
		}
	}
	slices.Reverse(out)
	return out
}

// attemptByID returns an attempt, or YARN's error if there is none.
func (v *view) attemptByID(a *state.App, id yarn.AttemptID) (attempt, error) {
	for _, t := range v.attemptsOf(a) {
		if t.number == id.Attempt {
			return t, nil
		}
	}
	return attempt{}, noAttempt(id)
}

func (v *view) attemptReport(a *state.App, t attempt) *proto.ApplicationAttemptReportProto {
	id := yarn.AttemptID{App: a.ID, Attempt: t.number}
	r := &proto.ApplicationAttemptReportProto{
		ApplicationAttemptId:        wire.AttemptIDProto(id),
		Host:                        new(t.host),
		RpcPort:                     new(t.port),
		TrackingUrl:                 new(t.proxied),
		OriginalTrackingUrl:         new(t.original),
		Diagnostics:                 new(t.diagnostics),
		YarnApplicationAttemptState: t.state.Enum(),
		StartTime:                   new(t.started),
		FinishTime:                  new(t.ended),
	}
	if t.master != 0 {
		r.AmContainerId = wire.ContainerIDProto(yarn.ContainerID{App: a.ID, Attempt: t.number, Number: t.master})
	}
	return r
}

// visibleApp returns an application whose details the caller wants to see. what names it in the
// refusal.
func (v *view) visibleApp(id yarn.ApplicationID, what string) (*state.App, error) {
	a, err := v.app(id)
	if err == nil && !v.hasRight(a, viewApp) {
		err = yarnException("User %s does not have privilege to see this %s", v.user, what)
	}
	return a, err
}

func (s *Service) attemptReport(ctx context.Context, c *ipc.Call,
	req *proto.GetApplicationAttemptReportRequestProto) (*proto.GetApplicationAttemptReportResponseProto, error) {
	id, err := wire.AttemptID(req.GetApplicationAttemptId())
	if err != nil {
		return nil, exception(classAttemptNotFound, "Invalid application attempt id: %v", err)
	}
	v, err := s.read(ctx, c)
	if err != nil {
		return nil, err
	}
	a, err := v.visibleApp(id.App, "attempt "+id.String())
	if err != nil {
		return nil, err
	}
	t, err := v.attemptByID(a, id)
	if err != nil {
		return nil, err
	}
	return &proto.GetApplicationAttemptReportResponseProto{ApplicationAttemptReport: v.attemptReport(a, t)}, nil
}

func (s *Service) attempts(ctx context.Context, c *ipc.Call,
	req *proto.GetApplicationAttemptsRequestProto) (*proto.GetApplicationAttemptsResponseProto, error) {
	id, err := wire.ApplicationID(req.GetApplicationId())
	if err != nil {
		return nil, exception(classAppNotFound, "Invalid application id: %v", err)
	}
	v, err := s.read(ctx, c)
	if err != nil {
		return nil, err
	}
	a, err := v.visibleApp(id, "application "+id.String())
	if err != nil {
		return nil, err
	}
	out := &proto.GetApplicationAttemptsResponseProto{}
	for _, t := range v.attemptsOf(a) {
		out.ApplicationAttempts = append(out.ApplicationAttempts, v.attemptReport(a, t))
	}
	return out, nil
}
