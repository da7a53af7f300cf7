package yarn

import (
	"fmt"
	"strconv"
)

// Any is the resource name that means every node.
const Any = "*"

// AMPriority is the request priority of an attempt's AM container.
const AMPriority = 0

// ApplicationState is the state of an application, with YARN's names.
type ApplicationState uint8

// The states of an application. The numbers are in snapshots: append only.
const (
	AppSubmitted ApplicationState = 1 + iota // waits for an attempt
	AppAccepted                              // the attempt waits for its AM
	AppRunning                               // the AM has registered
	AppFinished
	AppFailed
	AppKilled

	// AppStates is one more than the highest state.
	AppStates
)

// Ended reports whether the state is terminal.
func (s ApplicationState) Ended() bool { return s >= AppFinished }

var applicationStates = [AppStates]string{"", "SUBMITTED", "ACCEPTED", "RUNNING", "FINISHED", "FAILED", "KILLED"}

// ApplicationStates returns all states of an application.
func ApplicationStates() []ApplicationState { return known[ApplicationState](applicationStates[:]) }

func (s ApplicationState) String() string { return name(uint8(s), applicationStates[:]...) }

// FinalStatus is the result that an application has reported.
type FinalStatus uint8

// The final statuses; append only.
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

// ContainerState is the state of an allocated container. A reservation is not a container yet.
type ContainerState uint8

// The states of a container; append only.
const (
	ContainerAllocated ContainerState = 1 + iota // allocated; its AM has not received it
	ContainerAcquired                            // received by its AM, or passed to the AM launcher
	ContainerRunning                             // reported by its node
	ContainerReleasing                           // ended by the ResourceManager; its node has not reported the end
	ContainerCompleted                           // ended; kept until its AM has acknowledged the completion
)

// Live reports whether the container counts in the use of its application.
func (s ContainerState) Live() bool { return s >= ContainerAllocated && s <= ContainerRunning }

func (s ContainerState) String() string {
	return name(uint8(s), "", "ALLOCATED", "ACQUIRED", "RUNNING", "RELEASING", "COMPLETED")
}

// NodeState is the state of a node, as in YARN.
type NodeState uint8

// The states of a node; append only.
const (
	NodeRunning NodeState = 1 + iota
	NodeUnhealthy
	NodeDecommissioning
	NodeDecommissioned
	NodeLost
	NodeRebooted
	NodeShutdown
)

// Usable reports whether the node can have containers and counts in the cluster's size. Not every
// usable node takes new containers; see state.Node.Serving.
func (s NodeState) Usable() bool { return s == NodeRunning || s == NodeDecommissioning }

var nodeStates = []string{"", "RUNNING", "UNHEALTHY", "DECOMMISSIONING", "DECOMMISSIONED", "LOST",
	"REBOOTED", "SHUTDOWN"}

// NodeStates returns all states of a node.
func NodeStates() []NodeState { return known[NodeState](nodeStates) }

func (s NodeState) String() string { return name(uint8(s), nodeStates...) }

// KeyKind is a kind of master key.
type KeyKind uint8

// The kinds of master keys; append only.
const (
	KeyContainer KeyKind = iota
	KeyNM
	KeyAMRM
	KeyDelegation
	KeyKinds
)

func (k KeyKind) String() string { return name(uint8(k), "container", "nm", "amrm", "delegation") }

// QueueState is the state of a queue: RUNNING, DRAINING (stopping, with applications left) or
// STOPPED.
type QueueState uint8

// The states of a queue; append only.
const (
	QueueRunning QueueState = 1 + iota
	QueueDraining
	QueueStopped
)

func (s QueueState) String() string { return name(uint8(s), "", "RUNNING", "DRAINING", "STOPPED") }

// Locality is the locality at which a container was allocated.
type Locality uint8

// The localities; append only.
const (
	NodeLocal Locality = 1 + iota
	RackLocal
	OffSwitch
)

func (l Locality) String() string {
	return name(uint8(l), "", "NODE_LOCAL", "RACK_LOCAL", "OFF_SWITCH")
}

// SizeChange is the direction of a container's last size change.
type SizeChange uint8

// The directions of size changes; append only.
const (
	SizeKept SizeChange = iota
	SizeIncreased
	SizeDecreased
)

func (c SizeChange) String() string {
	return name(uint8(c), "KEPT", "INCREASED", "DECREASED")
}

func name(v uint8, names ...string) string {
	if int(v) < len(names) && names[v] != "" {
		return names[v]
	}
	return fmt.Sprintf("UNKNOWN_%s", strconv.Itoa(int(v)))
}

// known returns the values that have a name, in the order of their numbers.
func known[T ~uint8](names []string) []T {
	var out []T
	for i, n := range names {
		if n != "" {
			out = append(out, T(i))
		}
	}
	return out
}

// Exit statuses of containers that the ResourceManager ends (YARN's ContainerExitStatus).
const (
	ExitSuccess    int32 = 0
	ExitAborted    int32 = -100 // released by the AM, or its node was lost
	ExitPreempted  int32 = -102
	ExitKilledByRM int32 = -106 // KILLED_AFTER_APP_COMPLETION
	ExitKilledByAM int32 = -105 // KILLED_BY_APPMASTER
)

// NotStarted reports whether a NodeManager reports this exit status for a container that it could
// not start: INVALID after a failed localization, DISKS_FAILED, the status of a launch that threw an
// exception, and those of a shell that cannot run its command.
func NotStarted(exit int32) bool {
	switch exit {
	case -1000, -101, -1, 126, 127:
		return true
	}
	return false
}

// MarshalText returns the state's name.
func (s ApplicationState) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalText returns the status's name.
func (s FinalStatus) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalText returns the state's name.
func (s ContainerState) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalText returns the state's name.
func (s NodeState) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalText returns the state's name.
func (s QueueState) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalText returns the locality's name.
func (s Locality) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
