package cluster

import (
	"bytes"
	"errors"
	"io"
	"math/rand"
	"sync"
	"time"

	"github.com/hashicorp/go-msgpack/v2/codec"
	"github.com/hashicorp/raft"
)

// simNet is a network in virtual time. It encodes and decodes each message, delays it by a random
// time, sometimes loses it, and can cut connections between hosts.
type simNet struct {
	mu        sync.Mutex
	rng       *rand.Rand
	hosts     map[raft.ServerAddress]*simHost
	cut       map[[2]raft.ServerAddress]bool
	installs  int
	lossless  bool
	transfers chan struct{}                                  // if set, TimeoutNow waits for it
	refuse    func(to raft.ServerAddress, request any) error // if set, the answer of a host that refuses a request
}

func newSimNet(seed int64) *simNet {
	return &simNet{rng: rand.New(rand.NewSource(seed)), hosts: map[raft.ServerAddress]*simHost{},
		cut: map[[2]raft.ServerAddress]bool{}}
}

// simHost is the raft.Transport of one host.
type simHost struct {
	net  *simNet
	addr raft.ServerAddress
	ch   chan raft.RPC
	down chan struct{}

	mu sync.Mutex
	hb func(raft.RPC)
}

func (n *simNet) host(addr raft.ServerAddress) *simHost {
	h := &simHost{net: n, addr: addr, ch: make(chan raft.RPC, 64), down: make(chan struct{})}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.hosts[addr] = h
	return h
}

func (n *simNet) crash(addr raft.ServerAddress) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if h := n.hosts[addr]; h != nil {
		close(h.down)
		delete(n.hosts, addr)
	}
}

// isolate cuts off a host in one or both directions.
func (n *simNet) isolate(addr raft.ServerAddress, in, out bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for other := range n.hosts {
		if in {
			n.cut[[2]raft.ServerAddress{other, addr}] = true
		}
		if out {
			n.cut[[2]raft.ServerAddress{addr, other}] = true
		}
	}
}

func (n *simNet) heal() {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.cut)
}

// hop draws the delay of one message, and whether it arrives.
func (n *simNet) hop(a, b raft.ServerAddress) (time.Duration, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	d := time.Duration(200+n.rng.Intn(1800)) * time.Microsecond
	if n.rng.Intn(1000) == 0 {
		d += time.Duration(n.rng.Intn(300)) * time.Millisecond
	}
	return d, !n.cut[[2]raft.ServerAddress{a, b}] && (n.lossless || n.rng.Intn(500) != 0)
}

var (
	errSimTimeout = errors.New("i/o timeout")
	errSimRefused = errors.New("connection refused")
)

const simTimeout = 2 * time.Second

func simCopy(dst, src any) error {
	var b bytes.Buffer
	if err := codec.NewEncoder(&b, &codec.MsgpackHandle{}).Encode(src); err != nil {
		return err
	}
	return codec.NewDecoder(&b, &codec.MsgpackHandle{}).Decode(dst)
}

// call sends one request and waits for the answer.
func (h *simHost) call(to raft.ServerAddress, in, msg, out any, data io.Reader) error {
	end := time.Now().Add(simTimeout)
	if data != nil {
		b, err := io.ReadAll(data)
		if err != nil {
			return err
		}
		data = bytes.NewReader(b)
	}
	if err := simCopy(msg, in); err != nil {
		return err
	}
	d, ok := h.net.hop(h.addr, to)
	time.Sleep(d)
	h.net.mu.Lock()
	p, refuse := h.net.hosts[to], h.net.refuse
	h.net.mu.Unlock()
	if p == nil {
		return errSimRefused
	}
	if ok && refuse != nil {
		if err := refuse(to, in); err != nil {
			return err
		}
	}
	if !ok {
		time.Sleep(time.Until(end))
		return errSimTimeout
	}
	answer := make(chan raft.RPCResponse, 1)
	t := time.NewTimer(time.Until(end))
	defer t.Stop()
	if !p.fastPath(msg, answer) {
		select {
		case p.ch <- raft.RPC{Command: msg, Reader: data, RespChan: answer}:
		case <-t.C:
			return errSimTimeout
		case <-p.down:
			return errSimTimeout
		}
	}
	select {
	case r := <-answer:
		d, ok := h.net.hop(to, h.addr)
		time.Sleep(d)
		if !ok {
			time.Sleep(time.Until(end))
			return errSimTimeout
		}
		if r.Error != nil {
			return errors.New(r.Error.Error())
		}
		return simCopy(out, r.Response)
	case <-t.C:
	case <-p.down:
	}
	return errSimTimeout
}

// fastPath passes a heartbeat to the heartbeat handler, if there is one, as the library's network
// transport does.
func (h *simHost) fastPath(msg any, answer chan raft.RPCResponse) bool {
	a, ok := msg.(*raft.AppendEntriesRequest)
	if !ok || a.Term == 0 || a.PrevLogEntry != 0 || a.PrevLogTerm != 0 || len(a.Entries) != 0 || a.LeaderCommitIndex != 0 {
		return false
	}
	h.mu.Lock()
	hb := h.hb
	h.mu.Unlock()
	if hb == nil {
		return false
	}
	go hb(raft.RPC{Command: msg, RespChan: answer})
	return true
}

func (h *simHost) Consumer() <-chan raft.RPC     { return h.ch }
func (h *simHost) LocalAddr() raft.ServerAddress { return h.addr }
func (h *simHost) AppendEntriesPipeline(raft.ServerID, raft.ServerAddress) (raft.AppendPipeline, error) {
	return nil, raft.ErrPipelineReplicationNotSupported
}
func (h *simHost) AppendEntries(_ raft.ServerID, to raft.ServerAddress, q *raft.AppendEntriesRequest,
	a *raft.AppendEntriesResponse) error {
	return h.call(to, q, new(raft.AppendEntriesRequest), a, nil)
}
func (h *simHost) RequestVote(_ raft.ServerID, to raft.ServerAddress, q *raft.RequestVoteRequest,
	a *raft.RequestVoteResponse) error {
	return h.call(to, q, new(raft.RequestVoteRequest), a, nil)
}
func (h *simHost) RequestPreVote(_ raft.ServerID, to raft.ServerAddress, q *raft.RequestPreVoteRequest,
	a *raft.RequestPreVoteResponse) error {
	return h.call(to, q, new(raft.RequestPreVoteRequest), a, nil)
}
func (h *simHost) InstallSnapshot(_ raft.ServerID, to raft.ServerAddress, q *raft.InstallSnapshotRequest,
	a *raft.InstallSnapshotResponse, data io.Reader) error {
	h.net.mu.Lock()
	h.net.installs++
	h.net.mu.Unlock()
	return h.call(to, q, new(raft.InstallSnapshotRequest), a, data)
}
func (h *simHost) TimeoutNow(_ raft.ServerID, to raft.ServerAddress, q *raft.TimeoutNowRequest,
	a *raft.TimeoutNowResponse) error {
	h.net.mu.Lock()
	wait := h.net.transfers
	h.net.mu.Unlock()
	if wait != nil {
		<-wait
		return errSimTimeout
	}
	return h.call(to, q, new(raft.TimeoutNowRequest), a, nil)
}
func (h *simHost) EncodePeer(_ raft.ServerID, a raft.ServerAddress) []byte { return []byte(a) }
func (h *simHost) DecodePeer(b []byte) raft.ServerAddress                  { return raft.ServerAddress(b) }
func (h *simHost) SetHeartbeatHandler(f func(raft.RPC)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hb = f
}

// countInstalls returns the number of snapshots that were sent.
func (n *simNet) countInstalls() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.installs
}
