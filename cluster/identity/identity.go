package identity

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/raft"
)

// fingerprintSize is the length of a fingerprint in hexadecimal digits.
const fingerprintSize = 32

// Roles with which a replica may join.
const (
	RoleVoter    = "voter"
	RoleNonvoter = "nonvoter"
)

// Removal says when and by whom a replica was removed, or recovered.
type Removal struct {
	By string    `json:"by"`
	At time.Time `json:"at"`
}

// Identity is the identity that a replica stores.
type Identity struct {
	ID          string `json:"id"`
	Incarnation string `json:"incarnation"`
	ClusterName string `json:"cluster_name"`
	ClusterID   string `json:"cluster_id,omitempty"`
	// Epoch identifies the last manual recovery, or is 0. Its upper 32 bits count the recoveries; its
	// lower 32 bits are random, so that two recoveries of one cluster differ. Replicas of another
	// epoch are refused. Older programs did not draw the random bits, and counted in the lower ones.
	Epoch   uint64   `json:"epoch,omitempty"`
	Role    string   `json:"role,omitempty"`
	Removed *Removal `json:"removed,omitempty"`
	// Recovered is a manual recovery that the audit log does not contain yet.
	Recovered *Removal `json:"recovered,omitempty"`
	// RemovedPeers are other replicas that were removed, by ID.INCARNATION, newest last.
	RemovedPeers []string `json:"gone,omitempty"`
	// Trust is stored in a file of its own, which older programs do not read.
	Trust Trust `json:"-"`
}

// ServerID returns the name that Raft uses for the replica.
func (i Identity) ServerID() raft.ServerID { return raft.ServerID(i.ID + "." + i.Incarnation) }

// WireID returns the cluster id and the epoch, which replicas compare when they connect.
func (i Identity) WireID() string {
	if i.ClusterID == "" || i.Epoch == 0 {
		return i.ClusterID
	}
	return fmt.Sprintf("%s#%d", i.ClusterID, i.Epoch)
}

// Recoveries returns the number of manual recoveries.
func (i Identity) Recoveries() uint64 {
	if count := i.Epoch >> 32; count > 0 {
		return count
	}
	return i.Epoch
}

// NextEpoch returns the epoch of a new recovery.
func (i Identity) NextEpoch() uint64 {
	var b [4]byte
	_, _ = rand.Read(b[:]) // crypto/rand never fails
	return (i.Recoveries()+1)<<32 | uint64(binary.BigEndian.Uint32(b[:]))
}

// Split splits a server id into the id and the incarnation.
func Split(s raft.ServerID) (id, incarnation string) {
	if i := strings.LastIndexByte(string(s), '.'); i >= 0 {
		return string(s[:i]), string(s[i+1:])
	}
	return string(s), ""
}

// SameID reports whether people or file systems could take one id for the other.
func SameID(a, b string) bool { return strings.EqualFold(a, b) }

// Matches reports whether a name that an operator uses, ID or ID.INCARNATION, names s.
func Matches(s raft.ServerID, name string) bool {
	id, _ := Split(s)
	return name == id || name == string(s)
}

// serverPattern matches an id or ID.INCARNATION.
var serverPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$`)

// ValidServer reports whether a name can be an id or ID.INCARNATION.
func ValidServer(name string) bool { return serverPattern.MatchString(name) }

// A replica generates a key pair with its incarnation, which is the fingerprint of the public key.
// So the membership, which contains ID.INCARNATION, also records the keys of its members. No other
// record is needed. The key is not the certificate's, so a certificate can be renewed with another
// key.
//
// Incarnations of older programs are shorter and name no key. For such a member, each replica
// stores the first key that the member has proved to own.

// Trust contains what a replica needs to prove its identity and to recognize other replicas.
type Trust struct {
	Seed []byte `json:"seed"` // of the private key
	// Keys has the public keys, in hexadecimal, of members whose incarnation names no key.
	Keys map[string]string `json:"keys,omitempty"`
	// Known lists the members at the time when this replica joined. It counts until this replica
	// has a membership.
	Known []string `json:"known,omitempty"`
	// Admission proves to members that lag behind that this replica joined.
	Admission []Admission `json:"admission,omitempty"`
}

// Clone returns a copy that shares no memory that may be changed.
func (t Trust) Clone() Trust {
	t.Keys, t.Known, t.Admission = maps.Clone(t.Keys), slices.Clone(t.Known), slices.Clone(t.Admission)
	return t
}

// NewKey generates a key pair and returns the incarnation that names it.
func (t *Trust) NewKey() (incarnation string) {
	t.Seed = make([]byte, ed25519.SeedSize)
	_, _ = rand.Read(t.Seed) // crypto/rand never fails
	return Fingerprint(t.PrivateKey().Public().(ed25519.PublicKey))
}

// PrivateKey returns the private key, or nil if there is none.
func (t Trust) PrivateKey() ed25519.PrivateKey {
	if len(t.Seed) != ed25519.SeedSize {
		return nil
	}
	return ed25519.NewKeyFromSeed(t.Seed)
}

// Fingerprint returns the incarnation that names a public key.
func Fingerprint(key ed25519.PublicKey) string {
	sum := sha256.Sum256(key)
	return hex.EncodeToString(sum[:fingerprintSize/2])
}

// NamesKey reports whether an incarnation is the fingerprint of a key.
func NamesKey(incarnation string) bool { return len(incarnation) == fingerprintSize }

// Admission is a statement, signed by the replica By, that Server joined.
type Admission struct {
	Server string            `json:"server"`
	By     string            `json:"by"`
	Key    ed25519.PublicKey `json:"key"` // the public key of By
	Sig    []byte            `json:"sig"`
}

// Signed returns the text that the signature covers. cluster is the WireID of the cluster.
func (a Admission) Signed(cluster string) []byte {
	return []byte("rmd admission 1\x00" + cluster + "\x00" + a.Server + "\x00" + a.By)
}
