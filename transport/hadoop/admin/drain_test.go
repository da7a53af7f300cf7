package admin

import (
	"testing"

	"rmd/scheduler/input"
	"rmd/transport/hadoop/proto"
	"rmd/yarn"
)

// TestForcefulRefreshEndsTheDrains checks the forceful refresh with which "-refreshNodes -g
// -client" ends. It stops the nodes that the lists in force exclude. It does not read the files, so
// a host that was added to them since continues to run.
func TestForcefulRefreshEndsTheDrains(t *testing.T) {
	h := newFixture(t)
	refresh := func(kind proto.DecommissionTypeProto) {
		t.Helper()
		if _, err := h.refreshNodes(ctx, root, &proto.RefreshNodesRequestProto{DecommissionType: kind.Enum()}); err != nil {
			t.Fatal(err)
		}
	}
	app := yarn.AttemptID{App: h.must(t, &input.SubmitApplication{User: "u", Queue: "root.default", Unmanaged: true}).(*input.SubmitApplicationReply).ID, Attempt: 1}
	h.must(t, &input.RegisterAttempt{Attempt: app})
	h.must(t,
		&input.Allocate{Attempt: app, Asks: []input.Ask{
			{Key: yarn.SchedulerKey{Priority: 1}, Name: yarn.Any, Count: 2, Size: yarn.NewResource(8192, 4), Relax: true}}})
	h.exclude = []string{"a"}
	refresh(proto.DecommissionTypeProto_DECOMMISSION_TYPE_GRACEFUL)
	if n := h.node(t, "a"); n.State != yarn.NodeDecommissioning {
		t.Fatalf("a is %s", n.State)
	}
	h.exclude = []string{"a", "b"}
	refresh(proto.DecommissionTypeProto_DECOMMISSION_TYPE_FORCEFUL)
	if a, b := h.node(t, "a").State, h.node(t, "b").State; a != yarn.NodeDecommissioned || b != yarn.NodeRunning {
		t.Errorf("a is %s, b is %s", a, b)
	}
}
