package token

import (
	"context"
	"errors"
	"net/netip"
	"testing"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/transport/hadoop/proto"
	"rmd/yarn"
)

const clusterTimestamp = 1700000000000

// keyed returns a state with one key of each kind, and application 1 with its first attempt. The
// ids of the keys are 1 to 4 in the order of the kinds.
func keyed(t *testing.T) *state.State {
	t.Helper()
	st := state.New()
	apply(t, st, &event.ClusterInitialized{ClusterID: "c", ClusterTimestamp: clusterTimestamp},
		&event.QueuesConfigured{Version: 1, Kinds: yarn.DefaultKinds(), Queues: []event.QueueDefinition{
			{Path: "root", State: yarn.QueueRunning}, {Path: "root.a", Leaf: true, State: yarn.QueueRunning}}})
	for k := yarn.KeyKind(0); k < yarn.KeyKinds; k++ {
		apply(t, st, &event.MasterKeyCreated{Which: k, ID: int32(k) + 1, Bytes: []byte{1, 2, 3, 4, 5, 6, 7, byte(k)}})
	}
	apply(t, st, &event.ApplicationSubmitted{App: 1, Queue: "root.a", User: "alice", MaxAttempts: 2},
		&event.AttemptStarted{App: 1, Attempt: 1})
	return st
}

