package ipc

import (
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
)

// keepMax is the largest output buffer that is kept for the next use.
const keepMax = 64 << 10

// outBuffer is a buffer on its way through the pool.
type outBuffer struct{ b []byte }

var outBuffers = sync.Pool{New: func() any { return &outBuffer{b: make([]byte, 0, 4<<10)} }}

// outbox gathers the frames of one connection and writes them. The goroutine that appends
// while nobody writes becomes the writer, and writes until nothing is left; what
// others append meanwhile goes out in one piece. A full outbox makes those who
// append wait.
type outbox struct {
	conn net.Conn
	max  int
	now  func() int64
	raw  syscall.RawConn // nil: conn writes

	mu      sync.Mutex
	free    sync.Cond // a write is over, or all is
	pending *outBuffer
	writing bool
	waiters int
	err     error
	// since is when the write that is under way began, 0 when none is.
	since atomic.Int64

	// Of the writer.
	tryWrite func(fd uintptr) bool // what raw calls, made once
	rest     []byte
	failed   error
}

func (o *outbox) init(conn net.Conn, limit int, now func() int64) {
	o.conn, o.max, o.now = conn, limit, now
	o.free.L = &o.mu
	if sc, ok := conn.(syscall.Conn); ok && rawWrites {
		o.raw, _ = sc.SyscallConn()
		o.tryWrite = o.writable
	}
}

// begin waits for room and returns the buffer to append to, locked until finish.
// With an error nothing is locked.
func (o *outbox) begin() (*outBuffer, error) {
	o.mu.Lock()
	for o.err == nil && o.pending != nil && len(o.pending.b) > o.max {
		o.waiters++
		o.free.Wait()
		o.waiters--
	}
	if o.err != nil {
		err := o.err
		o.mu.Unlock()
		return nil, err
	}
	if o.pending == nil {
		o.pending = outBuffers.Get().(*outBuffer)
	}
	return o.pending, nil
}

// finish unlocks what begin locked. With flush it sees to it that everything
// appended is written, by this goroutine or the one that writes already; yield
// lets others that are about to append do so first.
func (o *outbox) finish(flush, yield bool) {
	if o.writing || (!flush && len(o.pending.b) <= o.max) {
		o.mu.Unlock()
		return
	}
	o.write(yield)
}

// flush writes what was appended without flush.
func (o *outbox) flush() {
	o.mu.Lock()
	if o.writing || o.pending == nil || o.err != nil {
		o.mu.Unlock()
		return
	}
	o.write(false)
}

// write empties the outbox. It is called with the lock held and nobody writing,
// and unlocks.
func (o *outbox) write(yield bool) {
	o.writing = true
	if yield {
		o.mu.Unlock()
		runtime.Gosched()
		o.mu.Lock()
	}
	for o.err == nil && o.pending != nil {
		out := o.pending
		o.pending = nil
		if o.waiters > 0 {
			o.free.Broadcast()
		}
		o.mu.Unlock()
		var err error
		if len(out.b) > 0 {
			o.since.Store(o.now())
			err = o.send(out.b)
			o.since.Store(0)
		}
		if cap(out.b) <= keepMax {
			out.b = out.b[:0]
			outBuffers.Put(out)
		}
		o.mu.Lock()
		if err != nil && o.err == nil {
			o.err = err
			_ = o.conn.Close() // tells the reader
		}
	}
	o.writing = false
	if o.waiters > 0 || o.err != nil {
		o.free.Broadcast()
	}
	o.mu.Unlock()
}

// send writes all of b. A large piece is left to conn, which lets the scheduler
// know.
func (o *outbox) send(b []byte) error {
	if o.raw == nil || len(b) > keepMax {
		_, err := o.conn.Write(b)
		return err
	}
	o.rest, o.failed = b, nil
	err := o.raw.Write(o.tryWrite)
	o.rest = nil
	if err != nil {
		return err
	}
	return o.failed
}

// writable is called when there may be room; false waits for more.
func (o *outbox) writable(fd uintptr) bool {
	for len(o.rest) > 0 && o.failed == nil {
		n, again, err := rawWrite(fd, o.rest)
		if again {
			return false
		}
		o.rest, o.failed = o.rest[n:], err
	}
	return true
}

// stop makes every later use fail with err and wakes those who wait. A write
// under way ends when its connection is closed.
func (o *outbox) stop(err error) {
	o.mu.Lock()
	if o.err == nil {
		o.err = err
	}
	o.pending = nil
	o.free.Broadcast()
	o.mu.Unlock()
}

// drain waits until everything appended is written, or nothing can be any more.
func (o *outbox) drain() {
	o.flush()
	o.mu.Lock()
	for o.err == nil && (o.writing || o.pending != nil) {
		o.waiters++
		o.free.Wait()
		o.waiters--
	}
	o.mu.Unlock()
}
