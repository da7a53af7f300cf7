package master

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	gproto "google.golang.org/protobuf/proto"

	"rmd/scheduler/input"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/token"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

func TestAskIsAnsweredInTheSameCall(t *testing.T) {
	w := newWorld(t)
	node := w.node("n1", 8192, 8)
	a := w.replica().am(w.app())
	a.register()
	r := a.allocate(asks(ask("*", 2, 1000)))
	if len(r.AllocatedContainers) != 2 || len(r.NmTokens) != 1 {
		t.Fatalf("%d containers, %d NM tokens", len(r.AllocatedContainers), len(r.NmTokens))
	}
	c := r.AllocatedContainers[0]
	if c.GetResource().GetMemory() != 1024 || c.GetResource().GetVirtualCores() != 1 ||
		c.GetPriority().GetPriority() != 5 ||
		c.GetAllocationRequestId() != 7 || c.GetNodeHttpAddress() != "n1:8042" ||
		c.GetExecutionType() != proto.ExecutionTypeProto_GUARANTEED || c.GetVersion() != 0 {
		t.Errorf("container %v", c)
	}
	if got, err := wire.NodeID(c.GetNodeId()); err != nil || got != node {
		t.Errorf("node %v, %v", got, err)
	}
	if r.GetNumClusterNodes() != 1 || r.GetLimit() == nil || r.GetApplicationPriority() == nil ||
		r.EnhancedHeadroom != nil || r.AMCommand != nil {
		t.Errorf("response %v", r)
	}
	if again := a.allocate(idle()); len(again.AllocatedContainers)+len(again.NmTokens) != 0 {
		t.Errorf("told again: %v", again)
	}
}

func TestContainerTokenContents(t *testing.T) {
	w := newWorld(t)
	node := w.node("n1", 8192, 8)
	logs := &proto.LogAggregationContextProto{IncludePattern: new("*.log"), LogAggregationPolicyClassName: new("p")}
	submission, err := gproto.Marshal(&proto.ApplicationSubmissionContextProto{LogAggregationContext: logs})
	if err != nil {
		t.Fatal(err)
	}
	a := w.replica().am(w.app(func(s *input.SubmitApplication) { s.Context = submission }))
	a.register()
	r := a.allocate(asks(ask("*", 1, 1024)))
	c, ring := r.AllocatedContainers[0], token.NewRing(w.st())
	got, err := ring.VerifyContainer(c.GetContainerToken())
	if err != nil {
		t.Fatal(err)
	}
	id, _ := wire.ContainerID(c.GetId())
	slot := w.st().Apps.Get(w.st().Apps.ByID(a.id.App)).Containers
	k := w.st().Containers.Get(slot)
	if got.ID != id || got.Node != "n1:45454" || got.User != "alice" || got.Size != k.Size || got.AM || got.Version != 0 ||
		got.Priority != 5 || got.AllocationID != 7 || got.RMIdentifier != w.st().Meta.ClusterTimestamp ||
		got.CreatedMillis != k.AllocatedMillis {
		t.Errorf("container token says %+v", got)
	}
	if !gproto.Equal(got.Logs, logs) {
		t.Errorf("logs %v, want %v", got.Logs, logs)
	}
	if lasts := got.ExpiresMillis - k.AllocatedMillis; lasts < 600_000 || lasts > 700_000 {
		t.Errorf("the token lasts %d ms", lasts)
	}
	nm := r.NmTokens[0]
	at, err := ring.VerifyNM(nm.GetToken().GetIdentifier(), nm.GetToken().GetPassword())
	if err != nil || at.Attempt != a.id || at.Node != node || at.User != "alice" ||
		nm.GetToken().GetKind() != token.KindNM {
		t.Errorf("NM token %+v, %v", at, err)
	}
}

