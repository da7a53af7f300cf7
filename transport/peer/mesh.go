package peer

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"rmd/internal/sleep"
)

// mesh keeps one liveness connection to every other replica. The listener sends its status on it, a
// few bytes with no meaning in this package. The dialer waits for the end of the connection.
//
// A process is dead only with proof. The kernel closed an established connection, and then either
// no process listens at the address (connection refused), or a process with another boot nonce
// does. A connection that is merely lost is dialed again. A machine that vanished or is cut off
// gives no proof; Raft's timers handle it.
type mesh struct {
	s *Server

	mu        sync.Mutex
	peers     map[string]*watch // by configured id
	statuses  map[string]status
	ownStatus func() []byte
	onDead    func(id string)
	sendNow   chan struct{} // closed and replaced to send the status at once
	changed   chan struct{} // closed and replaced when a status arrives

	// A replica that does not answer is dialed again after pause, then after twice as long, up to
	// longest.
	pause, longest time.Duration
}

// status is the last status of a replica.
type status struct {
	bytes []byte
	at    time.Time
}

// watch is the connection to one replica.
type watch struct {
	addr   string
	cancel context.CancelFunc
	awake  chan struct{} // capacity 1; filled when the replica has connected to this one, so that it can be dialed
}

const (
	redialPause    = 2 * time.Millisecond
	redialTries    = 20
	redialTimeout  = 250 * time.Millisecond // of the first dial; each timeout doubles it for the next one
	redialMax      = time.Second
	proveMax       = 5 * time.Second
	reconnectPause = 100 * time.Millisecond
	reconnectMax   = time.Second
	resendAfter    = 500 * time.Millisecond
	statusMax      = 255
)

func newMesh(s *Server) *mesh {
	return &mesh{s: s, peers: map[string]*watch{}, statuses: map[string]status{}, sendNow: make(chan struct{}),
		changed: make(chan struct{}), pause: reconnectPause, longest: reconnectMax}
}

// Watch sets the replicas to watch, by configured id and address. status is called often and
// returns at most 255 bytes, which are sent to the replicas that watch this one. dead is called
// from the watching goroutine, once for each proof that a replica's process has ended.
func (s *Server) Watch(peers map[string]string, status func() []byte, dead func(id string)) {
	m := s.mesh
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ownStatus, m.onDead = status, dead
	for id, w := range m.peers {
		if peers[id] != w.addr {
			w.cancel()
			delete(m.peers, id)
			delete(m.statuses, id)
		}
	}
	for id, addr := range peers {
		if m.peers[id] != nil || id == s.cfg.ID {
			continue
		}
		ctx, cancel := context.WithCancel(s.ctx)
		w := &watch{addr: addr, cancel: cancel, awake: make(chan struct{}, 1)}
		if !s.spawn(func() { m.run(ctx, id, w) }) {
			cancel()
			return
		}
		m.peers[id] = w
	}
}

// LastStatus returns the last status of a replica and the time when it arrived. The status is nil
// if there is none.
func (s *Server) LastStatus(id string) ([]byte, time.Time) {
	s.mesh.mu.Lock()
	defer s.mesh.mu.Unlock()
	n := s.mesh.statuses[id]
	return n.bytes, n.at
}

// StatusChanged returns a channel that is closed when the next status arrives.
func (s *Server) StatusChanged() <-chan struct{} {
	s.mesh.mu.Lock()
	defer s.mesh.mu.Unlock()
	return s.mesh.changed
}

// SendStatus sends this replica's status on all liveness connections at once.
func (s *Server) SendStatus() {
	s.mesh.mu.Lock()
	defer s.mesh.mu.Unlock()
	close(s.mesh.sendNow)
	s.mesh.sendNow = make(chan struct{})
}

// wake dials a replica at once that has connected to this one. Otherwise a restarted replica would
// not be watched until the pause is over. If it then led and died, only Raft's timers would notice.
func (m *mesh) wake(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if w := m.peers[id]; w != nil {
		select {
		case w.awake <- struct{}{}:
		default:
		}
	}
}

// awaitConnect waits for d or until the replica connects to this one. It returns false if ctx has
// ended.
func (w *watch) awaitConnect(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-w.awake:
	case <-ctx.Done():
		return false
	}
	return true
}

