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

// session is what this replica knows of one node beyond the replicated state.
type session struct {
	id yarn.NodeID

	mu     sync.Mutex
	number uint32 // in the state
	// registered is the time of the registration that the session follows; another
	// one in the state means that the node has registered elsewhere since.
	registered int64
	last       int32  // response id of the last answer
	answered   bool   // there was one in this session
	answer     []byte // nil: it said nothing but its number
	// heartbeatSession names this run of heartbeats to the planner, prevSession the one before;
	// a late call is recognized by them. See input.NodeHeartbeat.
	heartbeatSession, prevSession uint64
	address                       netip.Addr // that the node registered from
	// full says that the next report is passed on whole, failed that the last
	// heartbeat could not be answered.
	full, failed  bool
	beaten        bool // there was a heartbeat
	conn          uint64
	lastHeartbeat time.Duration
	busy          chan struct{} // closed when the heartbeat in work is done; nil without one

	// running are the containers that were reported and have not ended. hash is
	// that of the statuses that said so, when hashed.
	running []yarn.ContainerID
	hash    uint64
	hashed  bool
	total   yarn.Resource  // that an administrator set, as the node was told
	pending *pendingOrders // rare
	// removed is the number of the last container that the node was told to forget.
	removed uint64
	use     Utilization
	logs    []LogReport
}

// pendingOrders is what the node has yet to be told, and what it was told last.
type pendingOrders struct {
	// kill, cleanUp and remove are what the registration led to.
	kill    []yarn.ContainerID
	cleanUp []yarn.ApplicationID
	remove  []yarn.ContainerID
	// cleanUpSent, signalSent and resizeSent were in the last answer. The next heartbeat
	// proves that the node received it.
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

// record is the node's record; nil when the state holds another node, or none,
// under its number.
func (ss *session) record(st *state.State) *state.Node {
	if !st.Nodes.Has(ss.number) {
		return nil
	}
	if n := st.Nodes.Get(ss.number); n.ID == ss.id {
		return n
	}
	return nil
}

// nothingPending says whether the state has nothing to tell the node, which has not been
// heard elsewhere.
func (ss *session) nothingPending(st *state.State) bool {
	n := ss.record(st)
	return n != nil && n.State == yarn.NodeRunning && n.Report == "" && n.PendingCommands == 0 && n.PendingCleanups == 0 && n.Registered == ss.registered && n.HeartbeatSession == ss.heartbeatSession
}

// reset starts the session over, at a response id that the node has from another
// replica.
func (ss *session) reset(st *state.State, n *state.Node, response int32) {
	ss.registered, ss.last = n.Registered, response
	ss.address, _ = netip.ParseAddr(n.Address)
	ss.beginHeartbeats(n)
	ss.answered, ss.answer, ss.full, ss.hashed, ss.pending = false, nil, true, false, nil
	ss.running, ss.total = nil, yarn.Resource{}
	first, _ := st.Removals(ss.number)
	ss.removed = first - 1
}

// verdict is what the response id of a heartbeat says.
type verdict uint8

const (
	fresh     verdict = iota // it follows the last answer
	duplicate                // the last answer was not received
	gap                      // neither
)

// judge compares a heartbeat's response id with the last answer's. One that is
// ahead was given by another replica; that is believed of a node that has been
// away: it came back over another connection, after a pause, or after a heartbeat
// that could not be answered here.
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

// enter finds or makes the session of a report and marks it busy. Without a
// session there is an answer, or an error.
func (s *Service) enter(ctx context.Context, r *report) (*session, []byte, error) {
	for checked := false; ; {
		ss := s.session(r.id)
		if ss != nil && ss.record(s.fresh(s.now()).st) == nil { // the node was forgotten, and may be back under another number
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
		if ss.failed && !checked { // whether the last one took effect is seen in the state
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
			return nil, s.resync("response id %d of node %s is not the last one, %d: it must register again", r.response, r.id, last), nil
		}
		// It may have registered elsewhere a moment ago.
		if err := s.current(ctx); err != nil {
			return nil, nil, err
		}
		checked = true
	}
}

// admit decides about a heartbeat of a session that is free: it is marked busy
// for it, or there is the answer of the one that it repeats. Neither: there is a
// gap.
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
			ss.beginHeartbeats(n) // a copy of what failed may still be on its way
		case n != nil && n.HeartbeatSession != ss.heartbeatSession && n.HeartbeatSession != ss.prevSession: // it was elsewhere meanwhile
			ss.beginHeartbeats(n)
			ss.full = true
		}
	}
	ss.busy = make(chan struct{})
	ss.conn, ss.lastHeartbeat, ss.beaten = r.conn, now, true
	return nil, true
}

// adopt makes the session of a node that this replica has not heard of. Without
// one there is the answer: the cluster does not know the node either, or this is
// not the node.
func (s *Service) adopt(ctx context.Context, r *report) (*session, []byte, error) {
	// The heartbeat session before it is in the state, and must not be an older one.
	if err := s.current(ctx); err != nil {
		return nil, nil, err
	}
	st := s.cfg.Reader.Fork()
	number := st.Node(r.id)
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

// release ends the heartbeat that is in work; the session must be locked.
func (ss *session) release(work chan struct{}) {
	close(work)
	if ss.busy == work {
		ss.busy = nil
	}
}

// input is what of a report the cluster has not been told: everything when the
// session is new, or when a container is missing that has not ended.
func (ss *session) input(r *report) *input.NodeHeartbeat {
	in := &input.NodeHeartbeat{ID: ss.id, Unhealthy: r.unhealthy, Report: r.text, Full: ss.full,
		HeartbeatSession: ss.heartbeatSession, PrevSession: ss.prevSession, Response: r.response, RemovalsAcked: ss.removed}
	if t := ss.pending; t != nil {
		in.CleanupsAcked, in.SignalsAcked, in.SizesAcked = t.cleanUpSent, t.signalSent, t.resizeSent
	}
	in.Sizes, in.KeepAlive = r.sizes, r.keepAlive
	if !in.Full {
		missing := make(map[yarn.ContainerID]struct{}, len(ss.running)) // looked up by key only
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