// TestMasterOf210 sends what an ApplicationMaster of Hadoop 2.10 sends and later ones do not. It must
// be answered as by a ResourceManager of Hadoop 3: an increase in the old form is passed over, and an
// ask without an allocation request id, which means 0 there, has the id -1.
func TestMasterOf210(t *testing.T) {
	w := newWorld(t)
	w.node("n1", 8192, 8)
	a := w.replica().am(w.app())
	a.register()
	plain := ask("*", 1, 1024)
	plain.AllocationRequestId = nil
	given := a.allocate(asks(plain)).AllocatedContainers
	if len(given) != 1 || given[0].GetAllocationRequestId() != -1 {
		t.Fatalf("an ask without an id gave %v; want one container with the id -1", given)
	}
	const increaseRequest = 6 // of containers, each with the fields 1, its id, and 2, its size
	var increase []byte
	for n, m := range []gproto.Message{given[0].Id,
		&proto.ResourceProto{Memory: new(int64(4096)), VirtualCores: new(int32(1))}} {
		b, err := gproto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		increase = protowire.AppendBytes(protowire.AppendTag(increase, protowire.Number(n+1), protowire.BytesType), b)
	}
	body, err := gproto.Marshal(&proto.AllocateRequestProto{ResponseId: new(a.last), Progress: new(float32(0.5))})
	if err != nil {
		t.Fatal(err)
	}
	r, err := a.send(protowire.AppendBytes(protowire.AppendTag(body, increaseRequest, protowire.BytesType), increase))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.UpdateErrors)+len(r.UpdatedContainers)+len(r.AllocatedContainers) > 0 ||
		len(r.ProtoReflect().GetUnknown()) > 0 {
		t.Errorf("an increase in the form of 2.10 was answered: %v", r)
	}
}

func TestRepeatedCallGetsTheSameBytes(t *testing.T) {
	w := newWorld(t)
	w.node("n1", 8192, 8)
	r := w.replica()
	a := r.am(w.app())
	a.register()
	a.allocate(idle())
	req := asks(ask("*", 3, 1024))
	first := a.allocate(req)
	w.plan(&input.NodeHeartbeat{ID: yarn.NodeID{Host: "n1", Port: 45454}}) // time passes between the two answers
	a.last--
	again := a.allocate(req)
	b1, _ := gproto.MarshalOptions{Deterministic: true}.Marshal(first)
	b2, _ := gproto.MarshalOptions{Deterministic: true}.Marshal(again)
	if len(first.AllocatedContainers) != 3 || !bytes.Equal(b1, b2) {
		t.Errorf("first  %v\nsecond %v", first, again)
	}
	other := &am{replica: w.replica(), id: a.id, key: a.key, last: a.last - 1}
	elsewhere := other.allocate(req)
	for i, c := range elsewhere.AllocatedContainers {
		if !gproto.Equal(c, first.AllocatedContainers[i]) {
			t.Errorf("at another replica: %v, want %v", c, first.AllocatedContainers[i])
		}
	}
	if len(elsewhere.AllocatedContainers) != 3 || len(elsewhere.NmTokens) != 1 {
		t.Errorf("at another replica: %v", elsewhere)
	}
}

func TestReleaseAndCompletion(t *testing.T) {
	w := newWorld(t)
	node := w.node("n1", 8192, 8)
	a := w.replica().am(w.app())
	a.register()
	got := a.allocate(asks(ask("*", 2, 1024))).AllocatedContainers
	w.running(node, got)
	r := a.allocate(&proto.AllocateRequestProto{Release: []*proto.ContainerIdProto{got[0].GetId()}})
	if len(r.CompletedContainerStatuses) != 1 {
		t.Fatalf("completed %v", r.CompletedContainerStatuses)
	}
	s := r.CompletedContainerStatuses[0]
	if !gproto.Equal(s.GetContainerId(), got[0].GetId()) || s.GetExitStatus() != -100 ||
		s.GetState() != proto.ContainerStateProto_C_COMPLETE {
		t.Errorf("released: %v", s)
	}
	id, _ := wire.ContainerID(got[1].GetId())
	w.plan(&input.NodeHeartbeat{ID: node, Statuses: []input.ContainerStatus{
		{Container: id, State: yarn.ContainerCompleted, ExitStatus: 3, Diagnostics: "bad"}}})
	s = a.allocate(idle()).CompletedContainerStatuses[0]
	if s.GetExitStatus() != 3 || s.GetDiagnostics() != "bad" {
		t.Errorf("completed: %v", s)
	}
}

