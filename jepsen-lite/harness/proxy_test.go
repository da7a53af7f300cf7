package harness

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"testing"
	"time"
)

// echo starts an echo server and returns its address.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				io.Copy(c, c)
			}()
		}
	}()
	return l.Addr().String()
}

// hello returns the bytes with which a replica opens a connection.
func hello(id string) []byte {
	body := append([]byte{1, 0}, make([]byte, 8)...)
	for _, s := range []string{"", "chaos", id, "inc", "cid"} {
		body = append(append(body, byte(len(s))), s...)
	}
	b := append([]byte("RMDP"), 1, 0, 0)
	binary.BigEndian.PutUint16(b[5:], uint16(len(body)))
	return append(b, body...)
}

// proxied returns a proxy for rm2's peer port with an echo server behind it, and a connection of
// rm1 that has sent its hello.
func proxied(t *testing.T) (*loopback, string, net.Conn) {
	t.Helper()
	n := newLoopback()
	t.Cleanup(func() { n.Close() })
	at, err := n.serve("rm2", echo(t), peerDialer)
	if err != nil {
		t.Fatal(err)
	}
	return n, at, dialAs(t, at, "rm1")
}

func dialAs(t *testing.T, at, id string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if _, err := c.Write(hello(id)); err != nil {
		t.Fatal(err)
	}
	return c
}

// patience is how long a test waits for something that must happen.
const patience = time.Minute

// hears returns nil if n bytes arrive in time.
func hears(c net.Conn, n int, within time.Duration) error {
	c.SetReadDeadline(time.Now().Add(within))
	_, err := io.ReadFull(c, make([]byte, n))
	return err
}

func timedOut(err error) bool {
	e, ok := err.(net.Error)
	return ok && e.Timeout()
}

func TestProxyPassesHelloAndRest(t *testing.T) {
	_, _, c := proxied(t)
	if err := hears(c, len(hello("rm1")), patience); err != nil {
		t.Fatal(err)
	}
	c.Write([]byte("more\n"))
	c.SetReadDeadline(time.Now().Add(patience))
	if line, err := bufio.NewReader(c).ReadString('\n'); err != nil || line != "more\n" {
		t.Fatalf("behind the proxy: %q, %v, want \"more\\n\"", line, err)
	}
}

// TestProxyDrops checks that a link that drops holds the data of its direction and delivers it
// after Heal. Links of other dialers are not affected.
func TestProxyDrops(t *testing.T) {
	for name, k := range map[string]link{"there": {"rm1", "rm2"}, "back": {"rm2", "rm1"}} {
		t.Run(name, func(t *testing.T) {
			n, at, c := proxied(t)
			if err := hears(c, len(hello("rm1")), patience); err != nil {
				t.Fatal(err)
			}
			if err := n.Cut(k.from, k.to, Drop); err != nil {
				t.Fatal(err)
			}
			c.Write([]byte("x"))
			if err := hears(c, 1, 100*time.Millisecond); !timedOut(err) {
				t.Fatalf("it arrived over a link that drops: %v", err)
			}
			if err := hears(dialAs(t, at, "rm1"), 1, 100*time.Millisecond); !timedOut(err) {
				t.Fatalf("a new connection was made over a link that drops: %v", err)
			}
			if err := hears(dialAs(t, at, "rm3"), len(hello("rm3")), patience); err != nil {
				t.Fatalf("another replica's link: %v", err)
			}
			if err := n.Heal(); err != nil {
				t.Fatal(err)
			}
			if err := hears(c, 1, patience); err != nil {
				t.Fatalf("it did not arrive when the link was healed: %v", err)
			}
		})
	}
}

// TestProxyHidesTheEnd checks that a side does not learn that the other side has closed the
// connection while the link drops.
func TestProxyHidesTheEnd(t *testing.T) {
	n, at, c := proxied(t)
	if err := hears(c, len(hello("rm1")), patience); err != nil {
		t.Fatal(err)
	}
	_ = at
	if err := n.Cut("rm2", "rm1", Drop); err != nil {
		t.Fatal(err)
	}
	c.(*net.TCPConn).CloseWrite() // then the echo server closes too
	if err := hears(c, 1, 100*time.Millisecond); !timedOut(err) {
		t.Fatalf("the end arrived over a link that drops: %v", err)
	}
	n.Heal()
	if err := hears(c, 1, patience); err == nil || timedOut(err) {
		t.Fatalf("the end did not arrive when the link was healed: %v", err)
	}
}

func TestProxyRejects(t *testing.T) {
	n, at, c := proxied(t)
	if err := hears(c, len(hello("rm1")), patience); err != nil {
		t.Fatal(err)
	}
	if err := n.Cut("rm1", "rm2", Reject); err != nil {
		t.Fatal(err)
	}
	if err := hears(c, 1, patience); err == nil || timedOut(err) {
		t.Fatalf("a connection over a link that rejects lives: %v", err)
	}
	if err := hears(dialAs(t, at, "rm1"), 1, patience); err == nil || timedOut(err) {
		t.Fatalf("a new connection over a link that rejects: %v", err)
	}
}

func TestProxyDelays(t *testing.T) {
	n, _, c := proxied(t)
	if err := hears(c, len(hello("rm1")), patience); err != nil {
		t.Fatal(err)
	}
	if err := n.Shape("rm1", "rm2", Shape{Delay: 150 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	c.Write([]byte("x"))
	if err := hears(c, 1, patience); err != nil || time.Since(began) < 150*time.Millisecond {
		t.Fatalf("it took %s: %v", time.Since(began), err)
	}
	n.Shape("rm1", "rm2", Shape{Rate: 10_000})
	began = time.Now()
	c.Write(make([]byte, 2000))
	if err := hears(c, 2000, patience); err != nil || time.Since(began) < 190*time.Millisecond {
		t.Fatalf("2000 bytes at 10000 a second took %s: %v", time.Since(began), err)
	}
}

// TestProxyWithoutHello checks that the proxy carries connections without a hello as Outside. The
// replica must refuse them.
func TestProxyWithoutHello(t *testing.T) {
	_, at, _ := proxied(t)
	for _, text := range []string{"GET / HTTP/1.1\r\n\r\n", "RMDP\x01\x00\x03abc", "RMDP\x01\x00\x00......."} {
		c, err := net.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.Write([]byte(text))
		if err := hears(c, len(text), patience); err != nil {
			t.Errorf("%q does not come back through the proxy: %v", text, err)
		}
	}
}
