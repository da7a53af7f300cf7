package tracker

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/transport/hadoop/ipc"
	"rmd/yarn"
)

// session is what this replica knows of one node in addition to the replicated state.
type session struct {
	id yarn.NodeID

	mu     sync.Mutex
	number state.NodeSlot // of the node in the state
	// registered is the time of the registration on which the session is based. If the state has
	// another one, the node has registered at another replica since.
	registered int64
	last       int32  // response id of the last answer
	answered   bool   // there was an answer in this session
	answer     []byte // nil if it had no commands
	// heartbeatSession is the present heartbeat session, and prevSession the one before it. With
	// them the planner recognizes a late call. See input.NodeHeartbeat.
	heartbeatSession, prevSession uint64
	address                       netip.Addr // from which the node registered
	// full says that the next report is forwarded whole. failed says that the last heartbeat could
	// not be answered.
	full, failed  bool
	hasHeartbeat  bool // there was a heartbeat
	conn          uint64
	lastHeartbeat time.Duration
	busy          chan struct{} // closed when the present heartbeat is processed; nil if there is none

	// running are the reported containers that have not ended. hash is the hash of their statuses,
	// if hashed is true.
	running []yarn.ContainerID
	hash    uint64
	hashed  bool
	total   yarn.Resource  // as an administrator set it and the node was told
	pending *pendingOrders // rarely set
	// removed is the number of the last container that the node was told to forget.
	removed uint64
	use     Utilization
}

// pendingOrders are the commands that the node must still be told, and those in the last answer.
type pendingOrders struct {
	// kill, cleanUp and remove are commands from the registration.
	kill    []yarn.ContainerID
	cleanUp []yarn.ApplicationID
	remove  []yarn.ContainerID
	// cleanUpSent, signalSent and resizeSent were in the last answer. The next heartbeat proves
	// that the node has received it.
	cleanUpSent []yarn.ApplicationID
	signalSent  []yarn.ContainerID
	resizeSent  []input.SizeOrder
}

func (ss *session) silent(now time.Duration) time.Duration {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if ss.busy != nil {
		return 0
	}
	return now - ss.lastHeartbeat
}

// record returns the node in the state. It returns nil if the state has no node, or another one,
// with its number.
func (ss *session) record(st *state.State) *state.Node {
	if !st.Nodes.Has(ss.number) {
		return nil
	}
	if n := st.Nodes.Get(ss.number); n.ID == ss.id {
		return n
	}
	return nil
}

// nothingPending reports whether the state has nothing to tell the node, and the node has not
// called another replica since.
func (ss *session) nothingPending(st *state.State) bool {
	n := ss.record(st)
	return n != nil && n.State == yarn.NodeRunning && n.Report == "" && n.PendingCommands == 0 && n.PendingCleanups == 0 &&
		n.Registered == ss.registered && n.HeartbeatSession == ss.heartbeatSession
}

// reset starts the session again with a response id that another replica gave the node.
func (ss *session) reset(st *state.State, n *state.Node, response int32) {
	ss.registered, ss.last = n.Registered, response
	ss.address, _ = netip.ParseAddr(n.Address)
	ss.beginHeartbeats(n)
	ss.answered, ss.answer, ss.full, ss.hashed, ss.pending = false, nil, true, false, nil
	ss.running, ss.total = nil, yarn.Resource{}
	first, _ := st.Removals(ss.number)
	ss.removed = first - 1
}

// verdict is the meaning of a heartbeat's response id.
type verdict uint8

const (
	fresh     verdict = iota // it follows the last answer
	duplicate                // the last answer was not received
	gap                      // neither
)

// judge compares a heartbeat's response id with that of the last answer. An id that is ahead was
// given by another replica. It is accepted only if the node can have been there: it uses another
// connection, comes after a pause, or its last heartbeat here could not be answered.
func (ss *session) judge(b *beat, now, pause time.Duration) (v verdict, moved bool) {
	switch {
	case b.response == ss.last:
		return fresh, false
	case next(b.response) == ss.last && ss.answered:
		return duplicate, false
	}
	ahead := uint32(b.response-ss.last)&responseMax < responseMax/2
	away := b.conn != ss.conn || ss.failed || now-ss.lastHeartbeat > pause
	return gap, ahead && away
}