func TestBlacklist(t *testing.T) {
	w := newWorld(t)
	w.node("n1", 8192, 8)
	a := w.replica().am(w.app())
	a.register()
	req := asks(ask("*", 1, 1024))
	req.BlacklistRequest.BlacklistAdditions = []string{"n1"}
	if r := a.allocate(req); len(r.AllocatedContainers) != 0 {
		t.Error("granted on a node that the AM refuses")
	}
	req = asks()
	req.BlacklistRequest.BlacklistRemovals = []string{"n1"}
	r := a.allocate(req)
	w.plan(&input.NodeHeartbeat{ID: yarn.NodeID{Host: "n1", Port: 45454}})
	if n := len(r.AllocatedContainers) + len(a.allocate(idle()).AllocatedContainers); n != 1 {
		t.Errorf("%d containers after the node is taken again", n)
	}
	req = asks()
	req.BlacklistRequest.BlacklistAdditions = []string{"n1", "*"}
	_, err := a.try(req)
	class(t, err, classInvalidBlacklist)
}

// TestRefusals checks the exception of each refusal, and that the AM can continue afterwards.
func TestRefusals(t *testing.T) {
	w := newWorld(t)
	w.node("n1", 8192, 8)
	a := w.replica().am(w.app())
	a.register()
	other := w.replica().am(w.app())
	label := ask("*", 1, 1024)
	label.NodeLabelExpression = new("gpu")
	nameless := ask("", 1, 1024)
	sizeless := ask("*", 1, 1024)
	sizeless.Capability = nil
	cores := ask("*", 1, 1024)
	cores.Capability.VirtualCores = new(int32(5))
	foreign := wire.ContainerIDProto(yarn.ContainerID{App: other.id.App, Attempt: 1, Number: 2})
	for _, c := range []struct {
		name, class, text string
		req               *proto.AllocateRequestProto
	}{
		{"below zero", classInvalidAsk,
			"less than 0! Requested resource type=[memory-mb], Requested resource=<memory:-1, vCores:1>", asks(ask("*", 1, -1))},
		{"above the largest", classInvalidAsk,
			"Requested resource type=[memory-mb], Requested resource=<memory:8193, vCores:1>, maximum allowed allocation=<memory:8192, vCores:4>", asks(ask("*", 1, 8193))},
		{"too many vcores", classInvalidAsk, "Requested resource type=[vcores]", asks(cores)},
		{"label", classInvalidLabel, "Invalid resource request, node label not enabled but request contains label expression",
			asks(label)},
		{"no name", classInvalidAsk, "missing", asks(nameless)},
		{"no size", classInvalidAsk, "missing", asks(sizeless)},
		{"scheduling request", ipc.ClassYarn, "Found non empty SchedulingRequest in AllocateRequest for application=" +
			a.id.String(), &proto.AllocateRequestProto{
			SchedulingRequests: []*proto.SchedulingRequestProto{{}}}},
		{"container of another", classInvalidRelease, "not belonging to this application attempt : " + a.id.String(),
			&proto.AllocateRequestProto{Release: []*proto.ContainerIdProto{foreign}}},
		{"no container", classInvalidRelease, "", &proto.AllocateRequestProto{Release: []*proto.ContainerIdProto{{}}}},
	} {
		_, err := a.try(c.req)
		if e := class(t, err, c.class); !strings.Contains(e.Message, c.text) {
			t.Errorf("%s: %q does not say %q", c.name, e.Message, c.text)
		}
	}
	if r := a.allocate(asks(ask("*", 1, 1024))); len(r.AllocatedContainers) != 1 {
		t.Error("nothing granted after refusals")
	}
}

