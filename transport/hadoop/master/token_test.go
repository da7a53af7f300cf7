package master

import (
	"errors"
	"strings"
	"testing"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/token"
	"rmd/yarn"
)

func (a *am) password() (string, []byte, error) {
	return a.Service.Password(ctx, token.AMRM{Attempt: a.id, KeyID: a.key}.Bytes())
}

func TestPassword(t *testing.T) {
	w := newWorld(t)
	r := w.replica()
	a := r.am(w.app())
	user, password, err := a.password()
	want := token.Password(w.st().Keys(yarn.KeyAMRM).Current, token.AMRM{Attempt: a.id, KeyID: a.key}.Bytes())
	if err != nil || user != a.id.String() || string(password) != string(want) {
		t.Errorf("user %q, %v", user, err)
	}
	if r.caughtUp != 0 {
		t.Error("caught up for a token that it knew")
	}
	a.register()
	w.plan(&input.KillApplication{ID: a.id.App})
	if user, password, err = a.password(); err != nil || user != a.id.String() || string(password) != string(want) {
		t.Errorf("of an attempt that is over: user %q, %v", user, err)
	}
	_, _, err = r.Service.Password(ctx, []byte{0xff})
	class(t, err, ipc.ClassInvalidToken)
}

// TestBadTokenIsRefusedInYARNsWords checks that the refusal of a token names its attempt. Clients
// and the AMRMProxy of the NodeManagers parse this text.
func TestBadTokenIsRefusedInYARNsWords(t *testing.T) {
	w := newWorld(t)
	a := w.replica().am(w.app())
	over := w.replica().am(w.app())
	w.plan(&input.KillApplication{ID: over.id.App})
	for range 2 { // this retires the key of both tokens
		w.newKey(yarn.KeyAMRM)
		w.apply(&event.KeyActivated{Which: yarn.KeyAMRM})
	}
	foreign, unknown := *a, *a
	foreign.key = 77
	unknown.id.App.Seq, unknown.key = 99, w.st().Keys(yarn.KeyAMRM).Current.ID
	for _, c := range []struct {
		name, begins string
		am           *am
	}{
		{"a retired key", "Invalid AMRMToken from " + a.id.String(), a},
		{"a key of nobody", "Invalid AMRMToken from " + a.id.String(), &foreign},
		{"a retired key of an attempt that is over", "Invalid AMRMToken from " + over.id.String(), over},
		{"an attempt that never was", unknown.id.String() + " not found in AMRMTokenSecretManager.", &unknown},
	} {
		_, _, err := c.am.password()
		class(t, err, ipc.ClassInvalidToken)
		if e := (*ipc.Error)(nil); !errors.As(err, &e) || !strings.HasPrefix(e.Message, c.begins) {
			t.Errorf("%s: refused with %q, want it to begin with %q", c.name, e.Message, c.begins)
		}
	}
}

// TestPasswordOnAReplicaBehind checks that a replica catches up before it refuses a token as
// invalid.
func TestPasswordOnAReplicaBehind(t *testing.T) {
	w := newWorld(t)
	r := w.replica()
	r.lag()
	a := r.am(w.app()) // the replica does not know this attempt yet
	if _, _, err := a.password(); err != nil || r.caughtUp != 1 {
		t.Errorf("new attempt: %v, caught up %d times", err, r.caughtUp)
	}
	r.lag()
	w.newKey(yarn.KeyAMRM)
	a.key = w.st().Keys(yarn.KeyAMRM).Next.ID // the replica does not know this key yet
	if _, _, err := a.password(); err != nil || r.caughtUp != 2 {
		t.Errorf("new key: %v, caught up %d times", err, r.caughtUp)
	}
	r.lag()
	w.apply(&event.KeyActivated{Which: yarn.KeyAMRM})
	w.newKey(yarn.KeyAMRM)
	a.key = w.st().Keys(yarn.KeyAMRM).Next.ID
	w.down = coded("STANDBY")
	_, _, err := a.password()
	class(t, err, ipc.ClassStandby)
}

// TestCallOnAReplicaBehind checks the same for calls on a connection that is already authenticated.
func TestCallOnAReplicaBehind(t *testing.T) {
	w := newWorld(t)
	w.node("n1", 8192, 8)
	r := w.replica()
	r.lag()
	a := r.am(w.app())
	a.register()
	late := w.replica()
	late.lag()
	b := late.am(w.app())
	w.down = coded("STANDBY")
	_, err := b.try(idle())
	class(t, err, ipc.ClassStandby)
}

