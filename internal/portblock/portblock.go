// Package portblock gives tests TCP ports that stay reserved while no process listens on them, so
// that a process can start later or restart on its ports.
package portblock

import (
	"fmt"
	"net"
	"testing"
)

// The blocks are below the range from which the kernel takes ports for outgoing connections.
const (
	first = 21000
	end   = 32000
	size  = 100
)

// Block is a block of ports. Other processes on this machine do not use the block as long as its
// guard is open, which is a listener on the first port.
type Block struct {
	t     testing.TB
	first int
	next  int
}

// Open reserves a block until the end of the test.
func Open(t testing.TB) *Block {
	t.Helper()
	for p := first; p+size <= end; p += size {
		guard, err := net.Listen("tcp4", Loopback(p))
		if err != nil {
			continue // another test has the block
		}
		t.Cleanup(func() { _ = guard.Close() }) // the end of the process also closes the guard
		return &Block{t: t, first: p, next: p + 1}
	}
	t.Fatal("no free block of ports on this machine")
	return nil
}

// Take returns the next port of the block on which no program listens.
func (b *Block) Take() int {
	b.t.Helper()
	for b.next < b.first+size {
		port := b.next
		b.next++
		if l, err := net.Listen("tcp4", Loopback(port)); err == nil {
			_ = l.Close() // only checks that the port is free
			return port
		}
	}
	b.t.Fatalf("all %d ports of the block are taken", size)
	return 0
}

// TakeAll returns the next n ports.
func (b *Block) TakeAll(n int) []int {
	b.t.Helper()
	out := make([]int, n)
	for i := range out {
		out[i] = b.Take()
	}
	return out
}

// Loopback returns the loopback address of a port.
func Loopback(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
