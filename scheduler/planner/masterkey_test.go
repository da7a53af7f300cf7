package planner

import (
	"bytes"
	"testing"

	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/scheduler/planner/token"
	"rmd/yarn"
)

func TestMasterKeyRolling(t *testing.T) {
	r := newRig(t, "yarn.resourcemanager.nm-tokens.master-key-rolling-interval-secs", "100",
		"yarn.nm.liveness-monitor.expiry-interval-ms", "10000",
		"yarn.resourcemanager.delegation.key.update-interval", "100000",
		"yarn.resourcemanager.delegation.token.renew-interval", "900000")
	keys := func(k yarn.KeyKind) state.KeySet { return *r.p.st.Keys(k) }
	seen := map[string]bool{}
	for k := range yarn.KeyKinds {
		if s := keys(k); s.Current.ID == 0 || s.Next.ID != 0 || len(s.Current.Bytes) != 32 || seen[string(s.Current.Bytes)] {
			t.Errorf("keys of kind %s: current %d with %d bytes, next %d, want 32 bytes that no other kind has, and no next",
				k, s.Current.ID, len(s.Current.Bytes), s.Next.ID)
		}
		seen[string(keys(k).Current.Bytes)] = true
	}
	made := keys(yarn.KeyNM).MadeMillis
	tick := func(at int64, entropy []byte) {
		r.now = at - 10
		r.ok(&input.Tick{Entropy: entropy})
	}
	if len(r.p.Due(made+99_999)) > 0 || len(r.p.Due(made+100_000)) == 0 {
		t.Error("the next key is due after 100 s")
	}
	tick(made+100_000, nil)
	if keys(yarn.KeyNM).Next.ID != 0 {
		t.Error("a key of no entropy")
	}
	tick(made+100_000, bytes.Repeat([]byte{7}, 32))
	s := keys(yarn.KeyNM)
	if s.Next.ID == 0 || s.ActivateMillis != made+115_000 || keys(yarn.KeyContainer).Next.ID != 0 {
		t.Errorf("rolled: %+v", s)
	}
	if d := keys(yarn.KeyDelegation); d.Previous.ID != 4 || d.Current.ID == 4 || d.Next.ID != 0 {
		t.Errorf("a delegation key is in force at once: %+v", d)
	}
	if len(r.p.Due(made+114_999)) > 0 || len(r.p.Due(made+115_000)) == 0 {
		t.Error("it is to be activated after 1.5 times the nodes' expiry")
	}
	tick(made+115_000, nil)
	if k := keys(yarn.KeyNM); k.Previous.ID != s.Current.ID || k.Current.ID != s.Next.ID || k.Next.ID != 0 {
		t.Errorf("activated: %+v", k)
	}
	// A key is kept while a delegation token that it signed exists.
	token := r.ok(&input.IssueDelegationToken{Owner: "ann", Renewer: "yarn"}).(*input.IssueDelegationTokenReply)
	for range 3 {
		tick(r.now+100_000, testEntropy)
	}
	if d := keys(yarn.KeyDelegation); d.Previous.ID != token.KeyID {
		t.Errorf("the token's key %d is not among %+v", token.KeyID, d)
	}
	r.ok(&input.CancelDelegationToken{Sequence: token.Sequence, By: "yarn"})
	tick(r.now+10, testEntropy)
	if d := keys(yarn.KeyDelegation); d.Previous.ID == token.KeyID {
		t.Error("the key is kept for no token")
	}
}

// TestFirstTickMakesTheKeys checks that the first tick creates the keys of a cluster that began
// without keys.
func TestFirstTickMakesTheKeys(t *testing.T) {
	p := must(New(state.New(), Options{}))
	plan := func(in input.Input) input.Reply {
		reply, _ := p.Plan(p.st.Meta.NowMillis+1, input.Request{Input: in})
		return reply
	}
	plan(&input.InitCluster{ClusterID: "c", ClusterTimestamp: 1,
		Properties: []input.Property{{Name: confPrefix + "root.queues", Value: "a"},
			{Name: confPrefix + "root.a.capacity", Value: "100"}}})
	if p.st.Meta.NextKey != 0 || len(p.Due(5)) == 0 || len(must(New(state.New(), Options{})).Due(5)) > 0 {
		t.Error("a cluster without keys needs a tick, none at all does not")
	}
	if f := plan(&input.IssueDelegationToken{Owner: "ann"}).Refused(); f == nil || f.Reason != input.NotInitialized {
		t.Errorf("a token without a key: %v", f)
	}
	plan(&input.Tick{Entropy: testEntropy})
	if p.st.Meta.NextKey != int32(yarn.KeyKinds) || len(p.Due(p.st.Meta.NowMillis)) > 0 {
		t.Errorf("the last key is %d", p.st.Meta.NextKey)
	}
}

