package gss

import (
	"crypto/hmac"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/jcmturner/gokrb5/v8/types"
)

// The usages of a context's key (RFC 4121, section 2).
const (
	usageAcceptorSeal  = 22
	usageInitiatorSeal = 24
)

// The flags of a wrapped message (RFC 4121, section 4.2.2).
const (
	sentByAcceptor = 1
	sealedFlag     = 2
	acceptorSubkey = 4
)

// headerSize is the size of the header of a wrapped message, in bytes.
const headerSize = 16

// Context is an established security context. One goroutine may wrap while another unwraps.
type Context struct {
	// Client is the principal of the initiator, name@REALM or name/instance@REALM.
	Client string
	// Expires is the end of the client's ticket. A context does not end with it.
	Expires time.Time

	flags      byte // of what this side sends
	send, recv crypter
}

// crypter is one direction of a context.
type crypter struct {
	*crypt
	seq uint64
}

// newContext returns a context of the acceptor, or of the initiator.
func newContext(acceptor bool, key types.EncryptionKey, byAcceptor bool, send, recv uint64) (*Context, error) {
	var c Context
	out, in := uint32(usageInitiatorSeal), uint32(usageAcceptorSeal)
	if acceptor {
		c.flags, out, in = sentByAcceptor, in, out
	}
	if byAcceptor {
		c.flags |= acceptorSubkey
	}
	var err error
	if c.send.crypt, err = newCrypt(key, out); err != nil {
		return nil, err
	}
	if c.recv.crypt, err = newCrypt(key, in); err != nil {
		return nil, err
	}
	c.send.seq, c.recv.seq = send, recv
	return &c, nil
}

func header(flags byte, extra, rotation uint16, seq uint64) []byte {
	h := make([]byte, 0, headerSize)
	h = append(h, 5, 4, flags, 0xff)
	h = binary.BigEndian.AppendUint16(h, extra)
	h = binary.BigEndian.AppendUint16(h, rotation)
	return binary.BigEndian.AppendUint64(h, seq)
}

// Overhead is the most bytes that Wrap adds to a message.
const Overhead = headerSize + 16 + headerSize + 24

// Wrap appends the protected message to dst: encrypted if seal is true, and only signed otherwise.
func (c *Context) Wrap(dst, message []byte, seal bool) []byte {
	s := &c.send
	seq := s.seq
	s.seq++
	if seal {
		h := header(c.flags|sealedFlag, 0, 0, seq)
		return s.encrypt(append(dst, h...), message, h)
	}
	sum := s.checksum(message, header(c.flags, 0, 0, seq))
	dst = append(dst, header(c.flags, uint16(len(sum)), 0, seq)...)
	return append(append(dst, message...), sum...)
}

// The errors of Unwrap.
var (
	// ErrToken means that a token is not a wrapped message of the other side.
	ErrToken = errors.New("not a wrapped message of this context")
	// ErrOrder means that a message is missing, or came twice or out of order.
	ErrOrder = errors.New("wrapped message out of order")
	// ErrIntegrity means that a message was changed, or was made with another key.
	ErrIntegrity = errors.New("wrapped message was changed")
)

// Unwrap checks a message from the other side, and decrypts it in place. The result shares token's
// memory unless its sender has rotated it. Messages must come in the order in which they were sent.
// After an error the context must not be used.
func (c *Context) Unwrap(token []byte) (message []byte, sealed bool, err error) {
	if len(token) < headerSize || token[0] != 5 || token[1] != 4 || token[3] != 0xff {
		return nil, false, ErrToken
	}
	flags := token[2]
	if flags&^sealedFlag != c.flags^sentByAcceptor {
		return nil, false, fmt.Errorf("%w: its flags are %#x", ErrToken, flags)
	}
	extra, rotation, seq := int(binary.BigEndian.Uint16(token[4:])), int(binary.BigEndian.Uint16(token[6:])),
		binary.BigEndian.Uint64(token[8:])
	if seq != c.recv.seq {
		return nil, false, fmt.Errorf("%w: number %d, not %d", ErrOrder, seq, c.recv.seq)
	}
	body := token[headerSize:]
	if rotation > 0 && len(body) > 0 {
		rotation %= len(body)
		body = append(append(make([]byte, 0, len(body)), body[rotation:]...), body[:rotation]...)
	}
	sealed = flags&sealedFlag != 0
	if sealed {
		message, err = c.recv.unseal(body, flags, extra, seq)
	} else {
		message, err = c.recv.verify(body, flags, extra, seq)
	}
	if err == nil {
		c.recv.seq++
	}
	return message, sealed, err
}

// unseal decrypts a message. A copy of the header follows the message and its filler.
func (r *crypter) unseal(body []byte, flags byte, filler int, seq uint64) ([]byte, error) {
	plain, err := r.decrypt(body)
	if err != nil {
		return nil, ErrIntegrity
	}
	n := len(plain) - headerSize
	if n < filler || !hmac.Equal(plain[n:], header(flags, uint16(filler), 0, seq)) {
		return nil, fmt.Errorf("%w: its header", ErrIntegrity)
	}
	return plain[:n-filler], nil
}

// verify checks a message that is signed only.
func (r *crypter) verify(body []byte, flags byte, size int, seq uint64) ([]byte, error) {
	if size > len(body) {
		return nil, ErrToken
	}
	message, sum := body[:len(body)-size], body[len(body)-size:]
	if !hmac.Equal(r.checksum(message, header(flags, 0, 0, seq)), sum) {
		return nil, ErrIntegrity
	}
	return message, nil
}
