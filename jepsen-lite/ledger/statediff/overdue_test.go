package statediff

import (
	"strings"
	"testing"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/yarn"
)

// TestOverdue checks that each thing is found from its deadline on, and not before.
func TestOverdue(t *testing.T) {
	const due = 61_000
	for says, events := range map[string][]event.Event{
		"the drain of node":  {&event.NodeStateChanged{Node: 1, State: yarn.NodeDecommissioning, DeadlineMillis: due}},
		"the lifetime of":    {&event.ApplicationLifetimeChanged{App: 1, LifetimeMillis: due - 1000}},
		"a join token of":    {&event.JoinTokenCreated{Hash: make([]byte, 32), ExpiresMillis: due, CreatedBy: "op"}},
		"an idempotency key": {&event.RequestRecorded{Key: "k"}},
		"delegation token 1 ": {&event.MasterKeyCreated{Which: yarn.KeyDelegation, ID: 1, Bytes: make([]byte, 32)},
			&event.DelegationTokenIssued{Sequence: 1, Owner: "ann", KeyID: 1, MaxMillis: due, ExpiresMillis: due}},
		"master key 2 ": {&event.MasterKeyCreated{Which: yarn.KeyNM, ID: 1, Bytes: make([]byte, 32)},
			&event.MasterKeyCreated{Which: yarn.KeyNM, ID: 2, Bytes: make([]byte, 32), ActivateMillis: due}},
		"the gang of": {&event.GangDeclared{App: 2, Gang: yarn.Gang{Priority: 1, Count: 9, TimeoutMillis: due - 1000}},
			&event.AskChanged{App: 2, Key: key, Name: yarn.Any, Count: 9, Size: small, Relax: true}},
	} {
		st := state.New()
		apply(t, st, &event.TimeAdvanced{NowMillis: 1000})
		for _, entry := range cluster()[:5] {
			for _, e := range entry {
				if init, ok := e.(*event.ClusterInitialized); ok {
					init.Level = event.Level
				}
				apply(t, st, e)
			}
		}
		apply(t, st, events...)
		at := int64(due)
		if says == "an idempotency key" {
			at = 1000 + state.RequestKeepMillis
		}
		apply(t, st, &event.TimeAdvanced{NowMillis: at - 1})
		if found := Overdue(st); len(found) > 0 {
			t.Errorf("%q before the deadline of %s", found, says)
		}
		apply(t, st, &event.TimeAdvanced{NowMillis: at})
		if found := Overdue(st); len(found) != 1 || !strings.HasPrefix(found[0], says) {
			t.Errorf("%q at the deadline of %s", found, says)
		}
	}
}
