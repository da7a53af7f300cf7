package planner

import (
	"slices"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// tick does what is due because time has passed.
func (p *Planner) tick(in *input.Tick) input.Reply {
	p.shrinkHuge()
	p.drainsDue()
	p.lifetimesDue()
	p.gangsDue()
	p.tokensDue() // before the keys: when a token ends, its key may be replaced
	p.rollKeys(in.Entropy)
	// The AM limit depends on the use of other queues. No other input activates applications when
	// that use falls.
	p.sched.ActivateAll()
	if slices.ContainsFunc(p.st.JoinTokens, func(t state.JoinToken) bool { return t.ExpiresMillis <= p.now }) {
		p.sched.Emit(&event.JoinTokensExpired{})
	}
	if n := p.staleRequests(); n > 0 {
		p.sched.Emit(&event.RequestsForgotten{Count: n})
	}
	return in.NewReply()
}

// staleRequests returns the number of remembered requests that are too old at the time of this
// input.
func (p *Planner) staleRequests() uint32 {
	if r := p.st.Meta.OldestRequest; r == 0 || p.now-p.st.Requests.Get(r).AtMillis < state.RequestKeepMillis {
		return 0
	}
	p.sched.Stamp()
	return p.st.StaleRequests()
}

// lifetimesDue kills the applications that have exceeded their lifetime.
func (p *Planner) lifetimesDue() {
	var due []yarn.ApplicationID
	p.st.Apps.Each(func(_ uint32, a *state.App) bool {
		if a.LifetimeMillis > 0 && !a.Shown().Ended() && p.now-a.SubmittedMillis >= a.LifetimeMillis {
			due = append(due, a.ID)
		}
		return true
	})
	for _, id := range due {
		p.killApplication(&input.KillApplication{ID: id, Diagnostics: "Application is killed by ResourceManager as it has exceeded the lifetime period."})
	}
}

func (p *Planner) createJoinToken(in *input.CreateJoinToken) input.Reply {
	const day = 24 * 60 * 60 * 1000
	switch _, known := p.st.JoinToken(in.Hash); {
	case len(in.Hash) != 32 || known:
		return input.Refuse(in, input.Faultf(input.InvalidRequest, "draw another one", "the token's hash is not a new SHA-256"))
	case in.TTLMillis < 1000 || in.TTLMillis > day:
		return input.Refuse(in, input.Faultf(input.InvalidRequest, "use --ttl between 1s and 24h", "a join token lives at most 24 h"))
	}
	p.sched.Emit(&event.JoinTokenCreated{Hash: in.Hash, Voter: in.Voter, ExpiresMillis: p.now + in.TTLMillis, CreatedBy: in.Who})
	return in.NewReply()
}

func (p *Planner) useJoinToken(in *input.UseJoinToken) input.Reply {
	t, ok := p.st.JoinToken(in.Hash)
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
