package ipc

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"syscall"
)

// readSize is the size of an ordinary read buffer. largeSize is the size of a large buffer that is
// reused.
const (
	readSize  = 16 << 10
	largeSize = 64 << 10
)

var (
	readBuffers  = sync.Pool{New: func() any { return new([readSize]byte) }}
	largeBuffers = sync.Pool{New: func() any { return new([largeSize]byte) }}
)

// intake splits a connection's bytes into frames. It holds a buffer only while it has bytes: where
// the system reports readability, it takes the buffer when bytes have arrived. An intake is for one
// goroutine.
type intake struct {
	conn  net.Conn
	raw   syscall.RawConn // nil: it holds the buffer while it waits
	large *budget
	from  netip.Prefix // whose part of large it takes
	// waiting is called once for each frame whose rest has not arrived yet.
	waiting func()

	buf        []byte
	start, end int
	partial    bool

	tryRead func(fd uintptr) bool // argument of raw.Read, allocated once
	n       int
	err     error
}

func newIntake(conn net.Conn, large *budget, from netip.Prefix, waiting func()) intake {
	in := intake{conn: conn, large: large, from: from, waiting: waiting}
	if sc, ok := conn.(syscall.Conn); ok && rawReads {
		in.raw, _ = sc.SyscallConn()
	}
	return in
}

// next returns one frame. It is valid until the next use of the intake.
func (in *intake) next(limit int) ([]byte, error) {
	for need := 4; ; {
		if in.end-in.start >= 4 {
			n := binary.BigEndian.Uint32(in.buf[in.start:])
			if n > uint32(limit) {
				return nil, fmt.Errorf("%d bytes: %w", n, ErrTooLarge)
			}
			need = 4 + int(n)
		}
		if in.end-in.start >= need {
			frame := in.buf[in.start+4 : in.start+need : in.start+need]
			in.start += need
			in.partial = false
			return frame, nil
		}
		if err := in.fill(need); err != nil {
			return nil, err
		}
	}
}

// buffered reports whether a whole frame has been received.
func (in *intake) buffered() bool {
	if in.end-in.start < 4 {
		return false
	}
	n := binary.BigEndian.Uint32(in.buf[in.start:])
	return uint32(in.end-in.start-4) >= n
}

// take returns n bytes that are not a frame.
func (in *intake) take(n int) ([]byte, error) {
	for in.end-in.start < n {
		if err := in.fill(n); err != nil {
			return nil, err
		}
	}
	in.start += n
	in.partial = false
	return in.buf[in.start-n : in.start], nil
}

// fill reads more bytes, with room for need bytes from start.
func (in *intake) fill(need int) error {
	if in.start == in.end {
		in.release()
		return in.wait()
	}
	if !in.partial {
		in.partial = true
		if in.waiting != nil {
			in.waiting()
		}
	}
	if err := in.room(need); err != nil {
		return err
	}
	n, err := in.conn.Read(in.buf[in.end:])
	in.end += n
	if n > 0 {
		return nil
	}
	return orEOF(err)
}

// room makes room after end. The buffer grows while the frame arrives, so memory is used for bytes
// that were sent, not for those that were announced.
func (in *intake) room(need int) error {
	switch size := len(in.buf); {
	case in.start+need <= size:
		return nil
	case need <= size || (in.end == size && in.start > 0):
		in.end, in.start = copy(in.buf, in.buf[in.start:in.end]), 0
		return nil
	case in.end < size:
		return nil
	default:
		return in.grow(min(max(need, largeSize), 4*size))
	}
}

// grow moves the contents of the buffer to a buffer of size bytes.
func (in *intake) grow(size int) error {
	if !in.large.take(in.from, size) {
		return fmt.Errorf("too many large frames at one time: %w", ErrTooLarge)
	}
	var grown []byte
	if size == largeSize {
		grown = largeBuffers.Get().(*[largeSize]byte)[:]
	} else {
		grown = make([]byte, size)
	}
	n := copy(grown, in.buf[in.start:in.end])
	in.release()
	in.buf, in.end = grown, n
	return nil
}

// wait reads the first bytes after a pause.
func (in *intake) wait() error {
	if in.raw == nil {
		if u, ok := in.conn.(*unwrapped); ok {
			if err := u.ready(); err != nil {
				return err
			}
		}
		in.buf = readBuffers.Get().(*[readSize]byte)[:]
		n, err := in.conn.Read(in.buf)
		in.end = n
		if n > 0 {
			return nil
		}
		return orEOF(err)
	}
	if in.tryRead == nil {
		in.tryRead = in.readable
	}
	in.n, in.err = 0, nil
	if err := in.raw.Read(in.tryRead); err != nil {
		return orEOF(err)
	}
	if in.n > 0 {
		in.end = in.n
		return nil
	}
	return orEOF(in.err)
}

// readable is called when there may be bytes. It returns false to wait for more.
func (in *intake) readable(fd uintptr) bool {
	buf := readBuffers.Get().(*[readSize]byte)
	n, again, err := rawRead(fd, buf[:])
	if n <= 0 {
		readBuffers.Put(buf)
		in.err = err
		return !again
	}
	in.buf, in.n = buf[:], n
	return true
}

// release returns the buffer to its pool.
func (in *intake) release() {
	switch len(in.buf) {
	case 0:
	case readSize:
		readBuffers.Put((*[readSize]byte)(in.buf))
	case largeSize:
		in.large.add(in.from, -largeSize)
		largeBuffers.Put((*[largeSize]byte)(in.buf))
	default:
		in.large.add(in.from, -len(in.buf))
	}
	in.buf, in.start, in.end = nil, 0, 0
}

// close returns all buffers.
func (in *intake) close() {
	in.release()
	if u, ok := in.conn.(*unwrapped); ok {
		u.plain = nil
		u.outer.release()
	}
}

// leave moves the unread bytes to a new buffer. The goroutine that uses the last frame keeps the
// old buffer.
func (in *intake) leave() {
	if len(in.buf) > readSize {
		in.large.add(in.from, -len(in.buf))
	}
	rest := in.buf[in.start:in.end]
	in.buf, in.start, in.end = nil, 0, 0
	switch {
	case len(rest) == 0:
		return
	case len(rest) <= readSize:
		in.buf = readBuffers.Get().(*[readSize]byte)[:]
	default:
		in.buf = make([]byte, max(len(rest), largeSize))
		in.large.add(in.from, len(in.buf)) // these bytes were given back above
	}
	in.end = copy(in.buf, rest)
}

// orEOF converts a read of no bytes without an error to io.EOF.
func orEOF(err error) error {
	if err == nil {
		return io.EOF
	}
	return err
}
