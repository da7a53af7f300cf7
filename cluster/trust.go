package cluster

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/hashicorp/raft"
)

// A replica draws a key pair with its incarnation, and the incarnation is the fingerprint of the public key. So the
// membership, which names ID.INCARNATION, says at the same time which key its members have: nothing else has to be
// recorded, and the record survives whatever the membership survives. The key is not the certificate's, so a
// certificate may be renewed with another key.
//
// Incarnations drawn by older programs are shorter and name no key. Each replica keeps the first key that such a
// member has shown it.

// Trust is what a replica keeps to prove who it is, and to recognise others.
type Trust struct {
	Seed []byte `json:"seed"` // of the private key
	// Keys are the public keys, in hex, of members whose incarnation names none.
	Keys map[string]string `json:"keys,omitempty"`
	// Known are the members as this replica was told when it was let in. They count until it has a membership.
	Known []string `json:"known,omitempty"`
	// Admission proves that this replica was let in; it is shown to members that have not heard of that.
	Admission []admission `json:"admission,omitempty"`
}

const (
	fileTrust       = "trust.json"
	fingerprintSize = 32 // hex digits
	levelProofs     = 3  // from this feature level on every replica proves who it is
)

// clone copies what may be changed.
func (t Trust) clone() Trust {
	t.Keys, t.Known, t.Admission = maps.Clone(t.Keys), slices.Clone(t.Known), slices.Clone(t.Admission)
	return t
}

// newKey draws a key pair.
func (t *Trust) newKey() (incarnation string) {
	t.Seed = make([]byte, ed25519.SeedSize)
	_, _ = rand.Read(t.Seed) // crypto/rand never fails
	return fingerprint(t.key().Public().(ed25519.PublicKey))
}

// key is the private key; nil when there is none.
func (t Trust) key() ed25519.PrivateKey {
	if len(t.Seed) != ed25519.SeedSize {
		return nil
	}
	return ed25519.NewKeyFromSeed(t.Seed)
}

// fingerprint is the incarnation that names a key.
func fingerprint(key ed25519.PublicKey) string {
	sum := sha256.Sum256(key)
	return hex.EncodeToString(sum[:fingerprintSize/2])
}

// namesKey says whether an incarnation is the fingerprint of a key.
func namesKey(incarnation string) bool { return len(incarnation) == fingerprintSize }

// storedTrust is what trust.json holds.
type storedTrust struct {
	Trust
	Sum string `json:"crc32c"`
}

// encodeTrust returns trust.json.
func encodeTrust(t Trust) ([]byte, error) {
	b, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	b, err = json.MarshalIndent(storedTrust{t, fmt.Sprintf("%08x", crc32.Checksum(b, castagnoli))}, "", "  ")
	return append(b, '\n'), err
}

// loadTrust reads trust.json for an identity; a missing file leaves the key empty.
func (d *dataDir) loadTrust() error {
	b, err := os.ReadFile(filepath.Join(d.path, fileTrust))
	if errors.Is(err, fs.ErrNotExist) {
		if namesKey(d.id.Incarnation) {
			return fmt.Errorf("%s is there but %s, which holds the replica's key, is not: %w", fileIdentity, fileTrust, ErrDamaged)
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	var s storedTrust
	if err := json.Unmarshal(b, &s); err != nil {
		return fmt.Errorf("%s: %w: %w", fileTrust, err, ErrDamaged)
	}
	b, err = json.Marshal(s.Trust)
	if sum := fmt.Sprintf("%08x", crc32.Checksum(b, castagnoli)); err != nil || sum != s.Sum || s.key() == nil {
		return fmt.Errorf("%s: checksum differs: %w", fileTrust, ErrDamaged)
	}
	if namesKey(d.id.Incarnation) && fingerprint(s.key().Public().(ed25519.PublicKey)) != d.id.Incarnation {
		return fmt.Errorf("%s holds the key of another replica than %s: %w", fileTrust, fileIdentity, ErrDamaged)
	}
	d.id.Trust = s.Trust
	return nil
}

// saveTrust writes trust.json when it has changed.
func (d *dataDir) saveTrust(t Trust) error {
	if d.path == "" || t.Seed == nil {
		return nil
	}
	b, err := encodeTrust(t)
	if err != nil {
		return err
	}
	path := filepath.Join(d.path, fileTrust)
	if have, err := os.ReadFile(path); err == nil && bytes.Equal(have, b) {
		return nil
	}
	return writeSynced(path, b)
}

// pinned is the key that a member has shown first, in hex.
func (d *dataDir) pinned(server raft.ServerID) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.id.Trust.Keys[string(server)]
}

// isGone says whether a replica is known to be removed.
func (d *dataDir) isGone(server raft.ServerID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Contains(d.id.Gone, string(server))
}

// bound says whether a replica may use its name: by the key that it has shown, nil for none.
func (c *Cluster) bound(server raft.ServerID, key ed25519.PublicKey) error {
	if c.peer == nil || !c.peer.Proves() {
		return nil
	}
	_, incarnation := splitServerID(server)
	if namesKey(incarnation) {
		if key == nil || fingerprint(key) != incarnation {
			return fmt.Errorf("%s has not proven that it is this replica", server)
		}
		return nil
	}
	pinned := c.dir.pinned(server)
	switch {
	case key == nil && c.allProve():
		return fmt.Errorf("%s has not proven that it is this replica: its program is too old", server)
	case key == nil || pinned == hex.EncodeToString(key):
		return nil
	case pinned != "":
		return fmt.Errorf("%s has another key than before", server)
	}
	if _, member := c.member(server); member {
		return c.pin(server, key)
	}
	return nil
}

// allProve says that every replica of the cluster can prove who it is.
func (c *Cluster) allProve() bool {
	return c.cfg.FeatureLevel == nil || c.cfg.FeatureLevel() >= levelProofs
}

// pin keeps the first key of a member.
func (c *Cluster) pin(server raft.ServerID, key ed25519.PublicKey) error {
	text, other := hex.EncodeToString(key), false
	err := c.dir.change(func(i *Identity) {
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
		return fmt.Errorf("%s has another key than before", server)
	}
	c.log.Info("the key of a member is recorded", "replica", server)
	return nil
}
