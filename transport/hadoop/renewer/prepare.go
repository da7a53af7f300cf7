package renewer

import (
	"context"
	"hash/maphash"
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

// destination is a service as a token names it. Its address may be in the configuration that came with
// an application, of which this is a hash.
type destination struct {
	kind, service string
	conf          uint64
}

var confSeed = maphash.MakeSeed()

func destinationOf(t *apptoken.Token) destination {
	return destination{t.Kind, t.Service, maphash.Bytes(confSeed, t.Conf)}
}

// stayPrepared gets the tickets for the services of all tokens until ctx ends. A replica that becomes
// the leader while the KDC is down can then renew them at once.
func (r *Renewer) stayPrepared(ctx context.Context) {
	due := map[destination]time.Time{}
	for ctx.Err() == nil {
		due = r.prepare(ctx, due)
		wait(ctx, prepareEvery)
	}
}

// prepare prepares each service of a token for which that is due. It takes and returns when it is. It
// does not hold the state meanwhile, because services may not answer.
func (r *Renewer) prepare(ctx context.Context, due map[destination]time.Time) map[destination]time.Time {
	next := map[destination]time.Time{}
	var now []*apptoken.Token
	for t := range r.cfg.Reader.Fork().AppTokens.Tokens() {
		to := destinationOf(t)
		if _, seen := next[to]; seen || t.Kind == apptoken.KindRM {
			continue
		}
		next[to] = due[to]
		if !r.cfg.Now().Before(due[to]) {
			now = append(now, t)
		}
	}
	for _, t := range now {
		next[destinationOf(t)] = r.cfg.Now().Add(r.prepareService(ctx, t))
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
