package master

import (
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

// updateErrors answers requests to change containers. They cannot be changed
// here: what YARN refuses is refused with its reason, what changes nothing is
// passed over as YARN does, and what YARN would do is refused for good. An id
// that is none is one of no container. The attempt is locked.
func (m *mint) updateErrors(list []*proto.UpdateContainerRequestProto) []*proto.UpdateContainerErrorProto {
	if len(list) == 0 {
		return nil
	}
	live := m.live()
	var out []*proto.UpdateContainerErrorProto
	for _, p := range list {
		reason, version := reasonNoContainer, int32(-1)
		if id, err := wire.ContainerID(p.GetContainerId()); err == nil && live[id] {
			reason, version = m.whyNotUpdated(p), 0
		}
		if reason != "" {
			out = append(out, &proto.UpdateContainerErrorProto{Reason: new(reason), UpdateRequest: p, CurrentContainerVersion: new(version)})
		}
	}
	return out
}

// live are the containers of the caller's application that have not ended.
func (m *mint) live() map[yarn.ContainerID]bool {
	slot := m.st.AppByID(m.a.id.App)
	if slot == 0 {
		return nil
	}
	app := m.st.Apps.Get(slot)
	out := make(map[yarn.ContainerID]bool, app.Live)
	for c := app.Containers; c != 0; {
		k := m.st.Containers.Get(c)
		if k.State.Live() {
			out[m.st.ContainerID(k)] = true
		}
		c = k.NextOfApp()
	}
	return out
}

// whyNotUpdated is the reason for which a live container is not updated; empty
// when nothing would change. Every container is of version 0, and guaranteed.
func (m *mint) whyNotUpdated(p *proto.UpdateContainerRequestProto) string {
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
	if err != nil || size.Negative() || (m.a.known && !size.Within(m.a.largest)) {
		return reasonOutOfRange
	}
	return reasonOff
}
