package planner

import (
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler"
	"rmd/scheduler/input"
)

// cluster plans inputs about the cluster itself.
type cluster struct {
	sched *scheduler.Scheduler
	st    *state.State
	level uint32 // the highest feature level that this replica knows
}

// joinTokensAt returns when the first join token expires.
func (p *Planner) joinTokensAt() int64 {
	first := int64(never)
	for i := range p.st.JoinTokens {
		first = min(first, p.st.JoinTokens[i].ExpiresMillis)
	}
	return first
}

func (p *Planner) joinTokensDue() { p.sched.Emit(&event.JoinTokensExpired{}) }

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

func (cl cluster) raiseLevel(in *input.RaiseLevel) input.Reply {
	switch {
	case in.Level <= cl.st.Meta.Level:
		return input.Refuse(in, input.Faultf(input.AlreadyDone, "", "the feature level is %d", cl.st.Meta.Level))
	case in.Level > cl.level:
		return input.Refuse(in, input.Faultf(input.InvalidRequest, "upgrade all replicas first", "the leader knows level %d, not %d", cl.level, in.Level))
	}
	cl.sched.Emit(&event.LevelRaised{Level: in.Level})
	return in.NewReply()
}

func (cl cluster) raiseEpoch(in *input.RaiseEpoch) input.Reply {
	stamp := max(in.ClusterTimestamp, cl.st.Meta.ClusterTimestamp+1)
	cl.sched.Emit(&event.EpochRaised{Epoch: cl.st.Meta.Epoch + 1, ClusterTimestamp: stamp, Why: in.Why})
	return in.NewReply()
}

func (cl cluster) setAutopilot(in *input.SetAutopilot) input.Reply {
	refuse := func(do, what string) input.Reply {
		return input.Refuse(in, input.Faultf(input.InvalidRequest, do, "%s", what))
	}
	inRange := func(v, least int64) bool { return v >= least && v <= thresholdMax }
	switch {
	case in.CleanupDeadServers && in.MinQuorum < quorumToCleanUp:
		return refuse("set both together", "cleanup_dead_servers needs min_quorum of 3 or more")
	case in.MinQuorum > quorumMax:
		return refuse("give 7 at most", "min_quorum is above the number of voters there may be")
	case !inRange(in.DeadServerMillis, minuteMillis):
		return refuse("give 1m or more; 24h is the default", "dead_server_last_contact_threshold is out of range")
	case !inRange(in.LastContactMillis, 1) || !inRange(in.StabilizationMillis, 0):
		return refuse("see \"rmd autopilot get\"", "autopilot's thresholds must be positive, and a year at most")
	}
	e := &event.AutopilotSet{CleanupDeadServers: in.CleanupDeadServers, DeadServerMillis: in.DeadServerMillis, MinQuorum: in.MinQuorum,
		LastContactMillis: in.LastContactMillis, MaxTrailingLogs: in.MaxTrailingLogs, StabilizationMillis: in.StabilizationMillis}
	now := state.Autopilot{Set: true, CleanupDeadServers: e.CleanupDeadServers, DeadServerMillis: e.DeadServerMillis, MinQuorum: e.MinQuorum,
		LastContactMillis: e.LastContactMillis, MaxTrailingLogs: e.MaxTrailingLogs, StabilizationMillis: e.StabilizationMillis}
	if now != cl.st.Autopilot {
		cl.sched.Emit(e)
	}
	return in.NewReply()
}
