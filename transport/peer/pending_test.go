package peer

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"rmd/internal/portblock"
)

// dialFrom opens a plain connection from a loopback address.
func dialFrom(t *testing.T, from, to string) net.Conn {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	c, err := d.DialContext(t.Context(), "tcp", to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// ends reports whether the other side closes a connection within patience.
func ends(c net.Conn) bool {
	_ = c.SetReadDeadline(time.Now().Add(patience))
	_, err := c.Read(make([]byte, 1))
	return err != nil && !errors.Is(err, os.ErrDeadlineExceeded)
}

// TestSilentConnectionsDoNotLockOut opens many silent connections from one address. Most of them
// are closed, and neither replicas nor another address lose their place.
func TestSilentConnectionsDoNotLockOut(t *testing.T) {
	a := listen(t, "a", nil)
	b := listen(t, "b", func(c *Config) { c.ConnsMax, c.PendingMax, c.HandshakeTimeout = 4, 8, time.Hour })
	b.Handle(40, func(_ context.Context, _ string, req []byte) ([]byte, error) { return req, nil })
	lone := dialFrom(t, "127.0.0.3", b.Addr())
	var crowd []net.Conn
	for range 40 {
		crowd = append(crowd, dialFrom(t, "127.0.0.2", b.Addr()))
	}
	for i, c := range crowd[:len(crowd)-7] {
		if !ends(c) {
			t.Fatalf("pending connection %d of %d stays", i, len(crowd))
		}
	}
	if got, err := a.Call(t.Context(), b.Addr(), 40, []byte("x")); err != nil || string(got) != "x" {
		t.Fatalf("a replica among %d pending connections: %q, %v", len(crowd), got, err)
	}
	b.mu.Lock()
	pending, known := len(b.pending), len(b.conns)
	b.mu.Unlock()
	if pending > 8 || known != 1 {
		t.Errorf("%d pending connections and %d replicas are connected", pending, known)
	}
	if _,
		err := lone.Write((hello{Kind: KindRPC, From: Identity{ClusterName: "test", ID: "z", Incarnation: "i",
		ClusterID: "c1"}}).encode()); err != nil {
		t.Fatal(err)
	}
	if h, err := readHello(lone); err != nil || h.Code != HelloOK {
		t.Errorf("the only one from its address was answered %s %q, %v", h.Code, h.Text, err)
	}
}

// TestReplicasAreBounded checks that a connection above ConnsMax gets HelloNotReady, after which
// the other side tries again.
func TestReplicasAreBounded(t *testing.T) {
	b := listen(t, "b", func(c *Config) { c.ConnsMax = 1 })
	for _, want := range []HelloCode{HelloOK, HelloNotReady} {
		c := dialFrom(t, "127.0.0.1", b.Addr())
		if _,
			err := c.Write((hello{Kind: KindRPC, From: Identity{ClusterName: "test", ID: "z", Incarnation: "i",
			ClusterID: "c1"}}).encode()); err != nil {
			t.Fatal(err)
		}
		if h, err := readHello(c); err != nil || h.Code != want {
			t.Errorf("answered %s %q, %v, not %s", h.Code, h.Text, err, want)
		}
	}
}

// TestPendingDeadline checks that a connection without a hello is closed after HandshakeTimeout.
func TestPendingDeadline(t *testing.T) {
	b := listen(t, "b", func(c *Config) { c.HandshakeTimeout = 50 * time.Millisecond })
	if !ends(dialFrom(t, "127.0.0.1", b.Addr())) {
		t.Error("a silent connection stays")
	}
	soon(t, "it is dropped", func() bool { b.mu.Lock(); defer b.mu.Unlock(); return len(b.pending) == 0 })
}

// greeted accepts one connection and answers its hello with a boot nonce.
func greeted(t *testing.T, l net.Listener, boot uint64) net.Conn {
	t.Helper()
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	h, err := readHello(c)
	if err != nil {
		t.Fatal(err)
	}
	h.From = Identity{ClusterName: "test", ID: "b", Incarnation: "i", ClusterID: "c1", Boot: boot}
	if _, err := c.Write(h.encode()); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestProofAfterSlowDial checks that a dial without an answer neither counts as a sign of life nor
// ends the search for a proof, and that the end of the process is reported once.
func TestProofAfterSlowDial(t *testing.T) {
	a := listen(t, "a", nil)
	l, err := net.Listen("tcp", portblock.Loopback(portblock.Open(t).Take()))
	if err != nil {
		t.Fatal(err)
	}
	gone := make(chan string, 8)
	a.Watch(map[string]string{"b": l.Addr().String()}, nil, func(id string) { gone <- id })
	first := greeted(t, l, 7)
	_ = first.Close()
	for range 2 {
		slow, err := l.Accept() // accepts but does not answer, like a process that is about to end
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, slow) // until the dialer closes the connection
		_ = slow.Close()
	}
	_ = l.Close()
	select {
	case id := <-gone:
		if id != "b" {
			t.Errorf("%s is gone", id)
		}
	case <-time.After(patience):
		t.Fatal("nobody says that the process is dead")
	}
	select {
	case <-gone:
		t.Error("it is said twice")
	case <-time.After(3 * reconnectPause):
	}
}
