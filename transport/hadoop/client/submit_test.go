package client

import (
	"bytes"
	"context"
	"errors"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"rmd/scheduler/input"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

func TestNewApplication(t *testing.T) {
	h := newFixture(t)
	r, err := h.svc.newApplication(context.Background(), as("ann"), &proto.GetNewApplicationRequestProto{})
	if err != nil {
		t.Fatal(err)
	}
	if id, _ := wire.ApplicationID(r.GetApplicationId()); id != (yarn.ApplicationID{ClusterTimestamp: birth, Seq: 1}) {
		t.Errorf("the first id is %s", id)
	}
	if m := r.GetMaximumCapability(); m.GetMemory() != 8192 || m.GetVirtualCores() != 4 ||
		len(m.GetResourceValueMap()) != 2 {
		t.Errorf("the largest container is %v", m)
	}
	if id := h.newID(t); id.Seq != 2 {
		t.Errorf("the second id is %s", id)
	}
}

func TestSubmitTakesYARNsDefaults(t *testing.T) {
	h := newFixture(t)
	id := h.newID(t)
	sub := &proto.ApplicationSubmissionContextProto{ApplicationId: wire.ApplicationIDProto(id),
		Resource: &proto.ResourceProto{Memory: new(int64(0)), VirtualCores: new(int32(0))}}
	if err := h.submit(t, "ann/host@REALM", sub); err != nil {
		t.Fatal(err)
	}
	a := h.record(t, id)
	if a.Details().Name != "N/A" || a.Details().Type != "YARN" || h.st.Queues.Get(a.Queue).Path != "root.default" ||
		h.st.Names.Text(a.User) != "ann" || a.Priority != 0 ||
		a.MaxAttempts != 2 || a.Unmanaged || a.KeepContainers || a.LifetimeMillis != 0 || a.ValidityMillis != 0 ||
		a.AM != yarn.NewResource(1024, 1) {
		t.Errorf("submitted as %+v", a)
	}
}

func TestSubmitAllFields(t *testing.T) {
	h := newFixture(t)
	id := h.app(t, "ann", func(s *proto.ApplicationSubmissionContextProto) {
		s.Queue, s.ApplicationType, s.Priority = new("root.batch.day"), new("a type that is much too long"),
			wire.PriorityProto(0)
		s.ApplicationTags = []string{"b", "a", "b"}
		s.MaxAppAttempts, s.KeepContainersAcrossApplicationAttempts, s.AttemptFailuresValidityInterval = new(int32(1)),
			new(true), new(int64(60000))
		s.ApplicationTimeouts = []*proto.ApplicationTimeoutMapProto{
			{ApplicationTimeoutType: proto.ApplicationTimeoutTypeProto_APP_TIMEOUT_LIFETIME.Enum(), Timeout: new(int64(90))}}
		s.AmContainerResourceRequest = append([]*proto.ResourceRequestProto{{ResourceName: new("/rack")}},
			s.AmContainerResourceRequest...)
		s.AmContainerResourceRequest[1].Capability.Memory = new(int64(1500))
	})
	in := h.inputs[len(h.inputs)-1].(*input.SubmitApplication)
	if !in.PrioritySet || strings.Join(in.Tags, " ") != "b a" {
		t.Errorf("input %+v", in)
	}
	a := h.record(t, id)
	if a.Details().Type != "a type that is much " || h.st.Queues.Get(a.Queue).Path != "root.batch.day" ||
		a.MaxAttempts != 1 || !a.KeepContainers ||
		a.ValidityMillis != 60000 || a.LifetimeMillis != 90_000 || a.AM[yarn.Memory] != 2048 {
		t.Errorf("submitted as %+v", a)
	}
}

// TestContextIsStoredAsItCame submits a context with an unknown field, as two fields 1, which
// protobuf merges. The stored bytes must contain everything.
func TestContextIsStoredAsItCame(t *testing.T) {
	h := newFixture(t)
	id := h.newID(t)
	first := encode(t, subOf(id))
	second := protowire.AppendString(protowire.AppendTag(nil, 9999, protowire.BytesType), "of a later version")
	body := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), first)
	body = protowire.AppendBytes(protowire.AppendTag(body, 1, protowire.BytesType), second)
	if _, err := h.svc.submitApplication(context.Background(), as("ann"), body); err != nil {
		t.Fatal(err)
	}
	want := append(bytes.Clone(first), second...)
	clear(body) // the handler does not own the request
	if got := []byte(h.record(t, id).Details().Context); !bytes.Equal(got, want) {
		t.Errorf("stored %x\nwant   %x", got, want)
	}
}

