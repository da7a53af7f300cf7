package client

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	gproto "google.golang.org/protobuf/proto"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/token"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files again")

// golden compares a message with testdata/NAME.json.
func golden(t *testing.T, name string, m gproto.Message) {
	t.Helper()
	raw, err := protojson.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := json.Indent(&got, raw, "", "  "); err != nil {
		t.Fatal(err)
	}
	got.WriteByte('\n')
	file := filepath.Join("testdata", name+".json")
	if *rewrite {
		if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("%s differs (run with -rewrite and read the diff):\n%s", file, got.Bytes())
	}
}

// TestReportBeforeTheAMRegisters compares a report with one that was captured from YARN's
// ResourceManager.
func TestReportBeforeTheAMRegisters(t *testing.T) {
	h := newFixture(t)
	id := h.app(t, "ann", nil)
	submitted := h.record(t, id).SubmittedMillis
	none := &proto.ResourceProto{Memory: new(int64(0)), VirtualCores: new(int32(0)),
		ResourceValueMap: []*proto.ResourceInformationProto{
			{Key: new("memory-mb"), Value: new(int64(0)), Units: new("Mi"), Type: proto.ResourceTypesProto_COUNTABLE.Enum()},
			{Key: new("vcores"), Value: new(int64(0)), Units: new(""), Type: proto.ResourceTypesProto_COUNTABLE.Enum()}}}
	life := proto.ApplicationTimeoutTypeProto_APP_TIMEOUT_LIFETIME.Enum()
	want := &proto.ApplicationReportProto{
		ApplicationId: wire.ApplicationIDProto(id), User: new("ann"), Queue: new("root.default"),
		Name: new("DistributedShell"),
		Host: new("N/A"), RpcPort: new(int32(-1)), YarnApplicationState: proto.YarnApplicationStateProto_ACCEPTED.Enum(),
		TrackingUrl: new("http://rm1:8088/proxy/application_1780000000000_0001/"), OriginalTrackingUrl: new("N/A"),
		Diagnostics: new(""),
		StartTime:   new(submitted), LaunchTime: new(int64(0)), FinishTime: new(int64(0)),
		FinalApplicationStatus:      proto.FinalApplicationStatusProto_APP_UNDEFINED.Enum(),
		CurrentApplicationAttemptId: wire.AttemptIDProto(yarn.AttemptID{App: id, Attempt: 1}), Progress: new(float32(0)),
		ApplicationType:      new("YARN"),
		LogAggregationStatus: proto.LogAggregationStatusProto_LOG_DISABLED.Enum(), UnmanagedApplication: new(false),
		Priority:               wire.PriorityProto(0),
		AppNodeLabelExpression: new("<Not set>"), AmNodeLabelExpression: new("<DEFAULT_PARTITION>"),
		AppTimeouts: []*proto.AppTimeoutsMapProto{
			{ApplicationTimeoutType: life, ApplicationTimeout: &proto.ApplicationTimeoutProto{
				ApplicationTimeoutType: life, ExpireTime: new("UNLIMITED"), RemainingTime: new(int64(-1))}}},
		AppResource_Usage: &proto.ApplicationResourceUsageReportProto{NumUsedContainers: new(int32(0)),
			NumReservedContainers: new(int32(0)),
			UsedResources:         none, ReservedResources: none, NeededResources: none, MemorySeconds: new(int64(0)),
			VcoreSeconds:         new(int64(0)),
			QueueUsagePercentage: new(float32(0)), ClusterUsagePercentage: new(float32(0)),
			PreemptedMemorySeconds: new(int64(0)), PreemptedVcoreSeconds: new(int64(0)),
			ApplicationResourceUsageMap: noSeconds, ApplicationPreemptedResourceUsageMap: noSeconds},
	}
	if got := h.report(t, "ann", id); !gproto.Equal(got, want) {
		a, _ := protojson.Marshal(got)
		b, _ := protojson.Marshal(want)
		t.Errorf("report\n%s\nwant\n%s", a, b)
	}
}