// run watches one replica until ctx ends.
func (m *mesh) run(ctx context.Context, id string, w *watch) {
	addr, pause := w.addr, m.pause
	var boot uint64 // of the last process that answered; 0: none, or it is dead
	for ctx.Err() == nil {
		conn, them, err := m.s.dial(ctx, addr, KindLiveness)
		if err != nil {
			if boot != 0 && refused(err) { // a proof, though a late one
				m.report(id, addr)
				boot = 0
			}
			m.s.cfg.Logger.Trace("liveness connection failed", "replica", id, "error", err)
			if !w.awaitConnect(ctx, pause) {
				return
			}
			pause = min(2*pause, m.longest)
			continue
		}
		pause = m.pause
		for boot = them.Boot; conn != nil; {
			m.listen(ctx, id, conn)
			_ = conn.Close()
			if ctx.Err() != nil {
				return
			}
			var now uint64
			if conn, now = m.prove(ctx, addr, boot); now != boot {
				m.report(id, addr)
				boot = now
			}
		}
		if !w.awaitConnect(ctx, m.pause) {
			return
		}
	}
}

// report reports a proof of death.
func (m *mesh) report(id, addr string) {
	m.s.cfg.Logger.Warn("replica's process is dead", "replica", id, "address", addr)
	m.mu.Lock()
	delete(m.statuses, id)
	dead := m.onDead
	m.mu.Unlock()
	if dead != nil {
		dead(id)
	}
}

// listen reads the status of a replica until the connection ends.
func (m *mesh) listen(ctx context.Context, id string, conn net.Conn) {
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	for {
		text, err := readStatus(conn)
		if err != nil {
			return
		}
		m.mu.Lock()
		m.statuses[id] = status{text, time.Now()}
		close(m.changed)
		m.changed = make(chan struct{})
		m.mu.Unlock()
	}
}

// encodeStatus returns a status with its length before it.
func encodeStatus(text []byte) []byte {
	text = text[:min(len(text), statusMax)]
	return append([]byte{byte(len(text))}, text...)
}

// readStatus reads one status.
func readStatus(r io.Reader) ([]byte, error) {
	var n [1]byte
	if _, err := io.ReadFull(r, n[:]); err != nil {
		return nil, err
	}
	text := make([]byte, n[0])
	_, err := io.ReadFull(r, text)
	return text, err
}

// prove dials again after a connection has ended. It returns the new connection, if there is one,
// and the boot nonce of the present process. The nonce is boot if nothing is proven, 0 if no
// process listens, and another number if the process was started again.
//
// A process that exits closes its sockets one after the other, so a dial may still succeed for a
// moment. Only a completed hello shows that the process is alive. A slow dial proves nothing: its
// packet may have arrived when the old listener ended, or the process is slow.
func (m *mesh) prove(ctx context.Context, addr string, boot uint64) (net.Conn, uint64) {
	ctx, stop := context.WithTimeout(ctx, proveMax)
	defer stop()
	timeout := redialTimeout
	for range redialTries {
		dctx, cancel := context.WithTimeout(ctx, timeout)
		conn, them, err := m.s.dial(dctx, addr, KindLiveness)
		expired := dctx.Err() != nil
		cancel()
		var he *HelloError
		switch {
		case err == nil:
			return conn, them.Boot
		case refused(err):
			return nil, 0
		case errors.As(err, &he) && them.Boot != 0:
			return nil, them.Boot
		case expired:
			timeout = min(2*timeout, redialMax)
		}
		if !sleep.For(ctx, redialPause) {
			break
		}
	}
	return nil, boot
}

// serve sends this replica's status on an accepted connection until it ends.
func (m *mesh) serve(conn net.Conn) {
	ended := make(chan struct{})
	go func() { // it ends with conn: the dialer never writes
		_, _ = io.CopyN(io.Discard, conn, 1)
		close(ended)
	}()
	defer func() {
		_ = conn.Close()
		<-ended
	}()
	var sent []byte
	var at time.Time
	t := time.NewTicker(m.s.cfg.StatusInterval)
	defer t.Stop()
	for {
		m.mu.Lock()
		status, sendNow := m.ownStatus, m.sendNow
		m.mu.Unlock()
		if status != nil {
			if now := status(); !bytes.Equal(now, sent) || time.Since(at) >= resendAfter {
				_ = conn.SetWriteDeadline(time.Now().Add(userTimeout))
				if _, err := conn.Write(encodeStatus(now)); err != nil {
					return
				}
				sent, at = now, time.Now()
			}
		}
		select {
		case <-t.C:
		case <-sendNow:
			at = time.Time{} // send it even if it has not changed
		case <-ended:
			return
		case <-m.s.ctx.Done():
			return
		}
	}
}
