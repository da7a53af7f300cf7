package groups

import (
	"errors"
	"fmt"
	"net"
	"sync"
)

// Limits of what lookups read from a directory. The library reads an answer whole, whatever its
// length says, and makes an object of about 250 bytes of each element. A directory that is broken
// or hostile must not take the memory of the replica.
const (
	lookupBytes     = 4 << 20 // of one lookup; 10,000 groups have about 2 MB
	allLookupsBytes = 8 << 20 // of all lookups in progress
	lookupMessages  = 2*maxFound + 1000
	messageElements = 32 << 10
	valueBytes      = 256 << 10 // of one element; the library copies a value several times
)

var errAnswer = errors.New("the directory's answer is refused")

// budget counts what all lookups in progress have read, in bytes.
type budget struct {
	mu   sync.Mutex
	used int
}

// meter limits what one lookup reads from a directory.
type meter struct {
	net.Conn
	all  *budget
	read int // guarded by all.mu; negative after Close
	ber  elements
}

// Read implements net.Conn. Only one goroutine at a time may call it.
func (m *meter) Read(b []byte) (int, error) {
	n, err := m.Conn.Read(b)
	if over := m.count(n); over != nil {
		return 0, over
	}
	if bad := m.ber.add(b[:n]); bad != nil {
		return 0, bad
	}
	return n, err
}

func (m *meter) count(n int) error {
	m.all.mu.Lock()
	defer m.all.mu.Unlock()
	if m.read < 0 {
		return net.ErrClosed
	}
	m.read += n
	m.all.used += n
	switch {
	case m.read > lookupBytes:
		return fmt.Errorf("%w: it has more than %d bytes", errAnswer, lookupBytes)
	case m.all.used > allLookupsBytes:
		return fmt.Errorf("%w: with those of other lookups it has more than %d bytes", errAnswer, allLookupsBytes)
	}
	return nil
}

// Close implements net.Conn.
func (m *meter) Close() error {
	m.all.mu.Lock()
	m.all.used -= max(m.read, 0)
	m.read = -1
	m.all.mu.Unlock()
	return m.Conn.Close()
}

// elements counts the BER elements of each message in a stream.
type elements struct {
	header  []byte // the bytes of an element's header that have arrived
	skip    int    // bytes of a value that have not arrived
	message int    // bytes of the message that are in no element yet
	count   int    // elements of the message
	all     int    // messages
}

func (e *elements) add(b []byte) error {
	for len(b) > 0 {
		if e.skip > 0 {
			n := min(e.skip, len(b))
			e.skip, b = e.skip-n, b[n:]
			continue
		}
		e.header, b = append(e.header, b[0]), b[1:]
		size, err := length(e.header)
		if err != nil {
			return err
		}
		if size < 0 {
			continue
		}
		if err := e.begin(size); err != nil {
			return err
		}
	}
	return nil
}

// begin counts the element whose header is complete. Its value has size bytes.
func (e *elements) begin(size int) error {
	if e.message <= 0 {
		e.message, e.count = size, 0
		if e.all++; e.all > lookupMessages {
			return fmt.Errorf("%w: it has more than %d messages", errAnswer, lookupMessages)
		}
	} else {
		e.message -= len(e.header)
	}
	if constructed := e.header[0]&0x20 != 0; !constructed {
		if size > valueBytes {
			return fmt.Errorf("%w: a value has more than %d bytes", errAnswer, valueBytes)
		}
		e.skip, e.message = size, e.message-size
	}
	e.header = e.header[:0]
	if e.count++; e.count > messageElements {
		return fmt.Errorf("%w: a message has more than %d elements", errAnswer, messageElements)
	}
	return nil
}

// length returns the length of the value that an element's header announces, or −1 if the header is
// not complete. LDAP has neither tags of several bytes nor indefinite lengths (RFC 4511, 5.1).
func length(header []byte) (int, error) {
	if header[0]&0x1f == 0x1f {
		return 0, fmt.Errorf("%w: a tag of several bytes is not LDAP", errAnswer)
	}
	if len(header) < 2 {
		return -1, nil
	}
	n := int(header[1])
	if n < 0x80 {
		return n, nil
	}
	if n == 0x80 || n > 0x84 {
		return 0, fmt.Errorf("%w: a length of %d bytes is not LDAP", errAnswer, n&0x7f)
	}
	if len(header) < 2+n&0x7f {
		return -1, nil
	}
	size := 0
	for _, b := range header[2:] {
		size = size<<8 | int(b)
	}
	if size > lookupBytes {
		return 0, fmt.Errorf("%w: it announces a value of %d bytes, at most %d are read", errAnswer, size, lookupBytes)
	}
	return size, nil
}
