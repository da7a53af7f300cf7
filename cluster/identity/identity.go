package identity

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/raft"
)

// fingerprintSize is the length of a fingerprint in hex digits.
const fingerprintSize = 32

// Roles a replica may have been let in for.
const (
	RoleVoter    = "voter"
	RoleNonvoter = "nonvoter"
)

// Removal says that, when and by whom a replica was removed, or recovered.
type Removal struct {
	By string    `json:"by"`
	At time.Time `json:"at"`
}

// Identity is what a replica keeps about itself.
type Identity struct {
	ID          string `json:"id"`
	Incarnation string `json:"incarnation"`
	ClusterName string `json:"cluster_name"`
	ClusterID   string `json:"cluster_id,omitempty"`
	// Epoch rises with each recovery by hand: replicas from before are refused.
	Epoch   uint64   `json:"epoch,omitempty"`
	Role    string   `json:"role,omitempty"`
	Removed *Removal `json:"removed,omitempty"`
	// Recovered is a recovery by hand that is not in the audit yet.
	Recovered *Removal `json:"recovered,omitempty"`
	// Gone are the removed ones among the others, by ID.INCARNATION, newest last.
	RemovedPeers []string `json:"gone,omitempty"`
	// Trust has a file of its own, which older programs do not read.
	Trust Trust `json:"-"`
}

// ServerID is the name by which Raft knows the replica.
func (i Identity) ServerID() raft.ServerID { return raft.ServerID(i.ID + "." + i.Incarnation) }

// WireID is what replicas compare when they connect: cluster and epoch.
func (i Identity) WireID() string {
	if i.ClusterID == "" || i.Epoch == 0 {
		return i.ClusterID
	}
	return fmt.Sprintf("%s#%d", i.ClusterID, i.Epoch)
}

// Split takes Raft's name apart.
func Split(s raft.ServerID) (id, incarnation string) {
	if i := strings.LastIndexByte(string(s), '.'); i >= 0 {
		return string(s[:i]), string(s[i+1:])
	}
	return string(s), ""
}

// Matches says whether an operator's name for a replica, ID or ID.INCARNATION, is one of s.
func Matches(s raft.ServerID, name string) bool {
	id, _ := Split(s)
	return name == id || name == string(s)
}

// A replica draws a key pair with its incarnation, and the incarnation is the fingerprint of the
// public key. So the membership, which names ID.INCARNATION, says at the same time which key its
// members have: nothing else has to be recorded, and the record survives whatever the membership
// survives. The key is not the certificate's, so a certificate may be renewed with another key.
//
// Incarnations drawn by older programs are shorter and name no key. Each replica keeps the first
// key that such a member has shown it.

// Trust is what a replica keeps to prove who it is, and to recognize others.
type Trust struct {
	Seed []byte `json:"seed"` // of the private key
	// Keys are the public keys, in hex, of members whose incarnation names none.
	Keys map[string]string `json:"keys,omitempty"`
	// Known are the members as this replica was told when it was let in. They count until it has a
	// membership.
	Known []string `json:"known,omitempty"`
	// Admission proves that this replica was let in; it is shown to members that have not heard of
	// that.
	Admission []Admission `json:"admission,omitempty"`
}

// Clone copies what may be changed.
func (t Trust) Clone() Trust {
	t.Keys, t.Known, t.Admission = maps.Clone(t.Keys), slices.Clone(t.Known), slices.Clone(t.Admission)
	return t
}

// NewKey draws a key pair.
func (t *Trust) NewKey() (incarnation string) {
	t.Seed = make([]byte, ed25519.SeedSize)
	_, _ = rand.Read(t.Seed) // crypto/rand never fails
	return Fingerprint(t.PrivateKey().Public().(ed25519.PublicKey))
}

// PrivateKey is the private key; nil when there is none.
func (t Trust) PrivateKey() ed25519.PrivateKey {
	if len(t.Seed) != ed25519.SeedSize {
		return nil
	}
	return ed25519.NewKeyFromSeed(t.Seed)
}

// Fingerprint is the incarnation that names a key.
func Fingerprint(key ed25519.PublicKey) string {
	sum := sha256.Sum256(key)
	return hex.EncodeToString(sum[:fingerprintSize/2])
}

// NamesKey says whether an incarnation is the fingerprint of a key.
func NamesKey(incarnation string) bool { return len(incarnation) == fingerprintSize }

// Admission says that one replica was let in by another, which signs.
type Admission struct {
	Server string            `json:"server"`
	By     string            `json:"by"`
	Key    ed25519.PublicKey `json:"key"` // By's
	Sig    []byte            `json:"sig"`
}

// Signed is the text of an admission that its signature is over; cluster is the WireID of its
// cluster.
func (a Admission) Signed(cluster string) []byte {
	return []byte("rmd admission 1\x00" + cluster + "\x00" + a.Server + "\x00" + a.By)
}