// TestLargestNode checks that an AM learns the largest container of the present nodes, and that a
// larger ask is refused with both maxima, also after the nodes have changed. It can be withdrawn.
func TestLargestNode(t *testing.T) {
	w := newWorld(t)
	w.node("n1", 4096, 8)
	a := w.replica().am(w.app())
	if most := a.register().MaximumCapability; most.GetMemory() != 4096 || most.GetVirtualCores() != 4 {
		t.Errorf("the AM learns the maximum %v, want the memory of its node and the vcores of the configuration", most)
	}
	refuse := func(mb int64, text string) {
		t.Helper()
		_, err := a.try(asks(ask("*", 1, mb)))
		if e := class(t, err, classInvalidAsk); !strings.Contains(e.Message, text) {
			t.Errorf("%q does not say %q", e.Message, text)
		}
	}
	const after = ", please note that maximum allowed allocation is calculated by scheduler based on maximum resource of registered NodeManagers, " +
		"which might be less than configured maximum allocation=<memory:8192, vCores:4>"
	refuse(4097, "maximum allowed allocation=<memory:4096, vCores:4>"+after)
	w.node("n2", 6000, 2)
	a.allocate(asks(ask("*", 1, 4097)))
	refuse(6001, "maximum allowed allocation=<memory:6000, vCores:4>"+after)
	a.allocate(asks(ask("*", 0, 6001)))
}

// TestAskedLabels checks that an AM can request nodes with a label, and that answers contain the
// labels of nodes.
func TestAskedLabels(t *testing.T) {
	const queues, gpu = "yarn.scheduler.capacity.root.", "accessible-node-labels.gpu.capacity"
	w := newWorld(t, input.Property{Name: "yarn.node-labels.enabled", Value: "true"},
		input.Property{Name: queues + gpu, Value: "100"},
		input.Property{Name: queues + "default.accessible-node-labels", Value: "gpu"},
		input.Property{Name: queues + "default." + gpu, Value: "100"})
	w.node("n1", 8192, 8)
	w.plan(&input.SetLabels{Labels: []input.Label{{Name: "gpu", Exclusive: true}, {Name: "spot"}}})
	a := w.replica().am(w.app())
	a.register()
	labelled := func(name, label string) *proto.ResourceRequestProto {
		k := ask(name, 1, 1024)
		k.NodeLabelExpression = &label
		return k
	}
	for _, c := range []struct {
		text string
		asks []*proto.ResourceRequestProto
	}{
		{"queue=default doesn't have permission to access all labels in resource request. labelExpression of resource request=spot. Queue labels=gpu", []*proto.ResourceRequestProto{labelled("*", "spot")}},
		{"queue=default specified more than one node label in a node label expression, node label expression = gpu && spot",
			[]*proto.ResourceRequestProto{labelled("*", "gpu && spot")}},
		{"queue=default specified node label expression in a resource request has resource name = n1",
			[]*proto.ResourceRequestProto{ask("*", 1, 1024), labelled("n1", "gpu")}},
	} {
		_, err := a.try(asks(c.asks...))
		if e := class(t, err, classInvalidLabel); e.Message != "Invalid resource request, "+c.text {
			t.Errorf("%q, want\n%q", e.Message, c.text)
		}
	}
	n2 := w.node("n2", 8192, 8)
	w.plan(&input.LabelNodes{Nodes: []input.LabelledNode{{ID: yarn.NodeID{Host: "n2"}, Labels: []string{"gpu"}}}})
	r := a.allocate(asks(labelled("*", "gpu")))
	for range 3 {
		if len(r.AllocatedContainers) > 0 {
			break
		}
		w.plan(&input.NodeHeartbeat{ID: n2})
		r = a.allocate(idle())
	}
	if len(r.AllocatedContainers) != 1 || r.AllocatedContainers[0].GetNodeId().GetHost() != "n2" {
		t.Fatalf("granted %v", r.AllocatedContainers)
	}
	if got, err := token.NewRing(w.st()).VerifyContainer(r.AllocatedContainers[0].GetContainerToken()); err != nil ||
		got.Label != "gpu" {
		t.Errorf("the token is for label %q, %v", got.Label, err)
	}
}

