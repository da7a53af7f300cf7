package state

import (
	"testing"

	"rmd/fsm/event"
	"rmd/yarn"
)

// TestDigestTellsAMsAndSecretsApart checks that two events that differ in one field give different
// digests, if later decisions depend on the field.
func TestDigestTellsAMsAndSecretsApart(t *testing.T) {
	base := withMaster(t)
	apply(t, base, &event.ResponseRecorded{App: 1, Response: 1}, &event.ResponseRecorded{App: 2, Response: 1},
		&event.MasterKeyCreated{Which: yarn.KeyDelegation, ID: 1, Bytes: []byte{1}},
		&event.MasterKeyCreated{Which: yarn.KeyNM, ID: 2, Bytes: []byte{1}},
		&event.MasterKeyCreated{Which: yarn.KeyNM, ID: 3, Bytes: []byte{1}},
		&event.MasterKeyCreated{Which: yarn.KeyDelegation, ID: 4, Bytes: []byte{1}},
		&event.DelegationTokenIssued{Sequence: 1, Owner: "ann", KeyID: 1, MaxMillis: 9000},
		&event.DelegationTokenIssued{Sequence: 2, Owner: "ann", KeyID: 1, MaxMillis: 9000})
	issued := func(f func(e *event.DelegationTokenIssued)) *event.DelegationTokenIssued {
		e := &event.DelegationTokenIssued{Sequence: 3, Owner: "ann", Renewer: "yarn", KeyID: 1, MaxMillis: 9000,
			ExpiresMillis: 8000}
		f(e)
		return e
	}
	plain := issued(func(*event.DelegationTokenIssued) {})
	for _, c := range []struct {
		name string
		a, b event.Event
	}{
		{"lifetime", &event.ApplicationLifetimeChanged{App: 1, LifetimeMillis: 1},
			&event.ApplicationLifetimeChanged{App: 1, LifetimeMillis: 2}},
		{"lifetime of another", &event.ApplicationLifetimeChanged{App: 1, LifetimeMillis: 1},
			&event.ApplicationLifetimeChanged{App: 2, LifetimeMillis: 1}},
		{"id", &event.ApplicationIDsReserved{App: 4, Count: 1}, submit(4, "ann", "root.a")},
		{"ids", &event.ApplicationIDsReserved{App: 4, Count: 3}, &event.ApplicationIDsReserved{App: 4, Count: 4}},
		{"launch", &event.AttemptLaunched{App: 3}, &event.AttemptRegistered{App: 3}},
		{"key of clients", &event.AttemptRegistered{App: 3, ClientKey: []byte{1}},
			&event.AttemptRegistered{App: 3, ClientKey: []byte{2}}},
		{"algorithm of clients", &event.AttemptRegistered{App: 3, ClientKey: []byte{1}},
			&event.AttemptRegistered{App: 3, ClientKey: []byte{1}, ClientAlgorithm: yarn.HMACSHA256}},
		{"unregistration", &event.AttemptUnregistered{App: 1}, &event.AttemptUnregistered{App: 2}},
		{"final status", &event.AttemptUnregistered{App: 1, Final: yarn.FinalSucceeded},
			&event.AttemptUnregistered{App: 1, Final: yarn.FinalFailed}},
		{"resync", &event.AttemptResynced{App: 1}, &event.AttemptResynced{App: 2}},
		{"progress", &event.AttemptReported{App: 1, Progress: 1}, &event.AttemptReported{App: 1, Progress: 2}},
		{"report of another", &event.AttemptReported{App: 1, Progress: 1}, &event.AttemptReported{App: 2, Progress: 1}},
		{"page", &event.AttemptReported{App: 1, TrackingURL: "a"}, &event.AttemptReported{App: 1, TrackingURL: "b"}},
		{"failure", &event.AttemptEnded{App: 1, Counts: true}, &event.AttemptEnded{App: 1}},
		{"attempt of another", &event.AttemptEnded{App: 1}, &event.AttemptEnded{App: 2}},
		{"key's kind", &event.MasterKeyCreated{Which: yarn.KeyAMRM, ID: 5, Bytes: []byte{1}},
			&event.MasterKeyCreated{Which: yarn.KeyContainer, ID: 5, Bytes: []byte{1}}},
		{"key's bytes", &event.MasterKeyCreated{Which: yarn.KeyAMRM, ID: 5, Bytes: []byte{1}},
			&event.MasterKeyCreated{Which: yarn.KeyAMRM, ID: 5, Bytes: []byte{2}}},
		{"activation", &event.KeyActivated{Which: yarn.KeyNM}, &event.KeyActivated{Which: yarn.KeyDelegation}},
		{"token's owner", plain, issued(func(e *event.DelegationTokenIssued) { e.Owner = "bob" })},
		{"token's renewer", plain, issued(func(e *event.DelegationTokenIssued) { e.Renewer = "bob" })},
		{"token's real user", plain, issued(func(e *event.DelegationTokenIssued) { e.RealUser = "bob" })},
		{"token's life", plain, issued(func(e *event.DelegationTokenIssued) { e.MaxMillis++ })},
		{"token's end", plain, issued(func(e *event.DelegationTokenIssued) { e.ExpiresMillis++ })},
		{"renewal", &event.DelegationTokenRenewed{Sequence: 1, ExpiresMillis: 5},
			&event.DelegationTokenRenewed{Sequence: 1, ExpiresMillis: 6}},
		{"renewal of another", &event.DelegationTokenRenewed{Sequence: 1, ExpiresMillis: 5},
			&event.DelegationTokenRenewed{Sequence: 2, ExpiresMillis: 5}},
		{"cancellation of another", &event.DelegationTokenEnded{Sequence: 1}, &event.DelegationTokenEnded{Sequence: 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, b := base.Fork(), base.Fork()
			apply(t, a, c.a)
			apply(t, b, c.b)
			if a.Digest() == b.Digest() || a.Digest() == base.Digest() {
				t.Errorf("%s %+v and %s %+v: digests %x, %x after %x", c.a.Kind(), c.a, c.b.Kind(), c.b, a.Digest(), b.Digest(),
					base.Digest())
			}
		})
	}
}
