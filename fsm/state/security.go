package state

import (
	"rmd/fsm/event"
	"rmd/fsm/state/table"
	"rmd/yarn"
)

// Delegations is the table of delegation tokens.
type Delegations struct {
	table.Keyed[DelegationSlot, DelegationToken, *DelegationToken]
}

// Keys returns the master keys of a kind.
func (s *Accounts) Keys(k yarn.KeyKind) *KeySet { return &s.Meta.Keys[k] }

// Find returns the delegation token with a sequence number, or nil if there is none.
func (d *Delegations) Find(sequence uint32) *DelegationToken {
	slot := d.at(sequence)
	if slot == 0 {
		return nil
	}
	return d.Get(slot)
}

func (d *Delegations) at(sequence uint32) DelegationSlot {
	return d.Lookup(table.Mix(uint64(sequence)), func(r *DelegationToken) bool { return r.Sequence == sequence })
}

func (t *DelegationToken) Hash() uint64                     { return table.Mix(uint64(t.Sequence)) }
func (t *DelegationToken) Same(other *DelegationToken) bool { return t.Sequence == other.Sequence }

// SignedWith reports whether any delegation token is signed with a key.
func (d *Delegations) SignedWith(key int32) bool {
	var found bool
	d.Each(func(_ DelegationSlot, t *DelegationToken) bool { found = t.KeyID == key; return !found })
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
	m.fold(table.Hash(string(e.Bytes)) ^ uint64(e.Algorithm))
	return nil
}

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

var _ = applies(func(s *State, e *event.DelegationTokenIssued) error { return s.Delegations.issued(&s.Meta, e) })

func (d *Delegations) issued(m *Meta, e *event.DelegationTokenIssued) error {
	if key := m.Keys[yarn.KeyDelegation].Current.ID; e.Sequence != m.NextToken+1 || e.KeyID != key || key == 0 || e.ExpiresMillis > e.MaxMillis {
		return broken(e, "the next token is %d, signed with key %d", m.NextToken+1, key)
	}
	m.NextToken = e.Sequence
	slot, t := d.Alloc()
	*t = DelegationToken{Sequence: e.Sequence, Owner: e.Owner, Renewer: e.Renewer, RealUser: e.RealUser, KeyID: e.KeyID,
		IssuedMillis: m.NowMillis, MaxMillis: e.MaxMillis, ExpiresMillis: e.ExpiresMillis}
	d.Insert(slot)
	m.fold(uint64(e.Sequence)<<32 | uint64(slot))
	m.fold(table.Hash(e.Owner) ^ table.Mix(uint64(e.MaxMillis)) ^ uint64(e.ExpiresMillis))
	m.fold(table.Hash(e.Renewer) ^ table.Mix(table.Hash(e.RealUser)))
	return nil
}

var _ = applies(func(s *State, e *event.DelegationTokenRenewed) error { return s.Delegations.renewed(&s.Meta, e) })

func (d *Delegations) renewed(m *Meta, e *event.DelegationTokenRenewed) error {
	slot := d.at(e.Sequence)
	if slot == 0 || e.ExpiresMillis > d.Get(slot).MaxMillis {
		return broken(e, "no such token, or not for so long")
	}
	d.Mut(slot).ExpiresMillis = e.ExpiresMillis
	m.fold(uint64(e.Sequence)<<32 ^ uint64(e.ExpiresMillis))
	return nil
}

var _ = applies(func(s *State, e *event.DelegationTokenEnded) error { return s.Delegations.ended(&s.Meta, e) })

func (d *Delegations) ended(m *Meta, e *event.DelegationTokenEnded) error {
	slot := d.at(e.Sequence)
	if slot == 0 {
		return broken(e, "no such token")
	}
	d.Release(slot)
	m.fold(uint64(e.Sequence))
	return nil
}

var delegationPart = derived{part: keyedRows(18, "delegation-tokens", func(s *State) *table.Keyed[DelegationSlot, DelegationToken, *DelegationToken] {
	return &s.Delegations.Keyed
}, (*DelegationToken).code),
	agrees: (*State).checkSecrets}
