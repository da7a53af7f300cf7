package harness

import (
	"errors"
	"net"
	"syscall"
	"testing"
	"time"
)

// TestAbsent checks that the ports of an absent replica refuse connections, instead of accepting
// and closing them. A port opens again only when a process listens behind it.
func TestAbsent(t *testing.T) {
	n := newLoopback()
	defer n.Close()
	p, err := n.Add("rm1")
	if err != nil {
		t.Fatal(err)
	}
	serve := func() net.Listener {
		t.Helper()
		l, err := net.Listen("tcp", p.HTTPListen)
		if err != nil {
			t.Fatal(err)
		}
		go func() { // ends when the listener is closed
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				_ = c.Close()
			}
		}()
		return l
	}
	dials := func() error {
		c, err := net.DialTimeout("tcp", p.HTTP, time.Second)
		if err == nil {
			_ = c.Close()
		}
		return err
	}
	l := serve()
	if err := dials(); err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	if err := n.Absent("rm1", true); err != nil {
		t.Fatal(err)
	}
	if err := dials(); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("who dials what is gone is told %v", err)
	}
	if err := n.Absent("rm1", false); err != nil {
		t.Fatal(err)
	}
	if err := dials(); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("who dials what has not begun to listen is told %v", err)
	}
	defer serve().Close()
	for end := time.Now().Add(patience); dials() != nil; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the port does not open again")
		}
	}
}
