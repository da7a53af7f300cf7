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

// fileTrust is the name of the file that contains identity.Trust.
const fileTrust = "trust.json"

// storedTrust is the content of trust.json.
type storedTrust struct {
	identity.Trust
	Sum string `json:"crc32c"`
}

// encodeTrust returns the content of trust.json.
func encodeTrust(t identity.Trust) ([]byte, error) {
	b, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	b, err = json.MarshalIndent(storedTrust{t, fmt.Sprintf("%08x", crc32.Checksum(b, castagnoli))}, "", "  ")
	return append(b, '\n'), err
}

// loadTrust reads trust.json. If the file is missing, the key stays empty; that is an error if the
// incarnation names a key.
func (d *Dir) loadTrust() error {
	b, err := os.ReadFile(filepath.Join(d.Path, fileTrust))
	if errors.Is(err, fs.ErrNotExist) {
		if identity.NamesKey(d.id.Incarnation) {
			return fmt.Errorf("%s exists, but %s, which holds the key of the replica, is missing: %w", fileIdentity,
				fileTrust, ErrDamaged)
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
	if identity.NamesKey(d.id.Incarnation) &&
		identity.Fingerprint(s.PrivateKey().Public().(ed25519.PublicKey)) != d.id.Incarnation {
		return fmt.Errorf("%s holds the key of another replica than %s: %w", fileTrust, fileIdentity, ErrDamaged)
	}
	d.id.Trust = s.Trust
	return nil
}

// saveTrust writes trust.json if it has changed.
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

// PinnedKey returns the first key, in hexadecimal, that a member has proved to own, or "".
func (d *Dir) PinnedKey(server raft.ServerID) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.id.Trust.Keys[string(server)]
}

// IsRemoved reports whether this replica knows that another one was removed.
func (d *Dir) IsRemoved(server raft.ServerID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Contains(d.id.RemovedPeers, string(server))
}