func TestDelegation(t *testing.T) {
	r := newRig(t)
	const day = 86_400_000
	token := r.ok(&input.IssueDelegationToken{Owner: "ann", Renewer: "yarn", RealUser: "oozie"}).(*input.IssueDelegationTokenReply)
	issued := r.now
	if token.Sequence != 1 || token.IssueMillis != issued || token.MaxMillis != issued+7*day ||
		token.KeyID != r.p.st.Keys(yarn.KeyDelegation).Current.ID {
		t.Errorf("IssueDelegationToken at %d = %+v, want sequence 1, 7 days at most and key %d",
			issued, token, r.p.st.Keys(yarn.KeyDelegation).Current.ID)
	}
	if d := r.p.st.Delegations.Find(1); d.ExpiresMillis != issued+day || d.Owner != "ann" || d.RealUser != "oozie" ||
		d.IssuedMillis != issued {
		t.Errorf("delegation token 1: %+v, want issued at %d for a day, owner ann, real user oozie",
			d, issued)
	}
	r.refused(&input.IssueDelegationToken{}, input.InvalidRequest)
	r.refused(&input.RenewDelegationToken{Sequence: 1, By: "ann"}, input.NotAllowed, "non-matching renewer yarn")
	r.refused(&input.RenewDelegationToken{Sequence: 9, By: "ann"}, input.TokenInvalid, "unknown token")
	for n := int64(1); n < 7; n++ { // each renewal is accepted within seven days
		r.now = issued + n*(day-1000)
		if got := r.ok(&input.RenewDelegationToken{Sequence: 1, By: "yarn"}).(*input.RenewDelegationTokenReply).ExpiresMillis; got != r.now+day {
			t.Errorf("day %d: good until %d", n, got-issued)
		}
	}
	r.now = issued + 7*(day-1000)
	if got := r.ok(&input.RenewDelegationToken{Sequence: 1, By: "yarn"}).(*input.RenewDelegationTokenReply).ExpiresMillis; got != token.MaxMillis {
		t.Errorf("at last good until %d", got-issued)
	}
	r.now = token.MaxMillis
	r.refused(&input.RenewDelegationToken{Sequence: 1, By: "yarn"}, input.TokenExpired,
		"yarn tried to renew an expired token")
	if len(r.p.Due(r.now)) == 0 {
		t.Error("an expired token calls for a tick")
	}
	r.ok(&input.Tick{})
	if r.p.st.Delegations.Find(1) != nil {
		t.Error("it is still there")
	}
	alone := r.ok(&input.IssueDelegationToken{Owner: "ann"}).(*input.IssueDelegationTokenReply).Sequence
	r.refused(&input.RenewDelegationToken{Sequence: alone, By: "ann"}, input.NotAllowed, "without a renewer")
	r.refused(&input.CancelDelegationToken{Sequence: alone, By: ""}, input.NotAllowed, "not authorized")
	r.refused(&input.CancelDelegationToken{Sequence: 1, By: "ann"}, input.TokenInvalid, "not found")
	r.ok(&input.CancelDelegationToken{Sequence: alone, By: "ann"})
}

