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

// This file checks who sends a node's call. A late call has an older heartbeat session. A call from
// another machine has another address.

// beginHeartbeats begins a new heartbeat session.
func (ss *session) beginHeartbeats(n *state.Node) {
	ss.heartbeatSession, ss.prevSession = newHeartbeatSession(), n.HeartbeatSession
}

// newHeartbeatSession returns a random number for a heartbeat session. It has 53 bits, so that
// every JSON reader can represent it. It is practically impossible that two sessions of a node have
// the same number.
func newHeartbeatSession() uint64 { return 1 + rand.Uint64N(1<<53-1) }

// address returns the address of the caller. It is not valid if it is unknown.
func address(call *ipc.Call) netip.Addr {
	if call.Caller == nil {
		return netip.Addr{}
	}
	return call.Caller.Address.Addr().Unmap().WithZone("")
}

// otherAddress reports whether a call comes from another address than the one from which the node
// registered: from another machine, or from the node after its address changed. It cannot
// distinguish callers on loopback.
func otherAddress(registered, from netip.Addr) bool {
	return registered != from && registered.IsValid() && from.IsValid() && !registered.IsLoopback() && !from.IsLoopback()
}

// mismatchEvery is the minimum interval between two warnings about such callers.
const mismatchEvery = 10 * time.Second

// wrongAddress answers a heartbeat from another address than the node's. The session does not
// change. A node whose own address has changed registers again.
func (s *Service) wrongAddress(n *state.Node, r *report) []byte {
	log := s.cfg.Logger.Debug
	now := int64(s.now())
	if next := s.mismatchNext.Load(); now >= next && s.mismatchNext.CompareAndSwap(next, now+int64(mismatchEvery)) {
		log = s.cfg.Logger.Warn
	}
	log("heartbeat from another address than the node's", "node", r.id, "address", r.from, "registered", n.Address)
	return s.resync("node %s registered from %s and now calls from %s: it must register again", r.id, n.Address, r.from)
}

// addressMismatch reports whether a heartbeat comes from another address than its node's.
func addressMismatch(n *state.Node, b *beat) bool {
	registered, _ := netip.ParseAddr(n.Address)
	return otherAddress(registered, b.from)
}

// checkAddress refuses a caller with another address than the node's. It returns the node's
// heartbeat session.
func (s *Service) checkAddress(ctx context.Context, call *ipc.Call, id yarn.NodeID) (stay uint64, err error) {
	if err := s.current(ctx); err != nil {
		return 0, err
	}
	st := s.cfg.Reader.Fork()
	slot := st.Nodes.Find(id)
	if slot == 0 {
		return 0, nil
	}
	n := st.Nodes.Get(slot)
	registered, _ := netip.ParseAddr(n.Address)
	if from := address(call); otherAddress(registered, from) {
		return 0, invalid("unRegisterNodeManager: node %s registered from %s, not from %s", id, registered, from)
	}
	return n.HeartbeatSession, nil
}
