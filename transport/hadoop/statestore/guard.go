package statestore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// Limits of what ZooKeeper may send.
const (
	maxBytes   = 4 << 30  // all answers of an import
	maxReply   = 64 << 20 // one answer, in bytes: a znode, or the names of the znodes below one
	maxGreets  = 1024     // the answer that begins a session, in bytes
	minTimeout = 500      // of a session, in milliseconds
	maxTimeout = 600_000
)

// The requests whose answers have a count or a length, and the size of the header of an answer.
const (
	opGetData     = 4
	opGetChildren = 12
	answerHeader  = 16
)

// guards hands out connections to ZooKeeper that check every answer before the client library
// decodes it. The library decodes in a goroutine of its own, and some wrong answers end the
// process there: a count beyond the end of the answer, an answer without a header, a session
// without a timeout.
type guards struct {
	login Login // nil: none

	mu      sync.Mutex
	left    int64 // bytes that ZooKeeper may still send
	refused error // the first answer that was refused
}

// take counts the bytes of an answer. It returns an error if ZooKeeper has sent too many.
func (g *guards) take(n int64) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.left -= n; g.left < 0 {
		return fmt.Errorf("with it, all answers have more than %d bytes", int64(maxBytes))
	}
	return nil
}

// dial implements zk.Dialer.
func (g *guards) dial(network, address string, timeout time.Duration) (net.Conn, error) {
	c, err := net.DialTimeout(network, address, timeout)
	if err != nil {
		return nil, err
	}
	return &guard{Conn: c, of: g, requests: map[uint32]uint32{}}, nil
}

// because returns the refusal of an answer, if there was one, otherwise err.
func (g *guards) because(err error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err != nil && g.refused != nil {
		return g.refused
	}
	return err
}

// guard is one connection.
type guard struct {
	net.Conn
	of    *guards
	begun bool   // the session has begun
	rest  []byte // of the answer that was checked

	mu       sync.Mutex
	requests map[uint32]uint32 // the kind of each request that was not answered yet
}

// Write notes the kind of a request. The library writes each request in one piece: its length, its
// number, its kind and the rest.
func (c *guard) Write(b []byte) (int, error) {
	if len(b) >= 12 {
		c.mu.Lock()
		c.requests[binary.BigEndian.Uint32(b[4:])] = binary.BigEndian.Uint32(b[8:])
		c.mu.Unlock()
	}
	return c.Conn.Write(b)
}

// Read returns the bytes of answers that were checked.
func (c *guard) Read(b []byte) (int, error) {
	if len(c.rest) == 0 {
		if err := c.receive(); err != nil {
			return 0, err
		}
	}
	n := copy(b, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// receive reads one answer and checks it.
func (c *guard) receive() error {
	var length [4]byte
	if _, err := io.ReadFull(c.Conn, length[:]); err != nil {
		return err
	}
	least, most, check := uint32(answerHeader), uint32(maxReply), c.checkAnswer
	if !c.begun {
		least, most, check = 20, maxGreets, checkGreeting
	}
	n := binary.BigEndian.Uint32(length[:])
	if n < least || n > most {
		return c.refuse(fmt.Errorf("it has %d bytes, not %d to %d", n, least, most))
	}
	if err := c.of.take(int64(n)); err != nil {
		return c.refuse(err)
	}
	b := make([]byte, 4+n)
	copy(b, length[:])
	if _, err := io.ReadFull(c.Conn, b[4:]); err != nil {
		return err
	}
	if err := check(b[4:]); err != nil {
		return c.refuse(err)
	}
	if !c.begun && c.of.login != nil {
		if err := c.logIn(c.of.login); err != nil {
			return c.record(fmt.Errorf("the login at ZooKeeper at %s: %w", c.RemoteAddr(), err))
		}
	}
	c.begun, c.rest = true, b
	return nil
}

// refuse records why an answer is refused.
func (c *guard) refuse(why error) error {
	return c.record(fmt.Errorf("ZooKeeper at %s sent a wrong answer: %w", c.RemoteAddr(), why))
}

// record keeps the first error that ends an import.
func (c *guard) record(err error) error {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	if c.of.refused == nil {
		c.of.refused = err
	}
	return err
}

// checkGreeting checks the answer that begins a session: version, timeout, id, password.
func checkGreeting(b []byte) error {
	if t := int32(binary.BigEndian.Uint32(b[4:])); t < minTimeout || t > maxTimeout {
		return fmt.Errorf("the timeout of the session is %d ms, not %d to %d", t, minTimeout, maxTimeout)
	}
	_, err := skip(b[16:])
	return err
}

// checkAnswer checks the answer to a request: its number, a transaction, an error, and the rest.
func (c *guard) checkAnswer(b []byte) error {
	number := binary.BigEndian.Uint32(b)
	c.mu.Lock()
	kind := c.requests[number]
	delete(c.requests, number)
	c.mu.Unlock()
	failed, rest := binary.BigEndian.Uint32(b[12:]) != 0, b[answerHeader:]
	if failed || int32(number) < 0 {
		return nil // the library takes only strings from it, and checks their lengths
	}
	switch kind {
	case opGetData:
		_, err := skip(rest)
		return err
	case opGetChildren:
		return checkNames(rest)
	}
	return nil
}

// checkNames checks a list of strings.
func checkNames(b []byte) error {
	if len(b) < 4 {
		return errShort
	}
	count := binary.BigEndian.Uint32(b)
	b = b[4:]
	if count > maxZnodes || uint64(count)*4 > uint64(len(b)) {
		return fmt.Errorf("it announces %d names in %d bytes", count, len(b))
	}
	var err error
	for range count {
		if b, err = skip(b); err != nil {
			return err
		}
	}
	return nil
}

var errShort = errors.New("it ends too early")

// skip returns what follows a string. A length of -1 stands for no string.
func skip(b []byte) ([]byte, error) {
	if len(b) < 4 {
		return nil, errShort
	}
	n := int32(binary.BigEndian.Uint32(b))
	switch b = b[4:]; {
	case n < 0:
		return b, nil
	case int(n) > len(b):
		return nil, fmt.Errorf("it announces %d bytes and has %d", n, len(b))
	}
	return b[n:], nil
}
