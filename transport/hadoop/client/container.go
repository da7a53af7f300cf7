package client

import (
	"context"

	"rmd/fsm/state"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

// containerReport returns the report of a live container. YARN's ResourceManager forgets a
// container when it ends, so there are no reports of others.
func (v *view) containerReport(a *state.App, k *state.Container) *proto.ContainerReportProto {
	id := v.st.Apps.ContainerID(k)
	r := &proto.ContainerReportProto{
		ContainerId:         wire.ContainerIDProto(id),
		Resource:            wire.ResourceProto(k.Size, v.kinds),
		Priority:            wire.PriorityProto(k.Key.Priority),
		CreationTime:        new(k.AllocatedMillis),
		FinishTime:          new(int64(0)),
		ContainerExitStatus: new(int32(0)),
		ContainerState:      wire.ContainerStateProto(k.State).Enum(),
		ExecutionType:       proto.ExecutionTypeProto_GUARANTEED.Enum(),
	}
	if v.st.Nodes.Has(k.Node) {
		n := v.st.Nodes.Get(k.Node)
		base := v.s.cfg.NodeScheme + "://" + nodeHTTP(n)
		r.NodeId, r.NodeHttpAddress = wire.NodeIDProto(n.ID), new(base)
		r.LogUrl = new(base + "/node/containerlogs/" + id.String() + "/" + v.st.Names.Text(a.User))
	}
	return r
}

// containerOf returns a live container, or nil if there is none.
func (v *view) containerOf(id yarn.ContainerID) *state.Container {
	app := v.st.Apps.ByID(id.App)
	if app == 0 {
		return nil
	}
	slot := v.st.Container(v.st.Apps.Ref(&state.Container{App: app, Attempt: id.Attempt, Number: id.Number}))
	if slot == 0 {
		return nil
	}
	if k := v.st.Containers.Get(slot); k.State.Live() {
		return k
	}
	return nil
}

func (s *Service) containerReport(ctx context.Context, c *ipc.Call,
	req *proto.GetContainerReportRequestProto) (*proto.GetContainerReportResponseProto, error) {
	id, err := wire.ContainerID(req.GetContainerId())
	if err != nil {
		return nil, exception(classContainerNotFound, "Invalid container id: %v", err)
	}
	v, err := s.read(ctx, c)
	if err != nil {
		return nil, err
	}
	a, err := v.visibleApp(id.App, "application "+id.App.String())
	if err != nil {
		return nil, err
	}
	if _, err := v.attemptByID(a, yarn.AttemptID{App: id.App, Attempt: id.Attempt}); err != nil {
		return nil, err
	}
	k := v.containerOf(id)
	if k == nil {
		return nil, noContainer(id)
	}
	return &proto.GetContainerReportResponseProto{ContainerReport: v.containerReport(a, k)}, nil
}

// containers returns the live containers of an attempt. The current attempt has also those that it
// took over, and an earlier one has none.
func (s *Service) containers(ctx context.Context, c *ipc.Call,
	req *proto.GetContainersRequestProto) (*proto.GetContainersResponseProto, error) {
	id, err := wire.AttemptID(req.GetApplicationAttemptId())
	if err != nil {
		return nil, exception(classAttemptNotFound, "Invalid application attempt id: %v", err)
	}
	v, err := s.read(ctx, c)
	if err != nil {
		return nil, err
	}
	a, err := v.visibleApp(id.App, "application "+id.App.String())
	if err != nil {
		return nil, err
	}
	if _, err := v.attemptByID(a, id); err != nil {
		return nil, err
	}
	out := &proto.GetContainersResponseProto{}
	if id.Attempt != a.Attempt {
		return out, nil
	}
	for _, k := range v.st.Containers.Of(a) {
		if k.State.Live() {
			out.Containers = append(out.Containers, v.containerReport(a, k))
		}
	}
	// The list begins with the newest; the AM's container comes first in YARN.
	for i, j := 0, len(out.Containers)-1; i < j; i, j = i+1, j-1 {
		out.Containers[i], out.Containers[j] = out.Containers[j], out.Containers[i]
	}
	return out, nil
}
