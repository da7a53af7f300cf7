package admin

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"rmd/fsm/state"
	"rmd/scheduler/planner"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

// TestEveryMethod compares the methods of both protocols with YARN's.
func TestEveryMethod(t *testing.T) {
	want := map[string][]string{
		"org.apache.hadoop.yarn.server.api.ResourceManagerAdministrationProtocolPB": strings.Fields(`refreshQueues refreshNodes refreshSuperUserGroupsConfiguration
			refreshUserToGroupsMappings refreshAdminAcls refreshServiceAcls getGroupsForUser updateNodeResource refreshNodesResources addToClusterNodeLabels
			removeFromClusterNodeLabels replaceLabelsOnNodes checkForDecommissioningNodes refreshClusterMaxPriority mapAttributesToNodes`),
		"org.apache.hadoop.ha.HAServiceProtocol": strings.Fields(
			"monitorHealth transitionToActive transitionToStandby transitionToObserver getServiceStatus"),
	}
	protocols := newFixture(t).Protocols()
	if len(protocols) != len(want) {
		t.Errorf("%d protocols", len(protocols))
	}
	for _, p := range protocols {
		methods := want[p.Name]
		slices.Sort(methods)
		if got := slices.Sorted(maps.Keys(p.Methods)); !slices.Equal(got, methods) || p.Version != 1 {
			t.Errorf("%s, version %d: %v", p.Name, p.Version, got)
		}
	}
}

// TestStrangers checks that a user who is not an administrator can neither change nor read
// anything.
func TestStrangers(t *testing.T) {
	h := newFixture(t, func(c *Config) { c.Authorization = true })
	for _, m := range h.administration() {
		refused(t, m.run(eve), ipc.ClassYarn,
			"org.apache.hadoop.security.AccessControlException: User eve doesn't have permission to call '"+m.name+"'")
	}
	if len(h.seen())+h.reloads+h.caughtUp != 0 {
		t.Error("something was done for an unknown user")
	}
	for _, m := range []call{method("getServiceState", h.serviceStatus), method("monitorHealth", h.monitorHealth),
		method("transitionToActive", h.toActive), method("transitionToStandby", h.toStandby)} {
		refused(t, m.run(eve), ipc.ClassAccessControl, "User eve doesn't have permission to call '"+m.name+"'")
	}
}

// TestStandby checks that a replica that answers as a YARN standby refuses administration, but still
// reports its role.
func TestStandby(t *testing.T) {
	h := newFixture(t, func(c *Config) { c.Authorization = true })
	h.standby, h.leads = ipc.Standby("ResourceManager rm1 is not Active!"), false
	for _, m := range h.administration() {
		refused(t, m.run(root), ipc.ClassStandby, "ResourceManager rm1 is not Active!")
	}
	if len(h.seen())+h.reloads != 0 {
		t.Error("something was done")
	}
	if r, err := h.serviceStatus(ctx, root, nil); err != nil || r.GetState() != proto.HAServiceStateProto_STANDBY {
		t.Errorf("serviceStatus = %v, %v, want STANDBY", r, err)
	}
}

// TestWithoutLeader checks that errors of the Submitter and the Reader are returned unchanged. The
// server converts them to StandbyException.
func TestWithoutLeader(t *testing.T) {
	h := newFixture(t)
	h.submitErr, h.readErr = errors.New("no leader"), errors.New("no leader")
	for _, m := range h.administration() {
		if err := m.run(root); m.name != "refreshServiceAcls" && m.name != "mapAttributesToNodes" &&
			(err == nil || err.Error() != "no leader") {
			t.Errorf("%s without a leader: %v, want \"no leader\"", m.name, err)
		}
	}
	p, err := planner.New(state.New(), planner.Options{})
	if err != nil {
		t.Fatal(err)
	}
	h.planner, h.submitErr = p, nil // a cluster that is not initialized
	var e *ipc.Error
	if _, err := h.refreshQueues(ctx, root, nil); !errors.As(err, &e) || e.Class != ipc.ClassStandby {
		t.Errorf("before the cluster has begun: %v", err)
	}
}

func TestServiceState(t *testing.T) {
	for name, c := range map[string]struct {
		leads, known bool
		unhealthy    error
		want         proto.HAServiceStateProto
		ready        bool
		reason       string
	}{
		"leader":         {true, true, nil, proto.HAServiceStateProto_ACTIVE, true, ""},
		"follower":       {false, true, nil, proto.HAServiceStateProto_STANDBY, true, ""},
		"without leader": {false, false, nil, proto.HAServiceStateProto_STANDBY, true, "no leader is elected at the moment"},
		"stopped": {false, true, errors.New("the state differs"), proto.HAServiceStateProto_STANDBY, false,
			"the state differs"},
	} {
		h := newFixture(t)
		h.leads, h.known, h.unhealthy = c.leads, c.known, c.unhealthy
		r, err := h.serviceStatus(ctx, root, nil)
		if err != nil || r.GetState() != c.want || r.GetReadyToBecomeActive() != c.ready ||
			r.GetNotReadyReason() != c.reason {
			t.Errorf("serviceStatus, %s = %v, %v, want %v, ready %t, reason %q",
				name, r, err, c.want, c.ready, c.reason)
		}
		if _, err = h.monitorHealth(ctx, root, nil); c.unhealthy == nil && err != nil {
			t.Errorf("%s is not healthy: %v", name, err)
		} else if c.unhealthy != nil {
			refused(t, err, "org.apache.hadoop.ha.HealthCheckFailedException", c.reason)
		}
	}
}

