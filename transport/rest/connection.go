package rest

import (
	"net"
	"sync"
)

// limitConnections bounds the open connections of a listener, in all and of one
// remote address. One too many is closed at once: a client that opens without
// end must not keep others waiting in the backlog.
func limitConnections(l net.Listener, total, perAddress int) net.Listener {
	return &limited{Listener: l, total: total, each: perAddress, open: map[string]int{}}
}

type limited struct {
	net.Listener
	total, each int

	mu   sync.Mutex
	all  int
	open map[string]int
}

// Accept implements net.Listener.
func (l *limited) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		from := hostOf(c.RemoteAddr().String())
		if l.take(from, loopback(c.RemoteAddr().String())) {
			return &limitedConn{Conn: c, release: sync.OnceFunc(func() { l.give(from) })}, nil
		}
		_ = c.Close()
	}
}

// take counts a connection in. Loopback peers are bounded by the total alone:
// they are simulated nodes and load generators.
func (l *limited) take(from string, local bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all >= l.total || (!local && l.open[from] >= l.each) {
		return false
	}
	l.all++
	l.open[from]++
	return true
}

func (l *limited) give(from string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all--
	if l.open[from]--; l.open[from] == 0 {
		delete(l.open, from)
	}
}

type limitedConn struct {
	net.Conn
	release func()
}

// Close implements net.Conn.
func (c *limitedConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}