func TestAMTokenIsRenewed(t *testing.T) {
	w := newWorld(t)
	a := w.replica().am(w.app())
	a.register()
	if r := a.allocate(idle()); r.AmRmToken != nil {
		t.Error("a new token for the same key")
	}
	w.newKey(yarn.KeyAMRM)
	var got *proto.TokenProto
	for range 2 { // in every answer, until the AM uses the new token
		if got = a.allocate(idle()).AmRmToken; got == nil {
			t.Fatal("no token of the next key")
		}
	}
	if got.GetKind() != token.KindAMRM || got.GetService() != "" {
		t.Errorf("token %v", got)
	}
	_, password, err := a.Service.Password(ctx, got.GetIdentifier())
	if err != nil || string(password) != string(got.GetPassword()) {
		t.Errorf("the new token is not taken: %v", err)
	}
	who, err := token.ParseAMRM(got.GetIdentifier())
	if err != nil || who.Attempt != a.id {
		t.Fatalf("token of %+v, %v", who, err)
	}
	a.key = who.KeyID
	if r := a.allocate(idle()); r.AmRmToken != nil {
		t.Error("a new token for the newest key")
	}
	w.apply(&event.KeyActivated{Which: yarn.KeyAMRM})
	if r := a.allocate(idle()); r.AmRmToken != nil {
		t.Error("a new token when the key takes its place")
	}
	// An AM that sent no heartbeat while the key was the next one gets a new token in every answer,
	// until it confirms one. It continues on its old connection.
	w.newKey(yarn.KeyAMRM)
	w.apply(&event.KeyActivated{Which: yarn.KeyAMRM})
	for range 2 {
		if r := a.allocate(idle()); r.AmRmToken == nil {
			t.Error("no new token for the old key")
		}
		a.last--
	}
	a.last++
	if r := a.allocate(idle()); r.AmRmToken != nil {
		t.Error("a new token after one has arrived")
	}
	a.register()
	if r := a.allocate(idle()); r.AmRmToken == nil {
		t.Error("no new token after the AM started over")
	}
}

// TestWhenNMTokensAreSent checks which answers contain an NM token for a node.
func TestWhenNMTokensAreSent(t *testing.T) {
	w := newWorld(t)
	n1 := w.node("n1", 81920, 80)
	w.node("n2", 1024, 80)
	r := w.replica()
	a := r.am(w.app())
	a.register()
	one := func(what string, want int) *proto.AllocateResponseProto {
		t.Helper()
		resp := a.allocate(asks(ask("n1", 1, 1024), ask("/default-rack", 1, 1024), ask("*", 1, 1024)))
		if len(resp.AllocatedContainers) != 1 || resp.AllocatedContainers[0].GetNodeId().GetHost() != "n1" ||
			len(resp.NmTokens) != want {
			t.Fatalf("%s: %d NM tokens, want %d; containers %v", what, len(resp.NmTokens), want, resp.AllocatedContainers)
		}
		return resp
	}
	one("first", 1)
	one("second", 0)
	w.newKey(yarn.KeyNM)
	one("a key that is not in force", 0)
	w.apply(&event.KeyActivated{Which: yarn.KeyNM})
	resp := one("a new key", 1)
	nm := resp.NmTokens[0].GetToken()
	if at, err := token.NewRing(w.st()).VerifyNM(nm.GetIdentifier(), nm.GetPassword()); err != nil ||
		at.KeyID != w.st().Keys(yarn.KeyNM).Current.ID {
		t.Errorf("token of key %d, %v", at.KeyID, err)
	}
	one("the same key", 0)
	w.now += 1000
	w.plan(&input.RegisterNode{ID: n1, HTTPPort: 8042, Rack: "/default-rack", Total: yarn.NewResource(81920, 80)})
	one("the node is back", 1)
	one("known again", 0)
	a.register()
	one("the AM is back", 1)
	other := &am{replica: w.replica(), id: a.id, key: a.key, last: a.last}
	a = other
	one("another replica", 1)
	one("another replica again", 0)
}

// TestOneNMTokenPerNode checks that an answer has one NM token per node, whatever the order of its
// containers is.
func TestOneNMTokenPerNode(t *testing.T) {
	w := newWorld(t)
	r := w.replica()
	a := r.am(w.app())
	a.register()
	m := r.newResponse(r.attempts.get(a.id, r.clock))
	defer m.close()
	n1, n2 := yarn.NodeID{Host: "n1", Port: 1}, yarn.NodeID{Host: "n2", Port: 1}
	granted := []input.Granted{{Node: n1}, {Node: n2}, {Node: n1}, {Node: n2}}
	for range 2 { // the second call repeats the same response
		if got, err := m.nmTokens(granted, 1); err != nil || len(got) != 2 {
			t.Errorf("%d NM tokens, %v", len(got), err)
		}
	}
	if got, err := m.nmTokens(granted, 2); err != nil || len(got) != 0 {
		t.Errorf("%d NM tokens with the next response, %v", len(got), err)
	}
}

// TestNoKeysYet checks that containers are not handed out before the keys for their tokens exist.
func TestNoKeysYet(t *testing.T) {
	w := newWorld(t)
	w.node("n1", 8192, 8)
	keys := w.st().Meta.Keys
	a := w.replica().am(w.app())
	a.register()
	w.st().Meta.Keys[yarn.KeyContainer] = state.KeySet{}
	_, err := a.try(asks(ask("*", 1, 1024)))
	class(t, err, ipc.ClassStandby)
	w.st().Meta.Keys = keys
	w.st().Meta.Keys[yarn.KeyNM] = state.KeySet{}
	_, err = a.try(asks(ask("*", 1, 1024)))
	class(t, err, ipc.ClassStandby)
	w.st().Meta.Keys = keys
	if r := a.allocate(asks(ask("*", 1, 1024))); len(r.AllocatedContainers) != 1 || len(r.NmTokens) != 1 {
		t.Errorf("repeated with keys: %v", r)
	}
}