func TestSubmitIsIdempotent(t *testing.T) {
	h := newFixture(t)
	id := h.app(t, "ann", nil)
	n := len(h.inputs)
	sub := subOf(id)
	sub.Queue, sub.AmContainerResourceRequest = new("no.such.queue"), nil
	if err := h.submit(t, "ann", sub); err != nil {
		t.Errorf("the repeated call is refused: %v", err)
	}
	if len(h.inputs) != n {
		t.Error("the repeated call goes to the leader")
	}
}

// TestSubmitFindsGroupsAtOnce checks that the groups of the user and of the user in a tag are looked
// up at the same time: each lookup may take ten seconds.
func TestSubmitFindsGroupsAtOnce(t *testing.T) {
	h := newFixture(t)
	var both sync.WaitGroup
	both.Add(2)
	h.finding = func(string) { both.Done(); both.Wait() }
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.app(t, "ann", func(s *proto.ApplicationSubmissionContextProto) { s.ApplicationTags = []string{"userid=bob"} })
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("one lookup waits for the other")
	}
}

// TestSubmitSeesIDsOfOtherReplicas submits to a replica that does not know yet that the id was
// issued.
func TestSubmitSeesIDsOfOtherReplicas(t *testing.T) {
	h := newFixture(t)
	h.behind = h.st
	if err := h.submit(t, "ann", subOf(h.newID(t))); err != nil {
		t.Error(err)
	}
}

// TestLargestNode checks that a client learns the largest container of the present nodes, and that a
// larger AM is refused with both maxima.
func TestLargestNode(t *testing.T) {
	h := newFixture(t)
	h.must(t, &input.RegisterNode{ID: yarn.NodeID{Host: "small", Port: 1}, Total: yarn.NewResource(4096, 16)})
	r, err := h.svc.newApplication(context.Background(), as("ann"), &proto.GetNewApplicationRequestProto{})
	if most := r.GetMaximumCapability(); err != nil || most.GetMemory() != 4096 || most.GetVirtualCores() != 4 {
		t.Errorf(
			"the client learns the maximum %v, error %v, want the memory of the node and the vcores of the configuration", most,
			err)
	}
	sub := subOf(h.newID(t))
	sub.AmContainerResourceRequest[0].Capability = wire.ResourceProto(yarn.NewResource(5000, 1), yarn.DefaultKinds())
	const text = "maximum allowed allocation=<memory:4096, vCores:4>, please note that maximum allowed allocation is calculated by scheduler " +
		"based on maximum resource of registered NodeManagers, which might be less than configured maximum allocation=<memory:8192, vCores:4>"
	var refused *ipc.Error
	if err := h.submit(t, "ann", sub); !errors.As(err, &refused) || refused.Class != classInvalidResource ||
		!strings.HasSuffix(refused.Message, text) {
		t.Errorf("the AM that fits no node: %v, want a refusal that ends in %q", err, text)
	}
}

