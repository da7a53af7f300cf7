package harness

import (
	"net"
	"time"
)

// backEvery is how often a closed port tries to connect to the address behind it.
const backEvery = 5 * time.Millisecond

// Absent implements Network. While a replica is away, its ports refuse connections, as the kernel
// of a machine does when the process has ended. A port opens again when a process listens behind
// it.
func (n *loopback) Absent(id string, away bool) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	select {
	case <-n.done:
		return nil
	default:
	}
	for _, p := range n.ports {
		if p.to != id || p.away == away {
			continue
		}
		p.away = away
		if !away {
			n.wg.Go(func() { n.comeBack(p) })
		} else if p.listener != nil {
			_ = p.listener.Close() // this ends the accept loop
			p.listener = nil
		}
	}
	return nil
}

// comeBack opens a port again when a process listens behind it.
func (n *loopback) comeBack(p *port) {
	tick := time.NewTicker(backEvery)
	defer tick.Stop()
	for {
		c, err := net.DialTimeout("tcp", p.behind, time.Second)
		if err == nil {
			_ = c.Close()
		}
		if n.reopen(p, err == nil) {
			return
		}
		select {
		case <-tick.C:
		case <-n.done:
			return
		}
	}
}

// reopen reports whether comeBack has nothing left to do: the port is open or must stay closed. If
// another process has taken the port in the meantime, comeBack tries again.
func (n *loopback) reopen(p *port, up bool) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	select {
	case <-n.done:
		return true
	default:
	}
	return p.away || p.listener != nil || up && n.listen(p) == nil
}
