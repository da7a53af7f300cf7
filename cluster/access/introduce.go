package access

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"rmd/cluster/identity"
	"rmd/cluster/protocol"
	"rmd/cluster/refusal"
)

// A replica that lags behind may not know yet that another replica joined. The other replica may be
// the leader by now, or need a vote. So each leader that admits a replica signs an Admission, and
// adds the chain of its own admissions. A replica that is refused as a non-member shows its chain.
// The chain is accepted if it ends at a member that the receiver knows.

// admissionsMax is the maximum length of a chain. The oldest admissions are dropped.
const admissionsMax = 64

// Admit returns the chain of a replica that this leader admits, or nil if this replica has no key.
func (a *Rules) Admit(server raft.ServerID) []identity.Admission {
	id := a.Identity()
	key := id.Trust.PrivateKey()
	if key == nil {
		return nil
	}
	own := identity.Admission{Server: string(server), By: string(id.ServerID()), Key: key.Public().(ed25519.PublicKey)}
	own.Sig = ed25519.Sign(key, own.Signed(id.WireID()))
	chain := append([]identity.Admission{own}, id.Trust.Admission...)
	return chain[:min(len(chain), admissionsMax)]
}

// Admitted returns nil if a chain leads from a replica to a member that this replica knows.
func (a *Rules) Admitted(server raft.ServerID, chain []identity.Admission) error {
	id, at := a.Identity(), string(server)
	for range min(len(chain), admissionsMax) {
		i := slices.IndexFunc(chain, func(a identity.Admission) bool { return a.Server == at })
		if i < 0 {
			break
		}
		link := chain[i]
		by := raft.ServerID(link.By)
		if !a.ownsKey(by, link.Key) || !ed25519.Verify(link.Key, link.Signed(id.WireID()), link.Sig) {
			return fmt.Errorf("the admission of %s is not signed by %s", link.Server, link.By)
		}
		if a.Dir.IsRemoved(by) { // the log here has by's removal, and so all that by did as a member before
			return fmt.Errorf("%s was admitted by %s, which was removed", link.Server, link.By)
		}
		if a.Trusts(by) {
			return nil
		}
		at = link.By
	}
	return fmt.Errorf("%s was not admitted by a member that this replica knows", server)
}

// ownsKey reports whether a key belongs to a replica.
func (a *Rules) ownsKey(server raft.ServerID, key ed25519.PublicKey) bool {
	if len(key) != ed25519.PublicKeySize {
		return false
	}
	if _, incarnation := identity.Split(server); identity.NamesKey(incarnation) {
		return identity.Fingerprint(key) == incarnation
	}
	pinned := a.Dir.PinnedKey(server)
	return pinned == hex.EncodeToString(key) || pinned == "" && !a.Peer.Proves()
}

// introductions remembers which replicas have shown a valid chain. It forgets a replica as soon as
// the membership decides about it.
type introductions struct {
	mu    sync.Mutex
	known map[raft.ServerID]bool
	tried map[raft.ServerAddress]time.Time
}

// introductionsMax is the maximum size of both maps.
const introductionsMax = 256

// Has reports whether a replica has shown a valid chain.
func (s *introductions) Has(server raft.ServerID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known[server]
}

// add records that a replica has shown a valid chain.
func (s *introductions) add(server raft.ServerID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil || len(s.known) >= introductionsMax {
		s.known = map[raft.ServerID]bool{}
	}
	s.known[server] = true
}

// Forget drops the replicas for which decided returns true. From then on only the membership
// counts.
func (s *introductions) Forget(decided func(raft.ServerID) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.known { // the order does not matter
		if decided(id) {
			delete(s.known, id)
		}
	}
}

// introducePause is the least time between two introductions to the same address.
const introducePause = time.Second

// due reports whether an introduction to an address may be sent now, and records it.
func (s *introductions) due(to raft.ServerAddress, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.tried[to]) < introducePause {
		return false
	}
	if s.tried == nil || len(s.tried) >= introductionsMax {
		s.tried = map[raft.ServerAddress]time.Time{}
	}
	s.tried[to] = now
	return true
}

// Introduction is the message that carries a chain.
type Introduction struct {
	Chain []identity.Admission `json:"chain"`
}

// IntroduceHere checks the chain of the replica from, and records that replica if the chain is
// valid.
func (a *Rules) IntroduceHere(from string, q Introduction) error {
	server := raft.ServerID(from)
	if a.Trusts(server) {
		return nil
	}
	if err := a.Admitted(server, q.Chain); err != nil {
		return refusal.New(refusal.NoSuchReplica, "join first", "%v", err)
	}
	a.Log.Info("a replica has proved its admission, which is not in this log yet", "replica", server)
	a.Introduced.add(server)
	return nil
}

// Introduce sends this replica's chain to a replica that has refused it as a non-member. It reports
// whether the refused request is worth another try.
func (a *Rules) Introduce(to raft.ServerAddress) bool {
	chain := a.Identity().Trust.Admission
	if a.Peer == nil || len(chain) == 0 || !a.Introduced.due(to, time.Now()) {
		return false
	}
	ctx, cancel := context.WithTimeout(a.Context, protocol.InfoTimeout)
	defer cancel()
	_, err := protocol.Ask[protocol.None](ctx, a.Peer, string(to), protocol.Introduce, Introduction{chain})
	if err != nil {
		a.Log.Debug("a replica does not know this one as a member", "address", to, "error", err)
	}
	return err == nil
}
