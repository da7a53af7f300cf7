package network

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"rmd/jepsen-lite/sim/owner"
	"rmd/server"
	"rmd/transport/forward"
	"rmd/transport/peer"
)

// Host is the network end of one process. It implements raft.Transport, cluster.Peer and
// forward.Peer.
type Host struct {
	net     *Network
	id      string // also the address
	owner   owner.Mark
	ch      chan raft.RPC
	down    chan struct{}
	running context.Context
	end     context.CancelFunc

	mu       sync.Mutex
	server   string // ID.INCARNATION
	cluster  string // the cluster's id; empty if not known yet
	key      ed25519.PrivateKey
	rules    rules
	admitted map[[2]string]bool // who was admitted, by server and kind, since the rules were last reset
	judged   int                // how often the rules were reset
	beat     func(raft.RPC)     // Raft's handler of heartbeats, if it has set one
	handlers map[byte]handler
	watched  map[string]bool
	note     func() []byte
	gone     func(id string)
	notes    map[string]notice
	heard    chan struct{}
	nudge    chan struct{}
	frozen   chan struct{} // closed when the host continues; nil while it is not frozen
	freezes  int           // number of faults that freeze it
}

type handler func(ctx context.Context, from string, req []byte) ([]byte, error)

type notice struct {
	text []byte
	at   time.Time
}

var (
	ErrLost    = errors.New("i/o timeout")
	errRefused = errors.New("connection refused")
	errReset   = errors.New("connection reset")
)

var _ server.Peer = (*Host)(nil)

// Connect creates the network end of a process and starts to send its status.
func (n *Network) Connect(id string, o owner.Mark) *Host {
	h := &Host{net: n, id: id, owner: o, ch: make(chan raft.RPC, 64), down: make(chan struct{}),
		handlers: map[byte]handler{}, watched: map[string]bool{}, notes: map[string]notice{},
		heard: make(chan struct{}), nudge: make(chan struct{}, 1)}
	h.running, h.end = context.WithCancel(context.Background())
	n.mu.Lock()
	n.hosts[id] = h
	n.mu.Unlock()
	go h.tellNotes()
	return h
}

// proof tells a host that the process of another host has ended.
func (h *Host) proof(id string) {
	h.owner.MarkGoroutine()
	time.Sleep(time.Millisecond)
	h.mu.Lock()
	gone := h.gone
	if !h.watched[id] {
		gone = nil
	}
	h.mu.Unlock()
	if gone != nil && h.running.Err() == nil {
		gone(id)
	}
}

// Freeze stops all messages from and to a host until the caller calls thaw.
func (h *Host) Freeze() (thaw func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.frozen == nil {
		h.frozen = make(chan struct{})
	}
	h.freezes++
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.freezes--; h.freezes == 0 {
			close(h.frozen)
			h.frozen = nil
		}
	}
}

// Wake waits while the host is frozen.
func (h *Host) Wake() {
	for {
		h.mu.Lock()
		ch := h.frozen
		h.mu.Unlock()
		if ch == nil {
			return
		}
		select {
		case <-ch:
		case <-h.down:
			return
		}
	}
}

// identity returns the server id and the cluster id that a host sends in its hello.
func (h *Host) identity() (server, cluster string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.server, h.cluster
}

// rules are rmd's rules: meet decides whom a host admits, calls which methods a peer may call, and
// asks which ones the host may call at a peer.
type rules struct {
	meet        func(server, kind, addr, serial string, key ed25519.PublicKey) (code, text string)
	calls, asks func(method byte, server string) error
}

