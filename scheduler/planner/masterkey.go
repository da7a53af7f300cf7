package planner

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/yarn"
)

// entropySize is the number of random bytes that an input must have so that keys are made from
// them.
const entropySize = 32

// keysAt returns when the next master key must be made or activated.
func (p *Planner) keysAt() int64 {
	first := int64(never)
	for which := range yarn.KeyKinds {
		first = min(first, activationAt(p.st.Keys(which)), p.rollAt(which))
	}
	return first
}

// activationAt returns when the next key of a kind is in force.
func activationAt(k *state.KeySet) int64 {
	if k.Next.ID == 0 {
		return never
	}
	return k.ActivateMillis
}

// rollAt returns when the next key of a kind must be made. A delegation key is not replaced while a
// token is signed with the key before it.
func (p *Planner) rollAt(which yarn.KeyKind) int64 {
	k := p.st.Keys(which)
	switch {
	case k.Current.ID == 0:
		return 0
	case k.Next.ID != 0 || which == yarn.KeyDelegation && p.st.Delegations.SignedWith(k.Previous.ID):
		return never
	}
	if k.Current.Algorithm != p.Config().Tokens.Algorithm {
		return 0
	}
	return k.MadeMillis + p.Config().Tokens.Roll[which]
}

// rollKeys activates the keys whose time has come. If entropy is long enough, it also makes the
// keys that are due.
func (p *Planner) rollKeys(entropy []byte) {
	for which := range yarn.KeyKinds {
		if activationAt(p.st.Keys(which)) <= p.now {
			p.sched.Emit(&event.KeyActivated{Which: which})
		}
		if len(entropy) < entropySize || p.rollAt(which) > p.now {
			continue
		}
		id, t := p.st.Meta.NextKey+1, &p.Config().Tokens
		p.sched.Emit(&event.MasterKeyCreated{Which: which, ID: id, Bytes: keyBytes(entropy, which, id, t.KeyBytes), ActivateMillis: p.now + t.Activate[which], Algorithm: t.Algorithm})
		if activationAt(p.st.Keys(which)) <= p.now {
			p.sched.Emit(&event.KeyActivated{Which: which})
		}
	}
}

// keyBytes derives the secret of a key, of the given length. Each key of an input gets a different
// secret.
func keyBytes(entropy []byte, which yarn.KeyKind, id int32, length int) []byte {
	var out []byte
	for block := uint32(0); len(out) < length; block++ {
		h := hmac.New(sha256.New, entropy)
		h.Write(binary.BigEndian.AppendUint32([]byte{byte(which)}, uint32(id)))
		if block > 0 {
			h.Write(binary.BigEndian.AppendUint32(nil, block))
		}
		out = h.Sum(out)
	}
	return out[:length]
}
