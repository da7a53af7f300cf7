package master

import (
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

// readUpdates reads what an AM wants changed of its containers. An id that is none
// is one of no container; a size that cannot be read is out of the range that is
// allowed. Before the level at which sizes change there are none: a leader of that
// level may not know of them.
func readUpdates(list []*proto.UpdateContainerRequestProto, st *state.State) []input.Update {
	if !st.SizesChange() {
		return nil
	}
	out := make([]input.Update, len(list))
	for i, p := range list {
		out[i] = readUpdate(p, st.Kinds())
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

// updateErrors tells of the requests to change containers that are not granted.
func (m *responseBuilder) updateErrors(list []*proto.UpdateContainerRequestProto, in *input.Allocate, reply *input.AllocateReply) []*proto.UpdateContainerErrorProto {
	if len(list) == 0 {
		return nil
	}
	if len(in.Updates) == 0 {
		return m.updatesOff(list)
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

// updated tells of containers whose size has changed, with a token for each: an AM
// hands that of a larger one to its node, which is told of a smaller one.
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

// told are the containers of an answer that their AM needs to reach nodes for.
func told(reply *input.AllocateReply) []input.Granted {
	if len(reply.Resized) == 0 {
		return reply.Granted
	}
	out := append([]input.Granted(nil), reply.Granted...)
	for i := range reply.Resized {
		out = append(out, reply.Resized[i].Granted)
	}
	return out
}

// updatesOff answers requests to change containers where no size changes yet: the
// cluster's level is too low. A container keeps the size and the execution type
// that it was granted with:
//
//   - what YARN refuses is refused with its reason;
//   - another size is out of the range that is allowed, which is the container's
//     own size. An AM that hears so goes on with what it has; any other word of
//     YARN's would have it try again;
//   - what changes nothing is passed over as YARN does: an increase to no more
//     than the container has, which is how an AM takes an increase back, and a
//     promotion of what is guaranteed already;
//   - a demotion has no reason in YARN, whose allocate fails on one while
//     opportunistic containers are off, and so gets ours.
func (m *responseBuilder) updatesOff(list []*proto.UpdateContainerRequestProto) []*proto.UpdateContainerErrorProto {
	live := m.live()
	var out []*proto.UpdateContainerErrorProto
	for _, p := range list {
		reason, version := input.UnknownContainer, int32(-1)
		u := readUpdate(p, m.kinds)
		if c := live[u.Container]; c != nil {
			reason, version = whyNotUpdated(c, &u), 0
		}
		if reason != "" {
			out = append(out, updateError(p, reason, version))
		}
	}
	return out
}

// live are the containers of the caller's application that have not ended.
func (m *responseBuilder) live() map[yarn.ContainerID]*state.Container {
	slot := m.st.AppByID(m.a.id.App)
	if slot == 0 {
		return nil
	}
	app := m.st.Apps.Get(slot)
	out := make(map[yarn.ContainerID]*state.Container, app.Live)
	for _, k := range m.st.ContainersOf(app) {
		if k.State.Live() {
			out[m.st.ContainerID(k)] = k
		}
	}
	return out
}

// whyNotUpdated is the reason for which a live container is not updated; empty
// when nothing would change. Every container is of version 0, and guaranteed.
func whyNotUpdated(c *state.Container, u *input.Update) string {
	switch {
	case u.Version != 0:
		return input.WrongVersion
	case u.Type > input.DecreaseResource && u.Opportunistic:
		return input.NotSupported
	case u.Type > input.DecreaseResource:
		return ""
	case u.Type == input.IncreaseResource && !u.Size.Negative() && u.Size.Within(c.Size):
		return ""
	}
	return input.OutOfRange
}