// admits asks the rules whether another host is admitted. As on a real connection, an admission
// lasts until the rules are reset.
func (h *Host) admits(p *Host, kind, addr string) error {
	server, _ := p.identity()
	h.mu.Lock()
	meet, judged, at := h.rules.meet, h.judged, [2]string{server, kind + addr}
	ok := h.admitted[at]
	h.mu.Unlock()
	if meet == nil || ok {
		return nil
	}
	if code, text := meet(server, kind, addr, "", p.public()); code != "" {
		return &helloError{code, text}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if judged == h.judged {
		h.admitted[at] = true
	}
	return nil
}

// public returns the public key of a host, or nil if it has none.
func (h *Host) public() ed25519.PublicKey {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.key == nil {
		return nil
	}
	return h.key.Public().(ed25519.PublicKey)
}

// gate returns the rules.
func (h *Host) gate() rules {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.rules
}

// CallUntil implements forward.Peer.
func (h *Host) CallUntil(ctx context.Context, over <-chan struct{}, addr string, method byte,
	req []byte) ([]byte, error) {
	return h.call(ctx, over, addr, method, req)
}

// Call implements cluster.Peer.
func (h *Host) Call(ctx context.Context, addr string, method byte, req []byte) ([]byte, error) {
	return h.call(ctx, nil, addr, method, req)
}

// Reach implements cluster.Peer. It draws no message, so that tries do not change what happens to
// others.
func (h *Host) Reach(ctx context.Context, addr string) error {
	p := h.net.find(addr)
	if p == nil || p == h {
		return errRefused
	}
	if h.net.isCut(h.id, p.id) || h.net.isCut(p.id, h.id) {
		<-ctx.Done()
		return ctx.Err()
	}
	return h.hello(p, "raft")
}

type answer struct {
	b   []byte
	err error
}

func (h *Host) call(ctx context.Context, over <-chan struct{}, addr string, method byte, req []byte) ([]byte, error) {
	p := h.net.find(addr)
	if p == nil || p == h {
		time.Sleep(time.Millisecond)
		return nil, fmt.Errorf("%w: %w", peer.ErrNotSent, errRefused)
	}
	if err := h.hello(p, "rpc"); err != nil {
		time.Sleep(time.Millisecond)
		return nil, fmt.Errorf("hello to %s: %w", addr, err)
	}
	back := make(chan answer, 2) // a doubled request has two answers
	if asks := h.gate().asks; asks != nil {
		to, _ := p.identity()
		if err := asks(method, to); err != nil {
			return nil, fmt.Errorf("%w: %w", peer.ErrNotSent, err)
		}
	}
	conn := h.net.conn(h.id, addr)
	c := &call{from: h, to: p, method: method, req: bytes.Clone(req), back: back}
	c.ctx, c.cancel = context.WithCancel(p.running)
	go c.deliver()
	end := time.NewTimer(4 * messageTimeout)
	defer end.Stop()
	select {
	case a := <-back:
		c.cancel()
		return a.b, a.err
	case <-ctx.Done():
		go c.giveUp()
		return nil, ctx.Err()
	case <-over:
		go c.giveUp()
		return nil, context.Canceled
	case <-conn:
		go c.giveUp()
		return nil, fmt.Errorf("%w: %w", peer.ErrOutcomeUnknown, errReset)
	case <-p.down:
		c.cancel()
		return nil, fmt.Errorf("%w: %w", peer.ErrOutcomeUnknown, errReset)
	case <-h.down:
		go c.giveUp()
		return nil, peer.ErrClosed
	case <-end.C:
		go c.giveUp()
		return nil, fmt.Errorf("%w: %w", peer.ErrOutcomeUnknown, ErrLost)
	}
}

// call is one request and its answer on their way.
type call struct {
	from, to *Host
	method   byte
	req      []byte
	back     chan answer
	ctx      context.Context // of the host that serves the call
	cancel   context.CancelFunc
}

// giveUp tells the server that no caller waits any more. Like on a real connection, this message
// follows the request and may arrive too late.
func (c *call) giveUp() {
	c.from.net.travel(c.from, c.to, 16)
	c.cancel()
}

// deliver transports a request and its answer. Forwarded inputs are never doubled, because a real
// connection cannot double them: a copy of the call ends with its connection.
func (c *call) deliver() {
	c.to.owner.MarkGoroutine()
	arrives, twice := c.from.net.travel(c.from, c.to, len(c.req))
	if !arrives {
		return
	}
	if twice && c.method != forward.MethodInput {
		go func() {
			if ok, _ := c.from.net.travel(c.from, c.to, len(c.req)); ok {
				c.serve(bytes.Clone(c.req))
			}
		}()
	}
	c.serve(c.req)
}

func (c *call) serve(req []byte) {
	c.to.mu.Lock()
	f := c.to.handlers[c.method]
	c.to.mu.Unlock()
	if f == nil || c.ctx.Err() != nil {
		return
	}
	var b []byte
	var err error
	from, _ := c.from.identity()
	if calls := c.to.gate().calls; calls != nil {
		err = calls(c.method, from)
	}
	if err == nil {
		b, err = f(c.ctx, from, req)
	}
	if ok, _ := c.from.net.travel(c.to, c.from, len(b)); ok {
		c.back <- answer{bytes.Clone(b), err}
	}
}

// Handle implements cluster.Peer and forward.Peer.
func (h *Host) Handle(method byte, f func(ctx context.Context, from string, req []byte) ([]byte, error)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.handlers[method] = f
}

// Addr implements cluster.Peer.
func (h *Host) Addr() string { return h.id }

// Identify implements cluster.Peer.
func (h *Host) Identify(incarnation, clusterID string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.server, h.cluster = h.id+"."+incarnation, clusterID
}

// SetKey implements cluster.Peer.
func (h *Host) SetKey(key ed25519.PrivateKey) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.key = key
}

