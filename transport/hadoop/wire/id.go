package wire

import (
	"errors"
	"fmt"
	"math"

	"rmd/transport/hadoop/proto"
	"rmd/yarn"
)

// ErrInvalid means that a message lacks a required part or has an invalid value.
var ErrInvalid = errors.New("invalid message")

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
}

// ApplicationID decodes an application id. Every part is required.
func ApplicationID(p *proto.ApplicationIdProto) (yarn.ApplicationID, error) {
	switch {
	case p == nil:
		return yarn.ApplicationID{}, invalid("application id missing")
	case p.Id == nil || p.ClusterTimestamp == nil:
		return yarn.ApplicationID{}, invalid("application id incomplete")
	case *p.Id < 0 || *p.ClusterTimestamp < 0:
		return yarn.ApplicationID{}, invalid("application id %d of %d is negative", *p.Id, *p.ClusterTimestamp)
	}
	return yarn.ApplicationID{ClusterTimestamp: *p.ClusterTimestamp, Seq: uint32(*p.Id)}, nil
}

// ApplicationIDProto encodes an application id.
func ApplicationIDProto(id yarn.ApplicationID) *proto.ApplicationIdProto {
	return &proto.ApplicationIdProto{Id: new(int32(id.Seq)), ClusterTimestamp: new(id.ClusterTimestamp)}
}

// AttemptID decodes an attempt id.
func AttemptID(p *proto.ApplicationAttemptIdProto) (yarn.AttemptID, error) {
	if p == nil {
		return yarn.AttemptID{}, invalid("attempt id missing")
	}
	app, err := ApplicationID(p.ApplicationId)
	switch {
	case err != nil:
		return yarn.AttemptID{}, err
	case p.AttemptId == nil:
		return yarn.AttemptID{}, invalid("attempt number of %s missing", app)
	case *p.AttemptId < 0:
		return yarn.AttemptID{}, invalid("attempt number %d of %s is negative", *p.AttemptId, app)
	}
	return yarn.AttemptID{App: app, Attempt: uint32(*p.AttemptId)}, nil
}

// AttemptIDProto encodes an attempt id.
func AttemptIDProto(id yarn.AttemptID) *proto.ApplicationAttemptIdProto {
	return &proto.ApplicationAttemptIdProto{ApplicationId: ApplicationIDProto(id.App), AttemptId: new(int32(id.Attempt))}
}

// ContainerID decodes a container id: the attempt and YARN's number. It ignores the field with the
// application id, which is old and never set.
func ContainerID(p *proto.ContainerIdProto) (yarn.ContainerID, error) {
	if p == nil {
		return yarn.ContainerID{}, invalid("container id missing")
	}
	at, err := AttemptID(p.AppAttemptId)
	switch {
	case err != nil:
		return yarn.ContainerID{}, fmt.Errorf("container id: %w", err)
	case p.Id == nil:
		return yarn.ContainerID{}, invalid("container number of %s missing", at)
	case *p.Id < 0:
		return yarn.ContainerID{}, invalid("container number %d of %s is negative", *p.Id, at)
	}
	return yarn.ContainerID{App: at.App, Attempt: at.Attempt, Number: uint64(*p.Id)}, nil
}

// ContainerIDProto encodes a container id.
func ContainerIDProto(id yarn.ContainerID) *proto.ContainerIdProto {
	at := yarn.AttemptID{App: id.App, Attempt: id.Attempt}
	return &proto.ContainerIdProto{AppAttemptId: AttemptIDProto(at), Id: new(int64(id.Number))}
}

// ContainerIDProtos encodes a list of container ids.
func ContainerIDProtos(list []yarn.ContainerID) []*proto.ContainerIdProto {
	return all(list, ContainerIDProto)
}

// ApplicationIDs decodes a list of application ids.
func ApplicationIDs(list []*proto.ApplicationIdProto) ([]yarn.ApplicationID, error) {
	return each(list, ApplicationID)
}

// ApplicationIDProtos encodes a list of application ids.
func ApplicationIDProtos(list []yarn.ApplicationID) []*proto.ApplicationIdProto {
	return all(list, ApplicationIDProto)
}

// NodeID decodes a node id. It does not change the host, because tokens contain the exact string
// with which the node registered.
func NodeID(p *proto.NodeIdProto) (yarn.NodeID, error) {
	switch {
	case p == nil:
		return yarn.NodeID{}, invalid("node id missing")
	case p.GetHost() == "":
		return yarn.NodeID{}, invalid("host of the node id missing")
	case p.Port == nil:
		return yarn.NodeID{}, invalid("port of node %q missing", p.GetHost())
	case *p.Port < 0 || *p.Port > math.MaxUint16:
		return yarn.NodeID{}, invalid("port %d of node %q is none", *p.Port, p.GetHost())
	}
	if err := yarn.CheckHost(p.GetHost()); err != nil { // before a script or a directory gets the name
		return yarn.NodeID{}, invalid("host of the node id: %v", err)
	}
	return yarn.NodeID{Host: *p.Host, Port: uint16(*p.Port)}, nil
}

// NodeIDProto encodes a node id.
func NodeIDProto(id yarn.NodeID) *proto.NodeIdProto {
	return &proto.NodeIdProto{Host: new(id.Host), Port: new(int32(id.Port))}
}

// Priority decodes a priority. A missing one is 0.
func Priority(p *proto.PriorityProto) int32 { return p.GetPriority() }

// PriorityProto encodes a priority.
func PriorityProto(v int32) *proto.PriorityProto { return &proto.PriorityProto{Priority: new(v)} }

func each[P, V any](list []P, read func(P) (V, error)) ([]V, error) {
	if len(list) == 0 {
		return nil, nil
	}
	out := make([]V, len(list))
	for i, p := range list {
		v, err := read(p)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

func all[V, P any](list []V, write func(V) P) []P {
	if len(list) == 0 {
		return nil
	}
	out := make([]P, len(list))
	for i, v := range list {
		out[i] = write(v)
	}
	return out
}
