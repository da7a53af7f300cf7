package tracker

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/transport/frontend"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/token"
	"rmd/yarn"
)

// protocolName is the protocol's name in request headers.
const protocolName = "org.apache.hadoop.yarn.server.api.ResourceTrackerPB"

// Service answers the NodeManagers that are connected to this replica.
type Service struct {
	cfg   Config
	start time.Time
	seen  atomic.Pointer[view]
	idle  idleNodes
	// queues is the replicated configuration, for the smallest container and the configuration type
	// of labels.
	queues frontend.QueueConf
	// unreachableSince is the time since which heartbeats have failed to reach the leader, as the
	// time since start plus one. 0 means that the last ones reached it.
	unreachableSince atomic.Int64
	// mismatchNext is the time since start at which the next mismatch may be logged as a warning.
	mismatchNext atomic.Int64

	mu       sync.RWMutex
	sessions map[yarn.NodeID]*session
}

// view is a committed state with the facts that every heartbeat needs.
type view struct {
	st           *state.State
	at           time.Duration
	containerKey int32 // containerKey and nmKey are the ids of the newest keys
	nmKey        int32
	tokens       int64 // the number of the replaced tokens that nodes must have; 0 if they need none
	releases     bool  // an ended application has tokens
}

// New returns a service. Run must run, or idle nodes are not scheduled.
func New(cfg Config) (*Service, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Service{cfg: cfg, start: time.Now(), idle: newIdleNodes(), sessions: map[yarn.NodeID]*session{}}, nil
}

// Protocol returns the protocol with its methods.
func (s *Service) Protocol() ipc.Protocol {
	return ipc.Protocol{Name: protocolName, Version: 1, Methods: map[string]ipc.Method{
		"registerNodeManager":   ipc.Handle(s.registerNodeManager),
		"nodeHeartbeat":         ipc.HandleBytes(new(proto.NodeHeartbeatRequestProto), s.nodeHeartbeat).Inline(),
		"unRegisterNodeManager": ipc.Handle(s.unRegisterNodeManager),
	}}
}

// Run forwards idle heartbeats to the leader and forgets silent nodes, until ctx ends.
func (s *Service) Run(ctx context.Context) {
	sweep := time.NewTicker(max(s.cfg.Expiry/4, time.Millisecond))
	defer sweep.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-sweep.C:
			s.sweep()
		case <-s.idle.wake:
			select {
			case <-ctx.Done():
				return
			case <-time.After(s.cfg.BatchInterval):
			}
			s.flush(ctx)
		}
	}
}

// flush sends the collected idle nodes to the leader. If that fails, they are dropped, because
// their next heartbeats come soon.
func (s *Service) flush(ctx context.Context) {
	for {
		nodes := s.idle.take(s.cfg.BatchNodesMax)
		if len(nodes) == 0 {
			return
		}
		reply, _, err := s.cfg.Submitter.Do(ctx, input.Request{Input: &input.NodesHeard{Nodes: nodes}})
		if err == nil {
			if f := reply.Refused(); f != nil {
				err = f
			}
		}
		s.reached(err)
		if err != nil {
			s.cfg.Logger.Debug("heartbeats of idle nodes dropped", "nodes", len(nodes), "error", err)
			return
		}
	}
}

// reached records whether the leader could be reached.
func (s *Service) reached(err error) {
	if err == nil {
		if s.unreachableSince.Load() != 0 {
			s.unreachableSince.Store(0)
		}
		return
	}
	s.unreachableSince.CompareAndSwap(0, int64(s.now())+1)
}

// leaderUnreachable reports whether this replica has not reached a leader for so long that it must
// not answer idle heartbeats. The leader may be expiring the nodes, and another replica may reach
// it.
func (s *Service) leaderUnreachable(now time.Duration) bool {
	since := s.unreachableSince.Load()
	return since != 0 && now-time.Duration(since) >= s.cfg.CutAfter
}

// sweep forgets silent nodes.
func (s *Service) sweep() {
	now := s.now()
	var gone []*session
	s.mu.RLock()
	for _, ss := range s.sessions { // the order does not matter
		if ss.silent(now) > 2*s.cfg.Expiry {
			gone = append(gone, ss)
		}
	}
	s.mu.RUnlock()
	for _, ss := range gone {
		s.forget(ss)
	}
}

// now returns the time since the service was created, by the monotonic clock.
func (s *Service) now() time.Duration { return time.Since(s.start) }

// recent returns a view that is at most ViewFor old.
func (s *Service) recent(now time.Duration) *view {
	if v := s.seen.Load(); v != nil && now-v.at < s.cfg.ViewFor {
		return v
	}
	return s.fresh(now)
}

// fresh returns a view of the state that this replica has now.
func (s *Service) fresh(now time.Duration) *view {
	st := s.cfg.Reader.Fork()
	v := s.seen.Load()
	if v != nil && v.st == st && now-v.at < s.cfg.ViewFor {
		return v
	}
	ring := token.NewRing(st)
	v = &view{st: st, at: now, containerKey: ring.Newest(yarn.KeyContainer).ID, nmKey: ring.Newest(yarn.KeyNM).ID}
	v.tokens, v.releases = tokenNeeds(st)
	s.seen.Store(v)
	return v
}

// session returns a node's session, or nil.
func (s *Service) session(id yarn.NodeID) *session {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.sessions[id]
}

// find returns a node's session for a host name in the request's bytes.
func (s *Service) find(host []byte, port uint16) *session {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.sessions[yarn.NodeID{Host: string(host), Port: port}]
}

// open replaces a node's session old by ss and returns ss. If another call has opened a session
// since old was looked up, it returns that one.
func (s *Service) open(old, ss *session) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.sessions[ss.id]; now != nil && now != old {
		return now
	}
	s.sessions[ss.id] = ss
	return ss
}

// forget removes a session.
func (s *Service) forget(ss *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sessions[ss.id] == ss {
		delete(s.sessions, ss.id)
	}
}

// do plans an input. An error of the forwarder becomes a StandbyException, after which the node
// tries the next replica.
func (s *Service) do(ctx context.Context, in input.Input) (input.Reply, error) {
	reply, _, err := s.cfg.Submitter.Do(ctx, input.Request{Input: in})
	if err != nil {
		return nil, ipc.Standby(err.Error())
	}
	s.reached(nil)
	if f := reply.Refused(); f != nil && f.Reason == input.NotInitialized {
		return nil, ipc.Standby(f.Error())
	}
	return reply, nil
}

// current waits until this replica has applied everything that the leader had committed.
func (s *Service) current(ctx context.Context) error {
	if err := s.cfg.Reader.Current(ctx); err != nil {
		return ipc.Standby(err.Error())
	}
	return nil
}

// invalid returns the refusal of a call that a correct NodeManager does not make.
func invalid(format string, args ...any) error {
	return &ipc.Error{Class: ipc.ClassYarn, Message: fmt.Sprintf(format, args...)}
}
