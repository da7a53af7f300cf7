package yarn

import (
	"fmt"
	"strconv"
)

// Any is the resource name that stands for every node.
const Any = "*"

// AMPriority is the request priority of an attempt's AM container.
const AMPriority = 0

// ApplicationState is the life of an application, by YARN's names.
type ApplicationState uint8

// Application states; the numbers are in snapshots: append only.
const (
	AppSubmitted ApplicationState = 1 + iota // waiting for an attempt
	AppAccepted                              // attempt waits for its AM
	AppRunning                               // AM registered
	AppFinished
	AppFailed
	AppKilled
)

// Ended says whether the state is terminal.
func (s ApplicationState) Ended() bool { return s >= AppFinished }

func (s ApplicationState) String() string {
	return name(uint8(s), "", "SUBMITTED", "ACCEPTED", "RUNNING", "FINISHED", "FAILED", "KILLED")
}

// FinalStatus is what an application said of itself at its end.
type FinalStatus uint8

// Final statuses; append only.
const (
	FinalUndefined FinalStatus = iota
	FinalSucceeded
	FinalFailed
	FinalKilled
	FinalEnded
)

func (s FinalStatus) String() string {
	return name(uint8(s), "UNDEFINED", "SUCCEEDED", "FAILED", "KILLED", "ENDED")
}

// ContainerState is the life of a granted container. A reservation is not a
// container yet.
type ContainerState uint8

// Container states; append only.
const (
	ContainerAllocated ContainerState = 1 + iota // granted, its AM has not pulled it
	ContainerAcquired                            // pulled by its AM (or handed to the AM launcher)
	ContainerRunning                             // reported by its node
	ContainerReleasing                           // ended by the RM; its node has yet to report it
	ContainerCompleted                           // ended; kept until its AM has been told
)

// Live says whether the container counts in the use of its application.
func (s ContainerState) Live() bool { return s >= ContainerAllocated && s <= ContainerRunning }

func (s ContainerState) String() string {
	return name(uint8(s), "", "ALLOCATED", "ACQUIRED", "RUNNING", "RELEASING", "COMPLETED")
}

// NodeState is YARN's state of a node.
type NodeState uint8

// Node states; append only.
const (
	NodeRunning NodeState = 1 + iota
	NodeUnhealthy
	NodeDecommissioning
	NodeDecommissioned
	NodeLost
	NodeRebooted
	NodeShutdown
)

// Usable says whether the node holds containers and counts toward the cluster's size. A pass runs
// on fewer nodes: state.Node.Serving.
func (s NodeState) Usable() bool { return s == NodeRunning || s == NodeDecommissioning }

func (s NodeState) String() string {
	return name(uint8(s), "", "RUNNING", "UNHEALTHY", "DECOMMISSIONING", "DECOMMISSIONED", "LOST", "REBOOTED", "SHUTDOWN")
}

// KeyKind tells the master keys apart.
type KeyKind uint8

// Kinds of master keys; append only.
const (
	KeyContainer KeyKind = iota
	KeyNM
	KeyAMRM
	KeyDelegation
	KeyKinds
)

func (k KeyKind) String() string { return name(uint8(k), "container", "nm", "amrm", "delegation") }

// QueueState is RUNNING, DRAINING (stopping with applications left) or STOPPED.
type QueueState uint8

// Queue states; append only.
const (
	QueueRunning QueueState = 1 + iota
	QueueDraining
	QueueStopped
)

func (s QueueState) String() string { return name(uint8(s), "", "RUNNING", "DRAINING", "STOPPED") }

// Locality is the level at which a container was placed.
type Locality uint8

// Locality levels; append only.
const (
	NodeLocal Locality = 1 + iota
	RackLocal
	OffSwitch
)

func (l Locality) String() string {
	return name(uint8(l), "", "NODE_LOCAL", "RACK_LOCAL", "OFF_SWITCH")
}

// SizeChange says which way a container's size was changed last.
type SizeChange uint8

// Changes of size; append only.
const (
	SizeKept SizeChange = iota
	SizeIncreased
	SizeDecreased
)

func (c SizeChange) String() string {
	return name(uint8(c), "KEPT", "INCREASED", "DECREASED")
}

// CancelCause says why a reservation was cancelled. The numbers are in the log.
type CancelCause uint8

// The causes; append only, and to cancelCauses.
const (
	CancelAskGone        CancelCause = 1
	CancelExchanged      CancelCause = 2
	CancelAttemptEnded   CancelCause = 3
	CancelNodeNotRunning CancelCause = 4
	CancelNodeRelabelled CancelCause = 5
	CancelPreempted      CancelCause = 6
	CancelResizeEnded    CancelCause = 7
	CancelLargerThanNode CancelCause = 8
	CancelBlacklisted    CancelCause = 9
	CancelSizeChanged    CancelCause = 10
	CancelOperator       CancelCause = 11
	CancelGangStarted    CancelCause = 12 // its gang has started
	CancelGangBroken     CancelCause = 13 // its gang has lost another reservation, or has ended
	CancelGangLate       CancelCause = 14 // its gang has not started when it was expected to
)

// cancelCauses are the causes by number; 0 is none.
var cancelCauses = [...]string{
	CancelAskGone:        "ASK_GONE",
	CancelExchanged:      "EXCHANGED",
	CancelAttemptEnded:   "ATTEMPT_ENDED",
	CancelNodeNotRunning: "NODE_NOT_RUNNING",
	CancelNodeRelabelled: "NODE_RELABELLED",
	CancelPreempted:      "PREEMPTED",
	CancelResizeEnded:    "RESIZE_ENDED",
	CancelLargerThanNode: "LARGER_THAN_NODE",
	CancelBlacklisted:    "BLACKLISTED",
	CancelSizeChanged:    "SIZE_CHANGED",
	CancelOperator:       "OPERATOR",
	CancelGangStarted:    "GANG_STARTED",
	CancelGangBroken:     "GANG_BROKEN",
	CancelGangLate:       "GANG_LATE",
}

// Known says whether c is one of the causes.
func (c CancelCause) Known() bool { return c > 0 && int(c) < len(cancelCauses) }

func (c CancelCause) String() string { return name(uint8(c), cancelCauses[:]...) }

func name(v uint8, names ...string) string {
	if int(v) < len(names) && names[v] != "" {
		return names[v]
	}
	return fmt.Sprintf("UNKNOWN_%s", strconv.Itoa(int(v)))
}

// Exit statuses of containers that the ResourceManager ends itself (YARN's
// ContainerExitStatus).
const (
	ExitSuccess         int32 = 0
	ExitAborted         int32 = -100 // released by the AM, or its node was lost
	ExitPreempted       int32 = -102
	ExitKilledByRM      int32 = -106 // KILLED_AFTER_APP_COMPLETION
	ExitKilledByAppMstr int32 = -105 // KILLED_BY_APPMASTER
)

// MarshalText writes the state's name.
func (s ApplicationState) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalText writes the state's name.
func (s FinalStatus) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalText writes the state's name.
func (s ContainerState) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalText writes the state's name.
func (s NodeState) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalText writes the state's name.
func (s QueueState) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalText writes the state's name.
func (s Locality) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalText writes the state's name.
func (s CancelCause) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
