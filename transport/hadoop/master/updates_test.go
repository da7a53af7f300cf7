package master

import (
	"testing"

	gproto "google.golang.org/protobuf/proto"

	"rmd/scheduler/input"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/token"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

// change returns a request to update a container.
func change(c *proto.ContainerIdProto, version int32, to proto.ContainerUpdateTypeProto, mb int64,
	vcores int32) *proto.UpdateContainerRequestProto {
	return &proto.UpdateContainerRequestProto{ContainerVersion: new(version), ContainerId: c, UpdateType: &to,
		Capability: &proto.ResourceProto{Memory: new(mb), VirtualCores: new(vcores)}}
}

func changes(list ...*proto.UpdateContainerRequestProto) *proto.AllocateRequestProto {
	return &proto.AllocateRequestProto{UpdateRequests: list}
}

const (
	increase = proto.ContainerUpdateTypeProto_INCREASE_RESOURCE
	decrease = proto.ContainerUpdateTypeProto_DECREASE_RESOURCE
)

// TestContainersChangeTheirSize checks which containers and tokens an AM gets when a container
// grows and shrinks.
func TestContainersChangeTheirSize(t *testing.T) {
	w := newWorld(t)
	w.node("n1", 8192, 8)
	a := w.replica().am(w.app())
	a.register()
	c := a.allocate(asks(ask("*", 1, 1024))).AllocatedContainers[0].GetId()
	for i, step := range []struct {
		to     proto.ContainerUpdateTypeProto
		mb     int64
		vcores int32
	}{{increase, 4096, 1}, {decrease, 2048, 1}, {increase, 3072, 1}} {
		r := a.allocate(changes(change(c, int32(i), step.to, step.mb, step.vcores)))
		if len(r.UpdateErrors) != 0 || len(r.UpdatedContainers) != 1 || len(r.AllocatedContainers) != 0 {
			t.Fatalf("step %d: errors %v, updated %v, allocated %v", i, r.UpdateErrors, r.UpdatedContainers,
				r.AllocatedContainers)
		}
		u := r.UpdatedContainers[0]
		if got := u.GetContainer(); u.GetUpdateType() != step.to || !gproto.Equal(got.GetId(), c) ||
			got.GetVersion() != int32(i+1) ||
			got.GetResource().GetMemory() != step.mb || got.GetResource().GetVirtualCores() != step.vcores ||
			got.GetNodeHttpAddress() == "" {
			t.Errorf("step %d: %v", i, u)
		}
		tok, err := token.NewRing(w.st()).VerifyContainer(u.GetContainer().GetContainerToken())
		if err != nil || tok.Version != int32(i+1) || tok.Size[yarn.Memory] != step.mb ||
			tok.Size[yarn.VCores] != int64(step.vcores) {
			t.Errorf("step %d: token %+v, %v", i, tok, err)
		}
		if r := a.allocate(asks()); len(r.UpdatedContainers) != 0 {
			t.Errorf("step %d is told twice: %v", i, r.UpdatedContainers)
		}
	}
}

// TestUpdateErrors checks YARN's texts for updates that are refused.
func TestUpdateErrors(t *testing.T) {
	w := newWorld(t)
	w.node("n1", 8192, 8)
	a := w.replica().am(w.app())
	a.register()
	c := a.allocate(asks(ask("*", 1, 1024))).AllocatedContainers[0].GetId()
	if r := a.allocate(changes(change(c, 0, decrease, 1024, 1))); len(r.UpdatedContainers) != 1 {
		t.Fatalf("allocate with a decrease: %d updated containers, want 1: %v", len(r.UpdatedContainers), r)
	}
	unknown := wire.ContainerIDProto(yarn.ContainerID{App: a.id.App, Attempt: 1, Number: 99})
	promote, demote := change(c, 1, proto.ContainerUpdateTypeProto_PROMOTE_EXECUTION_TYPE, 0, 0),
		change(c, 1, proto.ContainerUpdateTypeProto_DEMOTE_EXECUTION_TYPE, 0, 0)
	promote.ExecutionType, demote.ExecutionType = proto.ExecutionTypeProto_GUARANTEED.Enum(),
		proto.ExecutionTypeProto_OPPORTUNISTIC.Enum()
	none := change(c, 1, increase, 0, 0)
	none.Capability = nil
	for _, u := range []struct {
		name, reason string
		version      int32
		req          *proto.UpdateContainerRequestProto
	}{
		{"unknown", input.UnknownContainer, -1, change(unknown, 0, increase, 2048, 1)},
		{"no id", input.UnknownContainer, -1, change(&proto.ContainerIdProto{}, 0, increase, 2048, 1)},
		{"version before", input.WrongVersion, 1, change(c, 0, increase, 2048, 1)},
		{"version to come", input.WrongVersion, 1, change(c, 2, increase, 2048, 1)},
		{"too large", input.OutOfRange, 1, change(c, 1, increase, 9000, 1)},
		{"too many vcores", input.OutOfRange, 1, change(c, 1, increase, 2048, 5)},
		{"below zero", input.OutOfRange, 1, change(c, 1, increase, -1, 1)},
		{"no size", "", 0, none},
		{"promote", "", 0, promote},
		{"demote", input.NotSupported, 1, demote},
		{"increase to what it has", "", 0, change(c, 1, increase, 1024, 1)},
	} {
		r := a.allocate(changes(u.req))
		if len(r.UpdatedContainers) != 0 {
			t.Errorf("%s: updated %v", u.name, r.UpdatedContainers)
		}
		switch got := r.UpdateErrors; {
		case u.reason == "" && len(got) != 0:
			t.Errorf("%s: %v, want nothing", u.name, got)
		case u.reason != "" && (len(got) != 1 || got[0].GetReason() != u.reason ||
			got[0].GetCurrentContainerVersion() != u.version || !gproto.Equal(got[0].GetUpdateRequest(), u.req)):
			t.Errorf("%s: %v, want %s of version %d", u.name, got, u.reason, u.version)
		}
	}
	r := a.allocate(changes(change(c, 1, increase, 9000, 1), change(c, 1, increase, 2048, 1),
		change(c, 1, increase, 3072, 1)))
	if len(r.UpdateErrors) != 2 || r.UpdateErrors[1].GetReason() != input.UpdateOutstanding ||
		len(r.UpdatedContainers) != 1 || r.UpdatedContainers[0].Container.GetResource().GetMemory() != 2048 {
		t.Errorf("several of one container: %v, %v", r.UpdateErrors, r.UpdatedContainers)
	}
}
