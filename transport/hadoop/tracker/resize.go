package tracker

import (
	"time"

	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/token"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

// sizeExpiry is how long the token of an order to change a size is valid. The node uses it at once.
const sizeExpiry = 10 * time.Minute

// sizes returns the sizes that a node reports for containers whose increase the cluster waits for.
// The size is in the container's status, which a node repeats, and in the list of increased
// containers, which it sends once. Known sizes are left out. The heartbeat is decoded for this only
// if the cluster waits for something of the node.
func (s *Service) sizes(id yarn.NodeID, body []byte) (out []input.ContainerSize, err error) {
	st := s.fresh(s.now()).st
	number := st.Nodes.Find(id)
	if number == 0 || st.Nodes.Get(number).PendingCommands == 0 {
		return nil, nil
	}
	var req proto.NodeHeartbeatRequestProto
	if err := ipc.UnmarshalPartial(body, &req); err != nil {
		return nil, err
	}
	say := func(p *proto.ContainerIdProto, capability *proto.ResourceProto) {
		if capability == nil {
			return
		}
		c := containerOf(st, p)
		if c == nil || c.Node != number {
			return
		}
		size, err := wire.Resource(capability, st.Versions.Kinds())
		if r := st.Resizes.Of(c); err == nil && r != nil && r.Unconfirmed && size != r.Confirmed {
			out = append(out, input.ContainerSize{Container: st.Apps.ContainerID(c), Size: size})
		}
	}
	for _, p := range req.GetNodeStatus().GetContainersStatuses() {
		say(p.GetContainerId(), p.Capability)
	}
	for _, p := range req.GetNodeStatus().GetIncreasedContainers() {
		say(p.GetId(), p.Resource)
	}
	return out, nil
}

// containerOf returns a container in a state, or nil.
func containerOf(st *state.State, p *proto.ContainerIdProto) *state.Container {
	id, err := wire.ContainerID(p)
	if err != nil {
		return nil
	}
	slot := st.ContainerByID(id)
	if slot == 0 {
		return nil
	}
	return st.Containers.Get(slot)
}

// resized returns the containers whose size a node must change, each with a token, as in YARN's
// decrease. It leaves out containers that have ended.
func (s *Service) resized(st *state.State, list []input.SizeOrder) (out []*proto.ContainerProto,
	told []input.SizeOrder) {
	for _, o := range list {
		slot := st.ContainerByID(o.Container)
		if slot == 0 {
			continue
		}
		c := st.Containers.Get(slot)
		p, err := sizeOrder(st, c)
		if err != nil {
			s.cfg.Logger.Warn("order to change a container's size not made", "container", o.Container, "error", err)
			continue
		}
		out = append(out, p)
		told = append(told, input.SizeOrder{Container: o.Container, Version: st.Resizes.Version(c)})
	}
	return out, told
}

func sizeOrder(st *state.State, c *state.Container) (*proto.ContainerProto, error) {
	a, n, id, version := st.Apps.Get(c.App), st.Nodes.Get(c.Node), st.Apps.ContainerID(c), st.Resizes.Version(c)
	var logs *proto.LogAggregationContextProto
	if submission, err := wire.Submission([]byte(a.Details().Context)); err == nil {
		logs = submission.GetLogAggregationContext()
	}
	t, err := token.NewRing(st).ContainerToken(token.Container{
		ID: id, Node: n.ID.String(), User: st.Names.Text(a.User), Size: c.Size,
		ExpiresMillis: st.Meta.NowMillis + sizeExpiry.Milliseconds(),
		Priority:      c.Key.Priority, CreatedMillis: c.AllocatedMillis, Logs: logs, Label: st.AskedLabelOf(id),
		Version:      version,
		AllocationID: c.Key.AllocationID,
	}, n.ID.String())
	if err != nil {
		return nil, err
	}
	return &proto.ContainerProto{
		Id:                  wire.ContainerIDProto(id),
		NodeId:              wire.NodeIDProto(n.ID),
		NodeHttpAddress:     new(yarn.NodeID{Host: n.ID.Host, Port: n.HTTPPort}.String()),
		Resource:            wire.ResourceProto(c.Size, st.Versions.Kinds()),
		Priority:            wire.PriorityProto(c.Key.Priority),
		ContainerToken:      t,
		ExecutionType:       proto.ExecutionTypeProto_GUARANTEED.Enum(),
		AllocationRequestId: new(c.Key.AllocationID),
		Version:             new(version),
	}, nil
}