func TestToleratedAsks(t *testing.T) {
	w := newWorld(t)
	w.node("n1", 8192, 8)
	a := w.replica().am(w.app())
	a.register()
	opportunistic := ask("*", 1, 0)
	opportunistic.ExecutionTypeRequest.ExecutionType = proto.ExecutionTypeProto_OPPORTUNISTIC.Enum()
	r := a.allocate(asks(opportunistic))
	if len(r.AllocatedContainers) != 1 ||
		r.AllocatedContainers[0].GetExecutionType() != proto.ExecutionTypeProto_GUARANTEED ||
		r.AllocatedContainers[0].GetResource().GetMemory() != 1024 {
		t.Errorf("an opportunistic ask for no memory: %v", r.AllocatedContainers)
	}
	stray := ask("n1", 2, 1024)
	stray.Priority.Priority = new(int32(9))
	if r = a.allocate(asks(stray, ask("*", 1, 1024))); len(r.AllocatedContainers) != 1 {
		t.Errorf("beside an ask for a host alone: %v", r.AllocatedContainers)
	}
	if r = a.allocate(asks(ask("*", -3, 1024))); len(r.AllocatedContainers) != 0 {
		t.Error("granted below zero")
	}
	a.allocate(asks(ask("*", math.MaxInt32, 8192)))
}

func TestProgress(t *testing.T) {
	for in, want := range map[float32]uint32{0: 0, 0.5: 5000, 1: 10000, 7: 10000, -1: 0, 0.12345: 1235,
		float32(math.Inf(1)): 10000, float32(math.Inf(-1)): 0, float32(math.NaN()): 0} {
		if got := progress(in); got != want {
			t.Errorf("progress(%v) = %d, want %d", in, got, want)
		}
	}
}

func TestResync(t *testing.T) {
	w := newWorld(t)
	w.node("n1", 8192, 8)
	a := w.replica().am(w.app())
	_, err := a.try(idle())
	class(t, err, classNotRegistered)
	a.register()
	a.allocate(asks(ask("*", 1, 1024)))
	a.allocate(idle())
	a.allocate(asks(ask("*", 1, 1024)))
	for _, id := range []int32{-1, math.MaxInt32} {
		a.last = id
		_, err = a.try(idle())
		class(t, err, classNotRegistered)
	}
}

// TestErrorPrecedence checks the order of errors: an AM whose attempt has ended, or that has not
// registered, gets that error before an error in its request.
func TestErrorPrecedence(t *testing.T) {
	w := newWorld(t)
	a := w.replica().am(w.app())
	bad := asks(ask("*", 1, -1))
	_, err := a.try(bad)
	class(t, err, classNotRegistered)
	a.register()
	_, err = a.try(bad)
	class(t, err, classInvalidAsk)
	w.plan(&input.KillApplication{ID: a.id.App})
	_, err = a.try(bad)
	class(t, err, classAttemptNotFound)
	if n := a.attempts.len(); n != 0 {
		t.Errorf("%d attempts remembered", n)
	}
}

// TestNoLeader checks that all calls fail with StandbyException while the leader does not answer.
// The AM's client then repeats them.
func TestNoLeader(t *testing.T) {
	w := newWorld(t)
	r := w.replica()
	a := r.am(w.app())
	a.register()
	for _, err := range []error{coded("STANDBY"), coded("BUSY"), coded("UNKNOWN_OUTCOME"), coded("VERSION")} {
		w.down = err
		_, err := a.try(idle())
		class(t, err, ipc.ClassStandby)
		// the request is invalid, but without the leader other errors cannot be excluded
		_, err = a.try(asks(ask("*", 1, -1)))
		class(t, err, ipc.ClassStandby)
		_, err = a.Service.finish(ctx, a.call(), &proto.FinishApplicationMasterRequestProto{})
		class(t, err, ipc.ClassStandby)
		_, err = a.Service.register(ctx, a.call(), &proto.RegisterApplicationMasterRequestProto{})
		class(t, err, ipc.ClassStandby)
	}
	w.down = nil
	a.allocate(idle())
}

