package peer

import (
	"bufio"
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// greets opens a plain connection for calls as the replica z.i.
func greets(t *testing.T, from string, b *Server) net.Conn {
	t.Helper()
	c := dialFrom(t, from, b.Addr())
	if _,
		err := c.Write((hello{Kind: KindRPC, From: Identity{ClusterName: "test", ID: "z", Incarnation: "i",
		ClusterID: "c1"}}).encode()); err != nil {
		t.Fatal(err)
	}
	if h, err := readHello(c); err != nil || h.Code != HelloOK {
		t.Fatalf("answered %s %q, %v", h.Code, h.Text, err)
	}
	return c
}

// sends writes calls of method 40 without waiting for replies.
func sends(t *testing.T, c net.Conn, calls, size int) {
	t.Helper()
	w := bufio.NewWriter(c)
	for i := range calls {
		if err := writeFrame(w, frame{frameRequest, 40, uint64(i), make([]byte, size)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
}

// settled waits until n has not changed for 200 ms, and returns it.
func settled(n *atomic.Int32) int32 {
	last, since := n.Load(), time.Now()
	for time.Since(since) < 200*time.Millisecond {
		time.Sleep(5 * time.Millisecond)
		if now := n.Load(); now != last {
			last, since = now, time.Now()
		}
	}
	return last
}

// noMember sets rules in which z.i is not a member until joins is called.
func noMember(b *Server) (joins func()) {
	var joined atomic.Bool
	b.SetGate(nil, nil, nil, func(server string) bool { return server != "z.i" || joined.Load() })
	return func() { joined.Store(true) }
}

// TestRepliesThatNobodyReads checks that the server stops reading calls from a peer that does not
// read the replies.
func TestRepliesThatNobodyReads(t *testing.T) {
	b := listen(t, "b", func(c *Config) { c.InFlightMax = 8 })
	var calls atomic.Int32
	b.Handle(40, func(context.Context, string, []byte) ([]byte, error) {
		calls.Add(1)
		return make([]byte, 16<<10), nil
	})
	c := greets(t, "127.0.0.1", b)
	_ = c.(*net.TCPConn).SetReadBuffer(4 << 10)
	const all = 10_000
	sends(t, c, all, 0)
	soon(t, "calls run", func() bool { return calls.Load() >= 8 })
	if n := settled(&calls); n > all/4 { // the kernel buffers some replies
		t.Errorf("%d of %d calls run although nobody reads the replies", n, all)
	}
}

// TestNonMembersDoNotLockOut checks that connections of replicas that are not members take no place
// from members, nor from other addresses.
func TestNonMembersDoNotLockOut(t *testing.T) {
	a := listen(t, "a", nil)
	b := listen(t, "b", func(c *Config) { c.ConnsMax, c.StrangersMax = 8, 4 })
	b.Handle(40, func(_ context.Context, _ string, req []byte) ([]byte, error) { return req, nil })
	noMember(b)
	lone := greets(t, "127.0.0.3", b)
	var crowd []net.Conn
	for range 20 {
		crowd = append(crowd, greets(t, "127.0.0.2", b))
	}
	for i, c := range crowd[:len(crowd)-3] {
		if !ends(c) {
			t.Fatalf("connection %d of %d stays", i, len(crowd))
		}
	}
	if got, err := a.Call(t.Context(), b.Addr(), 40, []byte("x")); err != nil || string(got) != "x" {
		t.Fatalf("a member among %d strangers: %q, %v", len(crowd), got, err)
	}
	sends(t, lone, 1, 3)
	if f, err := readFrame(lone, func() int { return 3 }); err != nil || len(f.payload) != 3 {
		t.Errorf("the only one from its address was answered %v, %v", f, err)
	}
	for _, c := range crowd {
		_ = c.Close()
	}
	_ = lone.Close()
	soon(t, "they are forgotten", func() bool { b.mu.Lock(); defer b.mu.Unlock(); return len(b.strangers) == 0 })
}

// TestNonMemberCallLimits checks the limits of calls in flight and of their size for a replica that
// is not a member. They no longer apply when it joins.
func TestNonMemberCallLimits(t *testing.T) {
	b := listen(t, "b", func(c *Config) { c.InFlightMax = 100 })
	joins := noMember(b)
	var calls atomic.Int32
	release := make(chan struct{})
	free := sync.OnceFunc(func() { close(release) })
	t.Cleanup(free)
	b.Handle(40, func(context.Context, string, []byte) ([]byte, error) {
		calls.Add(1)
		<-release
		return nil, nil
	})
	c := greets(t, "127.0.0.1", b)
	sends(t, c, 1, strangerFrameMax)
	sends(t, c, 99, 0)
	soon(t, "calls run", func() bool { return calls.Load() >= strangerCalls })
	if n := settled(&calls); n != strangerCalls {
		t.Errorf("%d calls of a stranger run at once, not %d", n, strangerCalls)
	}
	large := greets(t, "127.0.0.1", b)
	sends(t, large, 1, strangerFrameMax+1)
	if !ends(large) {
		t.Error("a large call of a stranger is taken")
	}
	joins()
	large = greets(t, "127.0.0.1", b)
	sends(t, large, 1, strangerFrameMax+1)
	soon(t, "a large call of a member runs", func() bool { return calls.Load() == strangerCalls+1 })
	free()
	soon(t, "all calls run", func() bool { return calls.Load() == 101 })
}
