package token

import (
	"fmt"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/internal/boolint"
	"rmd/scheduler"
	"rmd/scheduler/input"
	"rmd/scheduler/planner/due"
	"rmd/yarn"
)

// MaxDelegations is the most delegation tokens at a time.
const MaxDelegations = 100_000

// roomFor reports whether an owner may get one more token.
func (p Plan) roomFor(owner string) bool {
	return scheduler.MayAdd(1, p.State.Delegations.Len(), MaxDelegations, func() (has int) {
		p.State.Delegations.Each(func(_ state.DelegationSlot, t *state.DelegationToken) bool {
			has += boolint.Of[int](t.Owner == owner)
			return true
		})
		return has
	}) > 0
}

// issue issues a delegation token, signed with the current key.
func (p Plan) issue(in *input.IssueDelegationToken) input.Reply {
	key := p.State.Keys(yarn.KeyDelegation).Current.ID
	switch {
	case in.Owner == "":
		return input.Refuse(in, input.Refusef(input.InvalidRequest, "name the user it is for", "the token has no owner"))
	case key == 0:
		return input.Refuse(in, input.Refusef(input.NotInitialized, "try again in a second", "the cluster has no key yet"))
	case !p.roomFor(in.Owner):
		return input.Refuse(in, input.Refusef(input.TooLarge, "cancel some, or wait for some to expire",
			"there are %d delegation tokens, and %s has too many of them", p.State.Delegations.Len(), in.Owner))
	}
	most := p.NowMillis + p.Settings.LifeMillis
	e := &event.DelegationTokenIssued{Sequence: p.State.Meta.NextToken + 1, Owner: in.Owner, Renewer: in.Renewer,
		RealUser: in.RealUser,
		KeyID:    key, MaxMillis: most, ExpiresMillis: min(most, p.NowMillis+p.Settings.RenewMillis)}
	p.Emit(e)
	return &input.IssueDelegationTokenReply{Sequence: e.Sequence, KeyID: key, IssueMillis: p.NowMillis, MaxMillis: most}
}

// tokenText describes a token in messages as Hadoop does.
func tokenText(t *state.DelegationToken) string {
	return fmt.Sprintf("(RM_DELEGATION_TOKEN owner=%s, renewer=%s, realUser=%s, issueDate=%d, maxDate=%d, sequenceNumber=%d, masterKeyId=%d)",
		t.Owner, t.Renewer, t.RealUser, t.IssuedMillis, t.MaxMillis, t.Sequence, t.KeyID)
}

// renew extends the validity of a token by one interval, up to its maximum lifetime.
func (p Plan) renew(in *input.RenewDelegationToken) input.Reply {
	const again = "get a new token"
	t := p.State.Delegations.Find(in.Sequence)
	switch {
	case t == nil:
		return input.Refuse(in, input.Refusef(input.TokenInvalid, again,
			"Renewal request for unknown token (RM_DELEGATION_TOKEN sequenceNumber=%d)", in.Sequence))
	case t.MaxMillis < p.NowMillis || t.ExpiresMillis <= p.NowMillis:
		return input.Refuse(in, input.Refusef(input.TokenExpired, again, "%s tried to renew an expired token %s", in.By,
			tokenText(t)))
	case t.Renewer == "":
		return input.Refuse(in, input.Refusef(input.NotAllowed, again, "%s tried to renew a token %s without a renewer",
			in.By, tokenText(t)))
	case t.Renewer != in.By:
		return input.Refuse(in, input.Refusef(input.NotAllowed, "let its renewer renew it",
			"%s tries to renew a token %s with non-matching renewer %s", in.By, tokenText(t), t.Renewer))
	}
	until := min(t.MaxMillis, p.NowMillis+p.Settings.RenewMillis)
	if until != t.ExpiresMillis {
		p.Emit(&event.DelegationTokenRenewed{Sequence: in.Sequence, ExpiresMillis: until})
	}
	return &input.RenewDelegationTokenReply{ExpiresMillis: until}
}

// cancel ends a token for its owner or renewer.
func (p Plan) cancel(in *input.CancelDelegationToken) input.Reply {
	t := p.State.Delegations.Find(in.Sequence)
	switch {
	case t == nil:
		return input.Refuse(in, input.Refusef(input.TokenInvalid, "",
			"Token not found (RM_DELEGATION_TOKEN sequenceNumber=%d)", in.Sequence))
	case in.By != t.Owner && (t.Renewer == "" || in.By != t.Renewer):
		return input.Refuse(in, input.Refusef(input.NotAllowed, "let its owner or renewer cancel it",
			"%s is not authorized to cancel the token %s", in.By, tokenText(t)))
	}
	p.Emit(&event.DelegationTokenEnded{Sequence: in.Sequence})
	return in.NewReply()
}

// DelegationsAt returns when the first delegation token expires.
func (p Plan) DelegationsAt() int64 { return due.Earliest(&p.State.Delegations, delegationEnd) }

func delegationEnd(t *state.DelegationToken) int64 { return t.ExpiresMillis }

// EndDelegations ends the delegation tokens that have expired.
func (p Plan) EndDelegations() {
	for _, slot := range due.Passed(&p.State.Delegations, delegationEnd, p.NowMillis) {
		p.Emit(&event.DelegationTokenEnded{Sequence: p.State.Delegations.Get(slot).Sequence})
	}
}
