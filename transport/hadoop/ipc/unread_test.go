package ipc

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"rmd/transport/hadoop/proto"
)

// dialBareFrom is dialBare from another loopback address.
func dialBareFrom(t *testing.T, s *Server, from string) *bare {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	nc, err := d.DialContext(t.Context(), "tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	_ = nc.SetDeadline(time.Now().Add(2 * time.Minute))
	return &bare{t, nc}
}

// lists has a method with a large reply. It counts how many calls make one at the same time.
type lists struct {
	size      int
	now, most atomic.Int32
}

func (l *lists) list(context.Context, *Call,
	*proto.GetQueueInfoRequestProto) (*proto.GetQueueInfoResponseProto, error) {
	if n := l.now.Add(1); n > l.most.Load() {
		l.most.Store(n)
	}
	defer l.now.Add(-1)
	time.Sleep(time.Millisecond)
	name := strings.Repeat("x", l.size)
	return &proto.GetQueueInfoResponseProto{QueueInfo: &proto.QueueInfoProto{QueueName: &name}}, nil
}

func (l *lists) offer(c *Config) {
	c.Protocols[0].Methods["list"] = Handle(l.list).Large()
}

// TestLargeRepliesThatNobodyReads checks that the server ends connections whose peers request large
// replies and do not read them, that the memory stays bounded, and that others are served
// meanwhile.
func TestLargeRepliesThatNobodyReads(t *testing.T) {
	const size, bound = 1 << 20, 12 << 20
	l := &lists{size: size}
	unread := make(chan string, 100)
	s := openServer(t, &testMethods{}, l.offer, func(c *Config) {
		c.LargeRepliesMax, c.OutputMax, c.UnreadMax, c.WriteTimeout = 4, 4<<20, bound, time.Hour
		c.Observe.Closed = func(reason string) { unread <- reason }
	})
	var most int64
	stop, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
				most = max(most, s.unread.Load())
			}
		}
	}()
	const peers = 3
	for i := range peers {
		b := dialBareFrom(t, s, "127.0.0.2")
		_ = b.Conn.(*net.TCPConn).SetReadBuffer(4 << 10)
		out := hello("mallory")
		for id := range int32(64) {
			out = append(out, call(id, "list", fmt.Sprint(i))...)
		}
		b.send(out)
	}
	honest := dialBareFrom(t, s, "127.0.0.3")
	honest.send(hello("alice"))
	for id := range int32(20) {
		honest.send(call(id, "list", "x"))
		if h, body := honest.frame(); h.GetStatus() != proto.RpcResponseHeaderProto_SUCCESS || len(body) < size {
			t.Fatalf("call %d of one that reads: %v and %d bytes", id, h, len(body))
		}
	}
	for range peers {
		select {
		case reason := <-unread:
			if reason != endUnread {
				t.Errorf("a connection ended by %q", reason)
			}
		case <-time.After(time.Minute):
			t.Fatal("connections stay whose peers do not read")
		}
	}
	close(stop)
	<-watched
	if most > bound+8*size {
		t.Errorf("%d MiB of replies waited, the bound is %d", most>>20, bound>>20)
	}
	if n := l.most.Load(); n > 4 {
		t.Errorf("%d large replies were made at one time", n)
	}
}

// TestUnreadIsCounted checks that replies no longer count as unread when they were read or their
// connection has ended.
func TestUnreadIsCounted(t *testing.T) {
	l := &lists{size: 1 << 20}
	s := openServer(t, &testMethods{}, l.offer)
	reads, leaves := dialBare(t, s), dialBare(t, s)
	for _, b := range []*bare{reads, leaves} {
		b.send(hello("alice"))
		for id := range int32(20) {
			b.send(call(id, "list", "x"), call(100+id, "echo", strings.Repeat("y", 1000)), call(200+id, "echoInline", "z"))
		}
	}
	for range 60 {
		reads.frame()
	}
	for s.unread.Load() < 1<<20 {
		runtime.Gosched()
	}
	_ = leaves.Close()
	turns := func() int {
		s.building.mu.Lock()
		defer s.building.mu.Unlock()
		return len(s.building.by)
	}
	for end := time.Now().Add(time.Minute); s.unread.Load() != 0 || s.Stats().Calls != 0 ||
		turns() != 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d bytes and %d turns are held, and %+v", s.unread.Load(), turns(), s.Stats())
		}
	}
}

// TestLargeFramesPerAddress checks that one address cannot delay another's large request, neither
// with incomplete large requests nor with ones that wait.
func TestLargeFramesPerAddress(t *testing.T) {
	d := &testMethods{}
	big := strings.Repeat("b", 700<<10)
	release := d.block(big)
	defer release()
	s := openServer(t, d, func(c *Config) {
		c.FrameMax, c.LargeFramesMax, c.LargeRequestsMax = 1<<20, 8<<20, 4<<20
	})
	for range 20 {
		b := dialBareFrom(t, s, "127.0.0.2")
		// some of these connections are closed
		_, _ = b.Write(append(append(hello("mallory"), of(`00100000`)...), make([]byte, 1<<20-10)...))
	}
	for range 5 {
		b := dialBareFrom(t, s, "127.0.0.4")
		b.send(hello("mallory"), call(1, "echo", big))
	}
	for s.Stats().Calls < 2 {
		runtime.Gosched()
	}
	honest := dialBareFrom(t, s, "127.0.0.3")
	_ = honest.SetReadDeadline(time.Now().Add(20 * time.Second))
	honest.send(hello("alice"), call(1, "echo", big+"!"))
	if h, _ := honest.frame(); h.GetStatus() != proto.RpcResponseHeaderProto_SUCCESS {
		t.Errorf("status of a large request from another address = %v, want SUCCESS", h.GetStatus())
	}
}