type coded string

func (c coded) Error() string     { return string(c) }
func (c coded) ErrorCode() string { return string(c) }

// TestFaults checks the Java class of every refusal of the planner.
func TestFaults(t *testing.T) {
	w := newWorld(t)
	a := w.replica().am(w.app())
	a.register()
	for code, want := range map[input.Code]string{
		input.NoSuchApplication: classAttemptNotFound, input.NoSuchAttempt: classAttemptNotFound,
		input.AlreadyEnded:  classAttemptNotFound,
		input.NotRegistered: classNotRegistered, input.WrongResponse: classNotRegistered,
		input.InvalidAsk: classInvalidAsk, input.NeverFits: classInvalidAsk, input.TooLarge: classInvalidAsk,
		input.InvalidRelease: classInvalidRelease, input.InvalidBlacklist: classInvalidBlacklist,
		input.NotInitialized: ipc.ClassStandby, input.InvalidRequest: ipc.ClassYarn,
	} {
		w.before = func(in input.Input) input.Reply { return input.Refuse(in, input.Refusef(code, "", "no")) }
		_, err := a.try(asks(ask("*", 1, 1024)))
		class(t, err, want)
	}
}

func TestExtraResourceTypes(t *testing.T) {
	w := newWorld(t, input.Property{Name: "yarn.resource-types", Value: "yarn.io/gpu"},
		input.Property{Name: "yarn.scheduler.capacity.resource-calculator",
			Value: "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator"},
		input.Property{Name: "yarn.resource-types.yarn.io/gpu.maximum-allocation", Value: "4"})
	w.plan(&input.RegisterNode{ID: yarn.NodeID{Host: "g", Port: 1}, Total: yarn.Resource{8192, 8, 2}})
	a := w.replica().am(w.app())
	reg := a.register()
	if len(reg.ResourceTypes) != 3 || len(reg.SchedulerResourceTypes) != 2 {
		t.Errorf("types %v, scheduled by %v", reg.ResourceTypes, reg.SchedulerResourceTypes)
	}
	k := ask("*", 1, 1024)
	k.Capability.ResourceValueMap = []*proto.ResourceInformationProto{
		{Key: new("yarn.io/gpu"), Value: new(int64(1000)), Units: new("m")}}
	r := a.allocate(asks(k))
	if len(r.AllocatedContainers) != 1 {
		t.Fatal("nothing granted")
	}
	size, err := wire.Resource(r.AllocatedContainers[0].GetResource(), w.st().Versions.Kinds())
	if err != nil || size != (yarn.Resource{1024, 1, 1}) {
		t.Errorf("granted %v, %v", size, err)
	}
	got, err := token.NewRing(w.st()).VerifyContainer(r.AllocatedContainers[0].GetContainerToken())
	if err != nil || got.Size != size {
		t.Errorf("token for %v, %v", got.Size, err)
	}
	k.Capability.ResourceValueMap[0].Value = new(int64(-1000))
	_, err = a.try(asks(k))
	if e := class(t, err, classInvalidAsk); !strings.Contains(e.Message,
		"Requested resource type=[yarn.io/gpu], Requested resource=<memory:1024, vCores:1, yarn.io/gpu: -1>") {
		t.Errorf("message = %q, want YARN's text with yarn.io/gpu: -1", e.Message)
	}
	k.Capability.ResourceValueMap[0].Units = new("x")
	_, err = a.try(asks(k))
	class(t, err, classInvalidAsk)
}
