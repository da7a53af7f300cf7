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

func (cl cluster) raiseLevel(in *input.RaiseLevel) input.Reply {
	switch {
	case in.Level <= cl.st.Meta.Level:
		return input.Refuse(in, input.Refusef(input.AlreadyDone, "", "the feature level is %d", cl.st.Meta.Level))
	case in.Level > cl.level:
		return input.Refuse(in, input.Refusef(input.InvalidRequest, "upgrade all replicas first",
			"the leader knows level %d, not %d", cl.level, in.Level))
	}
	cl.sched.Emit(&event.LevelRaised{Level: in.Level})
	return in.NewReply()
}

func (cl cluster) raiseEpoch(in *input.RaiseEpoch) input.Reply {
	stamp := max(in.ClusterTimestamp, cl.st.Meta.ClusterTimestamp+1)
	cl.sched.Emit(&event.EpochRaised{Epoch: cl.st.Meta.Epoch + 1, ClusterTimestamp: stamp, Why: in.Why})
	return in.NewReply()
}

// Limits of the settings of autopilot. Times are in milliseconds.
const (
	minuteMillis    = 60 * 1000
	thresholdMax    = 365 * 24 * 60 * minuteMillis
	quorumToCleanUp = 3
	quorumMax       = 7 // the most voters of a cluster
)

func (cl cluster) setAutopilot(in *input.SetAutopilot) input.Reply {
	refuse := func(do, what string) input.Reply {
		return input.Refuse(in, input.Refusef(input.InvalidRequest, do, "%s", what))
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
	e := &event.AutopilotSet{CleanupDeadServers: in.CleanupDeadServers, DeadServerMillis: in.DeadServerMillis,
		MinQuorum:         in.MinQuorum,
		LastContactMillis: in.LastContactMillis, MaxTrailingLogs: in.MaxTrailingLogs,
		StabilizationMillis: in.StabilizationMillis}
	now := state.Autopilot{Set: true, CleanupDeadServers: e.CleanupDeadServers, DeadServerMillis: e.DeadServerMillis,
		MinQuorum:         e.MinQuorum,
		LastContactMillis: e.LastContactMillis, MaxTrailingLogs: e.MaxTrailingLogs,
		StabilizationMillis: e.StabilizationMillis}
	if now != cl.st.Autopilot {
		cl.sched.Emit(e)
	}
	return in.NewReply()
}
