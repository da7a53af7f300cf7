package harness

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// loopback is the Network of a machine without namespaces. Each replica listens on loopback, and
// the other replicas and the clients dial a proxy in this process. The proxy of the peer port
// learns who dials from the hello at the start of every connection between replicas.
type loopback struct {
	links *links
	own   portBlock
	done  chan struct{}
	wg    sync.WaitGroup

	mu    sync.Mutex
	ports []*port
	conns map[net.Conn]struct{}
}

// port is the port of one proxy.
type port struct {
	to, behind, at string
	who            func(net.Conn) (string, []byte, error)
	listener       net.Listener // nil while it is closed
	away           bool         // no process is behind it
}

func newLoopback() *loopback {
	return &loopback{links: newLinks(), done: make(chan struct{}), conns: map[net.Conn]struct{}{}}
}

// Kind implements Network.
func (n *loopback) Kind() string { return Loopback }

// Add implements Network.
func (n *loopback) Add(id string) (Place, error) {
	ports, err := n.own.take(6)
	if err != nil {
		return Place{}, err
	}
	p := Place{PeerListen: loopbackPort(ports[0]), HTTPListen: loopbackPort(ports[1]),
		Hadoop: hadoopAt("127.0.0.1", ports[2:]...)}
	p.Direct = p.HTTPListen
	if p.Peer, err = n.serve(id, p.PeerListen, peerDialer); err != nil {
		return p, err
	}
	p.HTTP, err = n.serve(id, p.HTTPListen, func(net.Conn) (string, []byte, error) { return Outside, nil, nil })
	return p, err
}

// serve starts a proxy in front of an address and returns the proxy's address. who returns the
// dialer of a connection and the bytes that it has read.
func (n *loopback) serve(to, address string, who func(net.Conn) (string, []byte, error)) (string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	own, err := n.own.take(1)
	if err != nil {
		return "", err
	}
	p := &port{to: to, behind: address, at: loopbackPort(own[0]), who: who}
	n.ports = append(n.ports, p)
	return p.at, n.listen(p)
}

// listen opens a port. The caller holds the lock.
func (n *loopback) listen(p *port) error {
	l, err := net.Listen("tcp", p.at)
	if err != nil {
		return err
	}
	p.listener, p.at = l, l.Addr().String()
	n.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return // closed
			}
			n.wg.Go(func() { n.carry(c, p.to, p.behind, p.who) })
		}
	})
	return nil
}

// carry serves one connection until it ends.
func (n *loopback) carry(c net.Conn, to, address string, who func(net.Conn) (string, []byte, error)) {
	defer n.forget(c)
	if !n.keep(c) {
		return
	}
	from, first, err := who(c)
	if err != nil {
		return
	}
	there, back := link{from, to}, link{to, from}
	// A connection needs both directions.
	if !n.links.await(there, n.done) || !n.links.await(back, n.done) {
		reset(c)
		return
	}
	d, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		reset(c)
		return
	}
	defer n.forget(d)
	if !n.keep(d) {
		return
	}
	over := make(chan struct{})
	end := sync.OnceFunc(func() { close(over) })
	var both sync.WaitGroup
	both.Go(func() { n.pump(d, c, there, first, over, end) })
	both.Go(func() { n.pump(c, d, back, nil, over, end) })
	both.Wait()
}

// piece is the result of one read, and the time at which it may leave the link.
type piece struct {
	data []byte
	due  time.Time
	err  error // of the reader; the connection ends after the data
}

// pump carries one direction from src over the link to dst.
func (n *loopback) pump(dst, src net.Conn, k link, first []byte, over chan struct{}, end func()) {
	pieces := make(chan piece, 64)
	go func() { // it ends when src is closed
		defer close(pieces)
		if len(first) > 0 && !n.offer(pieces, piece{data: first, due: time.Now()}, over) {
			return
		}
		for {
			b := make([]byte, 32<<10)
			m, err := src.Read(b)
			_, shape, _ := n.links.state(k)
			p := piece{data: b[:m], due: time.Now().Add(shape.delay(m)), err: err}
			if !n.offer(pieces, p, over) || err != nil {
				return
			}
		}
	}()
	for {
		how, _, changed := n.links.state(k)
		if how == Reject {
			reset(dst)
			reset(src)
			end()
			return
		}
		select {
		case p, ok := <-pieces:
			if ok && n.deliver(dst, src, k, p, over) {
				continue
			}
			if !ok || !errors.Is(p.err, io.EOF) {
				end()
			}
			return // after the end of one direction the other continues
		case <-changed:
		case <-over:
			return
		}
	}
}

func (n *loopback) offer(pieces chan<- piece, p piece, over <-chan struct{}) bool {
	select {
	case pieces <- p:
		return true
	case <-over:
	case <-n.done:
	}
	return false
}

// deliver waits until the link lets a piece pass and writes it. It returns false when the direction
// has ended. The end of one side is a piece as well, so the other side does not learn of it while
// the link drops.
func (n *loopback) deliver(dst, src net.Conn, k link, p piece, over <-chan struct{}) bool {
	if !sleepUntil(p.due, over) {
		return false
	}
	if !n.links.await(k, over) {
		reset(dst)
		reset(src)
		return false
	}
	if len(p.data) > 0 {
		_, shape, _ := n.links.state(k)
		if d := shape.sendTime(len(p.data)); d > 0 && !sleepUntil(time.Now().Add(d), over) {
			return false
		}
		if _, err := dst.Write(p.data); err != nil {
			n.links.await(link{k.to, k.from}, over) // until then the sender must not see the error
			return false
		}
	}
	switch t, ok := dst.(*net.TCPConn); {
	case p.err == nil:
		return true
	case ok && errors.Is(p.err, io.EOF):
		_ = t.CloseWrite() // it may be closed already
	default:
		reset(dst)
	}
	return false
}

func sleepUntil(t time.Time, over <-chan struct{}) bool {
	d := time.Until(t)
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-over:
		return false
	}
}

// reset closes a connection so that the other side gets an error (RST).
func reset(c net.Conn) {
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetLinger(0) // the connection is closed in any case
	}
	_ = c.Close() // it may be closed already
}

func (n *loopback) keep(c net.Conn) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	select {
	case <-n.done:
		_ = c.Close() // the network is closed
		return false
	default:
	}
	n.conns[c] = struct{}{}
	return true
}

func (n *loopback) forget(c net.Conn) {
	_ = c.Close() // it may be closed already
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.conns, c)
}

// Wrap implements Network.
func (n *loopback) Wrap(_ string, argv []string) []string { return argv }

// Cut implements Network.
func (n *loopback) Cut(from, to string, how Cut) error {
	n.links.setCut(link{from, to}, how) // connections in progress notice it at their next piece
	return nil
}

// Shape implements Network.
func (n *loopback) Shape(from, to string, s Shape) error {
	n.links.setShape(link{from, to}, s)
	return nil
}

// Heal implements Network.
func (n *loopback) Heal() error {
	n.links.heal()
	return nil
}

// Close implements Network.
func (n *loopback) Close() error {
	n.mu.Lock()
	close(n.done)
	n.own.release()
	for _, p := range n.ports {
		if p.listener != nil {
			_ = p.listener.Close() // this ends the accept loop
		}
	}
	for c := range n.conns {
		_ = c.Close()
	}
	n.mu.Unlock()
	n.wg.Wait()
	return nil
}