// TestReports compares the reports in each state of an application.
func TestReports(t *testing.T) {
	h := newFixture(t)
	node := h.node(t, "node1")
	id := h.app(t, "ann", func(s *proto.ApplicationSubmissionContextProto) {
		s.ApplicationTags, s.NodeLabelExpression = []string{"x"}, new("")
		s.ApplicationTimeouts = []*proto.ApplicationTimeoutMapProto{
			{ApplicationTimeoutType: proto.ApplicationTimeoutTypeProto_APP_TIMEOUT_LIFETIME.Enum(), Timeout: new(int64(3600))}}
	})
	golden(t, "report-launched", h.report(t, "ann", id))
	at := h.launch(t, id)
	h.must(t, &input.Allocate{Attempt: at, Progress: 5000})
	golden(t, "report-running", h.report(t, "ann", id))
	h.must(t, &input.FinishAttempt{Attempt: at, Final: yarn.FinalSucceeded, Diagnostics: "all done",
		TrackingURL: "http://history/1"})
	golden(t, "report-finishing", h.report(t, "ann", id))
	h.end(t, node, id, 0)
	golden(t, "report-finished", h.report(t, "ann", id))

	fails := h.app(t, "ann", func(s *proto.ApplicationSubmissionContextProto) { s.MaxAppAttempts = new(int32(1)) })
	h.end(t, node, fails, 1)
	golden(t, "report-failed", h.report(t, "ann", fails))
}

func TestReportOfAnUnknownApplication(t *testing.T) {
	h := newFixture(t)
	_, err := h.svc.applicationReport(context.Background(), as("ann"), &proto.GetApplicationReportRequestProto{
		ApplicationId: wire.ApplicationIDProto(yarn.ApplicationID{ClusterTimestamp: birth, Seq: 7})})
	refused(t, err, classAppNotFound,
		"Application with id 'application_1780000000000_0007' doesn't exist in RM. Please check that the job submission was successful.")
	_, err = h.svc.applicationReport(context.Background(), as("ann"), &proto.GetApplicationReportRequestProto{})
	refused(t, err, classAppNotFound, "Invalid application id: null")
}

// TestReportWaitsForTheLeader checks that a replica that does not know an application yet catches
// up before it answers. "Not found" would make the client submit it again.
func TestReportWaitsForTheLeader(t *testing.T) {
	h := newFixture(t)
	before := h.st
	id := h.app(t, "ann", nil)
	h.behind = before
	if r := h.report(t, "ann", id); r.GetUser() != "ann" {
		t.Errorf("report %v", r)
	}
}

func TestReportOfAnUnmanagedApplication(t *testing.T) {
	h := newFixture(t)
	h.node(t, "node1")
	id := h.app(t, "ann", func(s *proto.ApplicationSubmissionContextProto) {
		s.UnmanagedAm, s.AmContainerResourceRequest = new(true), nil
	})
	r := h.report(t, "ann", id)
	if r.GetYarnApplicationState() != proto.YarnApplicationStateProto_ACCEPTED || !r.GetUnmanagedApplication() ||
		r.AmNodeLabelExpression != nil || r.GetTrackingUrl() != "N/A" {
		t.Errorf("report %v", r)
	}
	at := h.record(t, id).AttemptID()
	got, _, err := token.AMRMPassword(h.st, r.GetAmRmToken().GetIdentifier())
	if err != nil || got != at || r.GetAmRmToken().GetKind() != token.KindAMRM || r.GetAmRmToken().GetService() != "" {
		t.Errorf("token %v: %v, %v", r.GetAmRmToken(), got, err)
	}
	if other := h.report(t, "bob", id); other.AmRmToken != nil {
		t.Error("another user gets the AM's token")
	}
	report, err := h.svc.attemptReport(context.Background(), as("ann"),
		&proto.GetApplicationAttemptReportRequestProto{ApplicationAttemptId: wire.AttemptIDProto(at)})
	if err != nil ||
		report.GetApplicationAttemptReport().GetYarnApplicationAttemptState() != proto.YarnApplicationAttemptStateProto_APP_ATTEMPT_LAUNCHED {
		t.Errorf("its attempt is %v, %v; its client waits for LAUNCHED", report, err)
	}
	h.launch(t, id)
	if r = h.report(t, "ann", id); r.AmRmToken != nil || r.GetTrackingUrl() != "http://am-host:9000" ||
		r.GetHost() != "am-host" {
		t.Errorf("report %v", r)
	}
}

