package access

import (
	"crypto/ed25519"
	"encoding/hex"
	"fmt"

	"github.com/hashicorp/raft"

	"rmd/cluster/identity"
)

// verifyName checks that a replica may use its name. key is the key that the replica has proved to
// own, or nil.
func (a *Rules) verifyName(server raft.ServerID, key ed25519.PublicKey) error {
	if a.Peer == nil || !a.Peer.Proves() {
		return nil
	}
	_, incarnation := identity.Split(server)
	if identity.NamesKey(incarnation) {
		if key == nil || identity.Fingerprint(key) != incarnation {
			return fmt.Errorf("%s has not proved its identity", server)
		}
		return nil
	}
	pinned := a.Dir.PinnedKey(server)
	switch {
	case key == nil:
		return fmt.Errorf("%s has not proved its identity", server)
	case pinned == hex.EncodeToString(key):
		return nil
	case pinned != "":
		return fmt.Errorf("the key of %s has changed", server)
	}
	if _, member := a.Member(server); member {
		return a.pinKey(server, key)
	}
	return nil
}

// pinKey stores the first key of a member whose incarnation names no key.
func (a *Rules) pinKey(server raft.ServerID, key ed25519.PublicKey) error {
	text, other := hex.EncodeToString(key), false
	err := a.Dir.Update(func(i *identity.Identity) {
		if have := i.Trust.Keys[string(server)]; have != "" {
			other = have != text
			return
		}
		if i.Trust.Keys == nil {
			i.Trust.Keys = map[string]string{}
		}
		i.Trust.Keys[string(server)] = text
	})
	if err != nil {
		return a.IdentityFailed(err)
	}
	if other {
		return fmt.Errorf("the key of %s has changed", server)
	}
	a.Log.Info("recorded the key of a member", "replica", server)
	return nil
}
