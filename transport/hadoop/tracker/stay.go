package tracker

import (
	"context"
	"math/rand/v2"
	"net/netip"
	"time"

	"rmd/fsm/state"
	"rmd/transport/hadoop/ipc"
	"rmd/yarn"
)

// This file tells who speaks for a node: by the stay that a call belongs to one
// that comes late, by its address a stranger.

// begin begins a stay.
func (ss *session) begin(n *state.Node) { ss.stay, ss.follows = newStay(), n.Stay }

// newStay is the number of a stay, of 53 bits, which any reader of JSON holds. That
// no other stay of a node has it is as good as sure.
func newStay() uint64 { return 1 + rand.Uint64N(1<<53-1) }

// address is where a call comes from; not valid when that is no IP address.
func address(call *ipc.Call) netip.Addr {
	if call.Caller == nil {
		return netip.Addr{}
	}
	return call.Caller.Address.Addr().Unmap().WithZone("")
}

// foreign says whether a call comes from another address than that which the
// node registered from: a stranger's, or that of a node whose address has
// changed. Who calls from a replica's own machine has no address to be told by.
func foreign(registered, from netip.Addr) bool {
	return registered != from && registered.IsValid() && from.IsValid() && !registered.IsLoopback() && !from.IsLoopback()
}

// strangeEvery is how often strangers are named in the log.
const strangeEvery = 10 * time.Second

// strange is the answer to a stranger. The session is left as it is: when it is
// the node itself, from another address, it registers again.
func (s *Service) strange(n *state.Node, r *report) []byte {
	log := s.cfg.Logger.Debug
	now := int64(s.now())
	if next := s.strangeNext.Load(); now >= next && s.strangeNext.CompareAndSwap(next, now+int64(strangeEvery)) {
		log = s.cfg.Logger.Warn
	}
	log("heartbeat from another address than the node's", "node", r.id, "address", r.from, "registered", n.Address)
	return s.resync("node %s registered from %s and now calls from %s: it must register again", r.id, n.Address, r.from)
}

// stranger says whether a heartbeat comes from another address than its node's.
func stranger(n *state.Node, b *beat) bool {
	registered, _ := netip.ParseAddr(n.Address)
	return foreign(registered, b.from)
}

// own refuses who speaks for a node from another address than the node's, and
// tells the node's present stay.
func (s *Service) own(ctx context.Context, call *ipc.Call, id yarn.NodeID) (stay uint64, err error) {
	if err := s.current(ctx); err != nil {
		return 0, err
	}
	st := s.cfg.Reader.Fork()
	slot := st.Node(id)
	if slot == 0 {
		return 0, nil
	}
	n := st.Nodes.Get(slot)
	registered, _ := netip.ParseAddr(n.Address)
	if from := address(call); foreign(registered, from) {
		return 0, invalid("unRegisterNodeManager: node %s registered from %s, not from %s", id, registered, from)
	}
	return n.Stay, nil
}
