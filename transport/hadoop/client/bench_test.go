package client

import (
	"context"
	"testing"

	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/wire"
)

// BenchmarkSubmit measures the decoding, the checks and the planning of a submission with 32 KiB of
// environment, without Raft. Budget: 150 µs.
func BenchmarkSubmit(b *testing.B) {
	h := newFixture(b, confPrefix+"maximum-applications", "100000000",
		"yarn.resourcemanager.max-completed-applications", "100")
	for b.Loop() {
		b.StopTimer()
		id := h.newID(b)
		sub := subOf(id)
		sub.AmContainerSpec.Environment = []*proto.StringStringMapProto{
			{Key: new("CLASSPATH"), Value: new(string(make([]byte, 32<<10)))}}
		body := encode(b, &proto.SubmitApplicationRequestProto{ApplicationSubmissionContext: sub})
		h.inputs = h.inputs[:0]
		b.StartTimer()
		if _, err := h.svc.submitApplication(context.Background(), as("ann"), body); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if _, err := h.kill("ann", id, ""); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.ReportAllocs()
}

// BenchmarkReport measures one report, including its encoding. Budget: 20 µs.
func BenchmarkReport(b *testing.B) {
	h := newFixture(b)
	h.node(b, "node1")
	id := h.app(b, "ann", nil)
	h.launch(b, id)
	req, c := &proto.GetApplicationReportRequestProto{ApplicationId: wire.ApplicationIDProto(id)}, as("ann")
	b.ReportAllocs()
	for b.Loop() {
		r, err := h.svc.applicationReport(context.Background(), c, req)
		if err != nil {
			b.Fatal(err)
		}
		encode(b, r)
	}
}

// BenchmarkApplications lists 2,000 applications with ACLs on, for a user who may view none of
// them.
func BenchmarkApplications(b *testing.B) {
	h := closed(b)
	for range 2000 {
		id := h.newID(b)
		if err := h.submit(b, "ann", subOf(id)); err != nil {
			b.Fatal(err)
		}
	}
	for name, req := range map[string]*proto.GetApplicationsRequestProto{
		"all": {}, "own": {Scope: proto.ApplicationsRequestScopeProto_OWN.Enum()},
		"states": {ApplicationStates: []proto.YarnApplicationStateProto{proto.YarnApplicationStateProto_RUNNING}},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := h.svc.applications(context.Background(), &ipc.Call{Caller: &ipc.Caller{User: "eve"}},
					req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
