package hadoop

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"
	gproto "google.golang.org/protobuf/proto"

	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

// Exit statuses that a node reports.
const (
	exitUnknown  = -1000
	exitKilledRM = -106
)

// sizes has the encoded parts that are the same for all nodes and masters.
type sizes struct {
	capability []byte
	// running, done and killed follow the id in a container's status.
	running, done, killed []byte
	// tail follows the container statuses in a node's status.
	tail []byte
	// askHead and askTail are before and after the count in an ask.
	askHead, askTail []byte
}

var kinds = yarn.Kinds{yarn.MemoryName, yarn.VCoresName}

func newSizes(cfg *Config) (*sizes, error) {
	size := wire.ResourceProto(yarn.NewResource(cfg.MemoryMB, cfg.VCores), kinds)
	s := &sizes{}
	var err error
	if s.capability, err = gproto.Marshal(size); err != nil {
		return nil, err
	}
	for _, x := range []struct {
		to    *[]byte
		state proto.ContainerStateProto
		sub   proto.ContainerSubStateProto
		exit  int32
	}{
		{&s.running, proto.ContainerStateProto_C_RUNNING, proto.ContainerSubStateProto_CSS_RUNNING, exitUnknown},
		{&s.done, proto.ContainerStateProto_C_COMPLETE, proto.ContainerSubStateProto_CSS_DONE, 0},
		{&s.killed, proto.ContainerStateProto_C_COMPLETE, proto.ContainerSubStateProto_CSS_DONE, exitKilledRM},
	} {
		if *x.to, err = gproto.Marshal(&proto.ContainerStatusProto{State: x.state.Enum(), Diagnostics: new(""),
			ExitStatus: new(x.exit),
			Capability: size, ExecutionType: proto.ExecutionTypeProto_GUARANTEED.Enum(),
			ContainerSubState: x.sub.Enum()}); err != nil {
			return nil, err
		}
	}
	use := &proto.ResourceUtilizationProto{Pmem: new(int32(512)), Vmem: new(int32(1024)), Cpu: new(float32(0.1))}
	zero := new(int32(0))
	s.tail, err = gproto.Marshal(&proto.NodeStatusProto{
		NodeHealthStatus: &proto.NodeHealthStatusProto{IsNodeHealthy: new(true), HealthReport: new(""),
			LastHealthReportTime: new(int64(1_700_000_000_000))},
		ContainersUtilization: use, NodeUtilization: use,
		OpportunisticContainersStatus: &proto.OpportunisticContainersStatusProto{RunningOpportContainers: zero,
			OpportMemoryUsed: new(int64(0)), OpportCoresUsed: zero,
			QueuedOpportContainers: zero, WaitQueueLength: zero, EstimatedQueueWaitTime: new(int32(-1)),
			OpportQueueCapacity: zero},
	})
	s.askHead = protowire.AppendBytes([]byte{1<<3 | 2}, []byte{1 << 3, 1}) // priority 1
	s.askHead = protowire.AppendString(append(s.askHead, 2<<3|2), yarn.Any)
	s.askHead = protowire.AppendBytes(append(s.askHead, 3<<3|2), s.capability)
	s.askTail = []byte{5 << 3, 1} // relaxed
	return s, err
}

// appendStatus appends the status of a container as a field of a node's status.
func appendStatus(b, id, rest []byte) []byte {
	b = append(b, 3<<3|2)
	b = protowire.AppendVarint(b, uint64(1+protowire.SizeBytes(len(id))+len(rest)))
	b = protowire.AppendBytes(append(b, 1<<3|2), id)
	return append(b, rest...)
}

// appendAsk appends an ask for n containers with a slot's key as a field of an allocate request.
func (s *sizes) appendAsk(b []byte, slot, n int) []byte {
	size := len(s.askHead) + 1 + protowire.SizeVarint(uint64(n)) + len(s.askTail) + 1 + protowire.SizeVarint(uint64(slot))
	b = protowire.AppendVarint(append(b, 1<<3|2), uint64(size))
	b = append(b, s.askHead...)
	b = protowire.AppendVarint(append(b, 4<<3), uint64(n))
	b = append(b, s.askTail...)
	return protowire.AppendVarint(append(b, 8<<3), uint64(slot))
}

// appendTurn appends the remaining fields of an allocate request.
func appendTurn(b []byte, response int32) []byte {
	b = protowire.AppendVarint(append(b, 4<<3), uint64(response))
	return protowire.AppendFixed32(append(b, 5<<3|5), math.Float32bits(0.5))
}