// TestReportWithoutViewACL checks that with ACLs on, a user who may not view an application sees
// only that it exists.
func TestReportWithoutViewACL(t *testing.T) {
	h := newFixture(t, "yarn.acl.enable", "true", "yarn.admin.acl", "root", confPrefix+"root.acl_administer_queue", " ",
		confPrefix+"root.default.acl_administer_queue", "quinn")
	h.acls, h.admins, h.groups = true, []string{"root"}, map[string][]string{"gus": {"staff"}}
	h.node(t, "node1")
	id := h.app(t, "ann", func(s *proto.ApplicationSubmissionContextProto) {
		s.AmContainerSpec.Application_ACLs = aclProtos(wire.ACLs{View: "vic staff", Modify: "max"})
	})
	h.launch(t, id)
	for user, want := range map[string]bool{"ann": true, "root": true, "vic": true, "gus": true, "quinn": true,
		"eve": false, "max": false} {
		r := h.report(t, user, id)
		if saw := r.GetHost() == "am-host"; saw != want {
			t.Errorf("%s sees it: %v", user, saw)
		}
		a := h.record(t, id)
		v := h.svc.currentView(as(user))
		if may := v.hasRight(a, modifyApp); may != (user == "ann" || user == "root" || user == "max" || user == "quinn") {
			t.Errorf("%s may change it: %v", user, may)
		}
	}
	golden(t, "report-stranger", h.report(t, "eve", id))
	h.acls = false
	if r := h.report(t, "eve", id); r.GetHost() != "am-host" {
		t.Error("ACLs count although they are off")
	}
}

func TestAttemptsAndContainers(t *testing.T) {
	h := newFixture(t)
	node := h.node(t, "node1")
	id := h.app(t, "ann", nil)
	h.end(t, node, id, 1) // the first attempt fails
	at := h.launch(t, id)
	if at.Attempt != 2 {
		t.Fatalf("the attempt is %s", at)
	}
	h.must(t,
		&input.Allocate{Attempt: at, Asks: []input.Ask{
			{Key: yarn.SchedulerKey{Priority: 5}, Name: "*", Count: 2, Size: yarn.NewResource(1024, 1), Relax: true}}})
	ctx := context.Background()
	list, err := h.svc.attempts(ctx, as("ann"),
		&proto.GetApplicationAttemptsRequestProto{ApplicationId: wire.ApplicationIDProto(id)})
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "attempts", list)
	for i, want := range list.GetApplicationAttempts() {
		one, err := h.svc.attemptReport(ctx, as("ann"),
			&proto.GetApplicationAttemptReportRequestProto{ApplicationAttemptId: want.ApplicationAttemptId})
		if err != nil || !gproto.Equal(one.GetApplicationAttemptReport(), want) {
			t.Errorf("attempt %d by itself: %v, %v", i, one, err)
		}
	}
	all, err := h.svc.containers(ctx, as("ann"),
		&proto.GetContainersRequestProto{ApplicationAttemptId: wire.AttemptIDProto(at)})
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "containers", all)
	for _, want := range all.GetContainers() {
		one, err := h.svc.containerReport(ctx, as("ann"),
			&proto.GetContainerReportRequestProto{ContainerId: want.ContainerId})
		if err != nil || !gproto.Equal(one.GetContainerReport(), want) {
			t.Errorf("container %v: %v, %v", want.ContainerId, one, err)
		}
	}
	first := yarn.AttemptID{App: id, Attempt: 1}
	if old, err := h.svc.containers(ctx, as("ann"),
		&proto.GetContainersRequestProto{ApplicationAttemptId: wire.AttemptIDProto(first)}); err != nil ||
		len(old.GetContainers()) != 0 {
		t.Errorf("an ended attempt has containers %v, %v", old, err)
	}
}

