package httpserver

import (
	"net"
	"net/netip"
	"sync"

	bysource "rmd/internal/share"
	"rmd/transport/http/auth"
)

// limitConnections returns a listener that limits the open connections, in all and per remote
// address. It closes a connection above a limit at once, so that a client that opens connections
// without end does not fill the backlog.
func limitConnections(l net.Listener, total, perAddress int) net.Listener {
	return &limited{Listener: l, total: total, each: perAddress}
}

type limited struct {
	net.Listener
	total, each int

	mu    sync.Mutex
	count bysource.Count
}

func (l *limited) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		from := bysource.From(c.RemoteAddr())
		if l.take(from, auth.Loopback(c.RemoteAddr().String())) {
			return &limitedConn{Conn: c, release: sync.OnceFunc(func() { l.give(from) })}, nil
		}
		_ = c.Close()
	}
}

// take counts a connection, or reports false if a limit is reached. Only the total limits loopback
// peers, which are simulated nodes and load generators.
func (l *limited) take(from netip.Prefix, local bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.count.All() >= l.total || (!local && l.count.By(from) >= l.each) {
		return false
	}
	l.count.Add(from)
	return true
}

func (l *limited) give(from netip.Prefix) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count.Remove(from)
}

type limitedConn struct {
	net.Conn
	release func()
}

func (c *limitedConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}
