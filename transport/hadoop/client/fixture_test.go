package client

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	gproto "google.golang.org/protobuf/proto"

	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/scheduler/capacity/order"
	"rmd/scheduler/input"
	"rmd/scheduler/planner"
	"rmd/transport/caller"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

// birth is the cluster timestamp and the time at which every test begins, in Unix milliseconds.
const birth = 1780000000000

// fixture is a cluster of one replica without a log. The planner's state is committed with each
// answer.
type fixture struct {
	planner *planner.Planner
	st      *state.State
	now     int64

	acls      bool
	admins    []string
	groups    map[string][]string
	finding   func(user string) // called before groups are found; may be nil
	usage     map[yarn.NodeID]NodeUsage
	submitErr error
	readErr   error
	behind    *state.State // Fork returns this state until Current is called; nil: the newest
	inputs    []input.Input
	tree      *capacity.Tree
	svc       *Service
}

func (h *fixture) Do(ctx context.Context, req input.Request) (input.Reply, uint64, error) {
	if h.submitErr != nil {
		return nil, 0, h.submitErr
	}
	req.Caller = caller.Of(ctx) // as the leader does
	h.inputs = append(h.inputs, req.Input)
	h.now++
	if f := input.Check(req); f != nil {
		return input.Refuse(req.Input, f), 1, nil
	}
	reply, _ := h.planner.Plan(h.now, req)
	h.st = h.planner.State().Fork()
	return reply, 1, nil
}

func (h *fixture) Fork() *state.State {
	if h.behind != nil {
		return h.behind
	}
	return h.st
}

func (h *fixture) Current(context.Context) error { h.behind = nil; return h.readErr }

func (h *fixture) Enabled() bool          { return h.acls }
func (h *fixture) Admin(user string) bool { return slices.Contains(h.admins, user) }

func (h *fixture) Groups(user string) []string {
	if h.finding != nil {
		h.finding(user)
	}
	return h.groups[user]
}

func (h *fixture) Usage(id yarn.NodeID) (NodeUsage, bool) { u, ok := h.usage[id]; return u, ok }

// conf returns the queue configuration of a state and its tree.
func (h *fixture) conf(st *state.State) (*capacity.Config, *capacity.Tree) {
	c := h.planner.Config()
	if total := st.PartitionTotal(0); h.tree == nil || h.tree.Cluster != total {
		h.tree = c.Compute(total)
	}
	return c, h.tree
}

func (h *fixture) Find(st *state.State, name string) state.QueueSlot {
	c, _ := h.conf(st)
	i, err := c.Lookup(name)
	if err != nil {
		return 0
	}
	return st.Queues.Find(c.Queues[i].Path)
}

func (h *fixture) Queue(st *state.State, slot state.QueueSlot) (Queue, bool) {
	if slot == 0 || !st.Queues.Has(slot) {
		return Queue{}, false
	}
	c, tree := h.conf(st)
	q := st.Queues.Get(slot)
	i, err := c.Lookup(q.Path)
	if err != nil {
		return Queue{}, false
	}
	part := func(f yarn.Fraction) float32 { v, _ := f.Rat().Float32(); return v }
	eff, conf := tree.Capacities[i], c.Queues[i]
	most := int32(1<<31 - 1)
	if conf.MaxParallelApps >= 0 {
		most = int32(conf.MaxParallelApps)
	}
	abs, _ := eff.AbsCapacity.Rat().Float32()
	absMax, _ := eff.AbsMax.Rat().Float32()
	return Queue{Partition: Partition{Capacity: part(eff.Capacity), MaxCapacity: part(eff.MaxCapacity),
		AbsoluteCapacity: abs, AbsoluteMax: absMax,
		MaxAMShare: part(conf.MaxAMPercent), ConfiguredMin: eff.ConfiguredMin, ConfiguredMax: eff.ConfiguredMax,
		EffectiveMin: eff.EffMin, EffectiveMax: eff.EffMax},
		Labels: labelsOf(st, c, i), Accessible: c.AccessibleLabels(i), DefaultLabel: conf.DefaultLabel,
		UsedCapacity: float32(float64(order.UsedShare(c.Calculator, tree.Cluster, q.Used, eff.EffMin, c.MinAlloc)) / one),
		Weight:       -1, MaxParallelApps: most,
		PreemptionDisabled: conf.DisablePreemption, IntraQueueDisabled: conf.DisableIntraPreemption,
		MaxAllocation: conf.MaxAlloc}, true
}