// TestTokenAlgorithm checks that a change of the algorithm makes new keys, and that the old keys keep
// theirs, so that tokens signed before stay good.
func TestTokenAlgorithm(t *testing.T) {
	r := newRig(t)
	if k := r.p.st.Keys(yarn.KeyNM); k.Current.Algorithm != yarn.HMACSHA1 {
		t.Errorf("by default %s", k.Current.Algorithm)
	}
	old := *r.p.st.Keys(yarn.KeyNM)
	r.ok(&input.SetQueues{Properties: []input.Property{{Name: confPrefix + "root.queues", Value: "a,b"},
		{Name: confPrefix + "root.a.capacity", Value: "50"}, {Name: confPrefix + "root.b.capacity", Value: "50"},
		{Name: "hadoop.security.secret-manager.key-generator.algorithm", Value: "hmacsha256"},
		{Name: "hadoop.security.secret-manager.key-length", Value: "512"}}})
	r.ok(&input.Tick{Entropy: testEntropy})
	for which := range yarn.KeyKinds {
		newest := r.p.st.Keys(which).Next
		if which == yarn.KeyDelegation { // in force at once
			newest = r.p.st.Keys(which).Current
		}
		if newest.Algorithm != yarn.HMACSHA256 || len(newest.Bytes) != 64 {
			t.Errorf("the next key of kind %s is %s with %s and %d bytes, want HmacSHA256 and 64", which, newest,
				newest.Algorithm, len(newest.Bytes))
		}
	}
	if k := r.p.st.Keys(yarn.KeyNM).Current; k.ID != old.Current.ID || k.Algorithm != yarn.HMACSHA1 {
		t.Errorf("the key in force became %s with %s", k, k.Algorithm)
	}
	id := r.p.st.Meta.NextKey
	r.ok(&input.Tick{Entropy: testEntropy})
	if r.p.st.Meta.NextKey != id {
		t.Error("keys are made again")
	}
}

// TestClientKey checks that an attempt gets a key for its clients when its AM first registers,
// keeps it when the AM registers again, and loses it at its end.
func TestClientKey(t *testing.T) {
	r := newRig(t, "hadoop.security.secret-manager.key-generator.algorithm", "HmacSHA256",
		"hadoop.security.secret-manager.key-length", "512").dialed()
	id := r.started(nil)
	key := func(id yarn.AttemptID) state.MasterKey { return r.app(id).Details().ClientKey }
	entropy := func(b byte) []byte { return bytes.Repeat([]byte{b}, token.EntropySize) }
	r.ok(&input.RegisterAttempt{Attempt: id, Entropy: entropy(1)})
	first := key(id)
	if len(first.Bytes) != 64 || first.Algorithm != yarn.HMACSHA256 {
		t.Fatalf("its key has %d bytes for %s", len(first.Bytes), first.Algorithm)
	}
	same := func(when string) {
		t.Helper()
		if !bytes.Equal(key(id).Bytes, first.Bytes) {
			t.Errorf("%s it has another key", when)
		}
	}
	r.ok(&input.RegisterAttempt{Attempt: id, Entropy: entropy(2)})
	same("registered at once again,")
	r.ok(&input.Allocate{Attempt: id, Asks: []input.Ask{
		{Name: yarn.Any, Count: 1, Size: yarn.NewResource(1024, 1), Relax: true}}})
	r.ok(&input.RegisterAttempt{Attempt: id, Entropy: entropy(3)})
	same("registered again after a response,")
	r.ok(&input.Allocate{Attempt: id, TrackingURL: "another"})
	same("after a report")

	r.report(id, 1, yarn.ContainerRunning, 0)
	r.report(id, 1, yarn.ContainerCompleted, 1)
	next := yarn.AttemptID{App: id.App, Attempt: 2}
	if a := r.app(id); a.Attempt != 2 || len(key(id).Bytes) > 0 {
		t.Fatalf("attempt %d has the key before its AM registers", a.Attempt)
	}
	r.ok(&input.RegisterAttempt{Attempt: next, Entropy: entropy(4)})
	if k := key(next); len(k.Bytes) != 64 || bytes.Equal(k.Bytes, first.Bytes) {
		t.Error("the next attempt has no key, or that of the one before")
	}
	r.ok(&input.FinishAttempt{Attempt: next, Final: yarn.FinalSucceeded})
	if len(key(next).Bytes) == 0 {
		t.Error("its key is gone before its container ends")
	}
	r.ok(&input.KillApplication{ID: id.App})
	if len(key(next).Bytes) > 0 {
		t.Error("its key outlives it")
	}

	for _, few := range [][]byte{nil, make([]byte, token.EntropySize-1)} {
		none := r.started(nil)
		r.ok(&input.RegisterAttempt{Attempt: none, Entropy: few})
		if len(key(none).Bytes) > 0 {
			t.Errorf("a key of %d random bytes", len(few))
		}
	}
}
