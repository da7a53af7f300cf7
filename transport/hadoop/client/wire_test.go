package client

import (
	"context"
	"errors"
	"testing"

	"github.com/hashicorp/go-hclog"

	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/wire"
)

// TestOverTheWire calls over a real connection, authenticated as SIMPLE and with a delegation
// token.
func TestOverTheWire(t *testing.T) {
	h := newFixture(t)
	cfg := ipc.DefaultConfig()
	cfg.Logger, cfg.Name, cfg.Auth, cfg.Password, cfg.Protocols = hclog.NewNullLogger(), "client", ipc.AuthTokenSimple,
		h.svc.Password, []ipc.Protocol{h.svc.Protocol()}
	server, err := ipc.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	conf := ipc.DefaultClientConfig()
	conf.Logger = hclog.NewNullLogger()
	cl, err := ipc.OpenClient(conf)
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	ctx := context.Background()
	to := ipc.Target{Address: server.Addr().String(), Protocol: protocolName, User: "ann"}

	var fresh proto.GetNewApplicationResponseProto
	if err := cl.Call(ctx, to, "getNewApplication", &proto.GetNewApplicationRequestProto{}, &fresh); err != nil {
		t.Fatal(err)
	}
	id, err := wire.ApplicationID(fresh.GetApplicationId())
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second call is that of a client that did not get the answer
		if err := cl.Call(ctx, to, "submitApplication",
			&proto.SubmitApplicationRequestProto{ApplicationSubmissionContext: subOf(id)},
			&proto.SubmitApplicationResponseProto{}); err != nil {
			t.Fatal(err)
		}
	}
	var issued proto.GetDelegationTokenResponseProto
	if err := cl.Call(ctx, to, "getDelegationToken", &proto.GetDelegationTokenRequestProto{Renewer: new("yarn")},
		&issued); err != nil {
		t.Fatal(err)
	}
	k := issued.GetToken()
	byToken := ipc.Target{Address: to.Address, Protocol: protocolName,
		Token: &ipc.Token{Identifier: k.GetIdentifier(), Password: k.GetPassword()}}
	var report proto.GetApplicationReportResponseProto
	ask := &proto.GetApplicationReportRequestProto{ApplicationId: wire.ApplicationIDProto(id)}
	if err := cl.Call(ctx, byToken, "getApplicationReport", ask, &report); err != nil {
		t.Fatal(err)
	}
	if r := report.GetApplicationReport(); r.GetUser() != "ann" ||
		r.GetYarnApplicationState() != proto.YarnApplicationStateProto_ACCEPTED {
		t.Errorf("report %v", r)
	}
	err = cl.Call(ctx, to, "getResourceProfiles", &proto.GetAllResourceProfilesRequestProto{},
		&proto.GetAllResourceProfilesResponseProto{})
	var remote *ipc.RemoteError
	if !errors.As(err, &remote) || remote.Class != classNotEnabled || remote.Fatal {
		t.Errorf("profiles: %v", err)
	}
}
