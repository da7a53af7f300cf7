package client

import (
	"context"
	"errors"
	"testing"

	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

// FuzzSubmit submits any bytes. It checks that the call succeeds or returns an exception with a
// class, and that a submitted application can be reported.
func FuzzSubmit(f *testing.F) {
	id := yarn.ApplicationID{ClusterTimestamp: birth, Seq: 1}
	body := func(s *proto.ApplicationSubmissionContextProto) []byte {
		return encode(f, &proto.SubmitApplicationRequestProto{ApplicationSubmissionContext: s})
	}
	f.Add([]byte{})
	f.Add(body(subOf(id)))
	full := subOf(id)
	full.UnmanagedAm, full.Priority, full.NodeLabelExpression = new(true), wire.PriorityProto(3), new("")
	full.AmContainerSpec.Application_ACLs = aclProtos(wire.ACLs{View: "*", Modify: " "})
	f.Add(body(full))
	f.Fuzz(func(t *testing.T, b []byte) {
		h := newFixture(t)
		if h.newID(t) != id {
			t.Fatal("another id")
		}
		if _, err := h.svc.submitApplication(context.Background(), as("ann"), b); err != nil {
			var e *ipc.Error
			if !errors.As(err, &e) || e.Class == "" || e.Fatal {
				t.Fatalf("refused with %v", err)
			}
			return
		}
		if r := h.report(t, "ann", id); r.GetUser() != "ann" {
			t.Fatalf("report %v", r)
		}
		if err := h.st.Check(); err != nil {
			t.Fatal(err)
		}
	})
}
