package master

import (
	"math"
	"testing"

	gproto "google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"rmd/scheduler/input"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/token"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

// slow encodes a response with the generated messages.
func slow(m *responseBuilder, r *input.AllocateReply, version int32,
	logs *proto.LogAggregationContextProto) *proto.AllocateResponseProto {
	out := &proto.AllocateResponseProto{
		ResponseId:          new(r.Response),
		Limit:               wire.ResourceProto(r.Headroom, m.kinds),
		NumClusterNodes:     new(int32(r.Nodes)),
		ApplicationPriority: wire.PriorityProto(r.Priority),
	}
	for _, g := range r.Granted {
		t, err := m.ring.ContainerToken(token.Container{
			ID: g.Container, Node: g.Node.String(), User: m.a.user, Size: g.Size,
			ExpiresMillis: m.expires(g.AllocatedMillis), Priority: g.Key.Priority, CreatedMillis: g.AllocatedMillis,
			Logs: logs, AllocationID: g.Key.AllocationID, Version: version,
		}, m.cfg.Services.Of(g.Node))
		if err != nil {
			panic(err)
		}
		out.AllocatedContainers = append(out.AllocatedContainers, &proto.ContainerProto{
			Id:                  wire.ContainerIDProto(g.Container),
			NodeId:              wire.NodeIDProto(g.Node),
			NodeHttpAddress:     new(yarn.NodeID{Host: g.Node.Host, Port: g.HTTPPort}.String()),
			Resource:            wire.ResourceProto(g.Size, m.kinds),
			Priority:            wire.PriorityProto(g.Key.Priority),
			ContainerToken:      t,
			ExecutionType:       proto.ExecutionTypeProto_GUARANTEED.Enum(),
			AllocationRequestId: new(g.Key.AllocationID),
			Version:             new(version),
		})
	}
	return out
}

// TestHandWrittenEncoding compares the bytes of encode.go with those of the generated messages.
func TestHandWrittenEncoding(t *testing.T) {
	w := newWorld(t)
	r := w.replica()
	id := w.app()
	rapid.Check(t, func(t *rapid.T) {
		logs := &proto.LogAggregationContextProto{}
		for i, s := range []**string{&logs.IncludePattern, &logs.ExcludePattern, &logs.RolledLogsIncludePattern,
			&logs.RolledLogsExcludePattern, &logs.LogAggregationPolicyClassName, &logs.LogAggregationPolicyParameters} {
			if rapid.Bool().Draw(t, "set") {
				*s = new(rapid.StringN(0, 5, -1).Draw(t, string(rune('a'+i))))
			}
		}
		a := &attempt{id: id, user: rapid.String().Draw(t, "user"), wireID: appendAttempt(nil, id)}
		if rapid.Bool().Draw(t, "logs") {
			a.logs = appendLogs(logs)
		} else {
			logs = nil
		}
		m := r.newResponse(a)
		defer m.close()
		m.kinds = yarn.Kinds{yarn.MemoryName, yarn.VCoresName, yarn.GPUName}
		if rapid.Bool().Draw(t, "two kinds") {
			m.kinds = m.st.Versions.Kinds()
		}
		version := rapid.Int32Min(0).Draw(t, "version")
		reply := drawReply(t, id, len(m.kinds))
		b := m.appendReply(nil, reply)
		for i := range reply.Granted {
			c, err := m.appendContainer(nil, &reply.Granted[i], version)
			if err != nil {
				t.Fatal(err)
			}
			b = field(b, fieldAllocated, c)
		}
		got := new(proto.AllocateResponseProto)
		if err := gproto.Unmarshal(b, got); err != nil {
			t.Fatal(err)
		}
		want := slow(m, reply, version, logs)
		if len(m.kinds) > 2 { // the ring knows only the resource types of the state
			for _, list := range [][]*proto.ContainerProto{got.AllocatedContainers, want.AllocatedContainers} {
				for _, c := range list {
					c.ContainerToken = nil
				}
			}
		}
		if !gproto.Equal(got, want) {
			t.Fatalf("by hand %v\nwant    %v", got, want)
		}
	})
}

func drawReply(t *rapid.T, id yarn.AttemptID, kinds int) *input.AllocateReply {
	resource := func(what string, least int64) (r yarn.Resource) {
		for i := range kinds {
			r[i] = rapid.Int64Range(least, math.MaxInt32).Draw(t, what)
		}
		return r
	}
	reply := &input.AllocateReply{Response: rapid.Int32().Draw(t, "response"), Headroom: resource("headroom", -5),
		Nodes: rapid.Uint32Max(1<<20).Draw(t, "nodes"), Priority: rapid.Int32().Draw(t, "priority")}
	for range rapid.IntRange(0, 3).Draw(t, "granted") {
		reply.Granted = append(reply.Granted, input.Granted{
			Container: yarn.ContainerID{App: id.App, Attempt: rapid.Uint32Range(1, 2).Draw(t, "attempt"),
				Number: rapid.Uint64Max(math.MaxInt64).Draw(t, "number")},
			Key: yarn.SchedulerKey{Priority: rapid.Int32().Draw(t, "ask"),
				AllocationID: rapid.Int64().Draw(t, "allocation")},
			Node:     yarn.NodeID{Host: rapid.StringN(1, 8, -1).Draw(t, "host"), Port: rapid.Uint16().Draw(t, "port")},
			HTTPPort: rapid.Uint16().Draw(t, "http"), Size: resource("size", 0),
			AllocatedMillis: rapid.Int64Range(0, 1<<41).Draw(t, "at"),
		})
	}
	return reply
}
