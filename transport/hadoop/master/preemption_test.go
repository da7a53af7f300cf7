package master

import (
	"slices"
	"testing"

	gproto "google.golang.org/protobuf/proto"

	"rmd/fsm/event"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

// TestPreemptionMessage checks the message about preemption: it names the containers, gives their
// total in units of the smallest container, and is sent once.
func TestPreemptionMessage(t *testing.T) {
	w := newWorld(t)
	w.node("n1", 8192, 8)
	a := w.replica().am(w.app())
	a.register()
	var ids []*proto.ContainerIdProto
	for _, c := range a.allocate(asks(ask("*", 3, 1536))).AllocatedContainers {
		ids = append(ids, c.GetId())
	}
	if len(ids) != 3 {
		t.Fatalf("granted %v", ids)
	}
	for _, c := range ids[:2] {
		id, err := wire.ContainerID(c)
		if err != nil {
			t.Fatal(err)
		}
		w.apply(&event.PreemptionAsked{Container: event.ContainerRef{App: id.App.Seq, Attempt: id.Attempt, Number: id.Number},
			Queue: "root.small", Cause: yarn.PreemptGuarantee, DeadlineMillis: w.now + 15_000})
	}
	first := a.allocate(idle())
	m := first.GetPreempt()
	if m.GetStrictContract() != nil || len(m.GetContract().GetResource()) != 1 {
		t.Fatalf("told: %v", m)
	}
	want := &proto.ResourceRequestProto{Priority: &proto.PriorityProto{Priority: new(int32(-1))}, ResourceName: new("*"),
		Capability: wire.ResourceProto(yarn.NewResource(1024, 1), yarn.DefaultKinds()), NumContainers: new(int32(4)),
		RelaxLocality: new(true),
		ExecutionTypeRequest: &proto.ExecutionTypeRequestProto{ExecutionType: proto.ExecutionTypeProto_GUARANTEED.Enum(),
			EnforceExecutionType: new(false)}}
	if got := m.GetContract().GetResource()[0].GetResource(); !gproto.Equal(got, want) {
		t.Errorf("the request is %v", got)
	}
	var told []int64
	for _, c := range m.GetContract().GetContainer() {
		told = append(told, c.GetId().GetId())
	}
	slices.Sort(told)
	if !slices.Equal(told, []int64{ids[0].GetId(), ids[1].GetId()}) {
		t.Errorf("told of %v", told)
	}
	a.last-- // the AM has not received the answer and repeats the call at another replica
	again := a.world.replica().am(a.id)
	again.last = a.last
	if r := again.allocate(idle()); !gproto.Equal(r.GetPreempt(), m) {
		t.Errorf("told again: %v", r.GetPreempt())
	}
	if r := again.allocate(idle()); r.GetPreempt() != nil {
		t.Errorf("told twice: %v", r.GetPreempt())
	}
}
