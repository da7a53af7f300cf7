package bounded

import (
	"testing"

	gproto "google.golang.org/protobuf/proto"

	"rmd/transport/hadoop/proto"
)

// BenchmarkMemory measures the guard on an idle heartbeat of a node with ten containers.
func BenchmarkMemory(b *testing.B) {
	req := &proto.NodeHeartbeatRequestProto{
		NodeStatus: &proto.NodeStatusProto{NodeId: &proto.NodeIdProto{Host: new("node17.example.org"),
			Port: new(int32(45454))}, ResponseId: new(int32(4711))}}
	for i := range 10 {
		req.NodeStatus.ContainersStatuses = append(req.NodeStatus.ContainersStatuses, &proto.ContainerStatusProto{
			ContainerId: &proto.ContainerIdProto{Id: new(int64(i)),
				AppAttemptId: &proto.ApplicationAttemptIdProto{AttemptId: new(int32(1)),
					ApplicationId: &proto.ApplicationIdProto{Id: new(int32(1)), ClusterTimestamp: new(int64(1_700_000_000_000))}}},
			State: proto.ContainerStateProto_C_RUNNING.Enum(), Diagnostics: new(""), ExitStatus: new(int32(-1000))})
	}
	body, err := gproto.Marshal(req)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(body)))
	shape := ShapeOf(req)
	for b.Loop() {
		if _, err := shape.Memory(body, Max); err != nil {
			b.Fatal(err)
		}
	}
}
