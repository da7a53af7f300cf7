package ipc

import (
	"cmp"
	"slices"
	"time"
)

// A reply, such as a long list, may have megabytes. It uses memory from the start of its handler
// until the peer has read it. Therefore only a few calls make large replies at the same time
// (LargeRepliesMax), and none begins while too many bytes are unread (UnreadMax). Then the server
// also ends connections with a blocked write, those with the most unread bytes first.

// unreadGrace is how long a write may be blocked while too many bytes are unread.
const unreadGrace = time.Second

// unreadPause is the interval at which a waiting call checks the unread bytes again.
const unreadPause = 20 * time.Millisecond

// awaitTurn waits until a call with a large reply may begin. It returns at once for other calls.
func (c *Conn) awaitTurn(call *Call) error {
	if !call.entry.large {
		return nil
	}
	if c.corked {
		c.corked = false
		c.out.flush()
	}
	if err := c.s.building.acquire(c.ctx, c.from, c.isProven(), 1); err != nil {
		return err
	}
	call.building = true
	for c.s.unread.Load() > int64(c.s.cfg.UnreadMax) {
		select {
		case <-time.After(unreadPause):
		case <-c.ctx.Done():
			return c.ctx.Err()
		}
	}
	return nil
}

// built ends the turn of a call, if it has one.
func (c *Conn) built(call *Call) {
	if call.building {
		call.building = false
		c.s.building.release(c.from, c.isProven(), 1)
	}
}

// relieve ends connections with blocked writes while too many bytes are unread.
func (s *Server) relieve(now int64) {
	over := s.unread.Load() - int64(s.cfg.UnreadMax)
	if over <= 0 {
		return
	}
	var slow []*Conn
	for _, c := range s.open() {
		if since := c.out.since.Load(); since != 0 && now-since > int64(unreadGrace) {
			slow = append(slow, c)
		}
	}
	slices.SortFunc(slow, func(a, b *Conn) int { return cmp.Compare(b.out.waiting.Load(), a.out.waiting.Load()) })
	for _, c := range slow {
		if over <= 0 {
			return
		}
		over -= c.out.waiting.Load()
		c.s.log.Info("connection ends: its peer does not read, and too many replies wait", "address", c.peer, "bytes",
			c.out.waiting.Load())
		c.fail(endUnread)
	}
}
