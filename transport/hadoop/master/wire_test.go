package master

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/hashicorp/go-hclog"

	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/token"
	"rmd/yarn"
)

// port is a scheduler port with a client.
type port struct {
	server *ipc.Server
	client *ipc.Client
}

func (r *replica) port() port {
	cfg := ipc.DefaultConfig()
	cfg.Logger, cfg.Protocols, cfg.Auth, cfg.Password = hclog.NewNullLogger(), []ipc.Protocol{r.Protocol()},
		ipc.AuthToken, r.Password
	server, err := ipc.Open(cfg)
	if err != nil {
		r.tb.Fatal(err)
	}
	ccfg := ipc.DefaultClientConfig()
	ccfg.Logger = hclog.NewNullLogger()
	client, err := ipc.OpenClient(ccfg)
	if err != nil {
		r.tb.Fatal(err)
	}
	r.tb.Cleanup(func() { _, _ = client.Close(), server.Close() })
	return port{server, client}
}

func (p port) target(w *world, id yarn.AttemptID) ipc.Target {
	t, err := token.NewRing(w.st()).AMRMToken(id)
	if err != nil {
		w.tb.Fatal(err)
	}
	return ipc.Target{Address: p.server.Addr().String(), Protocol: protocolName,
		Token: &ipc.Token{Identifier: t.GetIdentifier(), Password: t.GetPassword()}}
}

// TestOverTheWire runs several AMs through one port, from registration to their end.
func TestOverTheWire(t *testing.T) {
	w := newWorld(t)
	w.node("n1", 1<<20, 1000)
	p := w.replica().port()
	targets := make([]ipc.Target, 8)
	for i := range targets {
		targets[i] = p.target(w, w.app())
	}
	var wg sync.WaitGroup
	for _, to := range targets {
		wg.Go(func() {
			if err := life(p.client, to); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if err := w.st().Check(); err != nil {
		t.Error(err)
	}
}

func life(c *ipc.Client, to ipc.Target) error {
	var reg proto.RegisterApplicationMasterResponseProto
	if err := c.Call(ctx, to, "registerApplicationMaster", &proto.RegisterApplicationMasterRequestProto{Host: new("h")},
		&reg); err != nil {
		return err
	}
	got := 0
	for i := range 20 {
		req := asks(ask("*", 2, 1024))
		req.ResponseId = new(int32(i))
		var resp proto.AllocateResponseProto
		if err := c.Call(ctx, to, "allocate", req, &resp); err != nil {
			return err
		}
		got += len(resp.AllocatedContainers)
	}
	if got != 40 {
		return fmt.Errorf("%d containers, want 40", got)
	}
	var end proto.FinishApplicationMasterResponseProto
	if err := c.Call(ctx, to, "finishApplicationMaster", &proto.FinishApplicationMasterRequestProto{}, &end); err != nil ||
		!end.GetIsUnregistered() {
		return fmt.Errorf("finish: %v, %w", &end, err)
	}
	return nil
}

// TestBadTokensOverTheWire checks the exceptions that clients get. An AM whose attempt has ended
// must still be able to connect, so that it can learn of the end.
func TestBadTokensOverTheWire(t *testing.T) {
	w := newWorld(t)
	r := w.replica()
	p := r.port()
	id := w.app()
	over := p.target(w, id)
	a := r.am(id)
	a.register()
	if _, err := a.Service.finish(ctx, a.call(), &proto.FinishApplicationMasterRequestProto{}); err != nil {
		t.Fatal(err)
	}
	forged := p.target(w, w.app())
	forged.Token = &ipc.Token{Identifier: forged.Token.Identifier, Password: []byte("wrong")}
	unknown := over
	unknown.Token = &ipc.Token{Identifier: token.AMRM{Attempt: id, KeyID: 99}.Bytes(), Password: over.Token.Password}
	for _, c := range []struct {
		name, class string
		to          ipc.Target
	}{
		{"over", classAttemptNotFound, over},
		{"unknown key", ipc.ClassInvalidToken, unknown},
		{"forged", ipc.ClassSasl, forged},
	} {
		err := p.client.Call(ctx, c.to, "allocate", idle(), new(proto.AllocateResponseProto))
		var e *ipc.RemoteError
		if !errors.As(err, &e) || e.Class != c.class {
			t.Errorf("%s: %v, want %s", c.name, err, c.class)
		}
	}
}
