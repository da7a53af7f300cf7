package cluster

import (
	"crypto/ed25519"
	"encoding/hex"
	"fmt"

	"github.com/hashicorp/raft"

	"rmd/cluster/identity"
)

// verifyName checks that a replica may use its name. key is the key that the replica has proved to
// own, or nil.
func (c *Cluster) verifyName(server raft.ServerID, key ed25519.PublicKey) error {
	if c.peer == nil || !c.peer.Proves() {
		return nil
	}
	_, incarnation := identity.Split(server)
	if identity.NamesKey(incarnation) {
		if key == nil || identity.Fingerprint(key) != incarnation {
			return fmt.Errorf("%s has not proved its identity", server)
		}
		return nil
	}
	pinned := c.dir.PinnedKey(server)
	switch {
	case key == nil:
		return fmt.Errorf("%s has not proved its identity", server)
	case pinned == hex.EncodeToString(key):
		return nil
	case pinned != "":
		return fmt.Errorf("the key of %s has changed", server)
	}
	if _, member := c.member(server); member {
		return c.pinKey(server, key)
	}
	return nil
}

// pinKey stores the first key of a member whose incarnation names no key.
func (c *Cluster) pinKey(server raft.ServerID, key ed25519.PublicKey) error {
	text, other := hex.EncodeToString(key), false
	err := c.dir.Update(func(i *identity.Identity) {
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
		return c.identityFailed(err)
	}
	if other {
		return fmt.Errorf("the key of %s has changed", server)
	}
	c.log.Info("recorded the key of a member", "replica", server)
	return nil
}
