package cluster

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
)

// A replica that lags behind may not have heard that another was let in, and that one may lead by
// now, or need its vote. So the leader that lets a replica in signs that it did, and passes on what
// it has of its own admission. A replica that is refused as no member shows this chain. It is
// believed when the chain ends at a member that the other knows.

// admissionsMax bounds a chain; the oldest are left out.
const admissionsMax = 64

// admit makes the chain of a replica that is let in here.
func (c *Cluster) admit(server raft.ServerID) []identity.Admission {
	id := c.Identity()
	key := id.Trust.PrivateKey()
	if key == nil {
		return nil
	}
	a := identity.Admission{Server: string(server), By: string(id.ServerID()), Key: key.Public().(ed25519.PublicKey)}
	a.Sig = ed25519.Sign(key, a.Signed(id.WireID()))
	chain := append([]identity.Admission{a}, id.Trust.Admission...)
	return chain[:min(len(chain), admissionsMax)]
}

// admitted says whether a chain leads from a replica to a member that is known here.
func (c *Cluster) admitted(server raft.ServerID, chain []identity.Admission) error {
	id, at := c.Identity(), string(server)
	for range min(len(chain), admissionsMax) {
		i := slices.IndexFunc(chain, func(a identity.Admission) bool { return a.Server == at })
		if i < 0 {
			break
		}
		a := chain[i]
		by := raft.ServerID(a.By)
		if !c.ownsKey(by, a.Key) || !ed25519.Verify(a.Key, a.Signed(id.WireID()), a.Sig) {
			return fmt.Errorf("the admission of %s is not signed by %s", a.Server, a.By)
		}
		if c.dir.IsRemoved(by) { // its removal is known here, and what it did before that too
			return fmt.Errorf("%s was admitted by %s, which was removed", a.Server, a.By)
		}
		if c.trusts(by) {
			return nil
		}
		at = a.By
	}
	return fmt.Errorf("%s was not admitted by a member that this replica knows", server)
}

// ownsKey says whether a key is a replica's.
func (c *Cluster) ownsKey(server raft.ServerID, key ed25519.PublicKey) bool {
	if len(key) != ed25519.PublicKeySize {
		return false
	}
	if _, incarnation := identity.Split(server); identity.NamesKey(incarnation) {
		return identity.Fingerprint(key) == incarnation
	}
	pinned := c.dir.PinnedKey(server)
	return pinned == hex.EncodeToString(key) || pinned == "" && !c.peer.Proves()
}

// introductions remembers which replicas have shown a chain, until the membership names them.
type introductions struct {
	mu    sync.Mutex
	known map[raft.ServerID]bool
	tried map[raft.ServerAddress]time.Time
}

// introductionsMax bounds both maps.
const introductionsMax = 256

// has says whether a replica has shown its admission.
func (s *introductions) has(server raft.ServerID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known[server]
}

// add takes a replica in.
func (s *introductions) add(server raft.ServerID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil || len(s.known) >= introductionsMax {
		s.known = map[raft.ServerID]bool{}
	}
	s.known[server] = true
}

// forget drops the replicas that the membership decides about: from now on it alone counts.
func (s *introductions) forget(decided func(raft.ServerID) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.known { // in any order
		if decided(id) {
			delete(s.known, id)
		}
	}
}

// introducePause is how long a replica waits before it shows its admission to the same one again.
const introducePause = time.Second

// due says whether an address may be tried now.
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

// introduction is a chain on its way.
type introduction struct {
	Chain []identity.Admission `json:"chain"`
}

// introduceHere judges a chain that a replica shows.
func (c *Cluster) introduceHere(from string, q introduction) error {
	server := raft.ServerID(from)
	if c.trusts(server) {
		return nil
	}
	if err := c.admitted(server, q.Chain); err != nil {
		return refuse(CodeNoSuchReplica, "join first", "%v", err)
	}
	c.log.Info("a replica has proved its admission, which is not in this log yet", "replica", server)
	c.introduced.add(server)
	return nil
}

// introduce shows this replica's admission to one that has refused it, and says whether that was
// worth a new try.
func (c *Cluster) introduce(to raft.ServerAddress) bool {
	chain := c.Identity().Trust.Admission
	if c.peer == nil || len(chain) == 0 || !c.introduced.due(to, time.Now()) {
		return false
	}
	ctx, cancel := context.WithTimeout(c.ctx, infoTimeout)
	defer cancel()
	_, err := ask[none](ctx, c.peer, string(to), methodIntroduce, introduction{chain})
	if err != nil {
		c.log.Debug("a replica does not know this one as a member", "address", to, "error", err)
	}
	return err == nil
}
