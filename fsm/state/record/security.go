package record

import (
	"rmd/fsm/event"
	"rmd/fsm/state/table"
	"rmd/yarn"
)

// Delegations is the table of delegation tokens.
type Delegations struct {
	table.Keyed[DelegationSlot, DelegationToken, *DelegationToken]
}

// Find returns the delegation token with a sequence number, or nil if there is none.
func (d *Delegations) Find(sequence uint32) *DelegationToken {
	slot := d.At(sequence)
	if slot == 0 {
		return nil
	}
	return d.Get(slot)
}

// At returns the slot of the delegation token with a sequence number, or 0 if there is none.
func (d *Delegations) At(sequence uint32) DelegationSlot {
	return d.Lookup(table.Mix(uint64(sequence)), func(r *DelegationToken) bool { return r.Sequence == sequence })
}

// Hash returns the hash of the key.
func (t *DelegationToken) Hash() uint64 { return table.Mix(uint64(t.Sequence)) }

// Same reports whether the keys are equal.
func (t *DelegationToken) Same(other *DelegationToken) bool { return t.Sequence == other.Sequence }

// SignedWith reports whether any delegation token is signed with a key.
func (d *Delegations) SignedWith(key int32) bool {
	var found bool
	d.Each(func(_ DelegationSlot, t *DelegationToken) bool { found = t.KeyID == key; return !found })
	return found
}

// SkipSecrets skips the numbers of keys and delegation tokens that may have been given between a
// backup and its restore, so that no number is used twice.
func (m *Meta) SkipSecrets(epoch uint32) {
	m.NextKey = max(m.NextKey, int32(min(epoch, 1<<11-1))<<20)
	m.NextToken = max(m.NextToken, min(epoch, 1<<11-1)<<20)
	m.Fold(uint64(uint32(m.NextKey))<<32 | uint64(m.NextToken))
}

// MasterKeyCreated adds the next key of a kind. The first key of a kind is in force at once.
func (m *Meta) MasterKeyCreated(e *event.MasterKeyCreated) error {
	if e.Which >= yarn.KeyKinds || e.ID != m.NextKey+1 || len(e.Bytes) == 0 || e.Algorithm >= yarn.HMACs {
		return Broken(e, "the next key is %d, or there is no such algorithm", m.NextKey+1)
	}
	k := &m.Keys[e.Which]
	if k.Next.ID != 0 {
		return Broken(e, "key %d waits to be activated", k.Next.ID)
	}
	m.NextKey = e.ID
	key := MasterKey{ID: e.ID, Bytes: e.Bytes, Algorithm: e.Algorithm}
	k.MadeMillis, k.ActivateMillis = m.NowMillis, e.ActivateMillis
	if k.Current.ID == 0 {
		k.Current, k.ActivateMillis = key, 0
	} else {
		k.Next = key
	}
	m.Fold(uint64(e.Which)<<32 | uint64(uint32(e.ID)))
	m.Fold(table.Hash(string(e.Bytes)) ^ uint64(e.Algorithm))
	return nil
}

// Issued applies the issue of a token.
func (d *Delegations) Issued(m *Meta, e *event.DelegationTokenIssued) error {
	if key := m.Keys[yarn.KeyDelegation].Current.ID; e.Sequence != m.NextToken+1 || e.KeyID != key || key == 0 ||
		e.ExpiresMillis > e.MaxMillis {
		return Broken(e, "the next token is %d, signed with key %d", m.NextToken+1, key)
	}
	m.NextToken = e.Sequence
	slot, t := table.Alloc(&d.Keyed.Table)
	*t = DelegationToken{Sequence: e.Sequence, Owner: e.Owner, Renewer: e.Renewer, RealUser: e.RealUser, KeyID: e.KeyID,
		IssuedMillis: m.NowMillis, MaxMillis: e.MaxMillis, ExpiresMillis: e.ExpiresMillis}
	table.InsertKeyed(&d.Keyed, slot)
	m.Fold(uint64(e.Sequence)<<32 | uint64(slot))
	m.Fold(table.Hash(e.Owner) ^ table.Mix(uint64(e.MaxMillis)) ^ uint64(e.ExpiresMillis))
	m.Fold(table.Hash(e.Renewer) ^ table.Mix(table.Hash(e.RealUser)))
	return nil
}

// Renewed applies the renewal of a token.
func (d *Delegations) Renewed(m *Meta, e *event.DelegationTokenRenewed) error {
	slot := d.At(e.Sequence)
	if slot == 0 || e.ExpiresMillis > d.Get(slot).MaxMillis {
		return Broken(e, "no such token, or not for so long")
	}
	d.Mut(slot).ExpiresMillis = e.ExpiresMillis
	m.Fold(uint64(e.Sequence)<<32 ^ uint64(e.ExpiresMillis))
	return nil
}

// Ended applies the end of a token.
func (d *Delegations) Ended(m *Meta, e *event.DelegationTokenEnded) error {
	slot := d.At(e.Sequence)
	if slot == 0 {
		return Broken(e, "no such token")
	}
	table.ReleaseKeyed(&d.Keyed, slot)
	m.Fold(uint64(e.Sequence))
	return nil
}
