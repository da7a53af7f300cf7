package token

import (
	"google.golang.org/protobuf/encoding/protowire"

	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

// Container is the content of a container's token, for the node that must start the container.
type Container struct {
	ID yarn.ContainerID
	// Node is the id with which the node registered, host:port.
	Node string
	User string
	Size yarn.Resource
	// Kinds are the resource types of Size.
	Kinds         yarn.Kinds
	ExpiresMillis int64 // the node refuses to start it later, by its own clock
	KeyID         int32
	RMIdentifier  int64 // the value that the node received when it registered
	Priority      int32
	CreatedMillis int64
	// Logs are the log aggregation settings of the application, or nil.
	Logs         *proto.LogAggregationContextProto
	Label        string
	AM           bool
	Version      int32
	AllocationID int64
}

// Bytes returns the canonical identifier.
func (t Container) Bytes() []byte {
	id := message(nil, 2, attempt(yarn.AttemptID{App: t.ID.App, Attempt: t.ID.Attempt}))
	b := message(nil, 1, number(id, 3, int64(t.ID.Number)))
	b = text(b, 2, t.Node)
	b = text(b, 3, t.User)
	b = message(b, 4, resource(t.Size, t.Kinds))
	b = number(b, 5, t.ExpiresMillis)
	b = number(b, 6, int64(t.KeyID))
	b = number(b, 7, t.RMIdentifier)
	b = message(b, 8, number(nil, 1, int64(t.Priority)))
	b = number(b, 9, t.CreatedMillis)
	if t.Logs != nil {
		b = message(b, 10, logs(t.Logs))
	}
	b = text(b, 11, t.Label)
	kind := proto.ContainerTypeProto_TASK
	if t.AM {
		kind = proto.ContainerTypeProto_APPLICATION_MASTER
	}
	b = number(b, 12, int64(kind))
	b = number(b, 13, int64(proto.ExecutionTypeProto_GUARANTEED))
	b = number(b, 14, int64(t.Version))
	return number(b, 15, t.AllocationID)
}

// resource encodes the message of wire.ResourceProto.
func resource(r yarn.Resource, kinds yarn.Kinds) []byte {
	p := wire.ResourceProto(r, kinds)
	b := number(nil, 1, p.GetMemory())
	b = number(b, 2, int64(p.GetVirtualCores()))
	for _, e := range p.GetResourceValueMap() {
		m := text(nil, 1, e.GetKey())
		m = number(m, 2, e.GetValue())
		m = text(m, 3, e.GetUnits())
		b = message(b, 3, number(m, 4, int64(e.GetType())))
	}
	return b
}

// logs encodes the fields that are set. It leaves out unknown fields, because the node may
// serialize them in another order.
func logs(p *proto.LogAggregationContextProto) []byte {
	var b []byte
	for i, s := range []*string{p.IncludePattern, p.ExcludePattern, p.RolledLogsIncludePattern, p.RolledLogsExcludePattern,
		p.LogAggregationPolicyClassName, p.LogAggregationPolicyParameters} {
		if s != nil {
			b = text(b, protowire.Number(i+1), *s)
		}
	}
	return b
}

// ParseContainer decodes a container's identifier. It ignores resource types that are not in kinds.
func ParseContainer(identifier []byte, kinds yarn.Kinds) (Container, error) {
	var p proto.ContainerTokenIdentifierProto
	if err := parse(identifier, &p); err != nil {
		return Container{}, err
	}
	id, err := wire.ContainerID(p.ContainerId)
	if err != nil {
		return Container{}, malformed("%v", err)
	}
	size, err := wire.Resource(p.Resource, kinds)
	switch {
	case err != nil:
		return Container{}, malformed("%v", err)
	case p.MasterKeyId == nil:
		return Container{}, malformed("key id missing")
	}
	return Container{ID: id, Node: p.GetNmHostAddr(), User: p.GetAppSubmitter(), Size: size, Kinds: kinds,
		ExpiresMillis: p.GetExpiryTimeStamp(), KeyID: *p.MasterKeyId, RMIdentifier: p.GetRmIdentifier(),
		Priority: wire.Priority(p.Priority), CreatedMillis: p.GetCreationTime(), Logs: p.LogAggregationContext,
		Label: p.GetNodeLabelExpression(), AM: p.GetContainerType() == proto.ContainerTypeProto_APPLICATION_MASTER &&
			p.ContainerType != nil,
		Version: p.GetVersion(), AllocationID: p.GetAllocationRequestId()}, nil
}
