package descriptors

import (
	"context"
	"errors"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
)

// closed reports whether the other side closes a connection within a time.
func closed(t *testing.T, c net.Conn, within time.Duration) bool {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(within)); err != nil {
		t.Fatal(err)
	}
	_, err := c.Read(make([]byte, 1))
	var timeout net.Error
	return err != nil && !(errors.As(err, &timeout) && timeout.Timeout())
}

// open listens with a budget. It sends the accepted connections to a channel.
func open(t *testing.T, b *Budget, name string) (addr string, accepted chan net.Conn) {
	t.Helper()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := b.Listen(name, inner)
	t.Cleanup(func() { _ = l.Close() })
	accepted = make(chan net.Conn, 100)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- c
		}
	}()
	return inner.Addr().String(), accepted
}

func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// TestFlood checks that a flooded port leaves room for the others, and that closed connections
// release their descriptors.
func TestFlood(t *testing.T) {
	b := NewBudget(Plan{Shared: 12}, hclog.NewNullLogger())
	one, accepted := open(t, b, "one")
	two, others := open(t, b, "two")
	var kept []net.Conn
	for range 6 {
		dial(t, one)
		kept = append(kept, <-accepted)
	}
	if c := dial(t, one); !closed(t, c, time.Minute) {
		t.Fatal("a seventh of twelve stays open at one port")
	}
	for range 3 {
		dial(t, two)
		<-others
	}
	if c := dial(t, two); !closed(t, c, time.Minute) {
		t.Fatal("a fourth of twelve stays open at the second port")
	}
	if s := b.Stats(); s != (Stats{Shared: 12, Used: 9, Refused: 2}) {
		t.Fatalf("Stats after the flood = %+v, want 12 shared, 9 used and 2 refused", s)
	}
	if p := b.Problem(); p != "connections are refused for the limit of open files: 9 of 12 for clients are open, 2 were refused" {
		t.Errorf("status says %q", p)
	}
	for _, c := range kept {
		if _, ok := c.(syscall.Conn); !ok {
			t.Fatalf("%T hides its descriptor", c)
		}
		_ = c.Close()
		_ = c.Close() // a second Close must not count again
	}
	if s := b.Stats(); s.Used != 3 {
		t.Fatalf("after closing: %+v", s)
	}
	dial(t, one)
	select {
	case <-accepted:
	case <-time.After(time.Minute):
		t.Fatal("a port that is free again takes nobody")
	}
}

// TestDialer checks that dialed connections count, and that failed ones do not.
func TestDialer(t *testing.T) {
	b := NewBudget(Plan{Shared: 2}, hclog.NewNullLogger())
	addr, _ := open(t, NewBudget(Plan{Shared: 100}, hclog.NewNullLogger()), "far")
	d := b.Dialer("out", new(net.Dialer).DialContext)
	if _, err := d(context.Background(), "tcp", "127.0.0.1:1"); err == nil || errors.Is(err, ErrNone) {
		t.Fatalf("dialing a closed port: %v, want another error than %v", err, ErrNone)
	}
	c, err := d(context.Background(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d(context.Background(), "tcp", addr); !errors.Is(err, ErrNone) {
		t.Fatalf("one of two: %v", err)
	}
	_ = c.Close()
	if s := b.Stats(); s.Used != 0 {
		t.Fatalf("Stats after the connection is closed: %d used, want 0", s.Used)
	}
}

// TestDivide checks that the parts fit every limit and leave descriptors for files.
func TestDivide(t *testing.T) {
	for _, limit := range []int{Min, 1024, 4096, 20000, 65536, 1 << 20} {
		p := Divide(limit)
		if files := limit - p.Shared - p.Members - p.Unknown; files < 96 || p.Shared < limit/2 || p.Members < 128 ||
			p.Unknown < 32 {
			t.Errorf("%+v leaves %d for files", p, files)
		}
	}
	if n, err := Limit(); err != nil || n < 1 {
		t.Errorf("limit %d, %v", n, err)
	}
}

// TestFullPortEvictsConnection checks that a full port may close another connection for a new one.
func TestFullPortEvictsConnection(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer inner.Close()
	l := NewBudget(Plan{Shared: 1}, hclog.NewNullLogger()).Listen("x", inner)
	var open net.Conn
	l.(interface{ OnFull(func(net.Conn) bool) }).OnFull(func(net.Conn) bool { return open.Close() == nil })
	for range 3 {
		nc, err := net.Dial("tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		if open, err = l.Accept(); err != nil {
			t.Fatal(err)
		}
	}
	_ = open.Close()
}
