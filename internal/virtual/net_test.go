package virtual

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-msgpack/v2/codec"
	"github.com/hashicorp/raft"

	"rmd/transport/peer"
)

// network carries Raft's messages and the replicas' calls: copied through bytes,
// delayed, sometimes lost, cut between chosen hosts in chosen directions.
type network struct {
	mu       sync.Mutex
	rng      *rand.Rand
	hosts    map[string]*host
	cut      map[[2]string]bool
	loss     int // one message in so many is lost; 0 is none
	patience time.Duration
	installs int
	install  *raft.InstallSnapshotRequest // the last one sent, with its data
	data     []byte
}

func newNetwork(seed int64) *network {
	return &network{rng: rand.New(rand.NewSource(seed)), hosts: map[string]*host{}, cut: map[[2]string]bool{}, patience: messageTimeout}
}

// host is one process's end: a raft.Transport, a cluster.Peer and a forward.Peer.
type host struct {
	net  *network
	id   string // also the address
	ch   chan raft.RPC
	down chan struct{}
	life context.Context
	end  context.CancelFunc

	mu       sync.Mutex
	handlers map[byte]handler
	watched  map[string]bool
	note     func() []byte
	gone     func(id string)
	notes    map[string]told
	heard    chan struct{}
	nudge    chan struct{}
	frozen   chan struct{} // closed to go on; nil while running
}

type handler func(ctx context.Context, from string, req []byte) ([]byte, error)

type told struct {
	text []byte
	at   time.Time
}

const (
	messageTimeout = 2 * time.Second
	noteInterval   = 500 * time.Millisecond
)

var (
	errLost    = errors.New("i/o timeout")
	errRefused = errors.New("connection refused")
	errReset   = errors.New("connection reset")
)

// host makes a process's end and starts telling its notes.
func (n *network) host(id string) *host {
	h := &host{net: n, id: id, ch: make(chan raft.RPC, 64), down: make(chan struct{}),
		handlers: map[byte]handler{}, watched: map[string]bool{}, notes: map[string]told{},
		heard: make(chan struct{}), nudge: make(chan struct{}, 1)}
	h.life, h.end = context.WithCancel(context.Background())
	n.mu.Lock()
	n.hosts[id] = h
	n.mu.Unlock()
	go h.tellNotes()
	return h
}

// crash takes a process's end away; who watched it and can be reached has proof.
func (n *network) crash(id string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	h := n.hosts[id]
	if h == nil {
		return
	}
	close(h.down)
	h.end()
	delete(n.hosts, id)
	for _, w := range n.hosts {
		if !n.cut[[2]string{id, w.id}] && !n.cut[[2]string{w.id, id}] {
			go w.proof(id)
		}
	}
}

func (h *host) proof(id string) {
	time.Sleep(time.Millisecond)
	h.mu.Lock()
	gone := h.gone
	if !h.watched[id] {
		gone = nil
	}
	h.mu.Unlock()
	if gone != nil && h.life.Err() == nil {
		gone(id)
	}
}

// isolate cuts a host off from all others, in one or both directions.
func (n *network) isolate(id string, in, out bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for other := range n.hosts {
		if other != id {
			n.cut[[2]string{other, id}] = n.cut[[2]string{other, id}] || in
			n.cut[[2]string{id, other}] = n.cut[[2]string{id, other}] || out
		}
	}
}

func (n *network) heal() {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.cut)
	n.loss, n.patience = 0, messageTimeout
}

// impatient sets how long Raft waits for an answer.
func (n *network) impatient(d time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.patience = d
}

func (n *network) lossy(oneIn int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.loss = oneIn
}

func (n *network) find(id string) *host {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.hosts[id]
}

func (n *network) countInstalls() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.installs
}

// freeze holds everything that goes to and from a host until the func returned
// is called.
func (h *host) freeze() (thaw func()) {
	ch := make(chan struct{})
	h.mu.Lock()
	h.frozen = ch
	h.mu.Unlock()
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.frozen == ch {
			h.frozen = nil
			close(ch)
		}
	}
}

