package master

import (
	"slices"
	"testing"

	gproto "google.golang.org/protobuf/proto"

	"rmd/scheduler/input"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/token"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

func TestRegister(t *testing.T) {
	w := newWorld(t)
	w.node("n1", 8192, 8)
	acl := []*proto.ApplicationACLMapProto{{AccessType: proto.ApplicationAccessTypeProto_APPACCESS_VIEW_APP.Enum(),
		Acl: new("bob staff")}}
	submission,
		err := gproto.Marshal(&proto.ApplicationSubmissionContextProto{
		AmContainerSpec: &proto.ContainerLaunchContextProto{Application_ACLs: acl}})
	if err != nil {
		t.Fatal(err)
	}
	a := w.replica().am(w.app(func(s *input.SubmitApplication) { s.Context = submission }))
	r := a.register()
	want := &proto.RegisterApplicationMasterResponseProto{
		MaximumCapability:      wire.ResourceProto(yarn.NewResource(8192, 4), yarn.DefaultKinds()),
		Queue:                  new("root.default"),
		Application_ACLs:       acl,
		SchedulerResourceTypes: []proto.SchedulerResourceTypes{proto.SchedulerResourceTypes_MEMORY},
		ResourceTypes:          wire.ResourceTypeInfos(yarn.DefaultKinds()),
	}
	if !gproto.Equal(r, want) {
		t.Errorf("registered: %v\nwant %v", r, want)
	}
	app := w.st().Apps.Get(w.st().Apps.ByID(a.id.App))
	if app.State != yarn.AppRunning || app.Details().Host != "am-host/10.0.0.1" || app.RPCPort != -1 ||
		app.Details().TrackingURL != "http://am/" {
		t.Errorf("application %+v", app)
	}
	if again := a.register(); !gproto.Equal(again, want) {
		t.Errorf("registered again: %v", again)
	}
}

// TestRegisterClientKey checks that an AM gets the key of its attempt's clients, and the same one
// when it registers again, here or at another replica.
func TestRegisterClientKey(t *testing.T) {
	w := newWorld(t)
	w.node("n1", 8192, 8)
	secured := func(b byte) *replica {
		r := w.replica()
		r.cfg.Entropy = func() []byte { return slices.Repeat([]byte{b}, 32) }
		return r
	}
	a := secured(1).am(w.app())
	key := a.register().ClientToAmTokenMasterKey
	if kept := w.st().Apps.Get(w.st().Apps.ByID(a.id.App)).Details().ClientKey.Bytes; len(key) == 0 ||
		!slices.Equal(key, kept) {
		t.Errorf("it got a key of %d bytes; the state has one of %d", len(key), len(kept))
	}
	a.allocate(idle())
	a.allocate(idle())
	if again := a.register().ClientToAmTokenMasterKey; !slices.Equal(again, key) {
		t.Error("registered again it gets another key")
	}
	if again := secured(2).am(a.id).register().ClientToAmTokenMasterKey; !slices.Equal(again, key) {
		t.Error("another replica gives another key")
	}
	if other := secured(3).am(w.app()).register().ClientToAmTokenMasterKey; len(other) != len(key) ||
		slices.Equal(other, key) {
		t.Error("another application has the same key, or none")
	}
}

// TestRegisterNonHadoopContext checks that a Hadoop AM can register for an application that was not
// submitted through Hadoop's client port.
func TestRegisterNonHadoopContext(t *testing.T) {
	w := newWorld(t)
	a := w.replica().am(w.app(func(s *input.SubmitApplication) { s.Context = []byte("{\"no\": \"protobuf\"}") }))
	if r := a.register(); len(r.Application_ACLs) != 0 {
		t.Errorf("ACLs %v", r.Application_ACLs)
	}
}

func TestRegisterRefused(t *testing.T) {
	w := newWorld(t)
	r := w.replica()
	a := r.am(w.app())
	_, err := a.Service.register(ctx, a.call(),
		&proto.RegisterApplicationMasterRequestProto{PlacementConstraints: []*proto.PlacementConstraintMapEntryProto{{}}})
	class(t, err, ipc.ClassYarn)
	none := r.am(yarn.AttemptID{App: yarn.ApplicationID{ClusterTimestamp: a.id.App.ClusterTimestamp, Seq: 99}, Attempt: 1})
	_, err = none.Service.register(ctx, none.call(), &proto.RegisterApplicationMasterRequestProto{})
	class(t, err, classAttemptNotFound)
	_, err = none.try(idle())
	class(t, err, classAttemptNotFound)
	call := a.call()
	call.Caller = &ipc.Caller{User: "alice", Kind: ipc.KindSimple}
	_, err = r.Service.register(ctx, call, &proto.RegisterApplicationMasterRequestProto{})
	class(t, err, ipc.ClassYarn)
	call.Caller = &ipc.Caller{Kind: ipc.KindToken, Identifier: []byte("x")}
	_, err = r.Service.allocate(ctx, call, nil)
	class(t, err, ipc.ClassYarn)
}

// TestNextAttemptGetsWhatIsKept checks that a new attempt gets the containers that the failed
// attempt kept, and NM tokens for their nodes.
func TestNextAttemptGetsWhatIsKept(t *testing.T) {
	w := newWorld(t)
	n1, n2 := w.node("n1", 2048, 8), w.node("n2", 3072, 8)
	r := w.replica()
	a := r.am(w.app(managed, func(s *input.SubmitApplication) { s.KeepContainers = true }))
	a.register()
	got := a.allocate(asks(ask("*", 3, 1024))).AllocatedContainers
	if len(got) != 3 {
		t.Fatalf("%d containers", len(got))
	}
	for _, n := range []yarn.NodeID{n1, n2} {
		var on []*proto.ContainerProto
		for _, c := range got {
			if c.GetNodeId().GetHost() == n.Host {
				on = append(on, c)
			}
		}
		w.running(n, on)
	}
	w.plan(&input.ExpireAttempt{Attempt: a.id})
	_, err := a.try(idle())
	class(t, err, classAttemptNotFound)
	b := r.am(yarn.AttemptID{App: a.id.App, Attempt: 2})
	reg := b.register()
	if len(reg.ContainersFromPreviousAttempts) != 3 || len(reg.NmTokensFromPreviousAttempts) != 2 {
		t.Fatalf("%d containers kept, %d NM tokens", len(reg.ContainersFromPreviousAttempts),
			len(reg.NmTokensFromPreviousAttempts))
	}
	for _, nm := range reg.NmTokensFromPreviousAttempts {
		if at, err := token.NewRing(w.st()).VerifyNM(nm.GetToken().GetIdentifier(),
			nm.GetToken().GetPassword()); err != nil || at.Attempt != b.id {
			t.Errorf("NM token %+v, %v", at, err)
		}
	}
	resp := b.allocate(asks(ask("*", 1, 1024)))
	if len(resp.AllocatedContainers) != 1 || len(resp.NmTokens) != 0 {
		t.Errorf("%d containers, %d NM tokens for a node whose token it has", len(resp.AllocatedContainers),
			len(resp.NmTokens))
	}
	// The new attempt may release a container of the previous one.
	if resp = b.allocate(&proto.AllocateRequestProto{Release: []*proto.ContainerIdProto{got[0].GetId()}}); len(
		resp.CompletedContainerStatuses) != 1 {
		t.Errorf("released: %v", resp.CompletedContainerStatuses)
	}
}

// TestUnmanagedRestart checks that an unmanaged AM that keeps its containers gets them, with NM
// tokens, when it registers again, and that another AM does not.
func TestUnmanagedRestart(t *testing.T) {
	for _, keep := range []bool{true, false} {
		w := newWorld(t)
		n1 := w.node("n1", 4096, 8)
		r := w.replica()
		a := r.am(w.app(func(s *input.SubmitApplication) { s.KeepContainers = keep }))
		if reg := a.register(); len(reg.ContainersFromPreviousAttempts) != 0 {
			t.Errorf("keep %v: the first registration has %d containers", keep, len(reg.ContainersFromPreviousAttempts))
		}
		got := a.allocate(asks(ask("*", 2, 1024))).AllocatedContainers
		w.running(n1, got)
		a.allocate(idle())
		want := 0
		if keep {
			want = 2
		}
		reg := a.register()
		if kept, tokens := len(reg.ContainersFromPreviousAttempts), len(reg.NmTokensFromPreviousAttempts); kept != want ||
			tokens != want/2 {
			t.Errorf("keep %v: %d containers and %d NM tokens, want %d and one for their node", keep, kept, tokens, want)
		}
		if resp := a.allocate(asks(ask("*", 1, 1024))); len(resp.AllocatedContainers) != 1 {
			t.Errorf("keep %v: %d containers after that, want 1", keep, len(resp.AllocatedContainers))
		}
	}
}

func TestFinish(t *testing.T) {
	w := newWorld(t)
	w.node("n1", 8192, 8)
	r := w.replica()
	a := r.am(w.app())
	finish := func() (*proto.FinishApplicationMasterResponseProto, error) {
		return r.Service.finish(ctx, a.call(), &proto.FinishApplicationMasterRequestProto{
			Diagnostics: new("all done"), TrackingUrl: new("http://history/"),
			FinalApplicationStatus: proto.FinalApplicationStatusProto_APP_SUCCEEDED.Enum()})
	}
	_, err := finish()
	class(t, err, classNotRegistered)
	a.register()
	for range 3 {
		if got, err := finish(); err != nil || !got.GetIsUnregistered() {
			t.Fatalf("finish: %v, %v", got, err)
		}
	}
	app := w.st().Apps.Get(w.st().Apps.ByID(a.id.App))
	if app.State != yarn.AppFinished || app.Final != yarn.FinalSucceeded || app.Details().Diagnostics != "all done" ||
		app.Details().TrackingURL != "http://history/" {
		t.Errorf("application %+v", app)
	}
	_, err = a.try(idle())
	class(t, err, classAttemptNotFound)
	if n := r.attempts.len(); n != 0 {
		t.Errorf("%d attempts remembered after the end", n)
	}
}

func TestFinishKilledApplication(t *testing.T) {
	w := newWorld(t)
	a := w.replica().am(w.app())
	a.register()
	w.plan(&input.KillApplication{ID: a.id.App})
	if got, err := a.Service.finish(ctx, a.call(), &proto.FinishApplicationMasterRequestProto{}); err != nil ||
		!got.GetIsUnregistered() {
		t.Errorf("finish: %v, %v", got, err)
	}
	w.node("n1", 4096, 8)
	b := w.replica().am(w.app(managed))
	b.register()
	w.plan(&input.ExpireAttempt{Attempt: b.id})
	_, err := b.Service.finish(ctx, b.call(), &proto.FinishApplicationMasterRequestProto{})
	class(t, err, classAttemptNotFound) // another attempt follows
}

// TestCallsAfterFinish checks that an AM in a container may continue to call after finish, until
// its container ends.
func TestCallsAfterFinish(t *testing.T) {
	w := newWorld(t)
	id := yarn.NodeID{Host: "n1", Port: 1}
	w.plan(&input.RegisterNode{ID: id, Total: yarn.NewResource(8192, 8), NodeManager: true})
	r := w.replica()
	a := r.am(w.app(func(s *input.SubmitApplication) { s.Unmanaged, s.AM = false, yarn.NewResource(1024, 1) }))
	w.plan(&input.NodeHeartbeat{ID: id})
	a.register()
	a.allocate(asks(ask("*", 1, 1024)))
	for range 2 {
		got, err := r.Service.finish(ctx, a.call(),
			&proto.FinishApplicationMasterRequestProto{
				FinalApplicationStatus: proto.FinalApplicationStatusProto_APP_SUCCEEDED.Enum()})
		if err != nil || !got.GetIsUnregistered() {
			t.Fatalf("finish: %v, %v", got, err)
		}
	}
	if resp := a.allocate(idle()); len(resp.AllocatedContainers) != 0 || resp.GetNumClusterNodes() != 1 {
		t.Errorf("heartbeat after the end: %v", resp)
	}
}

// TestRegistrationThatArrivesLate delays the copy of a registration until the AM has registered and
// sent heartbeats. The late copy must not reset the AM's response id.
func TestRegistrationThatArrivesLate(t *testing.T) {
	w := newWorld(t)
	w.node("n1", 8192, 8)
	a := w.replica().am(w.app())
	var copied input.Input
	w.before = func(in input.Input) input.Reply { copied = in; return nil }
	a.register() // one copy registers the AM, the other arrives later
	w.before = nil
	a.allocate(asks(ask("*", 1, 1024)))
	a.allocate(asks(ask("*", 9, 1024)))
	last := w.st().Apps.Get(w.st().Apps.ByID(a.id.App)).Response
	reply, _, err := submitterOf{a.replica}.Do(ctx, input.Request{Input: copied})
	if err != nil || reply.Refused() == nil {
		t.Fatalf("the copy is answered %+v, %v", reply, err)
	}
	if app := w.st().Apps.Get(w.st().Apps.ByID(a.id.App)); app.Response != last {
		t.Errorf("response %d has become %d", last, app.Response)
	}
	a.allocate(idle())

	// A lagging replica accepts a second registration by the AM itself.
	b := w.replica()
	b.lag()
	a.replica = b
	a.allocate(asks(ask("*", 1, 1024)))
	b.lag()
	a.register()
	if app := w.st().Apps.Get(w.st().Apps.ByID(a.id.App)); app.Response != 0 {
		t.Errorf("registered again with response %d", app.Response)
	}
	// If the AM got answers in the meantime, StandbyException makes its client repeat the
	// registration.
	w.before = func(in input.Input) input.Reply {
		if _, ok := in.(*input.RegisterAttempt); ok {
			return input.Refuse(in, input.Refusef(input.WrongResponse, "", "late"))
		}
		return nil
	}
	_, err = a.Service.register(ctx, a.call(), &proto.RegisterApplicationMasterRequestProto{})
	class(t, err, ipc.ClassStandby)
}
