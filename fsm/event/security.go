package event

import (
	"fmt"

	"rmd/internal/codec"
	"rmd/yarn"
)

// MasterKeyCreated adds the next master key of a kind. The first key of a kind is in force at once.
type MasterKeyCreated struct {
	Which          yarn.KeyKind
	ID             int32
	Bytes          []byte
	ActivateMillis int64
	Algorithm      yarn.HMAC
}

var KindMasterKeyCreated = define[MasterKeyCreated](11)

// String describes the event without the secret key.
func (e *MasterKeyCreated) String() string {
	return fmt.Sprintf("{Which:%s ID:%d ActivateMillis:%d Algorithm:%s}", e.Which, e.ID, e.ActivateMillis, e.Algorithm)
}

func (*MasterKeyCreated) Kind() Kind { return KindMasterKeyCreated }

func (e *MasterKeyCreated) Code(c *codec.Coder) {
	codec.Enum(c, &e.Which)
	c.I32(&e.ID)
	c.Raw(&e.Bytes)
	c.I64(&e.ActivateMillis)
	codec.Enum(c, &e.Algorithm)
}

// KeyActivated puts the next key of a kind in force.
type KeyActivated struct{ Which yarn.KeyKind }

var KindKeyActivated = define[KeyActivated](12)

func (*KeyActivated) Kind() Kind            { return KindKeyActivated }
func (e *KeyActivated) Code(c *codec.Coder) { codec.Enum(c, &e.Which) }

// DelegationTokenIssued records a delegation token.
type DelegationTokenIssued struct {
	Sequence                 uint32
	Owner, Renewer, RealUser string
	KeyID                    int32
	MaxMillis                int64
	ExpiresMillis            int64
}

var KindDelegationTokenIssued = define[DelegationTokenIssued](13)

func (*DelegationTokenIssued) Kind() Kind { return KindDelegationTokenIssued }

func (e *DelegationTokenIssued) Code(c *codec.Coder) {
	c.U32(&e.Sequence)
	c.String(&e.Owner)
	c.String(&e.Renewer)
	c.String(&e.RealUser)
	c.I32(&e.KeyID)
	c.I64(&e.MaxMillis)
	c.I64(&e.ExpiresMillis)
}

// DelegationTokenRenewed sets when a token expires.
type DelegationTokenRenewed struct {
	Sequence      uint32
	ExpiresMillis int64
}

var KindDelegationTokenRenewed = define[DelegationTokenRenewed](14)

func (*DelegationTokenRenewed) Kind() Kind { return KindDelegationTokenRenewed }

func (e *DelegationTokenRenewed) Code(c *codec.Coder) {
	c.U32(&e.Sequence)
	c.I64(&e.ExpiresMillis)
}

// DelegationTokenEnded removes a token that was cancelled or has expired.
type DelegationTokenEnded struct{ Sequence uint32 }

var KindDelegationTokenEnded = define[DelegationTokenEnded](15)

func (*DelegationTokenEnded) Kind() Kind            { return KindDelegationTokenEnded }
func (e *DelegationTokenEnded) Code(c *codec.Coder) { c.U32(&e.Sequence) }

// NodeListsSet replaces the lists of hosts that may and may not register.
type NodeListsSet struct{ Include, Exclude []string }

var KindNodeListsSet = define[NodeListsSet](16)

func (*NodeListsSet) Kind() Kind { return KindNodeListsSet }

func (e *NodeListsSet) Code(c *codec.Coder) {
	codec.List(c, &e.Include, func(c *codec.Coder, s *string) { c.String(s) })
	codec.List(c, &e.Exclude, func(c *codec.Coder, s *string) { c.String(s) })
}
