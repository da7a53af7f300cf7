package yarn

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// ApplicationID is application_<ClusterTimestamp>_<Seq>. Seq is unique in the cluster, also across
// timestamps.
type ApplicationID struct {
	ClusterTimestamp int64 // milliseconds
	Seq              uint32
}

func (a ApplicationID) String() string {
	return fmt.Sprintf("application_%d_%04d", a.ClusterTimestamp, a.Seq)
}

// AttemptID is appattempt_<ts>_<seq>_<Attempt>; Attempt counts from 1.
type AttemptID struct {
	App     ApplicationID
	Attempt uint32
}

func (a AttemptID) String() string {
	return fmt.Sprintf("appattempt_%d_%04d_%06d", a.App.ClusterTimestamp, a.App.Seq, a.Attempt)
}

// epochShift is the position of the epoch in YARN's container number.
const epochShift = 40

// ContainerID is container_[e<epoch>_]<ts>_<seq>_<attempt>_<number>. Number is YARN's container
// number: epoch·2^40 + sequence within the attempt.
type ContainerID struct {
	App     ApplicationID
	Attempt uint32
	Number  uint64
}

// ContainerSequence returns the sequence within the attempt of YARN's container number.
func ContainerSequence(number uint64) uint64 { return number & (1<<epochShift - 1) }

// ContainerNumber returns YARN's container number for an epoch and a sequence.
func ContainerNumber(epoch uint32, sequence uint64) uint64 {
	return uint64(epoch)<<epochShift | sequence
}

func (c ContainerID) String() string {
	epoch, seq := c.Number>>epochShift, ContainerSequence(c.Number)
	if epoch == 0 {
		return fmt.Sprintf("container_%d_%04d_%02d_%06d", c.App.ClusterTimestamp, c.App.Seq, c.Attempt, seq)
	}
	return fmt.Sprintf("container_e%02d_%d_%04d_%02d_%06d", epoch, c.App.ClusterTimestamp, c.App.Seq, c.Attempt, seq)
}

// ParseApplicationID parses application_<ts>_<seq>.
func ParseApplicationID(s string) (ApplicationID, error) {
	n, err := numbers(s, "application_", 2)
	if err != nil {
		return ApplicationID{}, fmt.Errorf("%q is not an application id (application_<timestamp>_<number>)", s)
	}
	return ApplicationID{int64(n[0]), uint32(n[1])}, nil
}

// ParseApplicationNumber parses the number of an application, which people may write instead of its
// id: 93, 0093, or …_0093 as in tables. The applications of a cluster have different numbers.
func ParseApplicationNumber(s string) (number uint32, ok bool) {
	n, err := strconv.ParseUint(strings.TrimPrefix(strings.TrimPrefix(s, "…"), "_"), 10, 32)
	return uint32(n), err == nil && n > 0
}

// ParseAttemptID parses appattempt_<ts>_<seq>_<attempt>.
func ParseAttemptID(s string) (AttemptID, error) {
	n, err := numbers(s, "appattempt_", 3)
	if err != nil {
		return AttemptID{}, fmt.Errorf("%q is not an attempt id (appattempt_<timestamp>_<number>_<attempt>)", s)
	}
	return AttemptID{ApplicationID{int64(n[0]), uint32(n[1])}, uint32(n[2])}, nil
}

// ParseContainerID parses container_[e<epoch>_]<ts>_<seq>_<attempt>_<number>.
func ParseContainerID(s string) (ContainerID, error) {
	rest, ok := strings.CutPrefix(s, "container_")
	bad := fmt.Errorf("%q is not a container id (container_[e<epoch>_]<timestamp>_<number>_<attempt>_<container>)", s)
	if !ok {
		return ContainerID{}, bad
	}
	var epoch uint64
	if strings.HasPrefix(rest, "e") {
		e, tail, found := strings.Cut(rest[1:], "_")
		v, err := strconv.ParseUint(e, 10, 24)
		if !found || err != nil {
			return ContainerID{}, bad
		}
		epoch, rest = v, tail
	}
	n, err := numbers(rest, "", 4)
	if err != nil || n[3] >= 1<<epochShift {
		return ContainerID{}, bad
	}
	return ContainerID{ApplicationID{int64(n[0]), uint32(n[1])}, uint32(n[2]), ContainerNumber(uint32(epoch), n[3])}, nil
}

func numbers(s, prefix string, want int) ([]uint64, error) {
	rest, ok := strings.CutPrefix(s, prefix)
	parts := strings.Split(rest, "_")
	if !ok || len(parts) != want {
		return nil, strconv.ErrSyntax
	}
	out := make([]uint64, want)
	for i, p := range parts {
		size := 63
		if i == 1 || i == 2 {
			size = 32
		}
		v, err := strconv.ParseUint(p, 10, size)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

// NodeID is the host and port of a NodeManager.
type NodeID struct {
	Host string
	Port uint16
}

func (n NodeID) String() string { return n.Host + ":" + strconv.Itoa(int(n.Port)) }

// Compare orders nodes by host, then by port.
func (n NodeID) Compare(o NodeID) int {
	return cmp.Or(strings.Compare(n.Host, o.Host), cmp.Compare(n.Port, o.Port))
}

// ParseNodeID parses host:port.
func ParseNodeID(s string) (NodeID, error) {
	i := strings.LastIndexByte(s, ':')
	if i <= 0 {
		return NodeID{}, fmt.Errorf("%q is not a node id (host:port)", s)
	}
	p, err := strconv.ParseUint(s[i+1:], 10, 16)
	if err != nil {
		return NodeID{}, fmt.Errorf("%q is not a node id (host:port)", s)
	}
	return NodeID{s[:i], uint16(p)}, nil
}

// SchedulerKey identifies an ask of an attempt. The ask with the smallest Priority is served first,
// then the one with the smallest AllocationID.
type SchedulerKey struct {
	Priority     int32
	AllocationID int64
}

// Compare compares keys in the order in which they are served.
func (k SchedulerKey) Compare(o SchedulerKey) int {
	return cmp.Or(cmp.Compare(k.Priority, o.Priority), cmp.Compare(k.AllocationID, o.AllocationID))
}

// Less reports whether k is served before o.
func (k SchedulerKey) Less(o SchedulerKey) bool { return k.Compare(o) < 0 }
