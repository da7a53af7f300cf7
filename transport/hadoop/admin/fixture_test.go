package admin

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"testing"

	"github.com/hashicorp/go-hclog"

	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/scheduler/planner"
	"rmd/transport/caller"
	"rmd/transport/hadoop/ipc"
	"rmd/yarn"
)

var ctx = context.Background()

// fixture is a cluster with a planner and without a log. It also implements the files and the role of
// the replica that serves the calls.
type fixture struct {
	*Service
	planner *planner.Planner
	now     int64
	inputs  []input.Input // since the last call of seen

	submitErr, readErr, fileErr error
	illegal                     string // returned by Illegal
	include, exclude            []string
	timeouts                    []input.HostTimeout
	queues                      []input.Property
	reloads, caughtUp           int
	leads, known                bool
	standby, unhealthy          error
	admins                      []string
}

// Do implements frontend.Submitter.
func (h *fixture) Do(ctx context.Context, req input.Request) (input.Reply, uint64, error) {
	if h.submitErr != nil {
		return nil, 0, h.submitErr
	}
	req.Caller = caller.Of(ctx) // as the leader does
	h.inputs = append(h.inputs, req.Input)
	h.now++
	reply, _ := h.planner.Plan(h.now, req)
	return reply, 1, nil
}

// Fork implements Reader.
func (h *fixture) Fork() *state.State { return h.planner.State().Fork() }

// Current implements Reader.
func (h *fixture) Current(context.Context) error { h.caughtUp++; return h.readErr }

// Illegal and Queues implement Files.
func (h *fixture) Illegal([]input.Property) string   { return h.illegal }
func (h *fixture) Queues() ([]input.Property, error) { return h.queues, h.fileErr }

// Hosts implements Files.
func (h *fixture) Hosts() (*input.SetHosts, error) {
	return &input.SetHosts{Include: h.include, Exclude: h.exclude, Timeouts: h.timeouts}, h.fileErr
}

// Reload implements Files.
func (h *fixture) Reload() error { h.reloads++; return h.fileErr }

func (h *fixture) admit(c *ipc.Caller, operation string) error {
	if slices.Contains(h.admins, c.User) {
		return nil
	}
	return &ipc.Error{Class: ipc.ClassYarn, Message: "org.apache.hadoop.security.AccessControlException: User " +
		c.User + " doesn't have permission to call '" + operation + "'"}
}

const prefix = "yarn.scheduler.capacity.root."

func queues(pairs ...string) []input.Property {
	out := []input.Property{{Name: prefix + "queues", Value: "default,batch"}}
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, input.Property{Name: pairs[i], Value: pairs[i+1]})
	}
	return out
}

// newFixture returns a cluster with two queues and the nodes a and b. Its replica leads.
func newFixture(t *testing.T, change ...func(*Config)) *fixture {
	t.Helper()
	p, err := planner.New(state.New(), planner.Options{Eager: true})
	if err != nil {
		t.Fatal(err)
	}
	h := &fixture{planner: p, now: 1_780_000_000_000, leads: true, known: true, admins: []string{"root"},
		queues: queues(prefix+"default.capacity", "50", prefix+"batch.capacity", "50")}
	cfg := DefaultConfig()
	cfg.Logger, cfg.ID, cfg.Submitter, cfg.Reader, cfg.Files = hclog.NewNullLogger(), "rm1", h, h, h
	cfg.Admit = h.admit
	cfg.Groups = func(user string) []string { return []string{user, "users"} }
	cfg.Leader = func() (bool, bool) { return h.leads, h.known }
	cfg.Unhealthy = func() error { return h.unhealthy }
	cfg.Standby = func() error { return h.standby }
	for _, f := range change {
		f(&cfg)
	}
	if h.Service, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	h.must(t, &input.InitCluster{ClusterID: "c", ClusterTimestamp: h.now, Properties: h.queues})
	for _, host := range []string{"a", "b"} {
		h.must(t, &input.RegisterNode{ID: node(host), Rack: "/default-rack", Total: yarn.NewResource(8192, 8),
			Version: "3.4.2"})
	}
	h.inputs = nil
	return h
}

func node(host string) yarn.NodeID { return yarn.NodeID{Host: host, Port: 45454} }

func (h *fixture) must(t *testing.T, in input.Input) input.Reply {
	t.Helper()
	reply, _, err := h.Do(ctx, input.Request{Input: in})
	if err != nil {
		t.Fatalf("%T: %v", in, err)
	}
	if f := reply.Refused(); f != nil {
		t.Fatalf("%T was refused: %v", in, f)
	}
	return reply
}

// seen returns the inputs since its last call.
func (h *fixture) seen() []input.Input {
	out := h.inputs
	h.inputs = nil
	return out
}

// node returns the node with a host name.
func (h *fixture) node(t *testing.T, host string) *state.Node {
	t.Helper()
	slot := h.planner.State().Nodes.Find(node(host))
	if slot == 0 {
		t.Fatalf("there is no node %s", host)
	}
	return h.planner.State().Nodes.Get(slot)
}

// root is a call by an administrator, eve is a call by another user.
var root, eve = as("root"), as("eve")

func as(user string) *ipc.Call {
	return &ipc.Call{Caller: &ipc.Caller{User: user, Kind: ipc.KindSimple,
		Address: netip.MustParseAddrPort("10.0.0.9:4711")}}
}

// refused checks that an error is the Java exception of a class with a message.
func refused(t *testing.T, err error, class, message string) {
	t.Helper()
	var e *ipc.Error
	if !errors.As(err, &e) {
		t.Fatalf("not refused: %v", err)
	}
	if e.Class != class || e.Message != message || e.Fatal {
		t.Errorf("refused with\n  %s: %s (fatal: %v)\nwant\n  %s: %s", e.Class, e.Message, e.Fatal, class, message)
	}
}

// call is a method with an empty request.
type call struct {
	name string
	run  func(*ipc.Call) error
}

func method[Req any, Resp any](name string, f func(context.Context, *ipc.Call, *Req) (*Resp, error)) call {
	return call{name, func(c *ipc.Call) error { _, err := f(ctx, c, new(Req)); return err }}
}

// administration returns the methods that only administrators may call.
func (h *fixture) administration() []call {
	return []call{
		method("refreshQueues", h.refreshQueues), method("refreshNodes", h.refreshNodes),
		method("refreshSuperUserGroupsConfiguration", h.refreshSuperUserGroups),
		method("refreshUserToGroupsMappings", h.refreshUserToGroups),
		method("refreshAdminAcls", h.refreshAdminACLs), method("refreshServiceAcls", h.refreshServiceACLs),
		method("refreshClusterMaxPriority", h.refreshMaxPriority), method("refreshNodesResources", h.refreshNodesResources),
		method("updateNodeResource", h.updateNodeResource), method("checkForDecommissioningNodes", h.decommissioning),
		method("addToClusterNodeLabels", h.AddToClusterNodeLabels),
		method("removeFromClusterNodeLabels", h.RemoveFromClusterNodeLabels),
		method("replaceLabelsOnNode", h.ReplaceLabelsOnNode), method("mapAttributesToNodes", h.mapAttributes),
	}
}
