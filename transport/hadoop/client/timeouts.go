package client

import (
	"context"

	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

// updateTimeouts changes the end of an application's lifetime. The answer contains the new end. The
// queue's maximum may have made it earlier.
func (s *Service) updateTimeouts(ctx context.Context, c *ipc.Call,
	req *proto.UpdateApplicationTimeoutsRequestProto) (*proto.UpdateApplicationTimeoutsResponseProto, error) {
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
	asked, ok := lifetimeOf(req.GetApplicationTimeouts())
	if !ok {
		return nil, yarnException("At least one ApplicationTimeoutType should be configured for updating timeouts.")
	}
	if isFinal(a) {
		return timeouts(asked), nil
	}
	end, err := v.expireTime(asked)
	if err != nil {
		return nil, err
	}
	if end <= a.SubmittedMillis {
		return nil, tooEarly(v.now, end)
	}
	return s.setLifetime(ctx, c, a, asked, end)
}

func (s *Service) setLifetime(ctx context.Context, c *ipc.Call, a *state.App, asked string,
	end int64) (*proto.UpdateApplicationTimeoutsResponseProto, error) {
	id := a.ID
	f, err := s.change(ctx, c, &input.SetLifetime{ID: id, LifetimeMillis: end - a.SubmittedMillis})
	switch {
	case err != nil:
		return nil, err
	case f != nil && f.Reason == input.AlreadyEnded:
		return timeouts(asked), nil
	case f != nil && f.Reason == input.NoSuchApplication:
		return nil, noApplication(id)
	case f != nil:
		return nil, refusal(f)
	}
	if after := s.granted(c, id); after != 0 && after < end {
		asked = formatISO(after)
	}
	return timeouts(asked), nil
}

// granted returns the present end of an application's lifetime, in Unix milliseconds, or 0.
func (s *Service) granted(c *ipc.Call, id yarn.ApplicationID) int64 {
	a, err := s.currentView(c).app(id)
	if err != nil {
		return 0
	}
	return expiry(a)
}

// lifetimeOf returns the requested end. If there are several, the last one counts. LIFETIME is the
// only type of timeout.
func lifetimeOf(list []*proto.ApplicationUpdateTimeoutMapProto) (string, bool) {
	out, ok := "", false
	for _, t := range list {
		if t != nil && t.ApplicationTimeoutType != nil {
			out, ok = t.GetExpireTime(), true
		}
	}
	return out, ok
}

// expireTime parses an end, which must not be in the past.
func (v *view) expireTime(text string) (int64, error) {
	end, err := parseISO(text)
	if err != nil {
		return 0,
			yarnException("Expire time is not in ISO8601 format. ISO8601 supported format is yyyy-MM-dd'T'HH:mm:ss.SSSZ. Configured timeout value is %s", text)
	}
	if end < v.now {
		return 0, tooEarly(v.now, end)
	}
	return end, nil
}

func tooEarly(now, end int64) error {
	return yarnException("Expire time is less than current time, current-time=%s expire-time=%s", formatISO(now),
		formatISO(end))
}

func timeouts(end string) *proto.UpdateApplicationTimeoutsResponseProto {
	return &proto.UpdateApplicationTimeoutsResponseProto{ApplicationTimeouts: []*proto.ApplicationUpdateTimeoutMapProto{{
		ApplicationTimeoutType: proto.ApplicationTimeoutTypeProto_APP_TIMEOUT_LIFETIME.Enum(), ExpireTime: new(end)}}}
}
