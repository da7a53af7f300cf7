package raftstore

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/hashicorp/raft"

	"rmd/cluster/identity"
)

// fileTrust holds Trust.
const fileTrust = "trust.json"

// storedTrust is what trust.json holds.
type storedTrust struct {
	identity.Trust
	Sum string `json:"crc32c"`
}

// encodeTrust returns trust.json.
func encodeTrust(t identity.Trust) ([]byte, error) {
	b, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	b, err = json.MarshalIndent(storedTrust{t, fmt.Sprintf("%08x", crc32.Checksum(b, castagnoli))}, "", "  ")
	return append(b, '\n'), err
}

// loadTrust reads trust.json for an identity; a missing file leaves the key empty.
func (d *Dir) loadTrust() error {
	b, err := os.ReadFile(filepath.Join(d.Path, fileTrust))
	if errors.Is(err, fs.ErrNotExist) {
		if identity.NamesKey(d.id.Incarnation) {
			return fmt.Errorf("%s exists, but %s, which holds the key of the replica, is missing: %w", fileIdentity, fileTrust, ErrDamaged)
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
	if sum := fmt.Sprintf("%08x", crc32.Checksum(b, castagnoli)); err != nil || sum != s.Sum || s.PrivateKey() == nil {
		return fmt.Errorf("%s: checksum differs: %w", fileTrust, ErrDamaged)
	}
	if identity.NamesKey(d.id.Incarnation) && identity.Fingerprint(s.PrivateKey().Public().(ed25519.PublicKey)) != d.id.Incarnation {
		return fmt.Errorf("%s holds the key of another replica than %s: %w", fileTrust, fileIdentity, ErrDamaged)
	}
	d.id.Trust = s.Trust
	return nil
}

// saveTrust writes trust.json when it has changed.
func (d *Dir) saveTrust(t identity.Trust) error {
	if d.Path == "" || t.Seed == nil {
		return nil
	}
	b, err := encodeTrust(t)
	if err != nil {
		return err
	}
	path := filepath.Join(d.Path, fileTrust)
	if have, err := os.ReadFile(path); err == nil && bytes.Equal(have, b) {
		return nil
	}
	return writeSynced(path, b)
}

// PinnedKey is the key that a member has shown first, in hex.
func (d *Dir) PinnedKey(server raft.ServerID) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.id.Trust.Keys[string(server)]
}

// IsRemoved says whether a replica is known to be removed.
func (d *Dir) IsRemoved(server raft.ServerID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Contains(d.id.RemovedPeers, string(server))
}
