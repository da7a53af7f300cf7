package gss

import (
	"crypto/sha256"
	"sync"
	"time"
)

// tokensMax limits the tokens that one generation of the replay cache remembers. Only tokens of
// clients with a valid ticket are remembered. One client may have a part of them, so that a client
// cannot lock the others out.
const (
	tokensMax = 1 << 19
	ownPart   = 8
)

// replays remembers the authenticators that were accepted. It knows each by a hash of its
// ciphertext, which differs also between two authenticators of one client with the same time,
// because encryption begins with a random block. Nobody without the key can change the ciphertext.
//
// It has two generations. The newer one becomes the older one after the time in which a token may
// be accepted again, so each token is remembered for that time at least.
type replays struct {
	window time.Duration
	max    int

	mu         sync.Mutex
	began      time.Time
	young, old map[[16]byte]struct{}
	of         map[string]int // number of tokens in young by client
}

func newReplays(window time.Duration) *replays {
	return &replays{window: window, max: tokensMax, young: map[[16]byte]struct{}{}, of: map[string]int{}}
}

// add remembers an authenticator of a client. It returns false and the reason if it was seen before,
// or if the cache or the client's part of it is full.
func (r *replays) add(client string, authenticator []byte, now time.Time) (Reason, bool) {
	sum := sha256.Sum256(authenticator)
	key := [16]byte(sum[:16])
	r.mu.Lock()
	defer r.mu.Unlock()
	if since := now.Sub(r.began); since > r.window {
		r.old, r.young, r.of, r.began = r.young, map[[16]byte]struct{}{}, map[string]int{}, now
		if since > 2*r.window {
			r.old = nil
		}
	}
	_, young := r.young[key]
	_, old := r.old[key]
	switch {
	case young || old:
		return Replay, false
	case len(r.young) >= r.max, r.of[client] >= r.max/ownPart:
		return Crowded, false
	}
	r.young[key] = struct{}{}
	r.of[client]++
	return "", true
}
