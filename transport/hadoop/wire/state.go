package wire

import (
	"math"

	"rmd/fsm/state"
	"rmd/transport/hadoop/proto"
	"rmd/yarn"
)

// ApplicationState returns the state of an application. An application whose AM has unregistered is
// FINISHED for clients, although its container may still run.
func ApplicationState(a *state.App) proto.YarnApplicationStateProto {
	switch a.Shown() {
	case yarn.AppAccepted:
		return proto.YarnApplicationStateProto_ACCEPTED
	case yarn.AppRunning:
		return proto.YarnApplicationStateProto_RUNNING
	case yarn.AppFinished:
		return proto.YarnApplicationStateProto_FINISHED
	case yarn.AppFailed:
		return proto.YarnApplicationStateProto_FAILED
	case yarn.AppKilled:
		return proto.YarnApplicationStateProto_KILLED
	}
	return proto.YarnApplicationStateProto_SUBMITTED
}

// AppFinalStatus returns the final status of an application: FAILED or KILLED if it ended so, the
// AM's own status after its unregistration, and otherwise UNDEFINED.
func AppFinalStatus(a *state.App) proto.FinalApplicationStatusProto {
	switch {
	case a.State == yarn.AppFailed:
		return proto.FinalApplicationStatusProto_APP_FAILED
	case a.State == yarn.AppKilled:
		return proto.FinalApplicationStatusProto_APP_KILLED
	case a.Shown() == yarn.AppFinished:
		return FinalStatusProto(a.Final)
	}
	return proto.FinalApplicationStatusProto_APP_UNDEFINED
}

// AttemptState returns the state of an application's current attempt.
func AttemptState(a *state.App) proto.YarnApplicationAttemptStateProto {
	switch a.AttemptState {
	case state.AttemptNone:
		return proto.YarnApplicationAttemptStateProto_APP_ATTEMPT_NEW
	case state.AttemptNonRunnable, state.AttemptPending:
		return proto.YarnApplicationAttemptStateProto_APP_ATTEMPT_SCHEDULED
	case state.AttemptActive:
		switch {
		case a.LaunchedMillis != 0:
			return proto.YarnApplicationAttemptStateProto_APP_ATTEMPT_LAUNCHED
		case a.MasterNumber != 0:
			return proto.YarnApplicationAttemptStateProto_APP_ATTEMPT_ALLOCATED
		}
		return proto.YarnApplicationAttemptStateProto_APP_ATTEMPT_SCHEDULED
	case state.AttemptRegistered:
		return proto.YarnApplicationAttemptStateProto_APP_ATTEMPT_RUNNING
	case state.AttemptFinishing:
		return proto.YarnApplicationAttemptStateProto_APP_ATTEMPT_FINISHING
	}
	return endedAttempt(a.FinishMillis != 0, a.Final)
}

// EndedAttemptState returns the state in which an earlier attempt ended.
func EndedAttemptState(t *state.Attempt) proto.YarnApplicationAttemptStateProto {
	return endedAttempt(t.Unregistered, t.Final)
}

func endedAttempt(unregistered bool, final yarn.FinalStatus) proto.YarnApplicationAttemptStateProto {
	switch {
	case unregistered:
		return proto.YarnApplicationAttemptStateProto_APP_ATTEMPT_FINISHED
	case final == yarn.FinalKilled:
		return proto.YarnApplicationAttemptStateProto_APP_ATTEMPT_KILLED
	}
	return proto.YarnApplicationAttemptStateProto_APP_ATTEMPT_FAILED
}

// FinalStatus decodes a final status. An unknown one is UNDEFINED.
func FinalStatus(p proto.FinalApplicationStatusProto) yarn.FinalStatus {
	if p < proto.FinalApplicationStatusProto_APP_UNDEFINED || p > proto.FinalApplicationStatusProto_APP_ENDED {
		return yarn.FinalUndefined
	}
	return yarn.FinalStatus(p) // the numbers are the same
}

// FinalStatusProto encodes a final status.
func FinalStatusProto(s yarn.FinalStatus) proto.FinalApplicationStatusProto {
	if s > yarn.FinalEnded {
		return proto.FinalApplicationStatusProto_APP_UNDEFINED
	}
	return proto.FinalApplicationStatusProto(s)
}

// ContainerState decodes the state that a node reports of a container. A container that is not
// complete is running.
func ContainerState(p proto.ContainerStateProto) yarn.ContainerState {
	if p == proto.ContainerStateProto_C_COMPLETE {
		return yarn.ContainerCompleted
	}
	return yarn.ContainerRunning
}

// ContainerStateProto encodes a container's state as the Java ResourceManager does: RUNNING from
// its allocation on, COMPLETE when it has ended.
func ContainerStateProto(s yarn.ContainerState) proto.ContainerStateProto {
	if s >= yarn.ContainerReleasing {
		return proto.ContainerStateProto_C_COMPLETE
	}
	return proto.ContainerStateProto_C_RUNNING
}

var nodeStates = [...]proto.NodeStateProto{
	yarn.NodeRunning:         proto.NodeStateProto_NS_RUNNING,
	yarn.NodeUnhealthy:       proto.NodeStateProto_NS_UNHEALTHY,
	yarn.NodeDecommissioning: proto.NodeStateProto_NS_DECOMMISSIONING,
	yarn.NodeDecommissioned:  proto.NodeStateProto_NS_DECOMMISSIONED,
	yarn.NodeLost:            proto.NodeStateProto_NS_LOST,
	yarn.NodeRebooted:        proto.NodeStateProto_NS_REBOOTED,
	yarn.NodeShutdown:        proto.NodeStateProto_NS_SHUTDOWN,
}

// NodeState decodes a node's state. It returns false for NEW, which no node of rmd has, and for
// unknown states.
func NodeState(p proto.NodeStateProto) (yarn.NodeState, bool) {
	for s, v := range nodeStates {
		if v == p && s != 0 {
			return yarn.NodeState(s), true
		}
	}
	return 0, false
}

// NodeStateProto encodes a node's state.
func NodeStateProto(s yarn.NodeState) proto.NodeStateProto {
	if int(s) >= len(nodeStates) || s == 0 {
		return proto.NodeStateProto_NS_NEW
	}
	return nodeStates[s]
}

// QueueStateProto encodes a queue's state.
func QueueStateProto(s yarn.QueueState) proto.QueueStateProto {
	switch s {
	case yarn.QueueDraining:
		return proto.QueueStateProto_Q_DRAINING
	case yarn.QueueStopped:
		return proto.QueueStateProto_Q_STOPPED
	}
	return proto.QueueStateProto_Q_RUNNING
}

// Seconds converts milliseconds to Hadoop's 32-bit number of seconds.
func Seconds(millis int64) uint32 { return uint32(min(millis/1000, math.MaxInt32)) }
