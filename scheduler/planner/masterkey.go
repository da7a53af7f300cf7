package planner

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/yarn"
)

// entropySize is the number of random bytes that an input must have so that keys are made from
// them.
const entropySize = 32

// KeysDue reports whether a Tick would make or activate a master key, or end a delegation token.
func KeysDue(st *state.State, nowMillis int64) bool {
	v := st.Version()
	if v == nil {
		return false
	}
	times := capacity.ReadTokenTimes(func(yield func(name, value string) bool) {
		for i := range v.Properties {
			if !yield(v.Properties[i].Name, v.Properties[i].Value) {
				return
			}
		}
	})
	for which := range yarn.KeyKinds {
		if activationDue(st.Keys(which), nowMillis) || rollDue(st, &times, which, nowMillis) {
			return true
		}
	}
	expired := false
	st.Delegations.Each(func(_ uint32, t *state.DelegationToken) bool {
		expired = t.ExpiresMillis <= nowMillis
		return !expired
	})
	return expired
}

func activationDue(k *state.KeySet, now int64) bool { return k.Next.ID != 0 && k.ActivateMillis <= now }

// rollDue reports whether the next key of a kind must be made. A delegation key is not replaced
// while a token is signed with the key before it.
func rollDue(st *state.State, times *capacity.TokenTimes, which yarn.KeyKind, now int64) bool {
	k := st.Keys(which)
	switch {
	case k.Current.ID == 0:
		return true
	case k.Next.ID != 0 || now-k.MadeMillis < times.Roll[which]:
		return false
	}
	return which != yarn.KeyDelegation || !st.SignedWith(k.Previous.ID)
}

// rollKeys activates the keys whose time has come. If entropy is long enough, it also makes the
// keys that are due.
func (p *Planner) rollKeys(entropy []byte) {
	for which := range yarn.KeyKinds {
		if activationDue(p.st.Keys(which), p.now) {
			p.sched.Emit(&event.KeyActivated{Which: which})
		}
		if len(entropy) < entropySize || !rollDue(p.st, &p.Config().Tokens, which, p.now) {
			continue
		}
		id := p.st.Meta.NextKey + 1
		p.sched.Emit(&event.MasterKeyCreated{Which: which, ID: id, Bytes: keyBytes(entropy, which, id), ActivateMillis: p.now + p.Config().Tokens.Activate[which]})
		if activationDue(p.st.Keys(which), p.now) {
			p.sched.Emit(&event.KeyActivated{Which: which})
		}
	}
}

// keyBytes derives the secret of a key. Each key of an input gets a different secret.
func keyBytes(entropy []byte, which yarn.KeyKind, id int32) []byte {
	h := hmac.New(sha256.New, entropy)
	h.Write(binary.BigEndian.AppendUint32([]byte{byte(which)}, uint32(id)))
	return h.Sum(nil)
}