// Proves implements cluster.Peer. Incarnations in the simulation are numbers and name no key. So a
// replica could not verify that another replica, which it has never met, was admitted. The network
// itself prevents that a host uses the name of another.
func (h *Host) Proves() bool { return false }

// SetGate implements cluster.Peer.
func (h *Host) SetGate(meet func(server, kind, addr, serial string, key ed25519.PublicKey) (code, text string), calls,
	asks func(method byte, server string) error, _ func(string) bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.rules = rules{meet, calls, asks}
	h.judgeAgain()
}

// Recheck implements cluster.Peer.
func (h *Host) Recheck() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.judgeAgain()
}

func (h *Host) judgeAgain() {
	h.admitted = map[[2]string]bool{}
	h.judged++
}

// Transport implements cluster.Peer.
func (h *Host) Transport(time.Duration, hclog.Logger) raft.Transport { return h }

// Watch implements cluster.Peer.
func (h *Host) Watch(peers map[string]string, note func() []byte, gone func(id string)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.note, h.gone = note, gone
	clear(h.watched)
	for id := range peers {
		h.watched[id] = true
	}
}

// LastStatus implements cluster.Peer.
func (h *Host) LastStatus(id string) ([]byte, time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.notes[id].text, h.notes[id].at
}

// StatusChanged implements cluster.Peer.
func (h *Host) StatusChanged() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.heard
}

// SendStatus implements cluster.Peer.
func (h *Host) SendStatus() {
	select {
	case h.nudge <- struct{}{}:
	default:
	}
}

// Close implements server.Peer. Network.Crash closes the connections.
func (h *Host) Close() error { return nil }

// tellNotes sends the status of this process to all others until its end.
func (h *Host) tellNotes() {
	h.owner.MarkGoroutine()
	t := time.NewTicker(noteInterval)
	defer t.Stop()
	for {
		select {
		case <-t.C:
		case <-h.nudge:
		case <-h.down:
			return
		}
		h.mu.Lock()
		f := h.note
		h.mu.Unlock()
		if f == nil {
			continue
		}
		text := f()
		h.net.mu.Lock()
		for _, p := range h.net.hosts {
			if p != h {
				go p.receiveNotice(h, text)
			}
		}
		h.net.mu.Unlock()
	}
}

func (h *Host) receiveNotice(from *Host, text []byte) {
	if ok, _ := h.net.travel(from, h, len(text)); !ok {
		return
	}
	if from.hello(h, "liveness") != nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.notes[from.id] = notice{text, time.Now()}
	close(h.heard)
	h.heard = make(chan struct{})
}
