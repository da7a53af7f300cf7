// Package portblock gives tests TCP ports that stay free while no process listens on them, so that
// a process can start late or return to its own ports.
package portblock

import (
	"fmt"
	"net"
	"testing"
)

// Ports are taken in blocks below the range from which the kernel gives ports to
// outgoing connections.
const (
	first = 21000
	end   = 32000
	size  = 100
)

// Block hands out the ports of one block. It is its holder's, also among the
// processes of this machine, as long as the guard, a listener on its first port,
// is open.
type Block struct {
	t     testing.TB
	first int
	next  int
}

// Open takes a block until the test ends.
func Open(t testing.TB) *Block {
	t.Helper()
	for p := first; p+size <= end; p += size {
		guard, err := net.Listen("tcp4", Loopback(p))
		if err != nil {
			continue // another test's
		}
		t.Cleanup(func() { _ = guard.Close() }) // the process may end with it as well
		return &Block{t: t, first: p, next: p + 1}
	}
	t.Fatal("no free block of ports on this machine")
	return nil
}

// Take is the next port of the block that nobody listens on.
func (b *Block) Take() int {
	b.t.Helper()
	for b.next < b.first+size {
		port := b.next
		b.next++
		if l, err := net.Listen("tcp4", Loopback(port)); err == nil {
			_ = l.Close() // it was only looked at
			return port
		}
	}
	b.t.Fatalf("all %d ports of the block are taken", size)
	return 0
}

// TakeAll is the next n ports.
func (b *Block) TakeAll(n int) []int {
	b.t.Helper()
	out := make([]int, n)
	for i := range out {
		out[i] = b.Take()
	}
	return out
}

// Loopback is the address of a port.
func Loopback(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