// enter finds or creates the session of a report and marks it busy. If it returns no session, it
// returns an answer or an error.
func (s *Service) enter(ctx context.Context, r *report) (*session, []byte, error) {
	for checked := false; ; {
		ss := s.session(r.id)
		if ss != nil && ss.record(s.fresh(s.now()).st) == nil { // the node was forgotten, and may be back with another number
			s.forget(ss)
			ss = nil
		}
		if ss == nil {
			var out []byte
			var err error
			if ss, out, err = s.adopt(ctx, r); ss == nil {
				return nil, out, err
			}
		}
		ss.mu.Lock()
		if wait := ss.busy; wait != nil {
			ss.mu.Unlock()
			select {
			case <-wait:
				continue
			case <-ctx.Done():
				return nil, nil, ipc.Standby(ctx.Err().Error())
			}
		}
		if ss.failed && !checked { // the state shows whether the last heartbeat had an effect
			ss.mu.Unlock()
			if err := s.current(ctx); err != nil {
				return nil, nil, err
			}
			checked = true
			continue
		}
		if out, done := s.admit(ss, r); done {
			busy := ss.busy != nil
			ss.mu.Unlock()
			if busy {
				return ss, nil, nil
			}
			return nil, out, nil
		}
		last := ss.last
		ss.mu.Unlock()
		if checked {
			s.cfg.Logger.Info("node is out of step and must register again", "node", r.id, "last", last, "response", r.response)
			return nil, s.resync("response id %d of node %s is not the last one, %d: it must register again", r.response,
				r.id, last), nil
		}
		// The node may have registered at another replica a moment ago.
		if err := s.current(ctx); err != nil {
			return nil, nil, err
		}
		checked = true
	}
}

// admit decides about a heartbeat of a session that is not busy. It marks the session busy, or
// returns the answer of the repeated heartbeat. done is false if there is a gap.
func (s *Service) admit(ss *session, r *report) (out []byte, done bool) {
	now := s.now()
	st := s.fresh(now).st
	n := ss.record(st)
	switch {
	case n != nil && addressMismatch(n, &r.beat):
		return s.wrongAddress(n, r), true
	case n != nil && n.Registered != ss.registered:
		ss.reset(st, n, r.response)
	default:
		v, moved := ss.judge(&r.beat, now, 2*s.cfg.HeartbeatInterval)
		switch {
		case v == duplicate:
			return s.repeat(ss), true
		case v == gap && (!moved || n == nil):
			return nil, false
		case moved:
			ss.reset(st, n, r.response)
		case n != nil && ss.failed:
			ss.beginHeartbeats(n) // a copy of the failed heartbeat may still arrive
		case n != nil && n.HeartbeatSession != ss.heartbeatSession && n.HeartbeatSession != ss.prevSession: // the node has called another replica since
			ss.beginHeartbeats(n)
			ss.full = true
		}
	}
	ss.busy = make(chan struct{})
	ss.conn, ss.lastHeartbeat, ss.hasHeartbeat = r.conn, now, true
	return nil, true
}

// adopt creates the session of a node without a session here. If it returns no session, it returns
// the answer: the cluster does not know the node either, or the caller is not the node.
func (s *Service) adopt(ctx context.Context, r *report) (*session, []byte, error) {
	// The session must begin with the newest heartbeat session in the state.
	if err := s.current(ctx); err != nil {
		return nil, nil, err
	}
	st := s.cfg.Reader.Fork()
	number := st.Nodes.Find(r.id)
	if number == 0 {
		return nil, s.resync("node %s is not known: it must register", r.id), nil
	}
	n := st.Nodes.Get(number)
	if addressMismatch(n, &r.beat) {
		return nil, s.wrongAddress(n, r), nil
	}
	ss := &session{id: r.id, number: number, lastHeartbeat: s.now()}
	ss.reset(st, n, r.response)
	return s.open(nil, ss), nil, nil
}

// release ends the processing of a heartbeat. The caller holds the session's lock.
func (ss *session) release(work chan struct{}) {
	close(work)
	if ss.busy == work {
		ss.busy = nil
	}
}

// input returns the part of a report that the cluster does not know. It is the whole report if the
// session is new, or if a running container is missing.
func (ss *session) input(r *report) *input.NodeHeartbeat {
	in := &input.NodeHeartbeat{ID: ss.id, Unhealthy: r.unhealthy, Report: r.text, Full: ss.full,
		HeartbeatSession: ss.heartbeatSession, PrevSession: ss.prevSession, Response: r.response, RemovalsAcked: ss.removed}
	if t := ss.pending; t != nil {
		in.CleanupsAcked, in.SignalsAcked, in.SizesAcked = t.cleanUpSent, t.signalSent, t.resizeSent
	}
	in.Sizes, in.KeepAlive = r.sizes, r.keepAlive
	if !in.Full {
		missing := make(map[yarn.ContainerID]struct{}, len(ss.running)) // no iteration, so the order does not matter
		for _, id := range ss.running {
			missing[id] = struct{}{}
		}
		known := len(missing)
		for _, c := range r.statuses {
			if _, ok := missing[c.Container]; !ok || c.State == yarn.ContainerCompleted {
				in.Statuses = append(in.Statuses, c)
			}
			if known > 0 {
				delete(missing, c.Container)
			}
		}
		in.Full = len(missing) > 0
	}
	if in.Full {
		in.Statuses = r.statuses
	}
	return in
}
