package client

import (
	"rmd/fsm/state"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

// one is the value 1 in the fixed-point shares of a Calculator.
const one = 1 << 32

// noResource is YARN's value for unknown resources. It and the following values are shared; nobody
// changes a reply.
var noResource = wire.ResourceProto(yarn.NewResource(-1, -1), yarn.DefaultKinds())

// noUsage is YARN's report of an application that the caller may not view.
var noUsage = emptyUsage()

// emptyUsage returns the report of an application without a running attempt.
func emptyUsage() *proto.ApplicationResourceUsageReportProto {
	return &proto.ApplicationResourceUsageReportProto{
		NumUsedContainers: new(int32(-1)), NumReservedContainers: new(int32(-1)),
		UsedResources: noResource, ReservedResources: noResource, NeededResources: noResource,
		MemorySeconds: new(int64(0)), VcoreSeconds: new(int64(0)), PreemptedMemorySeconds: new(int64(0)),
		PreemptedVcoreSeconds:       new(int64(0)),
		ApplicationResourceUsageMap: noSeconds, ApplicationPreemptedResourceUsageMap: noSeconds,
	}
}

// noSeconds is the usage over time of an application that has used nothing.
var noSeconds = []*proto.StringLongMapProto{
	{Key: new(yarn.MemoryName), Value: new(int64(0))},
	{Key: new(yarn.VCoresName), Value: new(int64(0))},
}

// usage returns the resources that an application has now and has used over time.
func (v *view) usage(a *state.App) *proto.ApplicationResourceUsageReportProto {
	r := emptyUsage()
	if a.AttemptState != state.AttemptNone && a.AttemptState != state.AttemptEnded {
		r = v.held(a)
	}
	if spent := v.st.ResourceSeconds(a, max(v.now, v.st.Meta.NowMillis)); !spent.IsZero() {
		r.MemorySeconds, r.VcoreSeconds = new(spent[yarn.Memory]), new(spent[yarn.VCores])
		r.ApplicationResourceUsageMap = v.seconds(spent)
	}
	if lost := v.st.Preempted.Of(v.st.Apps.Find(a.ID.Seq)).ResourceSeconds; !lost.IsZero() {
		r.PreemptedMemorySeconds, r.PreemptedVcoreSeconds = new(lost[yarn.Memory]), new(lost[yarn.VCores])
		r.ApplicationPreemptedResourceUsageMap = v.seconds(lost)
	}
	return r
}

// seconds returns the usage of every resource type over time.
func (v *view) seconds(spent yarn.Resource) []*proto.StringLongMapProto {
	out := make([]*proto.StringLongMapProto, min(len(v.kinds), yarn.MaxKinds))
	for i := range out {
		out[i] = &proto.StringLongMapProto{Key: new(v.kinds[i]), Value: new(spent[i])}
	}
	return out
}

// held returns the resources that an application has now.
func (v *view) held(a *state.App) *proto.ApplicationResourceUsageReportProto {
	r := &proto.ApplicationResourceUsageReportProto{
		NumUsedContainers: new(a.Live), NumReservedContainers: new(a.Reserving),
		UsedResources:     wire.ResourceProto(a.Used, v.kinds),
		ReservedResources: wire.ResourceProto(a.Reserved, v.kinds),
		NeededResources:   wire.ResourceProto(a.Used.Add(a.Reserved), v.kinds),
		MemorySeconds:     new(int64(0)), VcoreSeconds: new(int64(0)), PreemptedMemorySeconds: new(int64(0)),
		PreemptedVcoreSeconds:       new(int64(0)),
		ApplicationResourceUsageMap: noSeconds, ApplicationPreemptedResourceUsageMap: noSeconds,
	}
	total := v.st.Meta.Cluster
	r.ClusterUsagePercentage = new(percent(v.calc.DivideShare(total, a.Used, total)))
	// as in YARN, also if the application uses other labels
	guarantee := v.queue(a.Queue).partition(v.st.Labels.Name(a.AMLabel)).EffectiveMin
	r.QueueUsagePercentage = new(percent(v.calc.DivideShare(total, a.Used, guarantee)))
	return r
}

func percent(share uint64) float32 { return float32(float64(share) / one * 100) }