// wake waits while the host is frozen.
func (h *host) wake() {
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

// travel takes one message's time and says whether it arrives.
func (n *network) travel(from, to *host) bool {
	from.wake()
	n.mu.Lock()
	d := time.Duration(200+n.rng.Intn(1800)) * time.Microsecond
	if n.rng.Intn(1000) == 0 {
		d += time.Duration(n.rng.Intn(300)) * time.Millisecond
	}
	ok := !n.cut[[2]string{from.id, to.id}] && (n.loss == 0 || n.rng.Intn(n.loss) != 0)
	n.mu.Unlock()
	time.Sleep(d)
	to.wake()
	return ok && from.life.Err() == nil && to.life.Err() == nil
}

func recode(dst, src any) error {
	var b bytes.Buffer
	if err := codec.NewEncoder(&b, &codec.MsgpackHandle{}).Encode(src); err != nil {
		return err
	}
	return codec.NewDecoder(&b, &codec.MsgpackHandle{}).Decode(dst)
}

// ask sends one of Raft's requests and waits for its answer.
func (h *host) ask(to string, in, msg, out any, data io.Reader) error {
	h.net.mu.Lock()
	patience := h.net.patience
	h.net.mu.Unlock()
	end := time.NewTimer(patience)
	defer end.Stop()
	if data != nil {
		b, err := io.ReadAll(data)
		if err != nil {
			return err
		}
		data = bytes.NewReader(b)
	}
	if err := recode(msg, in); err != nil {
		return err
	}
	p := h.net.find(to)
	if p == nil {
		time.Sleep(time.Millisecond)
		return errRefused
	}
	if !h.net.travel(h, p) {
		return h.timeout(end.C)
	}
	answer := make(chan raft.RPCResponse, 1)
	select {
	case p.ch <- raft.RPC{Command: msg, Reader: data, RespChan: answer}:
	case <-end.C:
		return errLost
	case <-p.down:
		return errReset
	}
	select {
	case r := <-answer:
		if !h.net.travel(p, h) {
			return h.timeout(end.C)
		}
		if r.Error != nil {
			return errors.New(r.Error.Error())
		}
		return recode(out, r.Response)
	case <-end.C:
		return errLost
	case <-p.down:
		return errReset
	}
}

func (h *host) timeout(end <-chan time.Time) error {
	select {
	case <-end:
	case <-h.down:
	}
	return errLost
}

// CallUntil implements forward.Peer.
func (h *host) CallUntil(ctx context.Context, over <-chan struct{}, addr string, method byte, req []byte) ([]byte, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-over:
			cancel()
		case <-ctx.Done():
		}
	}()
	return h.Call(ctx, addr, method, req)
}

// Call implements cluster.Peer.
func (h *host) Call(ctx context.Context, addr string, method byte, req []byte) ([]byte, error) {
	p := h.net.find(addr)
	if p == nil {
		time.Sleep(time.Millisecond)
		return nil, fmt.Errorf("%w: %w", peer.ErrNotSent, errRefused)
	}
	type answer struct {
		b   []byte
		err error
	}
	back := make(chan answer, 1)
	req = bytes.Clone(req)
	go func() {
		if !h.net.travel(h, p) {
			return
		}
		p.mu.Lock()
		f := p.handlers[method]
		p.mu.Unlock()
		if f == nil {
			return
		}
		b, err := f(p.life, h.id, req)
		if h.net.travel(p, h) {
			back <- answer{bytes.Clone(b), err}
		}
	}()
	end := time.NewTimer(4 * messageTimeout)
	defer end.Stop()
	select {
	case a := <-back:
		return a.b, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-p.down:
		return nil, fmt.Errorf("%w: %w", peer.ErrOutcomeUnknown, errReset)
	case <-h.down:
		return nil, peer.ErrClosed
	case <-end.C:
		return nil, fmt.Errorf("%w: %w", peer.ErrOutcomeUnknown, errLost)
	}
}

// Handle implements cluster.Peer and forward.Peer.
func (h *host) Handle(method byte, f func(ctx context.Context, from string, req []byte) ([]byte, error)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.handlers[method] = f
}

// Addr implements cluster.Peer.
func (h *host) Addr() string { return h.id }

// Identify implements cluster.Peer.
func (h *host) Identify(_, _ string) {}

// SetAllowed implements cluster.Peer.
func (h *host) SetAllowed(func(id string) bool) {}

// Recheck implements cluster.Peer.
func (h *host) Recheck() {}

// Transport implements cluster.Peer.
func (h *host) Transport(time.Duration, hclog.Logger) raft.Transport { return h }

// Watch implements cluster.Peer.
func (h *host) Watch(peers map[string]string, note func() []byte, gone func(id string)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.note, h.gone = note, gone
	clear(h.watched)
	for id := range peers {
		h.watched[id] = true
	}
}

// Note implements cluster.Peer.
func (h *host) Note(id string) ([]byte, time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.notes[id].text, h.notes[id].at
}

// Heard implements cluster.Peer.
func (h *host) Heard() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.heard
}

// Nudge implements cluster.Peer.
func (h *host) Nudge() {
	select {
	case h.nudge <- struct{}{}:
	default:
	}
}

// tellNotes tells this process's note to all others until its end.
func (h *host) tellNotes() {
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
				go p.hear(h, text)
			}
		}
		h.net.mu.Unlock()
	}
}

func (h *host) hear(from *host, text []byte) {
	if !h.net.travel(from, h) {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.notes[from.id] = told{text, time.Now()}
	close(h.heard)
	h.heard = make(chan struct{})
}
