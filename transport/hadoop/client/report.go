package client

import (
	"context"
	"strings"

	"rmd/fsm/state"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/token"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

// YARN's values for missing information.
const (
	unavailable    = "N/A"
	labelNotSet    = "<Not set>"
	labelDefault   = "<DEFAULT_PARTITION>"
	unlimited      = "UNLIMITED"
	unknownSeconds = -1
)

func (s *Service) applicationReport(ctx context.Context, c *ipc.Call,
	req *proto.GetApplicationReportRequestProto) (*proto.GetApplicationReportResponseProto, error) {
	id, err := wire.ApplicationID(req.GetApplicationId())
	if err != nil {
		return nil, exception(classAppNotFound, "Invalid application id: null")
	}
	v, err := s.read(ctx, c)
	if err != nil {
		return nil, err
	}
	a, err := v.app(id)
	if err != nil {
		return nil, err
	}
	r := v.report(a, v.hasRight(a, viewApp))
	if r.GetDiagnostics() == "" && a.State == yarn.AppAccepted && s.cfg.Why != nil {
		r.Diagnostics = new(s.cfg.Why(v.st, id))
	}
	return &proto.GetApplicationReportResponseProto{ApplicationReport: r}, nil
}

// report returns the report of an application. If see is false, it contains nothing from the
// application's attempts.
func (v *view) report(a *state.App, see bool) *proto.ApplicationReportProto {
	user, about := v.st.Names.Text(a.User), a.Details()
	r := &proto.ApplicationReportProto{
		ApplicationId:          wire.ApplicationIDProto(a.ID),
		User:                   new(user),
		Queue:                  new(v.st.QueueOf(a)),
		Name:                   new(about.Name),
		YarnApplicationState:   wire.ApplicationState(a).Enum(),
		FinalApplicationStatus: wire.AppFinalStatus(a).Enum(),
		StartTime:              new(a.SubmittedMillis),
		LaunchTime:             new(v.launched(a)),
		FinishTime:             new(finished(a)),
		ApplicationType:        new(about.Type),
		ApplicationTags:        about.Tags,
		Priority:               wire.PriorityProto(a.Priority),
		UnmanagedApplication:   new(a.Unmanaged),
		AppNodeLabelExpression: new(appLabel(about)),
		AppTimeouts:            []*proto.AppTimeoutsMapProto{v.timeout(a)},

		Host: new(unavailable), RpcPort: new(int32(-1)), TrackingUrl: new(unavailable), OriginalTrackingUrl: new(unavailable),
		Diagnostics: new(unavailable), Progress: new(float32(0)),
		CurrentApplicationAttemptId: dummyAttempt(a.ID), AppResource_Usage: noUsage,
	}
	if !a.Unmanaged {
		r.AmNodeLabelExpression = new(partitionName(about.AMLabel))
	}
	if see {
		v.reportAttempt(r, a, user)
	}
	return r
}

// reportAttempt sets the fields from the current attempt.
func (v *view) reportAttempt(r *proto.ApplicationReportProto, a *state.App, user string) {
	r.TrackingUrl, r.Diagnostics = new(v.s.proxyURL(a.ID)), new(v.s.diagnostics(a.ID, a.Details().Diagnostics))
	r.AppResource_Usage = v.usage(a)
	if a.Attempt == 0 {
		return
	}
	if v.s.cfg.ShortName != nil { // an AM trusts the name in the token
		r.ClientToAmToken = token.ClientToAMToken(a, v.client)
	}
	t := v.current(a)
	r.CurrentApplicationAttemptId = wire.AttemptIDProto(a.AttemptID())
	r.Host, r.RpcPort = new(t.host), new(t.port)
	r.TrackingUrl, r.OriginalTrackingUrl = new(t.proxied), new(t.original)
	r.Progress = new(progress(a))
	switch {
	case !v.s.cfg.LogAggregation:
		r.LogAggregationStatus = proto.LogAggregationStatusProto_LOG_DISABLED.Enum()
	case a.Live > 0:
		r.LogAggregationStatus = proto.LogAggregationStatusProto_LOG_NOT_START.Enum()
	}
	if a.Unmanaged && t.state == proto.YarnApplicationAttemptStateProto_APP_ATTEMPT_LAUNCHED && v.user == user {
		// The client that started the AM gets the AM's token here, because no node does.
		if k, err := token.NewRing(v.st).AMRMToken(a.AttemptID()); err == nil {
			r.AmRmToken = k
		}
	}
}

// dummyAttempt returns the attempt id that YARN shows if there is no attempt to show.
func dummyAttempt(id yarn.ApplicationID) *proto.ApplicationAttemptIdProto {
	return &proto.ApplicationAttemptIdProto{ApplicationId: wire.ApplicationIDProto(id), AttemptId: new(int32(-1))}
}

// launched returns the time when a node first launched an AM of the application, or 0.
func (v *view) launched(a *state.App) int64 {
	out := a.LaunchedMillis
	for _, t := range v.st.Attempts.Of(a) {
		if t.LaunchedMillis != 0 {
			out = t.LaunchedMillis
		}
	}
	return out
}

// finished returns the time when an application ended for its clients, or 0.
func finished(a *state.App) int64 {
	if a.EndedMillis == 0 && a.AttemptState == state.AttemptFinishing {
		return a.FinishMillis
	}
	return a.EndedMillis
}

// progress returns the AM's progress from 0 to 1. As in YARN, an application killed after its AM
// registered has 1.
func progress(a *state.App) float32 {
	if a.State == yarn.AppKilled && a.Details().Host != "" {
		return 1
	}
	return float32(a.Progress) / 10000
}

// appLabel returns an application's label expression as YARN shows it.
func appLabel(about state.AppDetails) string {
	switch label := contextLabel([]byte(about.Context)); {
	case label != nil:
		return partitionName(*label)
	case about.Label != "": // submitted without a context
		return partitionName(about.Label)
	}
	return labelNotSet
}

// partitionName returns a label as YARN shows it.
func partitionName(label string) string {
	if strings.TrimSpace(label) == "" {
		return labelDefault
	}
	return label
}

// expiry returns the time when an application's lifetime ends, in Unix milliseconds, or 0 if it has
// no limit.
func expiry(a *state.App) int64 {
	if a.LifetimeMillis <= 0 {
		return 0
	}
	return a.SubmittedMillis + a.LifetimeMillis
}

// timeout returns the only timeout that an application can have.
func (v *view) timeout(a *state.App) *proto.AppTimeoutsMapProto {
	const kind = proto.ApplicationTimeoutTypeProto_APP_TIMEOUT_LIFETIME
	t := &proto.ApplicationTimeoutProto{ApplicationTimeoutType: kind.Enum(), ExpireTime: new(unlimited),
		RemainingTime: new(int64(unknownSeconds))}
	if end := expiry(a); end != 0 {
		t.ExpireTime, t.RemainingTime = new(formatISO(end)), new(max(end-v.now, 0)/1000)
		if isFinal(a) {
			t.RemainingTime = new(int64(0))
		}
	}
	return &proto.AppTimeoutsMapProto{ApplicationTimeoutType: kind.Enum(), ApplicationTimeout: t}
}
