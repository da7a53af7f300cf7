package admin

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
	"rmd/yarn"
)

func TestRefreshQueues(t *testing.T) {
	h := newFixture(t)
	h.queues = queues(prefix+"default.capacity", "30", prefix+"batch.capacity", "70")
	if _, err := h.refreshQueues(ctx, root, nil); err != nil {
		t.Fatal(err)
	}
	v := h.planner.State().Versions.Current()
	if v.Author != "root" || v.Comment != "rmadmin -refreshQueues at rm1" {
		t.Errorf("version %d by %q: %q", v.Version, v.Author, v.Comment)
	}
	i := slices.IndexFunc(v.Properties, func(p state.Property) bool { return p.Name == prefix+"batch.capacity" })
	if i < 0 || v.Properties[i].Value != "70" {
		t.Errorf("the file is not in force: %v", v.Properties)
	}

	h.queues = queues(prefix+"default.capacity", "30")
	_, err := h.refreshQueues(ctx, root, nil)
	var e *ipc.Error
	if !errors.As(err, &e) || e.Class != ipc.ClassYarn ||
		!strings.HasPrefix(e.Message, "java.io.IOException: Failed to re-init queues : INVALID_QUEUES: ") ||
		!strings.Contains(e.Message, "\n  ") {
		t.Errorf("an invalid file: %v", err)
	}
	h.illegal = "Illegal queue mapping u:a"
	_, err = h.refreshQueues(ctx, root, nil)
	refused(t, err, ipc.ClassYarn, "java.io.IOException: Failed to re-init queues : Illegal queue mapping u:a")
	if now := h.planner.State().Versions.Current(); now.Version != v.Version {
		t.Error("the invalid file has become a version")
	}
	h.fileErr = errors.New("capacity-scheduler.xml:3: cut off")
	_, err = h.refreshQueues(ctx, root, nil)
	refused(t, err, ipc.ClassYarn, "java.io.IOException: Failed to re-init queues : capacity-scheduler.xml:3: cut off")
}

func TestRefreshMaxPriority(t *testing.T) {
	h := newFixture(t)
	h.must(t, &input.SetQueues{Properties: queues(prefix+"default.capacity", "10", prefix+"batch.capacity", "90")})
	h.queues = append(h.queues, input.Property{Name: "yarn.cluster.max-application-priority", Value: "7"})
	if _, err := h.refreshMaxPriority(ctx, root, nil); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, p := range h.planner.State().Versions.Current().Properties {
		got[p.Name] = p.Value
	}
	if got["yarn.cluster.max-application-priority"] != "7" || got[prefix+"batch.capacity"] != "90" {
		t.Errorf("only the priority was to be taken from the file: %v", got)
	}
	h.queues = queues()
	if _, err := h.refreshMaxPriority(ctx, root, nil); err != nil {
		t.Fatal(err)
	}
	for _, p := range h.planner.State().Versions.Current().Properties {
		if p.Name == "yarn.cluster.max-application-priority" {
			t.Error("a key that is gone from the file stays")
		}
	}
}