func TestTransitionsAreRefused(t *testing.T) {
	h := newFixture(t)
	const class, hint = "org.apache.hadoop.ha.ServiceFailedException",
		` of rm1 is refused: the replicas elect their leader themselves; use "rmd cluster transfer" to hand leadership over`
	refused(t, method("", h.toActive).run(root), class, "transitionToActive"+hint)
	refused(t, method("", h.toStandby).run(root), class, "transitionToStandby"+hint)
	refused(t, method("", h.toObserver).run(root), class, "Does not support transition to Observer")
}

func TestDisabledFeatures(t *testing.T) {
	h := newFixture(t)
	const text = "java.io.IOException: Node-label-based scheduling is disabled. Please check yarn.node-labels.enabled"
	for _, m := range []call{method("", h.AddToClusterNodeLabels), method("", h.RemoveFromClusterNodeLabels),
		method("", h.ReplaceLabelsOnNode)} {
		refused(t, m.run(root), ipc.ClassYarn, text)
	}
	refused(t, method("", h.mapAttributes).run(root), ipc.ClassYarn,
		"Node attributes are not offered by this ResourceManager")
}

func entry(host string, memory int64) *proto.NodeResourceMapProto {
	return &proto.NodeResourceMapProto{NodeId: wire.NodeIDProto(node(host)), ResourceOption: &proto.ResourceOptionProto{
		Resource: wire.ResourceProto(yarn.NewResource(memory, 4), yarn.DefaultKinds())}}
}

// TestUpdateNodeResource checks that updateNodeResource changes either all nodes in the request or
// none.
func TestUpdateNodeResource(t *testing.T) {
	h := newFixture(t)
	update := func(list ...*proto.NodeResourceMapProto) error {
		_, err := h.updateNodeResource(ctx, root, &proto.UpdateNodeResourceRequestProto{NodeResourceMap: list})
		return err
	}
	if err := update(entry("a", 4096), entry("b", 2048)); err != nil {
		t.Fatal(err)
	}
	if h.node(t, "a").Total != yarn.NewResource(4096, 4) || h.node(t, "b").Total != yarn.NewResource(2048, 4) {
		t.Errorf("a has %s, b %s", h.node(t, "a").Total, h.node(t, "b").Total)
	}
	audit := h.planner.State().Audit.After(0)
	if len(audit) != 2 || audit[0].Who != root.Caller.User || audit[0].Action != "node resource" ||
		!strings.HasPrefix(audit[0].Target, "a:45454") {
		t.Errorf("the audit has %+v", audit)
	}
	const unknown = "Resource update get failed on all nodes due to change resource on an unrecognized node: "
	h.seen()
	refused(t, update(entry("a", 1024), entry("c", 1024)), ipc.ClassYarn, unknown+"c:45454")
	if err := update(entry("a", 1024), &proto.NodeResourceMapProto{NodeId: wire.NodeIDProto(node("b"))}); err == nil {
		t.Error("a node is given no resource at all")
	}
	if err := update(entry("a", 1024), entry("b", -1)); err == nil {
		t.Error("a node is given a negative resource")
	}
	if err := update(entry("a", 1024), &proto.NodeResourceMapProto{}); err == nil {
		t.Error("a node without a name is taken")
	}
	h.exclude = []string{"b"}
	if _, err := h.refreshNodes(ctx, root, &proto.RefreshNodesRequestProto{}); err != nil {
		t.Fatal(err)
	}
	refused(t, update(entry("a", 1024), entry("b", 1024)), ipc.ClassYarn, unknown+"b:45454") // the node has unregistered
	if h.node(t, "a").Total != yarn.NewResource(4096, 4) {
		t.Errorf("a has %s although the update was refused", h.node(t, "a").Total)
	}
}

func TestConfig(t *testing.T) {
	good := newFixture(t).cfg
	for name, spoil := range map[string]func(*Config){
		"submitter": func(c *Config) { c.Submitter = nil }, "files": func(c *Config) { c.Files = nil },
		"groups": func(c *Config) { c.Groups = nil },
		"id":     func(c *Config) { c.ID = "" }, "time": func(c *Config) { c.GracefulTime = -1 },
	} {
		c := good
		spoil(&c)
		if _, err := New(c); err == nil {
			t.Errorf("a wrong %s is taken", name)
		}
	}
}