func TestSubmitRefusals(t *testing.T) {
	h := newFixture(t, "yarn.acl.enable", "true", "yarn.admin.acl", "root", confPrefix+"root.acl_submit_applications", " ",
		confPrefix+"root.acl_administer_queue", " ",
		confPrefix+"root.default.acl_submit_applications", "*", confPrefix+"root.batch.day.maximum-applications", "0",
		confPrefix+"root.batch.acl_submit_applications", "*",
		confPrefix+"root.batch.night.state", "STOPPED")
	const yarnClass, access = ipc.ClassYarn, "org.apache.hadoop.security.AccessControlException"
	kind := yarn.DefaultKinds()
	tooBig := "Invalid resource request! Cannot allocate containers as requested resource is greater than maximum allowed allocation. Requested resource type=[memory-mb], " +
		"Requested resource=<memory:9000, vCores:1>, maximum allowed allocation=<memory:8192, vCores:4>, please note that maximum allowed allocation is calculated by scheduler " +
		"based on maximum resource of registered NodeManagers, which might be less than configured maximum allocation=<memory:8192, vCores:4>"
	off := "Invalid resource request, node label not enabled but request contains label expression"
	type sub = proto.ApplicationSubmissionContextProto
	for _, c := range []struct {
		name, class, message string
		change               func(*sub)
	}{
		{"no id", yarnClass, "Invalid application id: invalid message: application id missing",
			func(s *sub) { s.ApplicationId = nil }},
		{"too many tags", yarnClass,
			"java.lang.IllegalArgumentException: Too many applicationTags, a maximum of only 10 are allowed!",
			func(s *sub) { s.ApplicationTags = strings.Split("abcdefghijk", "") }},
		{"long tag", yarnClass, "java.lang.IllegalArgumentException: Tag " + strings.Repeat("x", 101) +
			" is too long, maximum allowed length of a tag is 100",
			func(s *sub) { s.ApplicationTags = []string{strings.Repeat("x", 101)} }},
		{"odd tag", yarnClass, "java.lang.IllegalArgumentException: A tag can only have ASCII characters! Invalid tag - ä",
			func(s *sub) { s.ApplicationTags = []string{"ä"} }},
		{"lifetime of nothing", yarnClass,
			`the tag "rmd.lifetime:seconds=0" declares no lifetime of 1 to 31536000 seconds; write rmd.lifetime:seconds=90, once, or leave the tag out`,
			func(s *sub) { s.ApplicationTags = []string{"etl", "rmd.lifetime:seconds=0"} }},
		{"lifetime of a century", yarnClass,
			`the tag "rmd.lifetime:seconds=3153600000" declares no lifetime of 1 to 31536000 seconds; write rmd.lifetime:seconds=90, once, or leave the tag out`,
			func(s *sub) { s.ApplicationTags = []string{"rmd.lifetime:seconds=3153600000"} }},
		{"lifetime that is no number", yarnClass,
			`the tag "rmd.lifetime:seconds=soon" declares no lifetime of 1 to 31536000 seconds; write rmd.lifetime:seconds=90, once, or leave the tag out`,
			func(s *sub) { s.ApplicationTags = []string{"rmd.lifetime:seconds=soon"} }},
		{"token configuration", yarnClass,
			"Exceed yarn.resourcemanager.delegation-token.max-conf-size-bytes = 12800 bytes, current conf size = 12801 bytes.",
			func(s *sub) { s.AmContainerSpec.TokensConf = make([]byte, 12801) }},
		{"reservation", yarnClass, "Reservation is not enabled. Please enable & try again",
			func(s *sub) { s.ReservationId = &proto.ReservationIdProto{Id: new(int64(1))} }},
		{"empty queue", yarnClass, "Failed to place application ID in a queue and submit context queue is null or empty",
			func(s *sub) { s.Queue = new("") }},
		{"timeout", yarnClass, "Invalid application timeout, value=-1 for type=LIFETIME", func(s *sub) {
			s.ApplicationTimeouts = []*proto.ApplicationTimeoutMapProto{
				{ApplicationTimeoutType: proto.ApplicationTimeoutTypeProto_APP_TIMEOUT_LIFETIME.Enum(), Timeout: new(int64(-1))}}
		}},
		{"no AM size", classInvalidResource, "Invalid resource request, no resources requested",
			func(s *sub) { s.AmContainerResourceRequest = nil }},
		{"no * request", classInvalidResource, "Invalid resource request, no resource request specified with *",
			func(s *sub) { s.AmContainerResourceRequest[0].ResourceName = new("host1") }},
		{"two * requests", classInvalidResource, "Invalid resource request, only one resource request with * is allowed",
			func(s *sub) {
				s.AmContainerResourceRequest = append(s.AmContainerResourceRequest, s.AmContainerResourceRequest[0])
			}},
		{"negative AM", classInvalidResource,
			"Invalid resource request! Cannot allocate containers as requested resource is less than 0! Requested resource type=[vcores], Requested resource=<memory:1024, vCores:-1>",
			func(s *sub) {
				s.AmContainerResourceRequest[0].Capability = wire.ResourceProto(yarn.NewResource(1024, -1), kind)
			}},
		{"AM too large", classInvalidResource, tooBig, func(s *sub) {
			s.AmContainerResourceRequest[0].Capability = wire.ResourceProto(yarn.NewResource(9000, 1), kind)
		}},
		{"label of the AM", classInvalidLabel, off,
			func(s *sub) { s.AmContainerResourceRequest[0].NodeLabelExpression = new("gpu") }},
		{"label of the application", classInvalidLabel, off, func(s *sub) { s.NodeLabelExpression = new("gpu") }},
		{"label, old field", classInvalidLabel, off, func(s *sub) {
			s.Resource, s.AmContainerResourceRequest, s.NodeLabelExpression = &proto.ResourceProto{Memory: new(int64(1))},
				nil, new("gpu")
		}},
		{"unknown queue", yarnClass,
			"Failed to submit ID to YARN : Application ID submitted by user eve to unknown queue: nowhere",
			func(s *sub) { s.Queue = new("nowhere") }},
		{"ambiguous queue", yarnClass,
			"Failed to submit ID to YARN : Application ID submitted by user eve to ambiguous queue: night please use full queue path instead.", func(s *sub) { s.Queue = new("night") }},
		{"parent queue", yarnClass,
			"Failed to submit ID to YARN : Application ID submitted by user : eve to non-leaf queue : batch",
			func(s *sub) { s.Queue = new("batch") }},
		{"not allowed", yarnClass, access + ": User eve does not have permission to submit ID to queue root.night",
			func(s *sub) { s.Queue = new("root.night") }},
		{"stopped", yarnClass, "Failed to submit ID to YARN : " + access +
			": Queue root.batch.night is STOPPED. Cannot accept submission of application: ID",
			func(s *sub) { s.Queue = new("root.batch.night") }},
		{"full", yarnClass, "Failed to submit ID to YARN : " + access +
			": Queue root.batch.day holds its maximum of 0 applications, cannot accept submission of application: ID",
			func(s *sub) { s.Queue = new("root.batch.day") }},
		{"never given", yarnClass, "application_1780000000000_99999 is no id of this cluster; get one with getNewApplication",
			func(s *sub) {
				s.ApplicationId = wire.ApplicationIDProto(yarn.ApplicationID{ClusterTimestamp: birth, Seq: 99999})
			}},
		{"of another cluster", yarnClass, "application_17_0001 is no id of this cluster; get one with getNewApplication",
			func(s *sub) {
				s.ApplicationId = wire.ApplicationIDProto(yarn.ApplicationID{ClusterTimestamp: 17, Seq: 1})
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			id := h.newID(t)
			s := subOf(id)
			c.change(s)
			refused(t, h.submit(t, "eve", s), c.class, strings.ReplaceAll(c.message, "ID", id.String()))
			if h.st.Apps.ByID(id) != 0 {
				t.Error("it was submitted all the same")
			}
		})
	}
	if err := h.submit(t, "root", func() *sub {
		s := subOf(h.newID(t))
		s.Queue = new("root.night")
		return s
	}()); err != nil {
		t.Errorf("an administrator is refused: %v", err)
	}
}

