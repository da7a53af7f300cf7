package master

import (
	"rmd/scheduler/input"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

// undefinedPriority is YARN's Priority.UNDEFINED.
const undefinedPriority = -1

// preemptionMessage returns the message about containers that are to be preempted, or nil if there
// are none. As in YARN, the AM may end other containers instead, as long as it frees the resources
// in the contract. YARN's CapacityScheduler never sends a strict contract.
func (m *responseBuilder) preemptionMessage(reply *input.AllocateReply) *proto.PreemptionMessageProto {
	if len(reply.Preempted) == 0 {
		return nil
	}
	contract := &proto.PreemptionContractProto{
		Resource: []*proto.PreemptionResourceRequestProto{{Resource: &proto.ResourceRequestProto{
			Priority: &proto.PriorityProto{Priority: new(int32(undefinedPriority))}, ResourceName: new(yarn.Any),
			Capability: wire.ResourceProto(reply.PreemptedUnit, m.kinds), NumContainers: new(reply.PreemptedUnits),
			RelaxLocality: new(true),
			ExecutionTypeRequest: &proto.ExecutionTypeRequestProto{ExecutionType: proto.ExecutionTypeProto_GUARANTEED.Enum(),
				EnforceExecutionType: new(false)}}}}}
	for i := range reply.Preempted {
		contract.Container = append(contract.Container,
			&proto.PreemptionContainerProto{Id: wire.ContainerIDProto(reply.Preempted[i].Container)})
	}
	return &proto.PreemptionMessageProto{Contract: contract}
}
