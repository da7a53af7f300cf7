package master

import (
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

// readUpdates returns the changes of containers that an AM requests. An invalid container id
// becomes the id of no container, and an invalid size becomes one outside the allowed range.
func readUpdates(list []*proto.UpdateContainerRequestProto, st *state.State) []input.Update {
	out := make([]input.Update, len(list))
	for i, p := range list {
		out[i] = readUpdate(p, st.Versions.Kinds())
	}
	return out
}

func readUpdate(p *proto.UpdateContainerRequestProto, kinds yarn.Kinds) input.Update {
	u := input.Update{Version: p.GetContainerVersion(), Type: input.UpdateType(p.GetUpdateType()),
		Opportunistic: p.ExecutionType != nil && *p.ExecutionType != proto.ExecutionTypeProto_GUARANTEED}
	if id, err := wire.ContainerID(p.GetContainerId()); err == nil {
		u.Container = id
	}
	if u.Type <= input.DecreaseResource {
		size, err := wire.Resource(p.Capability, kinds)
		if err != nil {
			size = yarn.NewResource(-1, 0)
		}
		u.Size = size
	}
	return u
}

// updateErrors returns the errors for requested changes that were not granted.
func (m *responseBuilder) updateErrors(list []*proto.UpdateContainerRequestProto,
	reply *input.AllocateReply) []*proto.UpdateContainerErrorProto {
	if len(list) == 0 {
		return nil
	}
	var out []*proto.UpdateContainerErrorProto
	for _, e := range reply.UpdateErrors {
		if int(e.Update) < len(list) {
			out = append(out, updateError(list[e.Update], e.Reason, e.Version))
		}
	}
	return out
}

func updateError(p *proto.UpdateContainerRequestProto, reason string, version int32) *proto.UpdateContainerErrorProto {
	return &proto.UpdateContainerErrorProto{Reason: new(reason), UpdateRequest: p, CurrentContainerVersion: new(version)}
}

// updated returns the containers whose size has changed, with a token for each. The AM gives the
// token of a larger container to its node. The node of a smaller one learns of it in a heartbeat.
func (m *responseBuilder) updated(list []input.Resized) ([]*proto.UpdatedContainerProto, error) {
	var out []*proto.UpdatedContainerProto
	for i := range list {
		c, err := m.container(&list[i].Granted, list[i].Version)
		if err != nil {
			return nil, err
		}
		to := proto.ContainerUpdateTypeProto_INCREASE_RESOURCE
		if list[i].Change == yarn.SizeDecreased {
			to = proto.ContainerUpdateTypeProto_DECREASE_RESOURCE
		}
		out = append(out, &proto.UpdatedContainerProto{UpdateType: to.Enum(), Container: c})
	}
	return out, nil
}

// tokenContainers returns the containers of an answer for whose nodes the AM needs tokens.
func tokenContainers(reply *input.AllocateReply) []input.Granted {
	if len(reply.Resized) == 0 {
		return reply.Granted
	}
	out := append([]input.Granted(nil), reply.Granted...)
	for i := range reply.Resized {
		out = append(out, reply.Resized[i].Granted)
	}
	return out
}
