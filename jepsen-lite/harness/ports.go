package harness

import (
	"errors"
	"fmt"
	"net"
)

// Ports of replicas on loopback are below those that the kernel assigns to outgoing connections.
// Therefore the port of a stopped replica is still free when the replica starts again.
const (
	portsFirst = 11000
	portsEnd   = 20900
	portsBlock = 100
)

// errNoPorts means that no block is free.
var errNoPorts = errors.New("no free block of ports on this machine")

// portBlock hands out ports of one block. The guard is a listener on the block's first port. While
// it is open, no other process of this kind uses the block.
type portBlock struct {
	guard net.Listener
	first int
	next  int
}

// take returns the next n free ports of the block.
func (b *portBlock) take(n int) ([]int, error) {
	if err := b.open(); err != nil {
		return nil, err
	}
	var out []int
	for ; len(out) < n && b.next < b.first+portsBlock; b.next++ {
		if l, err := net.Listen("tcp", loopbackPort(b.next)); err == nil {
			_ = l.Close() // the listener only tested the port
			out = append(out, b.next)
		}
	}
	if len(out) < n {
		return nil, fmt.Errorf("%w: ports %d to %d are taken", errNoPorts, b.first, b.next)
	}
	return out, nil
}

func (b *portBlock) open() error {
	if b.guard != nil {
		return nil
	}
	for p := portsFirst; p+portsBlock <= portsEnd; p += portsBlock {
		l, err := net.Listen("tcp", loopbackPort(p))
		if err != nil {
			continue // of another run
		}
		b.guard, b.first, b.next = l, p, p+1
		return nil
	}
	return errNoPorts
}

// release frees the block.
func (b *portBlock) release() {
	if b.guard != nil {
		_ = b.guard.Close() // the end of the process frees it too
	}
}

func loopbackPort(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