func TestSubmitBoundsItsSize(t *testing.T) {
	h := newFixture(t)
	s := subOf(h.newID(t))
	s.AmContainerSpec.Tokens = make([]byte, 2<<20)
	err := h.submit(t, "ann", s)
	if err == nil || !strings.Contains(err.Error(), "at most 2097152 are kept") {
		t.Errorf("a great context: %v", err)
	}
	if _, err := h.svc.submitApplication(context.Background(), as("ann"), []byte{0x0a, 3, 0xff, 0xff, 0xff}); err == nil ||
		!strings.Contains(err.Error(), ipc.ClassServer) {
		t.Errorf("a torn context: %v", err)
	}
	if err := h.submit(t, "", subOf(h.newID(t))); err == nil {
		t.Error("a submission without a user is taken")
	}
}

// TestCallsWithoutLeader checks the exceptions of calls without a leader.
func TestCallsWithoutLeader(t *testing.T) {
	h := newFixture(t)
	id := h.newID(t)
	for _, code := range []string{"NO_LEADER", "STANDBY", "BUSY", "UNKNOWN_OUTCOME"} {
		h.submitErr = coded(code)
		refused(t, h.submit(t, "ann", subOf(id)), ipc.ClassStandby, "error "+code)
		_, err := h.svc.newApplication(context.Background(), as("ann"), nil)
		refused(t, err, ipc.ClassStandby, "error "+code)
	}
	h.submitErr = coded("TOO_LARGE")
	refused(t, h.submit(t, "ann", subOf(id)), ipc.ClassYarn, "error TOO_LARGE")
	h.submitErr, h.readErr = nil, coded("NO_LEADER")
	_, err := h.svc.applicationReport(context.Background(), as("ann"),
		&proto.GetApplicationReportRequestProto{ApplicationId: wire.ApplicationIDProto(id)})
	refused(t, err, ipc.ClassStandby, "error NO_LEADER")
}

