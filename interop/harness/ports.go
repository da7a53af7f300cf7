package harness

import (
	"fmt"
	"net"
	"testing"
)

// Ports are taken in blocks below the range from which the kernel gives ports
// to outgoing connections, so that a process can come back to its own.
const (
	portFirst = 21000
	portEnd   = 32000
	portBlock = 100
)

// ports hands out the ports of one block. The block is its own as long as the
// guard, a listener on its first port, is open.
type ports struct {
	guard net.Listener
	next  int
	names map[int]string
}

func openPorts(t testing.TB) *ports {
	t.Helper()
	for p := portFirst; p+portBlock <= portEnd; p += portBlock {
		l, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", p))
		if err != nil {
			continue // another cluster's
		}
		t.Cleanup(func() { _ = l.Close() }) // the process may end with it as well
		return &ports{guard: l, next: p + 1, names: map[int]string{}}
	}
	t.Fatal("no free block of ports on this machine")
	return nil
}

// take is the next port that nobody listens on; name is what Normal calls it.
func (p *ports) take(name string) int {
	for ; ; p.next++ {
		l, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", p.next))
		if err != nil {
			continue
		}
		_ = l.Close() // it was only looked at
		p.names[p.next] = name
		p.next++
		return p.next - 1
	}
}

// loopback is the address of a port.
func loopback(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