func apply(t *testing.T, st *state.State, events ...event.Event) {
	t.Helper()
	for _, e := range events {
		if err := st.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
}

func at(app, attempt uint32) yarn.AttemptID {
	return yarn.AttemptID{App: yarn.ApplicationID{ClusterTimestamp: clusterTimestamp, Seq: app}, Attempt: attempt}
}

func TestRollOver(t *testing.T) {
	st := keyed(t)
	apply(t, st, &event.MasterKeyCreated{Which: yarn.KeyAMRM, ID: 5, Bytes: []byte("next amrm"), ActivateMillis: 9},
		&event.MasterKeyCreated{Which: yarn.KeyNM, ID: 6, Bytes: []byte("next nm"), ActivateMillis: 9})
	r := NewRing(st)
	signing := func(k yarn.KeyKind) int32 {
		key, err := r.Signing(k)
		if err != nil {
			t.Fatal(err)
		}
		return key.ID
	}
	if signing(yarn.KeyAMRM) != 5 || signing(yarn.KeyNM) != 2 || r.Newest(yarn.KeyNM).ID != 6 {
		t.Error("while a next key waits, AMs' tokens are signed with it and nodes' are not")
	}
	if k := r.ToHand(yarn.KeyNM, 2); k.GetKeyId() != 6 || string(k.GetBytes()) != "next nm" ||
		r.ToHand(yarn.KeyNM, 6) != nil || r.ToHand(yarn.KeyContainer, 1) != nil {
		t.Errorf("a node that lacks the newest key is handed %v", k)
	}
	if k, err := r.AtRegistration(yarn.KeyNM); err != nil || k.GetKeyId() != 2 {
		t.Errorf("a node registers with key %v, %v", k, err)
	}
	if p, err := r.RenewAMRM(at(1, 1), 5); p != nil || err != nil {
		t.Errorf("a new token is not renewed: %v, %v", p, err)
	}
	p, err := r.RenewAMRM(at(1, 1), 3)
	if id, _ := ParseAMRM(p.GetIdentifier()); err != nil || id.KeyID != 5 || p.GetService() != "" ||
		p.GetKind() != KindAMRM {
		t.Errorf("an old token is renewed as %v, %v", p, err)
	}

	apply(t, st, &event.KeyActivated{Which: yarn.KeyAMRM}, &event.KeyActivated{Which: yarn.KeyNM})
	for _, c := range []struct {
		kind yarn.KeyKind
		id   int32
		want bool
	}{{yarn.KeyAMRM, 5, true}, {yarn.KeyAMRM, 3, false}, {yarn.KeyNM, 6, true}, {yarn.KeyNM, 2, true},
		{yarn.KeyNM, 5, false}, {yarn.KeyNM, 0, false}} {
		if _, ok := r.Accepted(c.kind, c.id); ok != c.want {
			t.Errorf("%s key %d accepted: %v", c.kind, c.id, ok)
		}
	}
	if _, err := NewRing(state.New()).AMRMToken(at(1, 1)); !errors.Is(err, ErrNoKey) {
		t.Errorf("a token without a key: %v", err)
	}
}

func TestAMRMPassword(t *testing.T) {
	st := keyed(t)
	good, err := NewRing(st).AMRMToken(at(1, 1))
	if err != nil {
		t.Fatal(err)
	}
	got, password, err := AMRMPassword(st, good.GetIdentifier())
	if err != nil || got != at(1, 1) || string(password) != string(good.GetPassword()) {
		t.Errorf("%v %x, %v; want %x", got, password, err, good.GetPassword())
	}
	foreign := at(1, 1)
	foreign.App.ClusterTimestamp++
	for _, c := range []struct {
		name string
		id   []byte
		want error
		wait bool
	}{
		{"key to come", AMRM{at(1, 1), 99}.Bytes(), ErrKeyUnknown, true},
		{"key of another kind", AMRM{at(1, 1), 2}.Bytes(), ErrBad, false},
		{"no key", AMRM{at(1, 1), 0}.Bytes(), ErrBad, false},
		{"application to come", AMRM{at(2, 1), 3}.Bytes(), ErrUnknown, true},
		{"attempt to come", AMRM{at(1, 2), 3}.Bytes(), ErrUnknown, true},
		{"no attempt", AMRM{at(1, 0), 3}.Bytes(), ErrBad, false},
		{"other cluster", AMRM{foreign, 3}.Bytes(), ErrBad, false},
		{"nonsense", []byte("\xff\xff"), ErrBad, false},
		{"nothing", nil, ErrBad, false},
	} {
		_, password, err := AMRMPassword(st, c.id)
		if !errors.Is(err, c.want) || Behind(err) != c.wait || password != nil {
			t.Errorf("AMRMPassword, %s = %x, %v, wait %t, want no password, %v, wait %t",
				c.name, password, err, Behind(err), c.want, c.wait)
		}
	}
	apply(t, st, &event.AttemptEnded{App: 1, Final: yarn.FinalFailed, Counts: true})
	got, password, err = AMRMPassword(st, good.GetIdentifier())
	if !errors.Is(err, ErrOver) || got != at(1, 1) || string(password) != string(good.GetPassword()) {
		t.Errorf("after its end: %v %x, %v", got, password, err)
	}
	apply(t, st, &event.AttemptStarted{App: 1, Attempt: 2})
	if _, _, err = AMRMPassword(st, good.GetIdentifier()); !errors.Is(err, ErrOver) {
		t.Errorf("when the next one has begun: %v", err)
	}
}

func TestTokensForNodesVerify(t *testing.T) {
	st := keyed(t)
	r, node := NewRing(st), yarn.NodeID{Host: "n1.example", Port: 8041}
	nm, err := r.NMToken(at(1, 1), node, "alice", "10.0.0.1:8041")
	if err != nil || nm.GetService() != "10.0.0.1:8041" || nm.GetKind() != KindNM {
		t.Fatalf("NMToken = %v, %v, want service 10.0.0.1:8041 and kind %s", nm, err, KindNM)
	}
	if got, err := r.VerifyNM(nm.GetIdentifier(), nm.GetPassword()); err != nil || got.Node != node ||
		got.User != "alice" {
		t.Errorf("VerifyNM = %+v, %v, want node %v and user alice", got, err, node)
	}
	if _, err := r.VerifyNM(nm.GetIdentifier(), []byte("guess")); !errors.Is(err, ErrBad) {
		t.Errorf("a guessed password: %v", err)
	}
	c := sample
	c.Node = node.String()
	p, err := r.ContainerToken(c, "s")
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.VerifyContainer(p)
	if err != nil || got.KeyID != 1 || got.RMIdentifier != clusterTimestamp || got.ID != sample.ID {
		t.Errorf("VerifyContainer = %+v, %v, want key 1, cluster %d and container %v",
			got, err, clusterTimestamp, sample.ID)
	}
	p.Identifier = append(p.Identifier, 0x70, 1)
	if _, err := r.VerifyContainer(p); !errors.Is(err, ErrBad) {
		t.Errorf("a changed identifier: %v", err)
	}
	if _, err := r.VerifyContainer(&proto.TokenProto{Identifier: c.Bytes(), Kind: new("x")}); !errors.Is(err, ErrBad) {
		t.Errorf("another kind: %v", err)
	}
}

func TestDelegationTokens(t *testing.T) {
	st := keyed(t)
	apply(t, st, &event.DelegationTokenIssued{Sequence: 1, Owner: "alice", Renewer: "yarn", KeyID: 4, MaxMillis: 1000,
		ExpiresMillis: 500})
	d := Delegation{Owner: "alice", Renewer: "yarn", MaxMillis: 1000, Sequence: 1, KeyID: 4}
	p, err := NewRing(st).DelegationToken(d, "rm:8032")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := VerifyDelegation(st, p, 400); err != nil || got != d {
		t.Errorf("VerifyDelegation = %+v, %v, want %+v", got, err, d)
	}
	if _, err := VerifyDelegation(st, p, 501); !errors.Is(err, ErrOver) {
		t.Errorf("after it ran out: %v", err)
	}
	forged := d
	forged.Owner = "root"
	if _, _, err := DelegationPassword(st, forged.Bytes(), 400); !errors.Is(err, ErrBad) {
		t.Errorf("of another owner: %v", err)
	}
	later := d
	later.Sequence = 2
	if _, _, err := DelegationPassword(st, later.Bytes(), 400); !errors.Is(err, ErrUnknown) || !Behind(err) {
		t.Errorf("not issued yet: %v", err)
	}
	p.Password = []byte("guess")
	if _, err := VerifyDelegation(st, p, 400); !errors.Is(err, ErrBad) {
		t.Errorf("a guessed password: %v", err)
	}
	apply(t, st, &event.DelegationTokenEnded{Sequence: 1})
	if _, err := VerifyDelegation(st, p, 400); !errors.Is(err, ErrOver) {
		t.Errorf("after its end: %v", err)
	}
}

func TestServices(t *testing.T) {
	node := yarn.NodeID{Host: "N1.example", Port: 8041}
	lookup := func(_ context.Context, host string) ([]netip.Addr, error) {
		if host != "N1.example" {
			return nil, errors.New("no such host")
		}
		return []netip.Addr{netip.MustParseAddr("fe80::1"), netip.MustParseAddr("10.0.0.1")}, nil
	}
	s := NewServices(true, lookup)
	if got := s.Of(node); got != "n1.example:8041" {
		t.Errorf("before it is learned: %s", got)
	}
	if err := s.Learn(t.Context(), node.Host); err != nil || s.Of(node) != "10.0.0.1:8041" {
		t.Errorf("Learn = %v, then Of(%v) = %s, want 10.0.0.1:8041", err, node, s.Of(node))
	}
	if err := s.Learn(t.Context(), "other"); err == nil {
		t.Error("an unknown host was learned")
	}
	if err := NewServices(true, nil).Learn(t.Context(), "10.1.2.3"); err != nil {
		t.Errorf("an address was looked up: %v", err)
	}
	names := NewServices(false, lookup)
	if err := names.Learn(t.Context(), node.Host); err != nil || names.Of(node) != "n1.example:8041" {
		t.Errorf("by name: %s, %v", names.Of(node), err)
	}
	if got := s.Of(yarn.NodeID{Host: "127.0.0.1", Port: 1}); got != "127.0.0.1:1" {
		t.Errorf("an address: %s", got)
	}
}
