package token

import (
	"errors"
	"fmt"

	gproto "google.golang.org/protobuf/proto"

	"google.golang.org/protobuf/encoding/protowire"

	"rmd/transport/hadoop/bounded"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

// MaxIdentifier is the largest size of an identifier that is read, in bytes.
const MaxIdentifier = 64 << 10

// ErrMalformed means that the bytes are not a valid identifier or valid credentials.
var ErrMalformed = errors.New("malformed token")

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
}

// AMRM is the identifier of an AM at the ResourceManager.
type AMRM struct {
	Attempt yarn.AttemptID
	KeyID   int32
}

// NM is the identifier of an attempt at one node. Node is the id with which the node registered.
type NM struct {
	Attempt yarn.AttemptID
	Node    yarn.NodeID
	User    string
	KeyID   int32
}

// ClientToAM is the identifier of a client at an attempt's AM. Client is the client's principal, or
// its user if it has no ticket.
type ClientToAM struct {
	Attempt yarn.AttemptID
	Client  string
}

// Delegation is the identifier of a delegation token, whose holder may act for Owner.
type Delegation struct {
	Owner, Renewer, RealUser string
	IssuedMillis             int64
	MaxMillis                int64
	Sequence                 uint32
	KeyID                    int32
}

// Bytes returns the canonical identifier.
func (t AMRM) Bytes() []byte {
	b := message(nil, 1, attempt(t.Attempt))
	return number(b, 2, int64(t.KeyID))
}

// Bytes returns the canonical identifier.
func (t NM) Bytes() []byte {
	b := message(nil, 1, attempt(t.Attempt))
	b = message(b, 2, number(text(nil, 1, t.Node.Host), 2, int64(t.Node.Port)))
	b = text(b, 3, t.User)
	return number(b, 4, int64(t.KeyID))
}

// Bytes returns the canonical identifier.
func (t ClientToAM) Bytes() []byte {
	return text(message(nil, 1, attempt(t.Attempt)), 2, t.Client)
}

// Bytes returns the canonical identifier. As in YARN, empty fields are left out.
func (t Delegation) Bytes() []byte {
	var b []byte
	for i, s := range []string{t.Owner, t.Renewer, t.RealUser} {
		if s != "" {
			b = text(b, protowire.Number(i+1), s)
		}
	}
	for i, v := range []int64{t.IssuedMillis, t.MaxMillis, int64(int32(t.Sequence)), int64(t.KeyID)} {
		if v != 0 {
			b = number(b, protowire.Number(i+4), v)
		}
	}
	return b
}

// ParseAMRM decodes the identifier of an AM token.
func ParseAMRM(identifier []byte) (AMRM, error) {
	var p proto.AMRMTokenIdentifierProto
	if err := parse(identifier, &p); err != nil {
		return AMRM{}, err
	}
	at, err := wire.AttemptID(p.AppAttemptId)
	switch {
	case err != nil:
		return AMRM{}, malformed("%v", err)
	case p.KeyId == nil:
		return AMRM{}, malformed("key id missing")
	}
	return AMRM{Attempt: at, KeyID: *p.KeyId}, nil
}

// ParseNM decodes the identifier of an NM token.
func ParseNM(identifier []byte) (NM, error) {
	var p proto.NMTokenIdentifierProto
	if err := parse(identifier, &p); err != nil {
		return NM{}, err
	}
	at, err := wire.AttemptID(p.AppAttemptId)
	if err != nil {
		return NM{}, malformed("%v", err)
	}
	node, err := wire.NodeID(p.NodeId)
	switch {
	case err != nil:
		return NM{}, malformed("%v", err)
	case p.KeyId == nil:
		return NM{}, malformed("key id missing")
	}
	return NM{Attempt: at, Node: node, User: p.GetAppSubmitter(), KeyID: *p.KeyId}, nil
}

// ParseDelegation decodes the identifier of a delegation token.
func ParseDelegation(identifier []byte) (Delegation, error) {
	var p proto.YARNDelegationTokenIdentifierProto
	if err := parse(identifier, &p); err != nil {
		return Delegation{}, err
	}
	return Delegation{Owner: p.GetOwner(), Renewer: p.GetRenewer(), RealUser: p.GetRealUser(),
		IssuedMillis: p.GetIssueDate(),
		MaxMillis:    p.GetMaxDate(), Sequence: uint32(p.GetSequenceNumber()), KeyID: p.GetMasterKeyId()}, nil
}

// Identify decodes the identifier of a delegation token of Hadoop: YARN's are messages, all others
// are Writables.
func (t Token) Identify() (Delegation, error) {
	if t.Kind == KindTimeline || t.Kind == KindDelegation {
		return ParseDelegation(t.Identifier)
	}
	return ParseWritable(t.Identifier)
}

// ParseWritable decodes the identifier of a delegation token of HDFS, of the KMS or of MapReduce's
// history server, which is in the encoding of Hadoop's Writables.
func ParseWritable(identifier []byte) (Delegation, error) {
	if len(identifier) == 0 || len(identifier) > MaxIdentifier {
		return Delegation{}, malformed("identifier of %d bytes", len(identifier))
	}
	if identifier[0] != 0 {
		return Delegation{}, malformed("Unknown version of delegation token %d", identifier[0])
	}
	c := &chunks{rest: identifier[1:], ok: true}
	d := Delegation{Owner: c.text(), Renewer: c.text(), RealUser: c.text()}
	d.IssuedMillis, d.MaxMillis, d.Sequence, d.KeyID = c.number(), c.number(), uint32(c.number()), int32(c.number())
	if !c.ok {
		return Delegation{}, malformed("identifier ends inside a value")
	}
	return d, nil
}

func parse(identifier []byte, into gproto.Message) error {
	if len(identifier) == 0 || len(identifier) > MaxIdentifier {
		return malformed("identifier of %d bytes", len(identifier))
	}
	if err := bounded.Unmarshal(identifier, into); err != nil {
		return malformed("identifier: %v", err)
	}
	return nil
}

func attempt(id yarn.AttemptID) []byte {
	return number(message(nil, 1, application(id.App)), 2, int64(int32(id.Attempt)))
}

func application(id yarn.ApplicationID) []byte {
	return number(number(nil, 1, int64(int32(id.Seq))), 2, id.ClusterTimestamp)
}

// number appends an int32, int64 or enum field. protobuf encodes all three in the same way.
func number(b []byte, field protowire.Number, v int64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), uint64(v))
}

func text(b []byte, field protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), s)
}

func message(b []byte, field protowire.Number, m []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), m)
}
