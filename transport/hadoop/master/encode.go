package master

import (
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"rmd/scheduler/input"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/token"
	"rmd/yarn"
)

// This file encodes by hand what nearly every answer contains: granted containers and a few
// numbers. The bytes are those that protobuf would write for token.Container and the messages of
// package wire, with a tenth of the allocations. A test compares both.

// Field numbers of AllocateResponseProto.
const (
	fieldResponse  = 2
	fieldAllocated = 3
	fieldLimit     = 5
	fieldNodes     = 7
	fieldPriority  = 13
)

// pages are the buffers for one answer.
type pages struct {
	id, size, ident, token, container []byte
	password                          [64]byte
	sized                             yarn.Resource
}

// appendReply appends the numbers of the planner's reply.
func (m *responseBuilder) appendReply(b []byte, r *input.AllocateReply) []byte {
	b = number(b, fieldResponse, int64(r.Response))
	p := m.pages
	p.size = appendResource(p.size[:0], r.Headroom, m.kinds)
	p.sized = r.Headroom
	b = field(b, fieldLimit, p.size)
	b = number(b, fieldNodes, int64(int32(r.Nodes)))
	return appendPriority(b, fieldPriority, r.Priority)
}

// appendContainer appends a ContainerProto: a granted or resized container, with the token to start
// or update it.
func (m *responseBuilder) appendContainer(b []byte, g *input.Granted, version int32) ([]byte, error) {
	key, err := m.ring.Signing(yarn.KeyContainer)
	if err != nil {
		return nil, err
	}
	p := m.pages
	at := m.a.wireID
	if g.Container.Attempt != m.a.id.Attempt {
		at = appendAttempt(nil, yarn.AttemptID{App: g.Container.App, Attempt: g.Container.Attempt})
	}
	p.id = number(field(p.id[:0], 2, at), 3, int64(g.Container.Number))
	if p.sized != g.Size || len(p.size) == 0 {
		p.size, p.sized = appendResource(p.size[:0], g.Size, m.kinds), g.Size
	}
	p.ident = m.appendIdentifier(p.ident[:0], g, version, key.ID)
	password := m.signers.container.of(key).sign(p.password[:0], p.ident)
	p.token = field(p.token[:0], 1, p.ident)
	p.token = field(p.token, 2, password)
	p.token = text(p.token, 3, token.KindContainer)
	p.token = text(p.token, 4, m.cfg.Services.Of(g.Node))

	b = field(b, 1, p.id)
	b = appendNode(b, 2, g.Node)
	b = appendAddress(b, 3, g.Node.Host, g.HTTPPort)
	b = field(b, 4, p.size)
	b = appendPriority(b, 5, g.Key.Priority)
	b = field(b, 6, p.token)
	b = number(b, 7, int64(proto.ExecutionTypeProto_GUARANTEED))
	b = number(b, 8, g.Key.AllocationID)
	return number(b, 9, int64(version)), nil
}

// appendIdentifier appends the canonical identifier of a container's token. The id and the size are
// already in m.pages.
func (m *responseBuilder) appendIdentifier(b []byte, g *input.Granted, version, key int32) []byte {
	b = field(b, 1, m.pages.id)
	b = appendAddress(b, 2, g.Node.Host, g.Node.Port)
	b = text(b, 3, m.a.user)
	b = field(b, 4, m.pages.size)
	b = number(b, 5, m.expires(g.AllocatedMillis))
	b = number(b, 6, int64(key))
	b = number(b, 7, m.st.Meta.ClusterTimestamp)
	b = appendPriority(b, 8, g.Key.Priority)
	b = number(b, 9, g.AllocatedMillis)
	if m.a.logs != nil {
		b = field(b, 10, m.a.logs)
	}
	b = text(b, 11, m.st.AskedLabelOf(g.Container))
	b = number(b, 12, int64(proto.ContainerTypeProto_TASK))
	b = number(b, 13, int64(proto.ExecutionTypeProto_GUARANTEED))
	b = number(b, 14, int64(version))
	return number(b, 15, g.Key.AllocationID)
}

// appendResource appends a ResourceProto.
func appendResource(b []byte, r yarn.Resource, kinds yarn.Kinds) []byte {
	b = number(b, 1, r[yarn.Memory])
	b = number(b, 2, min(max(r[yarn.VCores], -1<<31), 1<<31-1))
	for i := range min(max(len(kinds), 2), yarn.MaxKinds) {
		name, units := "", ""
		switch i {
		case yarn.Memory:
			name, units = yarn.MemoryName, "Mi"
		case yarn.VCores:
			name = yarn.VCoresName
		default:
			name = kinds[i]
		}
		b = length(b, 3, sizeText(name)+sizeNumber(r[i])+sizeText(units)+2)
		b = text(b, 1, name)
		b = number(b, 2, r[i])
		b = text(b, 3, units)
		b = number(b, 4, int64(proto.ResourceTypesProto_COUNTABLE))
	}
	return b
}

// appendAttempt appends an ApplicationAttemptIdProto.
func appendAttempt(b []byte, id yarn.AttemptID) []byte {
	app := number(number(nil, 1, int64(int32(id.App.Seq))), 2, id.App.ClusterTimestamp)
	return number(field(b, 1, app), 2, int64(int32(id.Attempt)))
}

// appendLogs returns the encoded fields of a LogAggregationContextProto that YARN knows, or nil if
// p is nil.
func appendLogs(p *proto.LogAggregationContextProto) []byte {
	if p == nil {
		return nil
	}
	b := []byte{}
	for i, s := range []*string{p.IncludePattern, p.ExcludePattern, p.RolledLogsIncludePattern, p.RolledLogsExcludePattern,
		p.LogAggregationPolicyClassName, p.LogAggregationPolicyParameters} {
		if s != nil {
			b = text(b, protowire.Number(i+1), *s)
		}
	}
	return b
}

func appendNode(b []byte, n protowire.Number, id yarn.NodeID) []byte {
	b = length(b, n, sizeText(id.Host)+sizeNumber(int64(id.Port)))
	return number(text(b, 1, id.Host), 2, int64(id.Port))
}

func appendPriority(b []byte, n protowire.Number, v int32) []byte {
	return number(length(b, n, sizeNumber(int64(v))), 1, int64(v))
}

// appendAddress appends host:port as a text field.
func appendAddress(b []byte, n protowire.Number, host string, port uint16) []byte {
	var digits [5]byte
	d := strconv.AppendUint(digits[:0], uint64(port), 10)
	b = length(b, n, len(host)+1+len(d))
	b = append(b, host...)
	b = append(b, ':')
	return append(b, d...)
}

// number appends an int32, int64 or enum field. protobuf encodes all three in the same way.
func number(b []byte, n protowire.Number, v int64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, n, protowire.VarintType), uint64(v))
}

func text(b []byte, n protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, n, protowire.BytesType), s)
}

func field(b []byte, n protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, n, protowire.BytesType), v)
}

// length appends the tag and the length of a field.
func length(b []byte, n protowire.Number, size int) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, n, protowire.BytesType), uint64(size))
}

// The sizes of fields whose number is below 16.
func sizeNumber(v int64) int { return 1 + protowire.SizeVarint(uint64(v)) }
func sizeText(s string) int  { return 1 + protowire.SizeBytes(len(s)) }
