package master

import (
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

// readUpdates returns the changes of containers that an AM requests. An invalid container id
// becomes the id of no container, and an invalid size becomes one outside the allowed range. Below
// the feature level for changes of sizes it returns none, because a leader of that level may not
// know them.
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

// updateErrors returns the errors for requested changes that were not granted.
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

// updatesOff answers requests to change containers below the feature level for changes of sizes. A
// container keeps the size and the execution type that it was granted with:
//
//   - What YARN refuses is refused with YARN's reason.
//   - Another size is out of the allowed range, which is the container's own size. The AM then
//     continues with what it has. Any other reason of YARN would make it try again.
//   - What changes nothing is ignored, as in YARN: an increase to no more than the container has,
//     with which an AM cancels an increase, and a promotion of a guaranteed container.
//   - A demotion gets rmd's own reason. YARN has none: its allocate fails on a demotion while
//     opportunistic containers are disabled.
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

// live returns the live containers of the caller's application.
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

// whyNotUpdated returns the reason why a live container is not updated. It returns "" if nothing
// would change. Every container has version 0 and is guaranteed.
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
