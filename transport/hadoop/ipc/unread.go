package ipc

import (
	"cmp"
	"slices"
	"time"
)

// A reply takes memory from when its handler begins to make it until its peer has read it, and a list
// may have megabytes. So few calls make large replies at one time (LargeRepliesMax), and none begins
// while too much waits to be read (UnreadMax). Then those connections end, the largest first, whose
// peers let a write wait.

// unreadGrace is how long a write may wait for its peer while too much waits to be read.
const unreadGrace = time.Second

// unreadPause is how often a call that waits for memory looks again.
const unreadPause = 20 * time.Millisecond

// awaitTurn waits until a call may make a large reply, if it does.
func (c *Conn) awaitTurn(call *Call) error {
	if !call.entry.large {
		return nil
	}
	if c.corked {
		c.corked = false
		c.out.flush()
	}
	if err := c.s.building.acquire(c.ctx, c.from, 1); err != nil {
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

// built ends the turn of a call.
func (c *Conn) built(call *Call) {
	if call.building {
		call.building = false
		c.s.building.release(c.from, 1)
	}
}

// relieve ends connections whose peers do not read, while too much waits for all.
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
		c.s.log.Info("connection ends: its peer does not read, and too many replies wait", "address", c.peer, "bytes", c.out.waiting.Load())
		c.fail(endUnread)
	}
}