func TestAttemptAndContainerRefusals(t *testing.T) {
	h := newFixture(t)
	h.node(t, "node1")
	id := h.app(t, "ann", nil)
	ctx, none := context.Background(), yarn.AttemptID{App: id, Attempt: 9}
	_, err := h.svc.attemptReport(ctx, as("ann"),
		&proto.GetApplicationAttemptReportRequestProto{ApplicationAttemptId: wire.AttemptIDProto(none)})
	refused(t, err, classAttemptNotFound, "ApplicationAttempt with id '"+none.String()+"' doesn't exist in RM.")
	_, err = h.svc.containers(ctx, as("ann"),
		&proto.GetContainersRequestProto{ApplicationAttemptId: wire.AttemptIDProto(none)})
	refused(t, err, classAttemptNotFound, "ApplicationAttempt with id '"+none.String()+"' doesn't exist in RM.")
	gone := yarn.ContainerID{App: id, Attempt: 1, Number: 77}
	_, err = h.svc.containerReport(ctx, as("ann"),
		&proto.GetContainerReportRequestProto{ContainerId: wire.ContainerIDProto(gone)})
	refused(t, err, classContainerNotFound, "Container with id '"+gone.String()+"' doesn't exist in RM.")
	_, err = h.svc.containerReport(ctx, as("ann"),
		&proto.GetContainerReportRequestProto{ContainerId: wire.ContainerIDProto(
			yarn.ContainerID{App: id, Attempt: 9, Number: 1})})
	refused(t, err, classAttemptNotFound, "ApplicationAttempt with id '"+none.String()+"' doesn't exist in RM.")
	_, err = h.svc.containerReport(ctx, as("ann"), &proto.GetContainerReportRequestProto{})
	refused(t, err, classContainerNotFound, "Invalid container id: invalid message: container id missing")
	other := yarn.ApplicationID{ClusterTimestamp: birth, Seq: 99}
	_,
		err = h.svc.attempts(ctx, as("ann"), &proto.GetApplicationAttemptsRequestProto{
		ApplicationId: wire.ApplicationIDProto(other)})
	refused(t, err, classAppNotFound, noApplication(other).(*ipc.Error).Message)
}

// closed returns a fixture with ACLs on. Only owners and administrators have rights to applications.
// Everybody may submit to default, and ann to batch.day.
func closed(t testing.TB) *fixture {
	h := newFixture(t, "yarn.acl.enable", "true", "yarn.admin.acl", "root", confPrefix+"root.acl_administer_queue", " ",
		confPrefix+"root.acl_submit_applications", " ",
		confPrefix+"root.default.acl_submit_applications", "*", confPrefix+"root.batch.day.acl_submit_applications", "ann")
	h.acls, h.admins = true, []string{"root"}
	return h
}

// TestDetailsWithoutViewACL checks YARN's texts for callers who may not view an application.
func TestDetailsWithoutViewACL(t *testing.T) {
	h := closed(t)
	h.node(t, "node1")
	id := h.app(t, "ann", nil)
	at := h.launch(t, id)
	ctx, c := context.Background(), yarn.ContainerID{App: id, Attempt: 1, Number: 1}
	app := "User eve does not have privilege to see this application " + id.String()
	_, err := h.svc.attempts(ctx, as("eve"),
		&proto.GetApplicationAttemptsRequestProto{ApplicationId: wire.ApplicationIDProto(id)})
	refused(t, err, ipc.ClassYarn, app)
	_, err = h.svc.attemptReport(ctx, as("eve"),
		&proto.GetApplicationAttemptReportRequestProto{ApplicationAttemptId: wire.AttemptIDProto(at)})
	refused(t, err, ipc.ClassYarn, "User eve does not have privilege to see this attempt "+at.String())
	_, err = h.svc.containers(ctx, as("eve"),
		&proto.GetContainersRequestProto{ApplicationAttemptId: wire.AttemptIDProto(at)})
	refused(t, err, ipc.ClassYarn, app)
	_, err = h.svc.containerReport(ctx, as("eve"),
		&proto.GetContainerReportRequestProto{ContainerId: wire.ContainerIDProto(c)})
	refused(t, err, ipc.ClassYarn, app)
	if _, err = h.svc.containerReport(ctx, as("ann"),
		&proto.GetContainerReportRequestProto{ContainerId: wire.ContainerIDProto(c)}); err != nil {
		t.Errorf("the owner: %v", err)
	}
}