// labelsOf returns the effective minimum of queue i for each label.
func labelsOf(st *state.State, c *capacity.Config, i int) (out []Partition) {
	st.Labels.Each(func(id state.LabelSlot, l *state.Label) bool {
		eff := c.Partition(l.Name).Compute(st.PartitionTotal(id)).Capacities[i].EffMin
		out = append(out, Partition{Label: l.Name, EffectiveMin: eff})
		return true
	})
	return out
}

func (h *fixture) Preprocess(st *state.State, host func() string) (label, queue, tag string) {
	c, _ := h.conf(st)
	if !c.Preprocessor.Enabled {
		return "", "", ""
	}
	give := c.Preprocessor.Of(host())
	return give.Label, give.Queue, give.Tag
}

func (h *fixture) May(st *state.State, slot state.QueueSlot, user string, groups []string) (submit, administer bool) {
	c, _ := h.conf(st)
	i, err := c.Lookup(st.Queues.Get(slot).Path)
	if err != nil {
		return false, false
	}
	return c.MaySubmit(i, user, groups...), c.MayAdminister(i, user, groups...)
}

func (h *fixture) TrackUnregistered(st *state.State) bool {
	c, _ := h.conf(st)
	return c.TrackUnregistered
}

func (h *fixture) Maximum(st *state.State) yarn.Resource { c, _ := h.conf(st); return c.MaxAlloc }

const confPrefix = "yarn.scheduler.capacity."

// newFixture returns a cluster with the queues root.default, root.batch.{day,night} and root.night.
func newFixture(t testing.TB, more ...string) *fixture {
	t.Helper()
	p, err := planner.New(state.New(), planner.Options{Eager: true})
	if err != nil {
		t.Fatal(err)
	}
	h := &fixture{planner: p, st: p.State().Fork(), now: birth, groups: map[string][]string{},
		usage: map[yarn.NodeID]NodeUsage{}}
	pairs := append([]string{
		confPrefix + "root.queues", "default,batch,night", confPrefix + "root.default.capacity", "50",
		confPrefix + "root.batch.capacity", "30", confPrefix + "root.night.capacity", "20",
		confPrefix + "root.batch.queues", "day,night", confPrefix + "root.batch.day.capacity", "60",
		confPrefix + "root.batch.night.capacity", "40",
		confPrefix + "maximum-am-resource-percent", "1", confPrefix + "root.default.user-limit-factor", "10",
	}, more...)
	var props []input.Property
	for i := 0; i < len(pairs); i += 2 {
		props = append(props, input.Property{Name: pairs[i], Value: pairs[i+1]})
	}
	entropy := make([]byte, 32)
	h.must(t, &input.InitCluster{ClusterID: "c", ClusterTimestamp: birth, Properties: props, Entropy: entropy})
	h.must(t, &input.Tick{Entropy: entropy})
	cfg := DefaultConfig()
	cfg.Logger, cfg.Submitter, cfg.Reader, cfg.Access, cfg.Queues, cfg.Nodes = hclog.NewNullLogger(), h, h, h, h, h
	cfg.WebURL = "http://rm1:8088"
	cfg.Now = func() time.Time { return time.UnixMilli(h.now) }
	if h.svc, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	return h
}

// must plans an input and fails the test if the planner refuses it.
func (h *fixture) must(t testing.TB, in input.Input) input.Reply {
	t.Helper()
	reply, _, err := h.Do(context.Background(), input.Request{Input: in})
	if err != nil {
		t.Fatal(err)
	}
	if f := reply.Refused(); f != nil {
		t.Fatalf("%T was refused: %v", in, f)
	}
	return reply
}

// as returns a call by a user.
func as(user string) *ipc.Call {
	return &ipc.Call{Caller: &ipc.Caller{User: user, Kind: ipc.KindSimple,
		Address: netip.MustParseAddrPort("10.0.0.9:4711")}}
}

