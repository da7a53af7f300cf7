package renewer

import (
	"context"
	"errors"
	"fmt"

	"rmd/fsm/apptoken"
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/transport/hadoop/token"
)

// serve makes the call that a token needs. It returns what reports the result.
func (r *Renewer) serve(ctx context.Context, st *state.State, t *apptoken.Token) (report func()) {
	waits := t.Phase == apptoken.New
	in, err := r.call(ctx, st, t, waits)
	if ctx.Err() != nil {
		return nil // another leader makes the call again
	}
	if t.Phase == apptoken.Lost && err != nil {
		r.cfg.Logger.Warn("lost token is not replaced", "token", t.Number, "service", t.Service, "error", err)
		r.putOff(t)
		_ = r.cfg.Job.Done(err)
		return nil
	}
	if err != nil {
		final := errors.Is(err, errOwn) || r.cfg.Final(err)
		r.cfg.Logger.Warn("call for a token failed", "token", t.Number, "kind", t.Kind, "service", t.Service, "phase",
			t.Phase, "final", final, "error", err)
		in = &input.TokenCallFailed{Token: t.Number, Final: final,
			AgainMillis: r.again(t.Failures, waits, r.leftOf(t)).Milliseconds(), Why: r.failure(t, err)}
	}
	_ = r.cfg.Job.Done(err)
	if t.Phase == apptoken.Kept || t.Phase == apptoken.Ending {
		return func() { r.reportLater(ctx, in, r.leftOf(t)) }
	}
	return func() { r.report(ctx, in) }
}

// putOff remembers that a lost token could not be replaced.
func (r *Renewer) putOff(t *apptoken.Token) {
	now := r.cfg.Now() // without the lock: the clock of a test may have one too
	r.mu.Lock()
	defer r.mu.Unlock()
	failures := r.lost[t.Number].failures
	r.lost[t.Number] = setback{failures + 1, now.Add(r.again(failures, false, noLimit))}
}

// call makes the call within its time and returns the report of its success.
func (r *Renewer) call(ctx context.Context, st *state.State, t *apptoken.Token, waits bool) (input.Input, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout(waits))
	defer cancel()
	switch {
	case t.Phase == apptoken.Ending:
		return &input.TokenCancelled{Token: t.Number}, r.cancel(ctx, st, t)
	case r.replaceable(t):
		in, err := r.fetch(ctx, userOf(st, t.Apps[0]))
		if err == nil {
			in.Token = t.Number
			return in, nil
		}
		if t.Phase == apptoken.Lost || !t.Renewable() {
			return nil, err
		}
		r.cfg.Logger.Warn("token is not replaced, so it is renewed once more", "token", t.Number, "error", err)
	}
	expires, err := r.renew(ctx, st, t)
	return &input.TokenRenewed{Token: t.Number, ExpiresMillis: expires}, err
}

// renew renews a token and returns its end. A token of this cluster is renewed without a call.
func (r *Renewer) renew(ctx context.Context, st *state.State, t *apptoken.Token) (expiresMillis int64, err error) {
	if t.Kind == apptoken.KindRM {
		return r.renewOwn(ctx, st, t)
	}
	at, err := r.cfg.Services.Renew(ctx, tokenOf(t), t.Conf)
	switch {
	case err != nil:
		return 0, err
	case at.IsZero():
		return input.MaxMillis, nil
	}
	return at.UnixMilli(), nil
}

func (r *Renewer) cancel(ctx context.Context, st *state.State, t *apptoken.Token) error {
	if t.Kind == apptoken.KindRM {
		return r.cancelOwn(ctx, st, t)
	}
	return r.cfg.Services.Cancel(ctx, tokenOf(t), t.Conf)
}

// own returns the record of a token of this cluster, or nil.
func own(st *state.State, t *apptoken.Token) *state.DelegationToken {
	id, err := token.ParseDelegation(t.Identifier)
	if err != nil {
		return nil
	}
	return st.Delegations.Find(id.Sequence)
}

func (r *Renewer) renewOwn(ctx context.Context, st *state.State, t *apptoken.Token) (int64, error) {
	d := own(st, t)
	if d == nil {
		return 0, errOwn
	}
	reply, _, err := r.cfg.Submitter.Do(ctx,
		input.Request{Input: &input.RenewDelegationToken{Sequence: d.Sequence, By: d.Renewer}})
	if err != nil {
		return 0, fmt.Errorf("renew in this cluster: %w", err)
	}
	renewed, ok := reply.(*input.RenewDelegationTokenReply)
	if f := reply.Refused(); f != nil || !ok {
		return 0, fmt.Errorf("%w: %v", errOwn, f)
	}
	return renewed.ExpiresMillis, nil
}

func (r *Renewer) cancelOwn(ctx context.Context, st *state.State, t *apptoken.Token) error {
	d := own(st, t)
	if d == nil {
		return nil
	}
	// A refusal says that the token has ended meanwhile.
	if _, _,
		err := r.cfg.Submitter.Do(ctx, input.Request{
		Input: &input.CancelDelegationToken{Sequence: d.Sequence, By: d.Renewer}}); err != nil {
		return fmt.Errorf("cancel in this cluster: %w", err)
	}
	return nil
}

// fetch gets new tokens for a user.
func (r *Renewer) fetch(ctx context.Context, user string) (*input.TokensFetched, error) {
	list, err := r.cfg.Services.Fetch(ctx, user)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, errors.New("the file system has given no token")
	}
	in := &input.TokensFetched{}
	for _, t := range list {
		id, err := r.cfg.Policy.Identify(t)
		if err != nil {
			return nil, fmt.Errorf("the new token of %s: %w", t.Service, err)
		}
		in.List = append(in.List, input.AppToken{Kind: t.Kind, Service: t.Service, Identifier: t.Identifier,
			Password: t.Password, MaxMillis: max(id.MaxMillis, 0)})
	}
	in.Credentials = (&token.Credentials{Tokens: list}).Bytes()
	return in, nil
}

// fetchFirst gets the first token of the file system for an application that has none.
func (r *Renewer) fetchFirst(ctx context.Context, st *state.State, h *apptoken.Holder) (report func()) {
	id := idOf(st, h.App)
	limited, cancel := context.WithTimeout(ctx, r.timeout(h.Waits))
	defer cancel()
	in, err := r.fetch(limited, userOf(st, h.App))
	if ctx.Err() != nil {
		return nil
	}
	_ = r.cfg.Job.Done(err)
	if err != nil {
		r.cfg.Logger.Warn("no token of the file system", "application", id, "error", err)
		failed := &input.TokenFetchFailed{App: id, AgainMillis: r.again(h.Failures, h.Waits, noLimit).Milliseconds(),
			Why: "Failed to get a token of the file system: " + err.Error()}
		return func() { r.report(ctx, failed) }
	}
	in.App = id
	return func() { r.report(ctx, in) }
}

// report hands a result to the planner. It tries until the leadership ends: the call must not be
// made again before the state knows its result.
func (r *Renewer) report(ctx context.Context, in input.Input) {
	for ctx.Err() == nil {
		_, _, err := r.cfg.Submitter.Do(ctx, input.Request{Input: in})
		if err == nil || ctx.Err() != nil {
			return
		}
		r.cfg.Logger.Debug("result of a token's call is reported again", "error", err)
		wait(ctx, reportAgain)
	}
}