// TestStoredContexts checks that the label and the ACLs are found in stored contexts.
func TestStoredContexts(t *testing.T) {
	sub := subOf(yarn.ApplicationID{ClusterTimestamp: birth, Seq: 1})
	if contextLabel(encode(t, sub)) != nil || appLabel(state.AppDetails{Context: string(encode(t, sub))}) != "<Not set>" {
		t.Error("a label where there is none")
	}
	sub.NodeLabelExpression = new("gpu")
	sub.AmContainerSpec.Application_ACLs = aclProtos(wire.ACLs{View: "a b", Modify: "*"})
	b := encode(t, sub)
	if appLabel(state.AppDetails{Context: string(b)}) != "gpu" || contextACLs(b) != (wire.ACLs{View: "a b", Modify: "*"}) {
		t.Errorf("label %q, lists %+v", appLabel(state.AppDetails{Context: string(b)}), contextACLs(b))
	}
	for i := range b { // truncated and foreign contexts must not cause a panic
		contextLabel(b[:i])
		contextACLs(b[i:])
	}
}

// TestResourceSeconds checks the resource usage of running and ended applications, for callers who
// may view it and others.
func TestResourceSeconds(t *testing.T) {
	h := newFixture(t, "yarn.acl.enable", "true", "yarn.admin.acl", "root", confPrefix+"root.acl_administer_queue", " ")
	h.acls = true
	node := h.node(t, "node1")
	id := h.app(t, "ann", nil)
	h.launch(t, id)
	granted := h.st.Containers.Get(h.record(t, id).Containers).AllocatedMillis
	usage := func(user string) (memory, vcores int64) {
		t.Helper()
		u := h.report(t, user, id).GetAppResource_Usage()
		kinds := u.GetApplicationResourceUsageMap()
		if len(kinds) != 2 || kinds[0].GetKey() != "memory-mb" || kinds[1].GetKey() != "vcores" ||
			kinds[0].GetValue() != u.GetMemorySeconds() || kinds[1].GetValue() != u.GetVcoreSeconds() {
			t.Errorf("by kind: %v", kinds)
		}
		if u.GetPreemptedMemorySeconds() != 0 || u.GetPreemptedVcoreSeconds() != 0 {
			t.Errorf("preempted: %v", u)
		}
		return u.GetMemorySeconds(), u.GetVcoreSeconds()
	}
	want := func(user string, memory, vcores int64) {
		t.Helper()
		if m, v := usage(user); m != memory || v != vcores {
			t.Errorf("%s is told of %d MB-seconds and %d vcore-seconds, want %d and %d", user, m, v, memory, vcores)
		}
	}
	h.now = granted + 2500
	want("ann", 2560, 2)
	want("eve", 0, 0)
	h.now = granted + 9999
	h.end(t, node, id, 0) // processed 10,000 ms after the allocation
	h.now += 50_000
	a := h.record(t, id)
	if a.Attempt != 2 {
		t.Fatalf("attempt after the AM ended: %d, want 2", a.Attempt)
	}
	second := h.st.Containers.Get(a.Containers).AllocatedMillis
	want("ann", 10240+(h.now-second)*1024/1000, 10+(h.now-second)/1000)
	h.must(t, &input.KillApplication{ID: id})
	m, _ := usage("ann")
	h.now += 60_000
	want("ann", m, m/1024)
}

