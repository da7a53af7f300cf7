package tracker

import (
	"google.golang.org/protobuf/encoding/protowire"

	"rmd/scheduler/input"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

// cutStatuses splits a heartbeat into its container statuses, which share the memory of body, and a
// heartbeat with everything else. A busy node reports dozens of statuses, and decoding each as a
// message would take eight allocations.
func cutStatuses(body []byte) (statuses [][]byte, rest []byte, err error) {
	var status []byte
	err = fields(body, func(num protowire.Number, v value) error {
		if num != 1 || v.bytes == nil {
			rest = append(rest, v.raw...)
			return nil
		}
		return fields(v.bytes, func(num protowire.Number, v value) error {
			if num == 3 && v.bytes != nil {
				statuses = append(statuses, v.bytes)
			} else {
				status = append(status, v.raw...)
			}
			return nil
		})
	})
	rest = protowire.AppendTag(rest, 1, protowire.BytesType)
	return statuses, protowire.AppendBytes(rest, status), err
}

// statusFields are the fields of a ContainerStatusProto.
type statusFields struct {
	timestamp, number int64
	app, attempt      int32
	has               uint8 // the fields that were present
	state             proto.ContainerStateProto
	exit              int32
	diagnostics       []byte
}

// Bits of statusFields.has.
const (
	hasTimestamp = 1 << iota
	hasNumber
	hasApp
	hasAttempt
	hasID = 1<<iota - 1
)

// readStatus decodes a ContainerStatusProto. If the id is incomplete, the generated code decodes
// the message and returns the error.
func (s *Service) readStatus(data []byte) (out input.ContainerStatus, err error) {
	c := statusFields{exit: wire.ExitNone}
	if err := fields(data, c.read); err != nil {
		return out, err
	}
	if c.has != hasID || c.timestamp < 0 || c.number < 0 || c.app < 0 || c.attempt < 0 {
		var p proto.ContainerStatusProto
		if err := ipc.Unmarshal(data, &p); err != nil {
			return out, err
		}
		return wire.ContainerStatus(&p)
	}
	out.Container = yarn.ContainerID{App: yarn.ApplicationID{ClusterTimestamp: c.timestamp, Seq: uint32(c.app)},
		Attempt: uint32(c.attempt), Number: uint64(c.number)}
	out.State = wire.ContainerState(c.state)
	if out.State == yarn.ContainerCompleted { // the cluster keeps neither for other states
		out.ExitStatus, out.Diagnostics = c.exit, s.text(string(c.diagnostics))
	}
	return out, nil
}

func (c *statusFields) read(num protowire.Number, v value) error {
	switch num {
	case 1:
		return fields(v.bytes, c.containerID)
	case 2:
		if v.kind == protowire.VarintType {
			c.state = proto.ContainerStateProto(v.number)
		}
	case 3:
		if v.bytes != nil {
			c.diagnostics = v.bytes
		}
	case 4:
		v.int32(&c.exit)
	}
	return nil
}

func (c *statusFields) containerID(num protowire.Number, v value) error {
	switch num {
	case 2:
		return fields(v.bytes, c.attemptID)
	case 3:
		c.note(v.int64(&c.number), hasNumber)
	}
	return nil
}

func (c *statusFields) attemptID(num protowire.Number, v value) error {
	switch num {
	case 1:
		return fields(v.bytes, c.applicationID)
	case 2:
		c.note(v.int32(&c.attempt), hasAttempt)
	}
	return nil
}

func (c *statusFields) applicationID(num protowire.Number, v value) error {
	switch num {
	case 1:
		c.note(v.int32(&c.app), hasApp)
	case 2:
		c.note(v.int64(&c.timestamp), hasTimestamp)
	}
	return nil
}

// note records that a field of the id was present.
func (c *statusFields) note(there bool, bit uint8) {
	if there {
		c.has |= bit
	}
}
