package client

import (
	"rmd/fsm/state"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

// one is the whole in the fixed-point shares of a Calculator.
const one = 1 << 32

// noUsage is YARN's report of an application that uses nothing that can be
// told: it has no attempt, has ended, or is not the caller's to see. It is
// shared: nobody changes a reply.
var noUsage = func() *proto.ApplicationResourceUsageReportProto {
	none := wire.ResourceProto(yarn.NewResource(-1, -1), yarn.DefaultKinds())
	return &proto.ApplicationResourceUsageReportProto{
		NumUsedContainers: new(int32(-1)), NumReservedContainers: new(int32(-1)),
		UsedResources: none, ReservedResources: none, NeededResources: none,
		MemorySeconds: new(int64(0)), VcoreSeconds: new(int64(0)), PreemptedMemorySeconds: new(int64(0)), PreemptedVcoreSeconds: new(int64(0)),
		ApplicationResourceUsageMap: noSeconds, ApplicationPreemptedResourceUsageMap: noSeconds,
	}
}()

// noSeconds is the use over time, which the cluster does not add up;
// shared as well.
var noSeconds = []*proto.StringLongMapProto{
	{Key: new(yarn.MemoryName), Value: new(int64(0))},
	{Key: new(yarn.VCoresName), Value: new(int64(0))},
}

// usage is what an application holds now.
func (v *view) usage(a *state.App) *proto.ApplicationResourceUsageReportProto {
	r := &proto.ApplicationResourceUsageReportProto{
		NumUsedContainers: new(a.Live), NumReservedContainers: new(a.Reserving),
		UsedResources:     wire.ResourceProto(a.Used, v.kinds),
		ReservedResources: wire.ResourceProto(a.Reserved, v.kinds),
		NeededResources:   wire.ResourceProto(a.Used.Add(a.Reserved), v.kinds),
		MemorySeconds:     new(int64(0)), VcoreSeconds: new(int64(0)), PreemptedMemorySeconds: new(int64(0)), PreemptedVcoreSeconds: new(int64(0)),
		ApplicationResourceUsageMap: noSeconds, ApplicationPreemptedResourceUsageMap: noSeconds,
	}
	total := v.st.Meta.Cluster
	r.ClusterUsagePercentage = new(percent(v.calc.DivideShare(total, a.Used, total)))
	r.QueueUsagePercentage = new(percent(v.calc.DivideShare(total, a.Used, v.queue(a.Queue).EffectiveMin)))
	return r
}

func percent(share uint64) float32 { return float32(float64(share) / one * 100) }