func (h *fixture) newID(t testing.TB) yarn.ApplicationID {
	t.Helper()
	r, err := h.svc.newApplication(context.Background(), as("ann"), &proto.GetNewApplicationRequestProto{})
	if err != nil {
		t.Fatal(err)
	}
	id, err := wire.ApplicationID(r.GetApplicationId())
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// subOf returns a submission context like that of DistributedShell's client.
func subOf(id yarn.ApplicationID) *proto.ApplicationSubmissionContextProto {
	return &proto.ApplicationSubmissionContextProto{
		ApplicationId: wire.ApplicationIDProto(id), ApplicationName: new("DistributedShell"), Queue: new("default"),
		AmContainerSpec: &proto.ContainerLaunchContextProto{Command: []string{"/bin/true"}},
		AmContainerResourceRequest: []*proto.ResourceRequestProto{{
			Priority: wire.PriorityProto(0), ResourceName: new("*"), NumContainers: new(int32(1)),
			Capability: wire.ResourceProto(yarn.NewResource(1024, 1), yarn.DefaultKinds())}},
	}
}

func encode(t testing.TB, m gproto.Message) []byte {
	t.Helper()
	b, err := gproto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (h *fixture) submit(t testing.TB, user string, sub *proto.ApplicationSubmissionContextProto) error {
	t.Helper()
	body := encode(t, &proto.SubmitApplicationRequestProto{ApplicationSubmissionContext: sub})
	out, err := h.svc.submitApplication(context.Background(), as(user), body)
	if len(out) != 0 {
		t.Fatalf("the response has %d bytes", len(out))
	}
	return err
}

// app submits an application. change, if not nil, edits its context.
func (h *fixture) app(t testing.TB, user string,
	change func(*proto.ApplicationSubmissionContextProto)) yarn.ApplicationID {
	t.Helper()
	id := h.newID(t)
	sub := subOf(id)
	if change != nil {
		change(sub)
	}
	if err := h.submit(t, user, sub); err != nil {
		t.Fatal(err)
	}
	return id
}

// node registers a NodeManager with 16 GiB.
func (h *fixture) node(t testing.TB, host string) yarn.NodeID {
	t.Helper()
	id := yarn.NodeID{Host: host, Port: 45454}
	h.must(t, &input.RegisterNode{ID: id, HTTPPort: 8042, Rack: "/default-rack", Total: yarn.NewResource(16384, 16),
		Version: "3.4.2", NodeManager: true})
	h.must(t, &input.NodeHeartbeat{ID: id}) // starts a scheduling pass
	return id
}

func (h *fixture) record(t testing.TB, id yarn.ApplicationID) *state.App {
	t.Helper()
	slot := h.st.Apps.ByID(id)
	if slot == 0 {
		t.Fatalf("there is no %s", id)
	}
	return h.st.Apps.Get(slot)
}

// launch launches and registers the AM of an application.
func (h *fixture) launch(t testing.TB, id yarn.ApplicationID) yarn.AttemptID {
	t.Helper()
	a := h.record(t, id)
	at := a.AttemptID()
	if !a.Unmanaged {
		h.must(t, &input.AttemptLaunched{Attempt: at, Container: a.MasterNumber})
	}
	h.must(t, &input.RegisterAttempt{Attempt: at, Host: "am-host", RPCPort: 4711, TrackingURL: "http://am-host:9000"})
	return at
}

// end reports the end of an AM's container.
func (h *fixture) end(t testing.TB, node yarn.NodeID, id yarn.ApplicationID, exit int32) {
	t.Helper()
	a := h.record(t, id)
	c := yarn.ContainerID{App: id, Attempt: a.Attempt, Number: a.MasterNumber}
	h.must(t, &input.NodeHeartbeat{ID: node,
		Statuses: []input.ContainerStatus{{Container: c, State: yarn.ContainerCompleted, ExitStatus: exit,
			Diagnostics: "bad luck"}}})
}

func (h *fixture) report(t testing.TB, user string, id yarn.ApplicationID) *proto.ApplicationReportProto {
	t.Helper()
	r, err := h.svc.applicationReport(context.Background(), as(user),
		&proto.GetApplicationReportRequestProto{ApplicationId: wire.ApplicationIDProto(id)})
	if err != nil {
		t.Fatal(err)
	}
	return r.GetApplicationReport()
}

// refused checks that an error is the Java exception of a class with a message.
func refused(t testing.TB, err error, class, message string) {
	t.Helper()
	var e *ipc.Error
	if !errors.As(err, &e) {
		t.Fatalf("not refused: %v", err)
	}
	if e.Class != class || e.Message != message {
		t.Errorf("refused with\n  %s: %s\nwant\n  %s: %s", e.Class, e.Message, class, message)
	}
	if e.Fatal {
		t.Error("the refusal ends the connection")
	}
}

type coded string

func (c coded) Error() string     { return fmt.Sprintf("error %s", string(c)) }
func (c coded) ErrorCode() string { return string(c) }

// aclProtos encodes ACLs.
func aclProtos(a wire.ACLs) []*proto.ApplicationACLMapProto {
	return []*proto.ApplicationACLMapProto{
		{AccessType: proto.ApplicationAccessTypeProto_APPACCESS_VIEW_APP.Enum(), Acl: new(a.View)},
		{AccessType: proto.ApplicationAccessTypeProto_APPACCESS_MODIFY_APP.Enum(), Acl: new(a.Modify)},
	}
}
