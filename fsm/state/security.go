package state

import (
	"rmd/fsm/event"
	"rmd/fsm/state/check"
	"rmd/fsm/state/part"
	"rmd/fsm/state/table"
	"rmd/yarn"
)

// Keys returns the master keys of a kind.
func (s *Accounts) Keys(k yarn.KeyKind) *KeySet { return &s.Meta.Keys[k] }

var _ = applies(func(s *State, e *event.MasterKeyCreated) error { return s.Meta.MasterKeyCreated(e) })
var _ = applies((*State).keyActivated)

func (s *State) keyActivated(e *event.KeyActivated) error {
	if e.Which >= yarn.KeyKinds || s.Meta.Keys[e.Which].Next.ID == 0 {
		return broken(e, "there is no next key")
	}
	k := &s.Meta.Keys[e.Which]
	if e.Which == yarn.KeyDelegation && s.Delegations.SignedWith(k.Previous.ID) {
		return broken(e, "a token is signed with key %d", k.Previous.ID)
	}
	k.Previous, k.Current, k.Next, k.ActivateMillis = k.Current, k.Next, MasterKey{}, 0
	s.fold(uint64(e.Which)<<32 | uint64(uint32(k.Current.ID)))
	return nil
}

var _ = applies(func(s *State, e *event.DelegationTokenIssued) error { return s.Delegations.Issued(&s.Meta, e) })
var _ = applies(func(s *State, e *event.DelegationTokenRenewed) error { return s.Delegations.Renewed(&s.Meta, e) })
var _ = applies(func(s *State, e *event.DelegationTokenEnded) error { return s.Delegations.Ended(&s.Meta, e) })

var _ = stored(1, part.Derived[State]{Part: part.Keyed(18, "delegation-tokens",
	func(s *State) *table.Keyed[DelegationSlot, DelegationToken, *DelegationToken] {
		return &s.Delegations.Keyed
	}, (*DelegationToken).Code),
	Agrees: agrees((*check.Tables).CheckSecrets)})