// TestAMRequestHostsAndRacks checks that, as in YARN, each request for a host or rack means one
// container with the size of the request for "*", whatever else it says.
func TestAMRequestHostsAndRacks(t *testing.T) {
	h := newFixture(t)
	h.node(t, "node1")
	h.node(t, "node2")
	at := func(name string, relax bool) *proto.ResourceRequestProto {
		return &proto.ResourceRequestProto{Priority: wire.PriorityProto(9), ResourceName: new(name),
			NumContainers: new(int32(5)), RelaxLocality: new(relax),
			Capability: wire.ResourceProto(yarn.NewResource(4096, 4), yarn.DefaultKinds())}
	}
	id := h.app(t, "ann", func(s *proto.ApplicationSubmissionContextProto) {
		any := s.AmContainerResourceRequest[0]
		any.RelaxLocality = new(false)
		s.AmContainerResourceRequest = []*proto.ResourceRequestProto{at("node2", false), any, at("/default-rack", true),
			at("node2", true), at("/default-rack", false)}
	})
	in := h.inputs[len(h.inputs)-1].(*input.SubmitApplication)
	if want := []yarn.Place{{Name: "node2", Relax: true}, {Name: "/default-rack"}}; !slices.Equal(in.AMPlaces, want) ||
		!in.AMStrict || in.AM != yarn.NewResource(1024, 1) {
		t.Errorf("submitted as %+v", in)
	}
	a := h.record(t, id)
	if n := h.st.Nodes.Get(a.MasterNode); n.ID.Host != "node2" {
		t.Errorf("the AM is on %s", n.ID)
	}
	plain := h.app(t, "ann", nil)
	if in := h.inputs[len(h.inputs)-1].(*input.SubmitApplication); in.AMPlaces != nil || in.AMStrict ||
		h.record(t, plain).MasterNode == 0 {
		t.Errorf("without places: %+v", in)
	}
	sub := subOf(h.newID(t))
	sub.AmContainerResourceRequest = append(sub.AmContainerResourceRequest, at("", true))
	refused(t, h.submit(t, "ann", sub), classInvalidResource, "Invalid resource request, resource name missing")
	sub.AmContainerResourceRequest = sub.AmContainerResourceRequest[:1]
	for i := range 1001 {
		sub.AmContainerResourceRequest = append(sub.AmContainerResourceRequest, at(strconv.Itoa(i), true))
	}
	if err := h.submit(t, "ann", sub); err == nil {
		t.Error("an AM at 1,001 places is taken")
	}
}

// TestPreprocessor checks that submissions are changed by their client's host before they are
// placed.
func TestPreprocessor(t *testing.T) {
	const key = "yarn.resourcemanager.submission-preprocessor."
	h := newFixture(t, key+"enabled", "true", key+"file-contents",
		"^192\\.0\\.2\\. Q=root.batch.day TA=edge\n198.51.100.1 NL=gpu\n")
	submit := func(from string) (*input.SubmitApplication, error) {
		c := as("ann")
		c.Caller.Address = netip.MustParseAddrPort(from)
		sub := &proto.ApplicationSubmissionContextProto{ApplicationId: wire.ApplicationIDProto(h.newID(t)),
			Queue: new("root.default"), ApplicationTags: []string{"own"},
			Resource: &proto.ResourceProto{Memory: new(int64(1024)), VirtualCores: new(int32(1))}}
		h.inputs = nil
		err := h.svc.SubmitApplication(context.Background(), c,
			&proto.SubmitApplicationRequestProto{ApplicationSubmissionContext: sub})
		if len(h.inputs) == 0 {
			t.Fatalf("nothing is planned: %v", err)
		}
		return h.inputs[0].(*input.SubmitApplication), err
	}
	// These are documentation addresses (RFC 5737). They have no host names.
	if in, err := submit("[::ffff:192.0.2.7]:40000"); err != nil || in.Queue != "root.batch.day" ||
		!slices.Equal(in.Tags, []string{"own", "edge"}) {
		t.Errorf("submitted from 192.0.2.7: %+v, %v, want queue root.batch.day and tags own and edge",
			in, err)
	}
	if in, err := submit("203.0.113.1:40000"); err != nil || in.Queue != "root.default" ||
		!slices.Equal(in.Tags, []string{"own"}) {
		t.Errorf("submitted from 203.0.113.1: %+v, %v, want queue root.default and the tag own", in, err)
	}
	if in, err := submit("198.51.100.1:40000"); err == nil || in.Label != "gpu" || in.Queue != "root.default" {
		t.Errorf("submitted from 198.51.100.1: %+v, %v, want queue root.default, label gpu, and an error",
			in, err)
	}
}
