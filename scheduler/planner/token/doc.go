// Package token plans inputs about credentials that the cluster itself issues: access tokens for REST
// and the command line, join tokens for replicas, Hadoop's delegation tokens, and the master keys that
// sign Hadoop's tokens. Tokens that applications carry for other services are planned by package
// renewal.
//
// The package reads the state and emits events. It schedules nothing.
package token

import (
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/scheduler/input"
)

// Plan plans one input. Emit is the scheduler's.
type Plan struct {
	State     *state.State
	Settings  *capacity.TokenSettings
	NowMillis int64
	Emit      func(e event.Event)
}

// Input plans an input about tokens.
func (p Plan) Input(in input.Input) input.Reply {
	switch in := in.(type) {
	case *input.IssueDelegationToken:
		return p.issue(in)
	case *input.RenewDelegationToken:
		return p.renew(in)
	case *input.CancelDelegationToken:
		return p.cancel(in)
	case *input.CreateJoinToken:
		return p.createJoin(in)
	case *input.UseJoinToken:
		return p.useJoin(in)
	case *input.SetAccessToken:
		return p.setAccess(in)
	case *input.RevokeAccessToken:
		return p.revokeAccess(in)
	}
	return in.NewReply()
}
