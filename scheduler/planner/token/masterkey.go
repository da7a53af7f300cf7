package token

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/scheduler/planner/due"
	"rmd/yarn"
)

// EntropySize is the number of random bytes that an input must have so that keys are made from
// them.
const EntropySize = 32

// KeysAt returns when the next master key must be made or activated.
func (p Plan) KeysAt() int64 {
	first := int64(due.Never)
	for which := range yarn.KeyKinds {
		first = min(first, activationAt(p.State.Keys(which)), p.rollAt(which))
	}
	return first
}

// activationAt returns when the next key of a kind is in force.
func activationAt(k *state.KeySet) int64 {
	if k.Next.ID == 0 {
		return due.Never
	}
	return k.ActivateMillis
}

// rollAt returns when the next key of a kind must be made. A delegation key is not replaced while a
// token is signed with the key before it.
func (p Plan) rollAt(which yarn.KeyKind) int64 {
	k := p.State.Keys(which)
	switch {
	case k.Current.ID == 0:
		return 0
	case k.Next.ID != 0 || which == yarn.KeyDelegation && p.State.Delegations.SignedWith(k.Previous.ID):
		return due.Never
	}
	if k.Current.Algorithm != p.Settings.Algorithm {
		return 0
	}
	return k.MadeMillis + p.Settings.Roll[which]
}

// RollKeys activates the keys whose time has come. If entropy is long enough, it also makes the
// keys that are due.
func (p Plan) RollKeys(entropy []byte) {
	for which := range yarn.KeyKinds {
		if activationAt(p.State.Keys(which)) <= p.NowMillis {
			p.Emit(&event.KeyActivated{Which: which})
		}
		if len(entropy) < EntropySize || p.rollAt(which) > p.NowMillis {
			continue
		}
		id, t := p.State.Meta.NextKey+1, p.Settings
		p.Emit(&event.MasterKeyCreated{Which: which, ID: id, Bytes: keyBytes(entropy, which, id, t.KeyBytes),
			ActivateMillis: p.NowMillis + t.Activate[which], Algorithm: t.Algorithm})
		if activationAt(p.State.Keys(which)) <= p.NowMillis {
			p.Emit(&event.KeyActivated{Which: which})
		}
	}
}

// ClientKey returns the secret of the key that an AM's clients authenticate with, and its algorithm.
// It returns none if entropy is too short.
func ClientKey(entropy []byte, t *capacity.TokenSettings) ([]byte, yarn.HMAC) {
	if len(entropy) < EntropySize {
		return nil, 0
	}
	return keyBytes(entropy, yarn.KeyKinds, 0, t.KeyBytes), t.Algorithm
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
