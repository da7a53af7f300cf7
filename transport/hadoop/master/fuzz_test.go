package master

import (
	"errors"
	"testing"

	gproto "google.golang.org/protobuf/proto"

	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
)

// FuzzAllocate sends any bytes as an AM's heartbeat. It checks that the call returns a response or
// an exception with a class, and that the state stays consistent.
func FuzzAllocate(f *testing.F) {
	w := newWorld(f)
	w.node("n1", 1<<20, 1000)
	for _, req := range []*proto.AllocateRequestProto{
		idle(), asks(ask("*", 2, 1024)), asks(ask("n1", 1, 1), ask("/default-rack", 1, 1), ask("*", 1, 1)),
		asks(ask("*", -1, -1)),
		{Release: []*proto.ContainerIdProto{{}}, ResponseId: new(int32(3)), Progress: new(float32(2))},
		{UpdateRequests: []*proto.UpdateContainerRequestProto{
			{ContainerVersion: new(int32(0)), ContainerId: &proto.ContainerIdProto{},
				UpdateType: proto.ContainerUpdateTypeProto_INCREASE_RESOURCE.Enum()}}},
	} {
		b, err := gproto.Marshal(req)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		w.tb = t
		a := w.replica().am(w.app())
		a.register()
		for range 2 {
			_, err := a.send(b)
			var e *ipc.Error
			if err != nil && (!errors.As(err, &e) || e.Class == "" || e.Class == ipc.ClassStandby) {
				t.Fatalf("refused with %v", err)
			}
		}
		if _, err := a.Service.finish(ctx, a.call(), &proto.FinishApplicationMasterRequestProto{}); err != nil {
			t.Fatal(err)
		}
		if err := w.st().Check(); err != nil {
			t.Fatal(err)
		}
	})
}
