package state

import (
	"rmd/fsm/event"
	"rmd/yarn"
)

// Delegations is the table of delegation tokens.
type Delegations struct {
	Keyed[DelegationSlot, DelegationToken, *DelegationToken]
}

// Keys returns the master keys of a kind.
func (s *State) Keys(k yarn.KeyKind) *KeySet { return &s.Meta.Keys[k] }

// Delegation returns the delegation token with a sequence number, or nil if there is none.
func (s *State) Delegation(sequence uint32) *DelegationToken {
	slot := s.delegation(sequence)
	if slot == 0 {
		return nil
	}
	return s.Delegations.Get(slot)
}

func (s *State) delegation(sequence uint32) DelegationSlot {
	return s.Delegations.find(hash64(uint64(sequence)), func(r *DelegationToken) bool { return r.Sequence == sequence })
}

func (t *DelegationToken) hash() uint64                     { return hash64(uint64(t.Sequence)) }
func (t *DelegationToken) same(other *DelegationToken) bool { return t.Sequence == other.Sequence }

// SignedWith reports whether any delegation token is signed with a key.
func (s *State) SignedWith(key int32) bool {
	var found bool
	s.Delegations.Each(func(_ DelegationSlot, t *DelegationToken) bool { found = t.KeyID == key; return !found })
	return found
}

// skipSecrets skips the numbers of keys and delegation tokens that may have been given between a
// backup and its restore, so that no number is used twice.
func (m *Meta) skipSecrets(epoch uint32) {
	m.NextKey = max(m.NextKey, int32(min(epoch, 1<<11-1))<<20)
	m.NextToken = max(m.NextToken, min(epoch, 1<<11-1)<<20)
	m.fold(uint64(uint32(m.NextKey))<<32 | uint64(m.NextToken))
}

var _ = applies(func(s *State, e *event.MasterKeyCreated) error { return s.Meta.masterKeyCreated(e) })

// masterKeyCreated adds the next key of a kind. The first key of a kind is in force at once.
func (m *Meta) masterKeyCreated(e *event.MasterKeyCreated) error {
	if e.Which >= yarn.KeyKinds || e.ID != m.NextKey+1 || len(e.Bytes) == 0 || e.Algorithm >= yarn.HMACs {
		return broken(e, "the next key is %d, or there is no such algorithm", m.NextKey+1)
	}
	k := &m.Keys[e.Which]
	if k.Next.ID != 0 {
		return broken(e, "key %d waits to be activated", k.Next.ID)
	}
	m.NextKey = e.ID
	key := MasterKey{ID: e.ID, Bytes: e.Bytes, Algorithm: e.Algorithm}
	k.MadeMillis, k.ActivateMillis = m.NowMillis, e.ActivateMillis
	if k.Current.ID == 0 {
		k.Current, k.ActivateMillis = key, 0
	} else {
		k.Next = key
	}
	m.fold(uint64(e.Which)<<32 | uint64(uint32(e.ID)))
	m.fold(hashString(string(e.Bytes)) ^ uint64(e.Algorithm))
	return nil
}

var _ = applies((*State).keyActivated)

func (s *State) keyActivated(e *event.KeyActivated) error {
	if e.Which >= yarn.KeyKinds || s.Meta.Keys[e.Which].Next.ID == 0 {
		return broken(e, "there is no next key")
	}
	k := &s.Meta.Keys[e.Which]
	if e.Which == yarn.KeyDelegation && s.SignedWith(k.Previous.ID) {
		return broken(e, "a token is signed with key %d", k.Previous.ID)
	}
	k.Previous, k.Current, k.Next, k.ActivateMillis = k.Current, k.Next, MasterKey{}, 0
	s.fold(uint64(e.Which)<<32 | uint64(uint32(k.Current.ID)))
	return nil
}

var _ = applies((*State).delegationTokenIssued)

func (s *State) delegationTokenIssued(e *event.DelegationTokenIssued) error {
	if key := s.Meta.Keys[yarn.KeyDelegation].Current.ID; e.Sequence != s.Meta.NextToken+1 || e.KeyID != key || key == 0 || e.ExpiresMillis > e.MaxMillis {
		return broken(e, "the next token is %d, signed with key %d", s.Meta.NextToken+1, key)
	}
	s.Meta.NextToken = e.Sequence
	slot, t := s.Delegations.alloc()
	*t = DelegationToken{Sequence: e.Sequence, Owner: e.Owner, Renewer: e.Renewer, RealUser: e.RealUser, KeyID: e.KeyID,
		IssuedMillis: s.Meta.NowMillis, MaxMillis: e.MaxMillis, ExpiresMillis: e.ExpiresMillis}
	s.Delegations.insert(slot)
	s.fold(uint64(e.Sequence)<<32 | uint64(slot))
	s.fold(hashString(e.Owner) ^ hash64(uint64(e.MaxMillis)) ^ uint64(e.ExpiresMillis))
	s.fold(hashString(e.Renewer) ^ hash64(hashString(e.RealUser)))
	return nil
}

var _ = applies((*State).delegationTokenRenewed)

func (s *State) delegationTokenRenewed(e *event.DelegationTokenRenewed) error {
	slot := s.delegation(e.Sequence)
	if slot == 0 || e.ExpiresMillis > s.Delegations.Get(slot).MaxMillis {
		return broken(e, "no such token, or not for so long")
	}
	s.Delegations.mut(slot).ExpiresMillis = e.ExpiresMillis
	s.fold(uint64(e.Sequence)<<32 ^ uint64(e.ExpiresMillis))
	return nil
}

var _ = applies((*State).delegationTokenEnded)

func (s *State) delegationTokenEnded(e *event.DelegationTokenEnded) error {
	slot := s.delegation(e.Sequence)
	if slot == 0 {
		return broken(e, "no such token")
	}
	s.Delegations.release(slot)
	s.fold(uint64(e.Sequence))
	return nil
}
