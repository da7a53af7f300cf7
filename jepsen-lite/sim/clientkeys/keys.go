// Package clientkeys judges the keys that clients depend on behind Kerberos (S21). Each attempt has the
// key of its first registration for the tokens of its clients, at every replica and under every leader,
// and no two have the same. Without Kerberos there are none. Package cookies judges the keys that sign
// the cookies of web logins.
package clientkeys

import (
	"crypto/sha256"
	"fmt"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/jepsen-lite/sim/cookies"
	"rmd/yarn"
)

// Keys are the keys in the log. The caller serializes calls of Follow and Differ.
type Keys struct {
	kerberos bool
	of       map[uint32]string // by application: the key of its attempt that runs
	seen     map[string]bool
	fault    string
	cookies  *cookies.Cookies // nil without Kerberos
}

// New returns the keys of an empty log.
func New(kerberos bool) *Keys {
	k := &Keys{kerberos: kerberos, of: map[uint32]string{}, seen: map[string]bool{}}
	if kerberos {
		k.cookies = new(cookies.Cookies)
	}
	return k
}

// Entropy returns the random bytes of the call of a client that registers an attempt, or nil without
// Kerberos. drawn differs from call to call, as each replica draws its own.
func (k *Keys) Entropy(id yarn.AttemptID, drawn int64) []byte {
	if !k.kerberos {
		return nil
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", id, drawn))
	return sum[:]
}

// Follow takes events of the log.
func (k *Keys) Follow(events []event.Event) {
	for _, e := range events {
		if r, ok := e.(*event.AttemptRegistered); ok {
			k.registered(r)
		}
	}
	if k.cookies != nil {
		k.cookies.Follow(events)
	}
}

func (k *Keys) registered(e *event.AttemptRegistered) {
	key := string(e.ClientKey)
	if key != "" && k.seen[key] {
		k.fault = fmt.Sprintf("the attempt of application %d registers with a key that was used before", e.App)
	}
	k.of[e.App], k.seen[key] = key, true
}

// Differ reports how a state differs from the log, or what is wrong with the log.
func (k *Keys) Differ(st *state.State, report func(text string)) {
	if k.fault != "" {
		report(k.fault)
	}
	if k.cookies != nil {
		k.cookies.Differ(st, report)
	}
	st.Apps.Each(func(_ state.AppSlot, a *state.App) bool {
		if a.AttemptState != state.AttemptRegistered && a.AttemptState != state.AttemptFinishing {
			return true
		}
		switch key := string(a.Details().ClientKey.Bytes); {
		case key != k.of[a.ID.Seq]:
			report(fmt.Sprintf("application %d has another key than its attempt registered with", a.ID.Seq))
		case k.kerberos != (key != ""):
			report(fmt.Sprintf("application %d has a key: %v; with Kerberos: %v", a.ID.Seq, key != "", k.kerberos))
		}
		return true
	})
}
