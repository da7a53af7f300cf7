package planner

import (
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/input"
)

// joinTokensAt returns when the first join token expires.
func (p *Planner) joinTokensAt() int64 {
	first := int64(never)
	for i := range p.st.JoinTokens {
		first = min(first, p.st.JoinTokens[i].ExpiresMillis)
	}
	return first
}

func (p *Planner) joinTokensDue() { p.sched.Emit(&event.JoinTokensExpired{}) }

// lifetimeEnd returns when an application has exceeded its lifetime.
func lifetimeEnd(a *state.App) int64 {
	if a.LifetimeMillis <= 0 || a.Shown().Ended() {
		return never
	}
	return a.SubmittedMillis + a.LifetimeMillis
}

// lifetimesDue kills the applications that have exceeded their lifetime.
func (p *Planner) lifetimesDue() {
	for _, slot := range passed(&p.st.Apps, lifetimeEnd, p.now) {
		p.killApplication(&input.KillApplication{ID: p.st.Apps.Get(slot).ID, Diagnostics: "Application is killed by ResourceManager as it has exceeded the lifetime period."})
	}
}

func (p *Planner) createJoinToken(in *input.CreateJoinToken) input.Reply {
	const day = 24 * 60 * 60 * 1000
	switch _, known := p.st.JoinTokens.Find(in.Hash); {
	case len(in.Hash) != 32 || known:
		return input.Refuse(in, input.Faultf(input.InvalidRequest, "draw another one", "the token's hash is not a new SHA-256"))
	case in.TTLMillis < 1000 || in.TTLMillis > day:
		return input.Refuse(in, input.Faultf(input.InvalidRequest, "use --ttl between 1s and 24h", "a join token lives at most 24 h"))
	}
	p.sched.Emit(&event.JoinTokenCreated{Hash: in.Hash, Voter: in.Voter, ExpiresMillis: p.now + in.TTLMillis, CreatedBy: in.Who})
	return in.NewReply()
}

func (p *Planner) useJoinToken(in *input.UseJoinToken) input.Reply {
	t, ok := p.st.JoinTokens.Find(in.Hash)
	const again = "create one with \"rmd cluster token create\""
	switch {
	case !ok:
		return input.Refuse(in, input.Faultf(input.TokenInvalid, again, "the join token is not known"))
	case t.UsedBy == in.By && t.UsedBy != "":
		return &input.UseJoinTokenReply{Voter: t.Voter} // a repeated call of the same replica
	case t.UsedBy != "":
		return input.Refuse(in, input.Faultf(input.TokenUsed, again, "the join token was used by %s", t.UsedBy))
	case t.ExpiresMillis <= p.now:
		return input.Refuse(in, input.Faultf(input.TokenExpired, again, "the join token has expired"))
	}
	p.sched.Emit(&event.JoinTokenUsed{Hash: in.Hash, By: in.By})
	return &input.UseJoinTokenReply{Voter: t.Voter}
}

func (p *Planner) raiseLevel(in *input.RaiseLevel) input.Reply {
	switch {
	case in.Level <= p.st.Meta.Level:
		return input.Refuse(in, input.Faultf(input.AlreadyDone, "", "the feature level is %d", p.st.Meta.Level))
	case in.Level > p.opt.Level:
		return input.Refuse(in, input.Faultf(input.InvalidRequest, "upgrade all replicas first", "the leader knows level %d, not %d", p.opt.Level, in.Level))
	}
	p.sched.Emit(&event.LevelRaised{Level: in.Level})
	return in.NewReply()
}

func (p *Planner) raiseEpoch(in *input.RaiseEpoch) input.Reply {
	stamp := max(in.ClusterTimestamp, p.st.Meta.ClusterTimestamp+1)
	p.sched.Emit(&event.EpochRaised{Epoch: p.st.Meta.Epoch + 1, ClusterTimestamp: stamp, Why: in.Why})
	return in.NewReply()
}
