package harness

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// loopback is the Network of a machine that offers nothing: every replica
// listens on loopback, and what the others and the clients dial is a proxy of
// this process. A proxy of the peer port learns who dials from the hello that
// opens every connection between replicas.
type loopback struct {
	links *links
	own   portBlock
	done  chan struct{}
	wg    sync.WaitGroup

	mu    sync.Mutex
	ports []*port
	conns map[net.Conn]struct{}
}

// port is a proxy's: what it listens at, and for whom.
type port struct {
	to, behind, at string
	who            func(net.Conn) (string, []byte, error)
	listener       net.Listener // nil while it is closed
	away           bool         // nobody is behind it
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
	p := Place{PeerListen: loopbackPort(ports[0]), HTTPListen: loopbackPort(ports[1]), Hadoop: hadoopAt("127.0.0.1", ports[2:]...)}
	p.Direct = p.HTTPListen
	if p.Peer, err = n.serve(id, p.PeerListen, peerDialer); err != nil {
		return p, err
	}
	p.HTTP, err = n.serve(id, p.HTTPListen, func(net.Conn) (string, []byte, error) { return Outside, nil, nil })
	return p, err
}

// serve listens in front of an address. who tells the dialer of a connection,
// and what of it was read to know.
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

// listen opens a port; the lock is held.
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

// carry serves one connection to its end.
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
	// A connection is made by both directions.
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

// piece is what was read at one go, and when it may leave the link.
type piece struct {
	data []byte
	due  time.Time
	err  error // of the reader: the connection ends behind what is before it
}

// pump carries one direction: in from src, through the link, out to dst.
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
			_, shape, _ := n.links.of(k)
			p := piece{data: b[:m], due: time.Now().Add(shape.wait(m)), err: err}
			if !n.offer(pieces, p, over) || err != nil {
				return
			}
		}
	}()
	for {
		how, _, changed := n.links.of(k)
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
			return // at the end of one direction the other goes on
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

// deliver waits until the link lets a piece through and writes it; false ends
// the direction. The end of one side is a piece like any other: while a link
// drops, nobody learns of it.
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
		_, shape, _ := n.links.of(k)
		if d := shape.hold(len(p.data)); d > 0 && !sleepUntil(time.Now().Add(d), over) {
			return false
		}
		if _, err := dst.Write(p.data); err != nil {
			n.links.await(link{k.to, k.from}, over) // so long the sender is not told
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

// reset closes a connection so that the other side is told of an error.
func reset(c net.Conn) {
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetLinger(0) // it is closed next, with or without
	}
	_ = c.Close() // it may be closed already
}

func (n *loopback) keep(c net.Conn) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	select {
	case <-n.done:
		_ = c.Close() // nothing is carried any more
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
	n.links.setCut(link{from, to}, how) // those who carry something learn of it with their next piece
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
			_ = p.listener.Close() // it ends its loop
		}
	}
	for c := range n.conns {
		_ = c.Close()
	}
	n.mu.Unlock()
	n.wg.Wait()
	return nil
}