// TestClientToken checks the ClientToAMTokens of reports behind Kerberos: those who may view an
// application get one in their name while its AM runs.
func TestClientToken(t *testing.T) {
	h := newFixture(t, "yarn.acl.enable", "true", "yarn.admin.acl", "root", confPrefix+"root.acl_administer_queue", " ")
	h.acls = true
	h.svc.cfg.ShortName = func(principal string) (string, error) { return shortName(principal), nil }
	node := h.node(t, "node1")
	id := h.app(t, "ann", func(s *proto.ApplicationSubmissionContextProto) {
		s.AmContainerSpec.Application_ACLs = aclProtos(wire.ACLs{View: "bob,cid"})
	})
	ticket := func(user string) *ipc.Call {
		c := as(user)
		c.Caller.Kind, c.Caller.Principal = ipc.KindKerberos, user+"@EXAMPLE.COM"
		return c
	}
	proxied := ticket("oozie")
	proxied.Caller.User, proxied.Caller.RealUser = "cid", "oozie"
	holder := as("bob")
	holder.Caller.Kind = ipc.KindToken
	report := func(c *ipc.Call) *proto.ApplicationReportProto {
		t.Helper()
		r, err := h.svc.applicationReport(context.Background(), c,
			&proto.GetApplicationReportRequestProto{ApplicationId: wire.ApplicationIDProto(id)})
		if err != nil {
			t.Fatal(err)
		}
		return r.GetApplicationReport()
	}
	if report(ticket("ann")).ClientToAmToken != nil {
		t.Error("a token for an AM that has not registered")
	}
	a := h.record(t, id)
	at := a.AttemptID()
	h.must(t, &input.AttemptLaunched{Attempt: at, Container: a.MasterNumber})
	h.must(t, &input.RegisterAttempt{Attempt: at, Host: "am-host", RPCPort: 4711, Entropy: bytes.Repeat([]byte{7}, 32)})
	key := h.record(t, id).Details().ClientKey
	for client, c := range map[string]*ipc.Call{"ann@EXAMPLE.COM": ticket("ann"), "bob@EXAMPLE.COM": ticket("bob"),
		"bob": holder, "cid": proxied, "": ticket("eve")} {
		got := report(c).ClientToAmToken
		if client == "" {
			if got != nil {
				t.Error("a token for somebody who may not view the application")
			}
			continue
		}
		want := encode(t, &proto.ClientToAMTokenIdentifierProto{AppAttemptId: wire.AttemptIDProto(at),
			ClientName: new(client)})
		if !bytes.Equal(got.GetIdentifier(), want) || got.GetKind() != "YARN_CLIENT_TOKEN" || got.Service == nil ||
			got.GetService() != "" || !bytes.Equal(got.GetPassword(), token.Password(key, want)) {
			t.Errorf("the token of %s: %v", client, got)
		}
	}
	list, err := h.svc.applications(context.Background(), ticket("bob"), &proto.GetApplicationsRequestProto{})
	if err != nil || len(list.GetApplications()) != 1 ||
		len(list.GetApplications()[0].GetClientToAmToken().GetIdentifier()) == 0 {
		t.Errorf("in a list: %v, %v", list, err)
	}
	h.svc.cfg.ShortName = nil
	if report(as("ann")).ClientToAmToken != nil {
		t.Error("a token for somebody who only says who it is")
	}
	h.svc.cfg.ShortName = func(principal string) (string, error) { return shortName(principal), nil }
	h.end(t, node, id, 1)
	if report(ticket("ann")).ClientToAmToken != nil {
		t.Error("a token for the AM of an attempt that is over")
	}
}

// TestPreemptedResourceSeconds checks the resources that reports count as preempted.
func TestPreemptedResourceSeconds(t *testing.T) {
	h := newFixture(t)
	h.node(t, "node1")
	id := h.app(t, "ann", nil)
	at := h.launch(t, id)
	c := h.st.Containers.Get(h.record(t, id).Containers)
	ref := event.ContainerRef{App: id.Seq, Attempt: at.Attempt, Number: c.Number}
	end := c.AllocatedMillis + 4000
	for _, e := range []event.Event{
		&event.PreemptionAsked{Container: ref, Queue: "root.default", Cause: yarn.PreemptGuarantee, DeadlineMillis: end},
		&event.TimeAdvanced{NowMillis: end}, &event.ContainerReleased{Container: ref, ExitStatus: yarn.ExitPreempted},
	} {
		if err := h.st.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	u := h.report(t, "ann", id).GetAppResource_Usage()
	if u.GetPreemptedMemorySeconds() != 4096 || u.GetPreemptedVcoreSeconds() != 4 {
		t.Errorf("lost: %v", u)
	}
	if m := u.GetApplicationPreemptedResourceUsageMap(); len(m) != 2 || m[0].GetValue() != 4096 || m[1].GetValue() != 4 {
		t.Errorf("by kind: %v", m)
	}
}
