package master

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"rmd/scheduler/input"
	"rmd/transport/hadoop/proto"
	"rmd/yarn"
)

func (a *am) news() []string {
	a.tb.Helper()
	return newsOf(a.allocate(idle()))
}

func newsOf(r *proto.AllocateResponseProto) []string {
	var out []string
	for _, n := range r.UpdatedNodes {
		out = append(out, fmt.Sprintf("%s %s %s", n.GetNodeId().GetHost(), n.GetNodeState(), n.GetNodeUpdateType()))
	}
	return out
}

func hold(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: told %q, want %q", what, got, want)
	}
}

func TestNodeUpdates(t *testing.T) {
	w := newWorld(t)
	n1 := w.node("n1", 8192, 8)
	w.node("n2", 8192, 8)
	r := w.replica()
	a, b := r.am(w.app()), r.am(w.app())
	a.register()
	b.register()
	hold(t, "nothing has changed", a.news())
	w.plan(&input.NodeHeartbeat{ID: n1, Unhealthy: true, Report: "disks"})
	resp := a.allocate(idle())
	hold(t, "unhealthy", newsOf(resp), "n1 NS_UNHEALTHY NODE_UNUSABLE")
	if n := resp.UpdatedNodes[0]; n.GetHealthReport() != "disks" || n.GetHttpAddress() != "n1:8042" ||
		n.GetRackName() != "/default-rack" || n.GetCapability().GetMemory() != 8192 {
		t.Errorf("report %v", n)
	}
	if resp.GetNumClusterNodes() != 1 {
		t.Errorf("%d nodes", resp.GetNumClusterNodes())
	}
	a.last-- // the answer was lost
	hold(t, "repeated", a.news(), "n1 NS_UNHEALTHY NODE_UNUSABLE")
	hold(t, "told", a.news())
	w.plan(&input.NodeHeartbeat{ID: n1})
	w.plan(&input.DrainNode{ID: yarn.NodeID{Host: "n2", Port: 45454}, DeadlineMillis: w.now + 1_000_000})
	resp = a.allocate(idle())
	hold(t, "back, another leaves", newsOf(resp), "n1 NS_RUNNING NODE_USABLE",
		"n2 NS_DECOMMISSIONING NODE_DECOMMISSIONING")
	if left := resp.UpdatedNodes[1].GetDecommissioningTimeout(); resp.UpdatedNodes[0].DecommissioningTimeout != nil ||
		left < 990 || left > 1000 {
		t.Errorf("the drain ends in %d s, want about 1000; %v", left, resp.UpdatedNodes[0])
	}
	w.node("n3", 8192, 8)
	hold(t, "a new one", a.news(), "n3 NS_RUNNING NODE_USABLE")
	hold(t, "all at once", b.news(), "n1 NS_RUNNING NODE_USABLE", "n2 NS_DECOMMISSIONING NODE_DECOMMISSIONING",
		"n3 NS_RUNNING NODE_USABLE")
	w.plan(&input.SetNodeResource{ID: n1, Total: yarn.NewResource(4096, 4)})
	hold(t, "another size", a.news())
	a.register()
	hold(t, "registered again", a.news())
}

// TestNodeUpdatesAfterReplicaChange checks that an AM that moves to another replica misses no node
// update.
func TestNodeUpdatesAfterReplicaChange(t *testing.T) {
	w := newWorld(t)
	n1, n2 := w.node("n1", 8192, 8), w.node("n2", 8192, 8)
	early := w.replica()
	watching := early.am(w.app())
	watching.register()
	w.plan(&input.ExpireNode{ID: n1})
	watching.allocate(idle())
	a := w.replica().am(w.app())
	a.register()
	a.allocate(idle())
	w.plan(&input.ExpireNode{ID: n2})
	over := &am{replica: early, id: a.id, key: a.key, last: a.last}
	hold(t, "a service that has watched", over.news(), "n2 NS_LOST NODE_UNUSABLE")
	late := &am{replica: w.replica(), id: a.id, key: a.key, last: a.last}
	hold(t, "a service that has not", late.news(), "n1 NS_LOST NODE_UNUSABLE", "n2 NS_LOST NODE_UNUSABLE")
	hold(t, "told there", late.news())
	fresh := w.replica().am(w.app())
	fresh.register()
	hold(t, "an AM that knows nothing", fresh.news())
}

func TestNodeUpdatesBounded(t *testing.T) {
	w := newWorld(t)
	n1, n2 := w.node("n1", 8192, 8), w.node("n2", 8192, 8)
	r := w.replica()
	r.nodes.limit = 4
	a, b := r.am(w.app()), r.am(w.app())
	a.register()
	b.register()
	w.plan(&input.ExpireNode{ID: n2})
	for i := range 9 {
		w.plan(&input.NodeHeartbeat{ID: n1, Unhealthy: i%2 == 0})
		b.news()
	}
	if len(r.nodes.entries) > 4 {
		t.Errorf("%d changes remembered", len(r.nodes.entries))
	}
	hold(t, "what is not remembered any more", a.news(), "n1 NS_UNHEALTHY NODE_UNUSABLE", "n2 NS_LOST NODE_UNUSABLE")
}

func TestRememberedAttemptsBounded(t *testing.T) {
	w := newWorld(t)
	r := w.replica()
	r.attempts.most = 3
	var ams []*am
	for range 5 {
		a := r.am(w.app())
		a.register()
		ams = append(ams, a)
	}
	if n := r.attempts.len(); n != 3 {
		t.Errorf("%d attempts remembered, at most 3", n)
	}
	for _, a := range ams {
		a.allocate(idle()) // some of these attempts are remembered, the others are not
	}
	r.clock = r.clock.Add(r.cfg.ForgetAfter + time.Second)
	ams[0].allocate(idle())
	r.clock = r.clock.Add(r.cfg.ForgetAfter / 2)
	ams[0].allocate(idle())
	if n := r.attempts.len(); n != 1 {
		t.Errorf("%d attempts remembered after all but one fell silent", n)
	}
}

func TestConfig(t *testing.T) {
	if err := (Config{}).Validate(); err == nil {
		t.Error("an empty configuration is taken")
	}
	if _, err := New(DefaultConfig()); err == nil {
		t.Error("a configuration without a submitter is taken")
	}
	if m := newWorld(t).replica().Protocol(); len(m.Methods) != 3 || m.Name != protocolName {
		t.Errorf("protocol %+v", m)
	}
}
