package migration

import (
	"fmt"
	"math"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/transport/hadoop/statestore"
	"rmd/yarn"
)

// keys takes over the keys of AM tokens, the keys of delegation tokens, and the delegation tokens.
func (b *builder) keys() {
	now, meta := b.opt.NowMillis, &b.st.Meta
	key := func(k statestore.Key) state.MasterKey {
		return state.MasterKey{ID: k.ID, Bytes: k.Bytes, Algorithm: b.conf.Tokens.Algorithm}
	}
	if k := b.store.AMRM; k.Current.ID != 0 {
		set := &meta.Keys[yarn.KeyAMRM]
		*set = state.KeySet{Current: key(k.Current), Next: key(k.Next), MadeMillis: now}
		if set.Next.ID != 0 {
			set.ActivateMillis = now + b.conf.Tokens.Activate[yarn.KeyAMRM]
		}
	}
	keys := b.store.DelegationKeys
	if len(keys) == 0 {
		return
	}
	set := &meta.Keys[yarn.KeyDelegation]
	*set = state.KeySet{Current: key(keys[len(keys)-1]), Previous: key(b.previousKey()), MadeMillis: now}
	if first := keys[0].ID; first <= 0 || keys[len(keys)-1].ID == math.MaxInt32 {
		b.problem(fmt.Sprintf("DelegationKey_%d", first), "check the state store",
			"the ids of the delegation keys are out of range")
		return
	}
	meta.NextKey = max(meta.NextKey, keys[len(keys)-1].ID)
	b.tokens(set)
}

// previousKey returns the newest key before the current one that a valid token is signed with. The
// cluster keeps two keys.
func (b *builder) previousKey() (out statestore.Key) {
	keys := b.store.DelegationKeys
	for _, k := range keys[:len(keys)-1] {
		for _, t := range b.store.DelegationTokens {
			if t.KeyID == k.ID && t.ExpiresMillis > b.opt.NowMillis {
				out = k
			}
		}
	}
	return out
}

// tokens takes over the delegation tokens that have not expired.
func (b *builder) tokens(set *state.KeySet) {
	meta, current := &b.st.Meta, set.Current
	clock := meta.NowMillis
	for _, t := range b.store.DelegationTokens {
		name := fmt.Sprintf("RMDelegationToken_%d", t.Sequence)
		if t.ExpiresMillis <= b.opt.NowMillis || b.skipped(name) {
			continue
		}
		switch t.KeyID {
		case current.ID:
		case set.Previous.ID:
			set.Current = set.Previous
		default:
			b.problem(name, fmt.Sprintf("leave it out with --skip; %s must get a new token", t.Owner),
				"it is signed with key %d; rmd keeps the keys %d and %d", t.KeyID, set.Previous.ID, current.ID)
			continue
		}
		meta.NextToken, meta.NowMillis = t.Sequence-1, t.IssuedMillis
		b.apply(&event.DelegationTokenIssued{Sequence: t.Sequence, Owner: t.Owner, Renewer: t.Renewer, RealUser: t.RealUser,
			KeyID:     t.KeyID,
			MaxMillis: t.MaxMillis, ExpiresMillis: min(t.ExpiresMillis, t.MaxMillis)})
		set.Current = current
		b.result.Tokens++
	}
	meta.NowMillis, meta.NextToken = clock, max(meta.NextToken, b.store.Sequence)
}
