package master

import (
	"rmd/fsm/state"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

// Reasons of YARN why a container is not updated, and one of ours.
const (
	reasonNoContainer  = "INVALID_CONTAINER_ID"
	reasonWrongVersion = "INCORRECT_CONTAINER_VERSION_ERROR"
	reasonOutOfRange   = "RESOURCE_OUTSIDE_ALLOWED_RANGE"
	reasonOff          = "CONTAINER_UPDATE_NOT_SUPPORTED"
)

// updateErrors answers requests to change containers. A container keeps the size
// and the execution type that it was granted with, so nothing is ever updated:
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
//
// An id that is none is one of no container. The attempt is locked.
func (m *mint) updateErrors(list []*proto.UpdateContainerRequestProto) []*proto.UpdateContainerErrorProto {
	if len(list) == 0 {
		return nil
	}
	live := m.live()
	var out []*proto.UpdateContainerErrorProto
	for _, p := range list {
		reason, version := reasonNoContainer, int32(-1)
		if id, err := wire.ContainerID(p.GetContainerId()); err == nil {
			if c := live[id]; c != nil {
				reason, version = m.whyNotUpdated(c, p), 0
			}
		}
		if reason != "" {
			out = append(out, &proto.UpdateContainerErrorProto{Reason: new(reason), UpdateRequest: p, CurrentContainerVersion: new(version)})
		}
	}
	return out
}

// live are the containers of the caller's application that have not ended.
func (m *mint) live() map[yarn.ContainerID]*state.Container {
	slot := m.st.AppByID(m.a.id.App)
	if slot == 0 {
		return nil
	}
	app := m.st.Apps.Get(slot)
	out := make(map[yarn.ContainerID]*state.Container, app.Live)
	for c := app.Containers; c != 0; {
		k := m.st.Containers.Get(c)
		if k.State.Live() {
			out[m.st.ContainerID(k)] = k
		}
		c = k.NextOfApp()
	}
	return out
}

// whyNotUpdated is the reason for which a live container is not updated; empty
// when nothing would change. Every container is of version 0, and guaranteed.
func (m *mint) whyNotUpdated(c *state.Container, p *proto.UpdateContainerRequestProto) string {
	if p.GetContainerVersion() != 0 {
		return reasonWrongVersion
	}
	switch p.GetUpdateType() {
	case proto.ContainerUpdateTypeProto_PROMOTE_EXECUTION_TYPE, proto.ContainerUpdateTypeProto_DEMOTE_EXECUTION_TYPE:
		if p.ExecutionType == nil || *p.ExecutionType == proto.ExecutionTypeProto_GUARANTEED {
			return ""
		}
		return reasonOff
	}
	size, err := wire.Resource(p.Capability, m.kinds)
	if err == nil && !size.Negative() && p.GetUpdateType() == proto.ContainerUpdateTypeProto_INCREASE_RESOURCE && size.Within(c.Size) {
		return ""
	}
	return reasonOutOfRange
}
