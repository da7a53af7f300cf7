package record

import (
	"fmt"
	"math/bits"

	"rmd/fsm/state/table"
	"rmd/internal/codec"
	"rmd/yarn"
)

// PreemptionTotals are counters since the cluster began. All but ResourceSeconds count containers.
type PreemptionTotals struct {
	Preempted yarn.CauseCounts[yarn.PreemptionCause]
	Withdrawn yarn.CauseCounts[yarn.WithdrawalCause] // warnings
	// Unused counts containers preempted for a reservation that was cancelled afterwards.
	Unused          yarn.CauseCounts[yarn.CancelCause]
	ResourceSeconds yarn.Resource // what the preempted containers had used
}

// JoinToken lets one replica join the cluster.
type JoinToken struct {
	Hash          []byte
	Voter         bool
	ExpiresMillis int64
	CreatedBy     string
	UsedBy        string
}

// MasterKey is a key that signs tokens. ID 0 means none.
type MasterKey struct {
	ID        int32
	Bytes     []byte
	Algorithm yarn.HMAC
}

// String describes the key without its secret.
func (k MasterKey) String() string {
	return fmt.Sprintf("key %d (#%04x)", k.ID, uint16(table.Hash(string(k.Bytes))))
}

// KeySet has the master keys of a kind. Next replaces Current at ActivateMillis (Unix). Previous is
// the key before Current.
type KeySet struct {
	Current, Next, Previous MasterKey
	MadeMillis              int64 // when the newest key was made
	ActivateMillis          int64
}

func (k *KeySet) code(c *codec.Coder) {
	for _, key := range []*MasterKey{&k.Current, &k.Next, &k.Previous} {
		c.I32(&key.ID)
		c.Raw(&key.Bytes)
		codec.Enum(c, &key.Algorithm)
	}
	c.I64(&k.MadeMillis)
	c.I64(&k.ActivateMillis)
}

// DelegationToken is a token issued to a client.
type DelegationToken struct {
	Sequence                 uint32
	Owner, Renewer, RealUser string
	KeyID                    int32
	IssuedMillis             int64
	MaxMillis                int64
	ExpiresMillis            int64
}

// Code encodes the record, or decodes into it.
func (t *DelegationToken) Code(c *codec.Coder) {
	c.U32(&t.Sequence)
	c.String(&t.Owner)
	c.String(&t.Renewer)
	c.String(&t.RealUser)
	c.I32(&t.KeyID)
	c.I64(&t.IssuedMillis)
	c.I64(&t.MaxMillis)
	c.I64(&t.ExpiresMillis)
}

// QueueVersion is one version of the queue configuration.
type QueueVersion struct {
	Version    uint64
	Properties []Property
	Kinds      yarn.Kinds
	Dominant   bool // all resource kinds count, not only memory
	AtMillis   int64
	Author     string
	Comment    string
}

// Property is one configuration key and its value.
type Property struct{ Name, Value string }

// Meta has the fields that exist once, and the sums and counters of the whole cluster.
type Meta struct {
	ClusterID        string
	ClusterTimestamp int64         // in the ids of applications submitted from now on
	Epoch            uint32        // in container ids; a restore from backup or a recovery raises it
	Level            uint32        // feature level: no event of a higher level is in the log
	NowMillis        int64         // the log's clock: the time of the last input that changed something
	NextApp          uint32        // the next application number
	NextReservation  uint64        // the last reservation number given
	Cluster          yarn.Resource // sum of Node.Total over usable nodes; kept by changeCapacity
	UsableNodes      int32
	EndedApps        int32       // applications that have ended and are not forgotten yet
	OldestRequest    RequestSlot // first Request, by age
	NewestRequest    RequestSlot
	// Counters of reservations since the cluster began.
	Made, Fulfilled uint64
	Cancelled       yarn.CauseCounts[yarn.CancelCause]
	// Counters of containers since the cluster began.
	Allocated, Completed uint64
	Digest               uint64 // see State.Digest
	Keys                 [yarn.KeyKinds]KeySet
	NextKey              int32  // the last master key id given, for all kinds
	NextToken            uint32 // the last delegation token sequence number given
	NodeChanges          uint64 // counts changes of the states and totals of nodes
	Submitted            uint64 // counts submissions
	// ImportEpoch is the first epoch of this cluster's own container ids if the cluster has taken
	// over applications from another ResourceManager, which gave the ids before; otherwise 0.
	ImportEpoch uint32
}

// Decisions returns the number of containers allocated and reservations made since the cluster
// began.
func (m *Meta) Decisions() uint64 { return m.Allocated + m.Made }

// ForeignContainer reports whether the container number was given by the ResourceManager from which
// this cluster took over its applications.
func (m *Meta) ForeignContainer(number uint64) bool {
	return number != 0 && number < yarn.ContainerNumber(m.ImportEpoch, 0)
}

// Fold folds a number into the digest.
func (m *Meta) Fold(v uint64) {
	hi, lo := bits.Mul64(m.Digest^v, 0x9e3779b97f4a7c15)
	m.Digest = bits.RotateLeft64(hi^lo, 23) + 0xd1b54a32d192ed03
}

// FoldResource folds amounts of resources into the digest.
func (m *Meta) FoldResource(r yarn.Resource) {
	h := uint64(0)
	for _, v := range r {
		h = h*0x9e3779b97f4a7c15 + uint64(v)
	}
	m.Fold(h)
}

// Code encodes the record, or decodes into it.
func (m *Meta) Code(c *codec.Coder) {
	c.String(&m.ClusterID)
	c.I64(&m.ClusterTimestamp)
	c.U32(&m.Epoch)
	c.U32(&m.Level)
	c.I64(&m.NowMillis)
	c.U32(&m.NextApp)
	c.U64(&m.NextReservation)
	c.Resource(&m.Cluster)
	c.I32(&m.UsableNodes)
	c.I32(&m.EndedApps)
	codec.Slot(c, &m.OldestRequest)
	codec.Slot(c, &m.NewestRequest)
	c.U64(&m.Made)
	c.U64(&m.Fulfilled)
	for i := range m.Cancelled {
		c.U64(&m.Cancelled[i])
	}
	c.U64(&m.Allocated)
	c.U64(&m.Completed)
	c.U64(&m.Digest)
	for i := range m.Keys {
		m.Keys[i].code(c)
	}
	c.I32(&m.NextKey)
	c.U32(&m.NextToken)
	c.U64(&m.NodeChanges)
	c.U64(&m.Submitted)
	c.U32(&m.ImportEpoch)
}