// TestRefreshNodes excludes a node and includes it again, both at once and gracefully.
func TestRefreshNodes(t *testing.T) {
	h := newFixture(t)
	normal := &proto.RefreshNodesRequestProto{
		DecommissionType: proto.DecommissionTypeProto_DECOMMISSION_TYPE_NORMAL.Enum()}
	graceful := func(seconds *int32) *proto.RefreshNodesRequestProto {
		return &proto.RefreshNodesRequestProto{
			DecommissionType: proto.DecommissionTypeProto_DECOMMISSION_TYPE_GRACEFUL.Enum(), DecommissionTimeout: seconds}
	}
	app := yarn.AttemptID{App: h.must(t, &input.SubmitApplication{User: "u", Queue: "root.default", Unmanaged: true}).(*input.SubmitApplicationReply).ID, Attempt: 1}
	h.must(t, &input.RegisterAttempt{Attempt: app})
	h.must(t,
		&input.Allocate{Attempt: app, Asks: []input.Ask{
			{Key: yarn.SchedulerKey{Priority: 1}, Name: yarn.Any, Count: 1, Size: yarn.NewResource(1024, 1), Relax: true}}})
	busy, idle := "a", "b" // only a node with containers stays in DECOMMISSIONING
	if h.node(t, "b").Allocated[0] > 0 {
		busy, idle = "b", "a"
	}

	h.exclude = []string{busy}
	if _, err := h.refreshNodes(ctx, root, graceful(new(int32(60)))); err != nil {
		t.Fatal(err)
	}
	if n := h.node(t, busy); n.State != yarn.NodeDecommissioning || n.DeadlineMillis != h.now+60_000 {
		t.Errorf("%s is %s until %d", busy, n.State, n.DeadlineMillis-h.now)
	}
	left, err := h.decommissioning(ctx, root, nil)
	if err != nil || len(left.GetDecommissioningNodes()) != 1 || left.GetDecommissioningNodes()[0].GetHost() != busy {
		t.Errorf("on their way out: %v, %v", left, err)
	}
	h.exclude = nil
	if _, err := h.refreshNodes(ctx, root, normal); err != nil {
		t.Fatal(err)
	}
	if n := h.node(t, busy); n.State != yarn.NodeRunning {
		t.Errorf("%s is %s after it was taken off the list", busy, n.State)
	}
	h.exclude = []string{busy, idle}
	if _, err := h.refreshNodes(ctx, root, normal); err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{busy, idle} {
		if n := h.node(t, host); n.State != yarn.NodeDecommissioned {
			t.Errorf("%s is %s", host, n.State)
		}
	}

	for name, c := range map[string]struct {
		req      *proto.RefreshNodesRequestProto
		graceful bool
		millis   int64
	}{
		"normal": {normal, false, 0}, "graceful": {graceful(nil), true, 3_600_000},
		"without end": {graceful(new(int32(-1))), true, 0},
		"at once":     {graceful(new(int32(0))), false, 0}, "nothing said": {&proto.RefreshNodesRequestProto{}, false, 0},
		"for long": {graceful(new(int32(1<<31 - 1))), true, (1<<31 - 1) * 1000},
	} {
		if g, ms := h.graceful(c.req); g != c.graceful || ms != c.millis {
			t.Errorf("%s: graceful %v for %d ms", name, g, ms)
		}
	}
	h.fileErr = errors.New("list of hosts: no such file")
	_, err = h.refreshNodes(ctx, root, normal)
	refused(t, err, ipc.ClassYarn, "java.io.IOException: list of hosts: no such file")
}

// TestReloads checks that the refresh methods reload this replica's files and leave an audit entry
// in the log.
func TestReloads(t *testing.T) {
	h := newFixture(t, func(c *Config) { c.Authorization = true })
	for i, m := range []call{
		method("refreshSuperUserGroupsConfiguration", h.refreshSuperUserGroups),
		method("refreshUserToGroupsMappings", h.refreshUserToGroups),
		method("refreshAdminAcls", h.refreshAdminACLs), method("refreshServiceAcls", h.refreshServiceACLs),
		method("refreshNodesResources", h.refreshNodesResources),
	} {
		if err := m.run(root); err != nil {
			t.Errorf("%s by root: %v, want no error", m.name, err)
		}
		seen := h.seen()
		if h.reloads != i+1 || len(seen) != 1 {
			t.Fatalf("%s: %d reloads, inputs %v", m.name, h.reloads, seen)
		}
		if a, ok := seen[0].(*input.Audit); !ok ||
			*a != (input.Audit{Who: "root", From: "10.0.0.9", Action: "rmadmin " + m.name, Target: "rm1", Result: "done"}) {
			t.Errorf("%s: audit %+v", m.name, seen[0])
		}
	}
	h.fileErr = errors.New("core-site.xml: cut off")
	_, err := h.refreshAdminACLs(ctx, root, nil)
	refused(t, err, ipc.ClassYarn, "java.io.IOException: core-site.xml: cut off")
	if len(h.seen()) != 0 {
		t.Error("a failed reload is told as done")
	}
	off := newFixture(t)
	_, err = off.refreshServiceACLs(ctx, root, nil)
	refused(t, err, ipc.ClassYarn,
		"java.io.IOException: Service Authorization (hadoop.security.authorization) not enabled.")
	if off.reloads != 0 {
		t.Error("files are read although it is off")
	}
}

func TestGroupsForUser(t *testing.T) {
	r, err := newFixture(t).groupsForUser(ctx, eve, &proto.GetGroupsForUserRequestProto{User: new(" ann ")})
	if err != nil || !slices.Equal(r.GetGroups(), []string{"ann", "users"}) {
		t.Errorf("groupsForUser of ann = %v, %v, want ann and users", r, err)
	}
}
