package renewer

import (
	"context"
	"time"

	"rmd/fsm/apptoken"
)

const (
	// prepareEvery is how often a replica looks for services that it has not prepared.
	prepareEvery = 10 * time.Second
	// preparedFor is how long a service stays prepared. It is less than a ticket is valid.
	preparedFor = time.Hour
	// prepareAgain is the time before a service is tried again that could not be prepared.
	prepareAgain = time.Minute
)

// stayPrepared gets the tickets for the services of all tokens until ctx ends. A replica that becomes
// the leader while the KDC is down can then renew them at once.
func (r *Renewer) stayPrepared(ctx context.Context) {
	due := map[string]time.Time{}
	for ctx.Err() == nil {
		due = r.prepare(ctx, due)
		wait(ctx, prepareEvery)
	}
}

// prepare prepares each service of a token for which that is due. It takes and returns when it is, by
// service.
func (r *Renewer) prepare(ctx context.Context, due map[string]time.Time) map[string]time.Time {
	next := map[string]time.Time{}
	for t := range r.cfg.Reader.Fork().AppTokens.Tokens() {
		service := t.Kind + " " + t.Service + " " + string(t.Conf)
		if _, seen := next[service]; seen || t.Kind == apptoken.KindRM {
			continue
		}
		next[service] = due[service]
		if now := r.cfg.Now(); !now.Before(due[service]) {
			next[service] = now.Add(r.prepareService(ctx, t))
		}
	}
	return next
}

// prepareService prepares the service of a token and returns the time after which to do it again.
func (r *Renewer) prepareService(ctx context.Context, t *apptoken.Token) time.Duration {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.Policy.Timeout)
	defer cancel()
	if err := r.cfg.Services.Prepare(ctx, tokenOf(t), t.Conf); err != nil {
		r.cfg.Logger.Debug("service of tokens is not prepared", "service", t.Service, "error", err)
		return prepareAgain
	}
	return preparedFor
}
