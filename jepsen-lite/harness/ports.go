package harness

import (
	"errors"
	"fmt"
	"net"
)

// Ports of replicas on loopback are below those that the kernel gives to outgoing
// connections: a replica that is gone for a while finds its own free when it is back,
// whatever strangers have dialled meanwhile.
const (
	portsFirst = 11000
	portsEnd   = 20900
	portsBlock = 100
)

// errNoPorts says that no block is left.
var errNoPorts = errors.New("no free block of ports on this machine")

// portBlock hands out ports. The block is its holder's, also among the processes of
// this machine, as long as the guard, a listener on its first port, is open.
type portBlock struct {
	guard net.Listener
	first int
	next  int
}

// take is the next n ports of the block that nobody listens on.
func (b *portBlock) take(n int) ([]int, error) {
	if err := b.open(); err != nil {
		return nil, err
	}
	var out []int
	for ; len(out) < n && b.next < b.first+portsBlock; b.next++ {
		if l, err := net.Listen("tcp", loopbackPort(b.next)); err == nil {
			_ = l.Close() // it was only looked at
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
			continue // another run's
		}
		b.guard, b.first, b.next = l, p, p+1
		return nil
	}
	return errNoPorts
}

// release gives the block back.
func (b *portBlock) release() {
	if b.guard != nil {
		_ = b.guard.Close() // the process may end with it as well
	}
}

func loopbackPort(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
