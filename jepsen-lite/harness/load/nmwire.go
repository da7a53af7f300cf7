package load

import (
	"rmd/jepsen-lite/harness/hadoop"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// Values of ContainerStateProto.
const (
	wireRunning  = 2
	wireComplete = 3
)

// nodeVersion is the version that the nodes report.
const nodeVersion = "3.4.2"

func nodeID(id yarn.NodeID) []byte {
	return hadoop.Number(hadoop.Text(nil, 1, id.Host), 2, int64(id.Port))
}

func containerID(id yarn.ContainerID) []byte {
	app := hadoop.Number(hadoop.Number(nil, 1, int64(id.App.Seq)), 2, id.App.ClusterTimestamp)
	attempt := hadoop.Number(hadoop.Bytes(nil, 1, app), 2, int64(id.Attempt))
	return hadoop.Number(hadoop.Bytes(nil, 2, attempt), 3, int64(id.Number))
}

// containerOf decodes a ContainerIdProto.
func containerOf(b []byte) (id yarn.ContainerID, ok bool) {
	err := hadoop.Each(b, func(field int, number int64, data []byte) {
		switch field {
		case 2:
			ok = attemptOf(data, &id) == nil
		case 3:
			id.Number = uint64(number)
		}
	})
	return id, ok && err == nil && id.Number != 0
}

func attemptOf(b []byte, id *yarn.ContainerID) error {
	return hadoop.Each(b, func(field int, number int64, data []byte) {
		switch field {
		case 1:
			_ = hadoop.Each(data, func(field int, number int64, _ []byte) { // a truncated field leaves the id incomplete
				switch field {
				case 1:
					id.App.Seq = uint32(number)
				case 2:
					id.App.ClusterTimestamp = number
				}
			})
		case 2:
			id.Attempt = uint32(number)
		}
	})
}

// stateOf returns a container's ContainerStateProto.
func stateOf(s input.ContainerStatus) int64 {
	if s.State == yarn.ContainerCompleted {
		return wireComplete
	}
	return wireRunning
}

// healthy returns a NodeHealthStatusProto of a healthy node.
func healthy() []byte { return hadoop.Number(nil, 1, 1) }

// registration returns a RegisterNodeManagerRequestProto.
func registration(in *input.RegisterNode) []byte {
	total := hadoop.Number(hadoop.Number(nil, 1, in.Total[yarn.Memory]), 2, in.Total[yarn.VCores])
	b := hadoop.Number(hadoop.Bytes(nil, 1, nodeID(in.ID)), 3, int64(in.HTTPPort))
	b = hadoop.Text(hadoop.Bytes(b, 4, total), 5, nodeVersion)
	for _, s := range in.Containers {
		c := hadoop.Number(hadoop.Bytes(nil, 1, containerID(s.Container)), 2, stateOf(s))
		b = hadoop.Bytes(b, 6, hadoop.Number(c, 6, int64(s.ExitStatus)))
	}
	status := hadoop.Number(hadoop.Bytes(nil, 1, nodeID(in.ID)), 2, 0)
	return hadoop.Bytes(b, 12, hadoop.Bytes(status, 4, healthy()))
}

// compose returns a NodeHeartbeatRequestProto.
func (n *nodeManager) compose(in *input.NodeHeartbeat) []byte {
	status := hadoop.Number(hadoop.Bytes(nil, 1, nodeID(n.id)), 2, n.response)
	for _, s := range in.Statuses {
		c := hadoop.Number(hadoop.Bytes(nil, 1, containerID(s.Container)), 2, stateOf(s))
		status = hadoop.Bytes(status, 3, hadoop.Number(c, 4, int64(s.ExitStatus)))
	}
	b := hadoop.Bytes(nil, 1, hadoop.Bytes(status, 4, healthy()))
	for i, k := range n.keys {
		if k != nil {
			b = hadoop.Bytes(b, 2+i, k)
		}
	}
	return b
}
