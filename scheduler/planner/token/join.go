package token

import (
	"rmd/fsm/event"
	"rmd/scheduler/input"
	"rmd/scheduler/planner/due"
)

// JoinsAt returns when the first join token expires.
func (p Plan) JoinsAt() int64 {
	first := int64(due.Never)
	for i := range p.State.JoinTokens {
		first = min(first, p.State.JoinTokens[i].ExpiresMillis)
	}
	return first
}

// EndJoins removes the join tokens that have expired.
func (p Plan) EndJoins() { p.Emit(&event.JoinTokensExpired{}) }

func (p Plan) createJoin(in *input.CreateJoinToken) input.Reply {
	const day = 24 * 60 * 60 * 1000
	switch _, known := p.State.JoinTokens.Find(in.Hash); {
	case len(in.Hash) != 32 || known:
		return input.Refuse(in, input.Refusef(input.InvalidRequest, "draw another one",
			"the token's hash is not a new SHA-256"))
	case in.TTLMillis < 1000 || in.TTLMillis > day:
		return input.Refuse(in, input.Refusef(input.InvalidRequest, "use --ttl between 1s and 24h",
			"a join token lives at most 24 h"))
	}
	p.Emit(&event.JoinTokenCreated{Hash: in.Hash, Voter: in.Voter, ExpiresMillis: p.NowMillis + in.TTLMillis,
		CreatedBy: in.Who})
	return in.NewReply()
}

func (p Plan) useJoin(in *input.UseJoinToken) input.Reply {
	t, ok := p.State.JoinTokens.Find(in.Hash)
	const again = "create one with \"rmd cluster token create\""
	switch {
	case !ok:
		return input.Refuse(in, input.Refusef(input.TokenInvalid, again, "the join token is not known"))
	case t.UsedBy == in.By && t.UsedBy != "":
		return &input.UseJoinTokenReply{Voter: t.Voter} // a repeated call of the same replica
	case t.UsedBy != "":
		return input.Refuse(in, input.Refusef(input.TokenUsed, again, "the join token was used by %s", t.UsedBy))
	case t.ExpiresMillis <= p.NowMillis:
		return input.Refuse(in, input.Refusef(input.TokenExpired, again, "the join token has expired"))
	}
	p.Emit(&event.JoinTokenUsed{Hash: in.Hash, By: in.By})
	return &input.UseJoinTokenReply{Voter: t.Voter}
}
