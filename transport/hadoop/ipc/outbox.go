package ipc

import (
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
)

// keepMax is the largest output buffer that is reused, in bytes.
const keepMax = 64 << 10

// outBuffer is a buffer in the pool.
type outBuffer struct{ b []byte }

var outBuffers = sync.Pool{New: func() any { return &outBuffer{b: make([]byte, 0, 4<<10)} }}

// outbox collects the frames of one connection and writes them. A goroutine that appends while
// nobody writes becomes the writer. It writes until nothing is left, and writes in one piece what
// others append meanwhile. When the outbox is full, appending blocks.
type outbox struct {
	conn  net.Conn
	max   int
	now   func() int64
	raw   syscall.RawConn // nil: use conn
	total *atomic.Int64   // bytes that wait in all outboxes; nil: not counted

	mu      sync.Mutex
	free    sync.Cond // signals that a write or the connection has ended
	pending *outBuffer
	writing bool
	waiters int
	err     error
	seal    *envelope    // wraps what is appended; nil: nothing does
	before  int          // bytes in pending when begin returned it
	waiting atomic.Int64 // bytes that wait here
	// since is the time when the present write began, or 0.
	since atomic.Int64

	// The following fields belong to the writer.
	tryWrite func(fd uintptr) bool // argument of raw.Write, allocated once
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

// count adds to the bytes that wait.
func (o *outbox) count(n int) {
	if o.total != nil {
		o.total.Add(int64(n))
		o.waiting.Add(int64(n))
	}
}

// begin waits for room and returns the buffer to append to. The outbox is locked until finish. On
// an error it is not locked.
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
	o.before = len(o.pending.b)
	return o.pending, nil
}

// finish unlocks the outbox. If flush is true, everything appended is written, by this goroutine or
// by the present writer. If yield is true, other goroutines can append first.
func (o *outbox) finish(flush, yield bool) {
	if o.seal != nil && len(o.pending.b) > o.before {
		o.pending.b = o.seal.replace(o.pending.b, o.before)
	}
	o.count(len(o.pending.b) - o.before)
	if o.writing || (!flush && len(o.pending.b) <= o.max) {
		o.mu.Unlock()
		return
	}
	o.write(yield)
}

// protect makes finish wrap what is appended from now on.
func (o *outbox) protect(e *envelope) {
	o.mu.Lock()
	o.seal = e
	o.mu.Unlock()
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

// write empties the outbox. The caller holds the lock and nobody may be writing. write unlocks.
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
			o.count(-len(out.b))
		}
		if cap(out.b) <= keepMax {
			out.b = out.b[:0]
			outBuffers.Put(out)
		}
		o.mu.Lock()
		if err != nil && o.err == nil {
			o.err = err
			_ = o.conn.Close() // this ends the reader
		}
	}
	o.writing = false
	if o.waiters > 0 || o.err != nil {
		o.free.Broadcast()
	}
	o.mu.Unlock()
}

// send writes all of b. It uses conn for a large piece, because that tells the Go scheduler about
// the system call.
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

// writable is called when there may be room. It returns false to wait for more.
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

// stop makes every later use fail with err and wakes the waiting goroutines. A write in progress
// ends when its connection is closed.
func (o *outbox) stop(err error) {
	o.mu.Lock()
	if o.err == nil {
		o.err = err
	}
	if o.pending != nil {
		o.count(-len(o.pending.b))
	}
	o.pending = nil
	o.free.Broadcast()
	o.mu.Unlock()
}

// drain waits until everything appended is written, or writing has failed.
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
