package peer

import (
	"encoding/binary"
	"fmt"
	"io"
)

// Kind is the purpose of a connection.
type Kind byte

// The kinds of connection. The numbers are part of the protocol: never change or reuse one.
const (
	KindRaft     Kind = 1
	KindLiveness Kind = 2
	KindRPC      Kind = 3
)

// HelloCode is the listener's answer to a hello. The numbers are part of the protocol: never change
// or reuse one.
type HelloCode byte

// The answers to a hello.
const (
	HelloOK           HelloCode = 0
	HelloNotReady     HelloCode = 1 // no identity or no cluster yet: repeat later
	HelloOtherName    HelloCode = 2
	HelloOtherCluster HelloCode = 3
	HelloRemoved      HelloCode = 4
	HelloBadIdentity  HelloCode = 5 // the certificate names another replica
	HelloUnknownKind  HelloCode = 6 // 7, VERSION, is not used
	HelloNotMember    HelloCode = 8 // not a member, as far as the listener knows
)

var helloNames = [...]string{"OK", "NOT_READY", "OTHER_NAME", "OTHER_CLUSTER", "REMOVED", "BAD_IDENTITY",
	"UNKNOWN_KIND", "VERSION", "NOT_MEMBER"}

// String returns the stable name of the code.
func (c HelloCode) String() string {
	if int(c) < len(helloNames) {
		return helloNames[c]
	}
	return fmt.Sprintf("CODE_%d", byte(c))
}

const (
	helloMagic   = "RMDP"
	helloVersion = 1
	nameMax      = 128
	helloMax     = 1024
)

// Identity identifies a replica. Boot is a random number drawn at each start of the process. It
// distinguishes a restarted process from a lost connection.
type Identity struct {
	ClusterName string
	ID          string
	Incarnation string
	ClusterID   string // empty before bootstrap or join
	Boot        uint64
}

// ServerID returns the replica's id in Raft.
func (i Identity) ServerID() string { return i.ID + "." + i.Incarnation }

// hello is the first message of every connection, in both directions. The listener's hello has a
// code. In a refusal, Text is the reason. In any other hello it is the proof (proof.go), which
// programs of earlier versions ignore.
type hello struct {
	Kind Kind
	Code HelloCode
	Text string
	From Identity
}

// encode returns the magic bytes, version, length and body.
func (h hello) encode() []byte {
	b := append([]byte(helloMagic), helloVersion, 0, 0, byte(h.Kind), byte(h.Code))
	b = binary.BigEndian.AppendUint64(b, h.From.Boot)
	for _, s := range []string{h.Text, h.From.ClusterName, h.From.ID, h.From.Incarnation, h.From.ClusterID} {
		s = s[:min(len(s), nameMax)]
		b = append(append(b, byte(len(s))), s...)
	}
	binary.BigEndian.PutUint16(b[5:], uint16(len(b)-7))
	return b
}

// decodeHello reads the body of a hello.
func decodeHello(b []byte) (h hello, err error) {
	if len(b) < 10 {
		return h, fmt.Errorf("hello of %d bytes: %w", len(b), ErrFrame)
	}
	h.Kind, h.Code = Kind(b[0]), HelloCode(b[1])
	h.From.Boot = binary.BigEndian.Uint64(b[2:])
	b = b[10:]
	for _, p := range []*string{&h.Text, &h.From.ClusterName, &h.From.ID, &h.From.Incarnation, &h.From.ClusterID} {
		if len(b) < 1 || int(b[0]) > nameMax || len(b) < 1+int(b[0]) {
			return hello{}, fmt.Errorf("hello string: %w", ErrFrame)
		}
		*p, b = string(b[1:1+int(b[0])]), b[1+int(b[0]):]
	}
	if len(b) != 0 {
		return hello{}, fmt.Errorf("hello has %d bytes too many: %w", len(b), ErrFrame)
	}
	return h, nil
}

// readHello reads exactly one hello.
func readHello(r io.Reader) (hello, error) {
	var head [7]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return hello{}, err
	}
	if string(head[:4]) != helloMagic {
		return hello{}, fmt.Errorf("not a replica's hello: %w", ErrFrame)
	}
	if head[4] != helloVersion {
		return hello{}, fmt.Errorf("hello version %d, this replica speaks %d: %w", head[4], helloVersion, ErrFrame)
	}
	n := int(binary.BigEndian.Uint16(head[5:]))
	if n > helloMax {
		return hello{}, fmt.Errorf("hello of %d bytes: %w", n, ErrTooLarge)
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(r, body); err != nil {
		return hello{}, err
	}
	return decodeHello(body)
}
